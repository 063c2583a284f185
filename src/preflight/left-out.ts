/**
 * Finds the documents that are in the source alone because the operator has discarded their dead letters. Invariant:
 * nothing is written, and a document counts as left out unless a read has shown that it is gone from the source, or that
 * the target has it.
 */
import { readAll, type DocumentAddress } from '../cosmos/bulk/point-reads.ts';
import type { Side, SideName } from '../cosmos/side.ts';
import { hashToBytes } from '../documents/hash.ts';
import { replyScan } from '../documents/page-scan.ts';
import { Placement } from '../keys/placement.ts';
import { rekeyPaths, type RekeyOptions } from '../keys/rekey.ts';
import type { Clock } from '../lib/clock.ts';
import { keyLevels, type Letter } from '../state/dead-letters.ts';
import type { Ledger } from '../state/ledger.ts';

interface LeftOutParts {
  readonly ledger: Pick<Ledger, 'letters' | 'rows' | 'tokens' | 'targetTokens'>;
  /** Opens a container for reads. Called only if there are documents to read. */
  readonly open: (is: SideName) => Promise<Side>;
  readonly rekey: Pick<RekeyOptions, 'plan'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A letter whose document has no copy in the target, as far as the ledger knows. */
interface Waived {
  readonly letter: Letter;
  /** Whether an older version of the document may be in the target. */
  readonly hasOldCopy: boolean;
}

interface Sides {
  readonly source: Side;
  readonly target: Side;
}

/** How many documents are read at a time. Their contents are not kept. */
const AT_ONCE = 200;

/** Returns how many documents are left out, and the letters of the first `namedMax` of them. */
export async function leftOut(
  parts: LeftOutParts,
  namedMax: number,
): Promise<{ readonly count: number; readonly first: readonly Letter[] }> {
  const { ledger } = parts;
  let count = 0;
  const first: Letter[] = [];
  let sides: Sides | undefined;
  for (const waived of inLists(ledger)) {
    sides ??= await openBoth(parts);
    const left = await notInTarget(await stillInSource(waived, sides, parts), sides, parts);
    count += left.length;
    first.push(...left.map(({ letter }) => letter).slice(0, namedMax - first.length));
  }
  return { count, first };
}

async function openBoth({ open, ledger }: LeftOutParts): Promise<Sides> {
  const [source, target] = await Promise.all([open('source'), open('target')]);
  // With these tokens no replica answers that lacks what the tail has seen.
  for (const { token } of ledger.tokens.all()) source.sessions.add(token);
  for (const { token } of ledger.targetTokens.all()) target.sessions.add(token);
  return { source, target };
}

function* inLists({ letters, rows }: LeftOutParts['ledger']): Generator<Waived[]> {
  const seen = new Set<string>();
  for (const list of letters.inLists('discarded', AT_ONCE)) {
    const waived: Waived[] = [];
    for (const letter of list) {
      const row = rows.find(letter.identity);
      const name = letter.identity.toString('latin1');
      // A document that was moved or deleted since has another state. Of several letters of a document one is enough.
      if (row?.state !== 'quarantined' || seen.has(name)) continue;
      seen.add(name);
      waived.push({ letter, hasOldCopy: row.slot !== null });
    }
    if (waived.length > 0) yield waived;
  }
}

async function stillInSource(
  waived: readonly Waived[],
  { source }: Sides,
  { clock, signal }: LeftOutParts,
): Promise<Waived[]> {
  const addresses = waived.map(({ letter }) => addressOf(letter, letter.sourceKey));
  const reads = { side: source, replies: replyScan([]), keep: () => true, clock };
  const answers = await readAll(addresses, reads, signal);
  return waived.filter((_, at) => answers[at]?.value !== 'gone');
}

/** Returns the documents that no other process has put into the target. */
async function notInTarget(
  waived: readonly Waived[],
  { target }: Sides,
  { rekey, clock, signal }: LeftOutParts,
): Promise<Waived[]> {
  const replies = replyScan(rekeyPaths(rekey.plan));
  const placement = new Placement(replies, rekey.plan);
  const keep = (row: number): Buffer => {
    placement.read(row);
    return hashToBytes(placement.hashes);
  };
  // A document with an old copy is not in the target as it is in the source.
  const looked = waived.flatMap((one) => {
    const { targetKey } = one.letter;
    return targetKey === null || one.hasOldCopy ? [] : [{ one, address: addressOf(one.letter, targetKey) }];
  });
  const addresses = looked.map(({ address }) => address);
  const answers = await readAll(addresses, { side: target, replies, keep, clock }, signal);
  const isThere = looked.filter(({ one }, at) => {
    const found = answers[at]?.value;
    return typeof found === 'object' && found.equals(one.letter.identity);
  });
  const there = new Set(isThere.map(({ one }) => one));
  return waived.filter((one) => !there.has(one));
}

function addressOf({ id }: Letter, key: string): DocumentAddress {
  return { id: Buffer.from(id), key: keyLevels(key) };
}
