/**
 * Finds the documents that may differ, from the entries on disk, without reading a container again. Invariant: in a
 * bucket whose sums differ, every document without an equal entry on the other side becomes a candidate; in a bucket
 * whose cross-checks differ, every sampled document does. Memory does not grow with the number of documents.
 */
import { Buckets, bucketsOf, SHELVES, type Compared } from '../pass/buckets.ts';
import { ENTRY } from '../../documents/comparison-entries.ts';
import type { CandidateName } from './candidate-store.ts';
import { isSampled } from '../pass/json-cross-check.ts';
import { parseKey, keyText, readName } from '../document-name.ts';
import { damaged, entriesOf, type ChunkEntry, type EntryChunk } from '../pass/entry-chunks.ts';
import type { SideName } from '../../cosmos/side.ts';
import type { VerifyStore } from '../store.ts';

/** How many entries are in memory at a time. A single bucket with more entries is still processed as a whole. */
const ENTRIES_MAX = 40_000;

interface Sums {
  readonly source: Buckets;
  readonly target: Buckets;
}

export interface Listing {
  readonly store: VerifyStore;
  readonly sums: Sums;
  readonly sourceLevels: number;
  readonly signal: AbortSignal;
}

/** How many documents the pass over each side read twice, without a change of the document in between. */
export type Repeated = Record<SideName, number>;

/**
 * Lists the candidates of unequal buckets. Returns how many documents were read twice: after a merge of ranges,
 * documents that were read twice make buckets unequal although no document differs.
 */
export async function listCandidates(listing: Listing): Promise<Repeated> {
  const { store, sums, signal } = listing;
  const recount = new Recount(sums);
  const repeated = { source: 0, target: 0 };
  for (let shelf = 0; shelf < SHELVES; shelf += 1) {
    const buckets = unequalOf(sums, shelf);
    for (const some of inGroups(buckets, sums)) {
      signal.throwIfAborted();
      store.candidates.add(candidatesIn(some, { shelf, listing, recount, repeated }));
      // Other asynchronous work runs here, such as the handling of Ctrl-C.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
  return repeated;
}

/**
 * Lists every document that has an entry as a candidate. Used where only changes were read: an equal bucket then proves
 * nothing about the documents in it.
 */
export async function listAll({ store, sums, sourceLevels, signal }: Listing): Promise<Repeated> {
  const recount = new Recount(sums);
  for (let shelf = 0; shelf < SHELVES; shelf += 1) {
    signal.throwIfAborted();
    const found = new Map<string, Unmatched>();
    for (const side of ['source', 'target'] as const)
      for (const chunk of store.entries(side, shelf))
        for (const entry of entriesOf(chunk, () => true)) {
          recount.see(side, { chunk, entry });
          note(found, entry);
        }
    recount.check(bucketsOf(shelf));
    store.candidates.add(namedIn(found, sourceLevels));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { source: 0, target: 0 };
}

/** Adds up the entries on disk again. If the result differs from the sums of the pass, the chunk file is damaged. */
class Recount {
  readonly #sums: Sums;
  readonly #found = { source: new Buckets(), target: new Buckets() };

  constructor(sums: Sums) {
    this.#sums = sums;
  }

  see(side: SideName, { chunk, entry }: { readonly chunk: EntryChunk; readonly entry: ChunkEntry }): void {
    const at = entry.at + ENTRY.contribution;
    this.#found[side].add(entry.bucket, { sizeBytes: 0, hash: chunk.words, at });
  }

  check(buckets: Iterable<number>): void {
    for (const bucket of buckets)
      for (const side of ['source', 'target'] as const)
        if (!this.#found[side].isSumOf(this.#sums[side], bucket)) throw damaged();
  }
}

function note(
  found: Map<string, Unmatched>,
  { identity, name }: Pick<ChunkEntry, 'identity' | 'name'>,
): void {
  const key = identity.toString('latin1');
  const known = found.get(key) ?? { identity: Buffer.from(identity), names: [] };
  known.names.push(Buffer.from(name));
  found.set(key, known);
}

function* namedIn(
  found: ReadonlyMap<string, Unmatched>,
  sourceLevels: number,
): Generator<{ readonly identity: Buffer; readonly name: CandidateName }> {
  for (const { identity, names } of found.values())
    yield { identity, name: joined(names.map((name) => readName(name, sourceLevels))) };
}

/** The buckets that differ, by number. */
type Unequal = ReadonlyMap<number, Compared>;

function unequalOf({ source, target }: Sums, shelf: number): Unequal {
  const found = new Map<number, Compared>();
  for (const bucket of bucketsOf(shelf)) {
    const compared = source.compare(target, bucket);
    if (compared.isUnequal || compared.isDoubted) found.set(bucket, compared);
  }
  return found;
}

/** Yields the buckets in groups whose entries fit into memory. */
function* inGroups(buckets: Unequal, { source, target }: Sums): Generator<Unequal> {
  let some = new Map<number, Compared>();
  let entries = 0;
  for (const [bucket, compared] of buckets) {
    const more = source.documents(bucket) + target.documents(bucket);
    if (some.size > 0 && entries + more > ENTRIES_MAX) {
      yield some;
      some = new Map();
      entries = 0;
    }
    some.set(bucket, compared);
    entries += more;
  }
  if (some.size > 0) yield some;
}

/** The names in the entries of one identity that have no equal entry on the other side. */
interface Unmatched {
  readonly identity: Buffer;
  readonly names: Buffer[];
}

interface Finding {
  readonly shelf: number;
  readonly listing: Listing;
  readonly recount: Recount;
  /** The counters of documents that were read twice; candidatesIn() increments them. */
  readonly repeated: Repeated;
}

function* candidatesIn(
  buckets: Unequal,
  { shelf, listing, recount, repeated }: Finding,
): Generator<{ readonly identity: Buffer; readonly name: CandidateName }> {
  const { store, sourceLevels } = listing;
  /**
   * The names in source entries, by identity and contribution. An equal entry of the target removes the source entry.
   */
  const entries = new Map<string, Buffer>();
  const unmatched = new Map<string, Unmatched>();
  const keep = (entry: Pick<ChunkEntry, 'identity' | 'name'>): void => note(unmatched, entry);
  const each = (side: SideName, see: (entry: ChunkEntry, key: string) => void): void => {
    for (const chunk of store.entries(side, shelf)) {
      for (const entry of entriesOf(chunk, (bucket) => buckets.has(bucket))) {
        recount.see(side, { chunk, entry });
        const { identity, contribution } = entry;
        // The cross-checks of this bucket differ, so every sampled document is checked again, even if its entries are
        // equal.
        const isDoubted =
          buckets.get(entry.bucket)?.isDoubted === true && isSampled(chunk.words, entry.at + ENTRY.identity);
        if (isDoubted) keep(entry);
        see(entry, identity.toString('latin1') + contribution.toString('latin1'));
      }
    }
  };
  each('source', ({ name }, key) => {
    if (entries.has(key)) repeated.source += 1;
    else entries.set(key, Buffer.from(name));
  });
  const seen = new Set<string>();
  each('target', (entry, key) => {
    if (seen.has(key)) repeated.target += 1;
    else if (!entries.delete(key)) keep(entry);
    seen.add(key);
  });
  recount.check(buckets.keys());
  for (const [key, name] of entries) keep({ identity: Buffer.from(key.slice(0, 16), 'latin1'), name });
  yield* namedIn(unmatched, sourceLevels);
}

/** Joins several names of one document. Target keys that are equal but written differently in JSON are kept once. */
function joined(names: ReturnType<typeof readName>[]): CandidateName {
  const [first] = names;
  const keys = new Map(
    names
      .filter(({ targetKey }) => targetKey.length > 0)
      .map(({ targetKey }) => [keyText(parseKey(targetKey)), targetKey] as const),
  );
  return { id: first?.id ?? '""', sourceKey: first?.sourceKey ?? [], targetKeys: [...keys.values()] };
}
