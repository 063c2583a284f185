/**
 * Finds the documents that the ledger counts, but the pass has found on neither side: another process has deleted the
 * copy, and no feed has reported the delete of the document. Neither a tail nor a repair can find these, because the ledger
 * knows no names. Invariant: no container is read and nothing is written; the caller makes sure that no later change
 * has brought such a document back. Memory does not grow with the number of documents.
 */
import type { SideName } from '../../cosmos/side.ts';
import { HASH_BYTES } from '../../documents/hash.ts';
import type { Ledger } from '../../state/ledger.ts';
import { BUCKETS, shelfOf } from '../pass/buckets.ts';
import { entriesOf } from '../pass/entry-chunks.ts';
import type { LedgerView } from '../ledger-view.ts';
import { Recount, type Listing } from './find-candidates.ts';

/** How many entries are in memory at a time. A single bucket with more entries is still processed as a whole. */
const ENTRIES_MAX = 100_000;
/** How many absent documents are kept. With more of them, a cutover has to compare all documents once. */
const ABSENT_MAX = 100_000;
/** The first 16 bits of an identity contain its bucket, and this many others. */
const OTHER_BITS = 4;

interface Finding extends Omit<Listing, 'sourceLevels' | 'hasInstants'> {
  readonly ledger: LedgerView;
  /** The number of documents that the pass has read in the source. */
  readonly documents: number;
}

/** Returns the absent documents, as identities in entries. */
export async function findAbsent(finding: Finding): Promise<readonly Buffer[]> {
  const { ledger, documents, signal } = finding;
  // Where a feed reports each delete, the ledger does not count what is gone.
  if (ledger.moment().migration.deletes === 'avad') return [];
  const known = await ledger.known(signal);
  if (known === null || known.source <= documents) return [];
  const found: Buffer[] = [];
  for (const buckets of inGroups(finding)) {
    signal.throwIfAborted();
    const seen = seenIn(buckets, finding);
    found.push(...ledger.look((now) => unseenIn(buckets, { ledger: now, seen })));
    if (found.length > ABSENT_MAX) return [];
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return found;
}

/** Neighbouring buckets, from the first to the last. */
interface Group {
  readonly from: number;
  readonly to: number;
}

function* inGroups({ sums: { source, target } }: Pick<Finding, 'sums'>): Generator<Group> {
  let [from, entries] = [0, 0];
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    const more = source.documents(bucket) + target.documents(bucket);
    if (bucket > from && entries + more > ENTRIES_MAX) {
      yield { from, to: bucket - 1 };
      [from, entries] = [bucket, 0];
    }
    entries += more;
  }
  yield { from, to: BUCKETS - 1 };
}

/** Returns the identities that the pass has found on any side. */
function seenIn({ from, to }: Group, { store, sums }: Finding): ReadonlySet<string> {
  const seen = new Set<string>();
  const recount = new Recount(sums);
  const isWanted = (bucket: number): boolean => bucket >= from && bucket <= to;
  const sides: readonly SideName[] = ['source', 'target'];
  for (let shelf = shelfOf(from); shelf <= shelfOf(to); shelf += 1)
    for (const side of sides)
      for (const chunk of store.entries(side, shelf))
        for (const entry of entriesOf(chunk, isWanted)) {
          recount.see(side, { chunk, entry });
          seen.add(entry.identity.toString('latin1'));
        }
  recount.check(Array.from({ length: to - from + 1 }, (_, n) => from + n));
  return seen;
}

function unseenIn(
  { from, to }: Group,
  { ledger, seen }: { readonly ledger: Ledger; readonly seen: ReadonlySet<string> },
): readonly Buffer[] {
  const [first, last] = [Buffer.alloc(HASH_BYTES), Buffer.alloc(HASH_BYTES, 0xff)];
  first.writeUInt16BE(from << OTHER_BITS);
  last.writeUInt16BE(((to + 1) << OTHER_BITS) - 1);
  const own = Buffer.alloc(HASH_BYTES);
  const isSeen = (identity: Buffer): boolean => {
    identity.copy(own);
    return seen.has(own.swap32().toString('latin1'));
  };
  return ledger.liveIn({ first, last }, isSeen).map(swapped);
}

/** Returns a hash with its words in the other byte order. The ledger stores words high byte first. */
export function swapped(hash: Buffer): Buffer {
  return Buffer.from(hash).swap32();
}
