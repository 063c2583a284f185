/**
 * Finds the documents that may differ, from the entries on disk, without reading a container again. Invariant: in a
 * bucket whose sums differ, every document without an equal entry on the other side becomes a candidate. In a bucket
 * whose cross-checks differ, every sampled document becomes a candidate. Where copies must expire with their originals,
 * every document whose instants of expiry differ becomes a candidate, even if the sums are equal. Memory does not grow
 * with the number of documents.
 */
import { Buckets, bucketsOf, SHELVES, type Compared } from '../pass/buckets.ts';
import { ENTRY } from '../../documents/comparison-entries.ts';
import type { CandidateName } from './candidate-store.ts';
import { isSampled } from '../pass/json-cross-check.ts';
import { parseKey, keyText, readName } from '../document-name.ts';
import { Instants, isNear } from './instants.ts';
import { damaged, entriesOf, type ChunkEntry, type EntryChunk } from '../pass/entry-chunks.ts';
import type { SideName } from '../../cosmos/side.ts';
import type { VerifyStore } from '../store.ts';

/** How many entries are in memory at a time. A single bucket with more entries is still processed as a whole. */
const ENTRIES_MAX = 40_000;
/** How many instants are in memory at a time, at about 50 bytes each. A single bucket may have more. */
const INSTANTS_MAX = 200_000;

interface Sums {
  readonly source: Buckets;
  readonly target: Buckets;
}

export interface Listing {
  readonly store: VerifyStore;
  readonly sums: Sums;
  readonly sourceLevels: number;
  /** Whether the entries end with the instants of expiry (pass/expiry.ts). These are in no sum. */
  readonly hasInstants: boolean;
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
  // During a pause other asynchronous work runs, such as the handling of Ctrl-C.
  const pause = async (): Promise<void> => new Promise<void>((resolve) => setImmediate(resolve));
  for (let shelf = 0; shelf < SHELVES; shelf += 1) {
    const buckets = unequalOf(sums, shelf);
    for (const some of inGroups(buckets, sums)) {
      signal.throwIfAborted();
      store.candidates.add(candidatesIn(some, { shelf, listing, recount, repeated }));
      await pause();
    }
    if (!listing.hasInstants) continue;
    for (const some of equalGroups(buckets, shelf, sums)) {
      signal.throwIfAborted();
      store.candidates.add(expiringOtherwise(some, { shelf, listing, recount }));
      await pause();
    }
  }
  return repeated;
}

/**
 * Makes every document that has an entry a candidate. Used where only changes were read: an equal bucket then proves
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
export class Recount {
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

/** Yields the buckets whose sums are equal, in groups whose instants fit into memory. */
function* equalGroups(unequal: Unequal, shelf: number, { source }: Sums): Generator<ReadonlySet<number>> {
  let some = new Set<number>();
  let documents = 0;
  for (const bucket of bucketsOf(shelf)) {
    const more = source.documents(bucket);
    if (more === 0 || unequal.has(bucket)) continue;
    if (documents > 0 && documents + more > INSTANTS_MAX) {
      yield some;
      some = new Set();
      documents = 0;
    }
    some.add(bucket);
    documents += more;
  }
  if (documents > 0) yield some;
}

/** Yields the documents of equal buckets whose copies expire at another time than their originals. */
function* expiringOtherwise(
  buckets: ReadonlySet<number>,
  { shelf, listing, recount }: Omit<Finding, 'repeated'>,
): Generator<{ readonly identity: Buffer; readonly name: CandidateName }> {
  const { store, sums, sourceLevels } = listing;
  const found = new Map<string, Unmatched>();
  const documents = [...buckets].reduce((sum, bucket) => sum + sums.source.documents(bucket), 0);
  const instants = new Instants(documents);
  for (const side of ['source', 'target'] as const) {
    for (const chunk of store.entries(side, shelf)) {
      for (const entry of entriesOf(chunk, (bucket) => buckets.has(bucket))) {
        recount.see(side, { chunk, entry });
        const at = entry.at + ENTRY.identity;
        const isSame =
          side === 'source'
            ? instants.add(chunk.words, at, entry.lastWord)
            : instants.isNear(chunk.words, at, entry.lastWord);
        if (!isSame) note(found, entry);
      }
    }
  }
  recount.check(buckets);
  yield* namedIn(found, sourceLevels);
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

interface SourceEntry {
  readonly name: Buffer;
  readonly lastWord: number;
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
  const entries = new Map<string, SourceEntry>();
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
  each('source', (entry, key) => {
    const { name, lastWord } = entry;
    const known = entries.get(key);
    if (known === undefined) entries.set(key, { name: Buffer.from(name), lastWord });
    else {
      repeated.source += 1;
      // The document was read twice, before and after it was written again with the same content.
      if (known.lastWord !== lastWord) keep(entry);
    }
  });
  const seen = new Set<string>();
  each('target', (entry, key) => {
    const original = entries.get(key);
    if (seen.has(key)) repeated.target += 1;
    else if (original === undefined) keep(entry);
    else if (listing.hasInstants && !isNear(original.lastWord, entry.lastWord)) keep(entry);
    entries.delete(key);
    seen.add(key);
  });
  recount.check(buckets.keys());
  for (const [key, { name }] of entries) keep({ identity: Buffer.from(key.slice(0, 16), 'latin1'), name });
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
