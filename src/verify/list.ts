/**
 * Which documents are not the same on both sides, from the runs on disk: nothing is read again. What always holds: every
 * document of an unequal bucket that has no equal on the other side is among the candidates, and memory does not grow
 * with the number of documents.
 */
import { BUCKETS, bucketOf, type Buckets } from './buckets.ts';
import type { CandidateName } from './candidate-store.ts';
import { isSampled } from './guard.ts';
import { readName } from './names.ts';
import { entriesOf, shelfOf, SHELVES, type Entry } from './runs.ts';
import type { SideName } from './sides.ts';
import type { VerifyStore } from './store.ts';

/** Entries in memory at a time; one bucket with more is still taken whole. */
const ENTRIES_MAX = 200_000;

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

/** Lists the candidates; gives how many buckets were unequal. */
export async function listCandidates(listing: Listing): Promise<number> {
  const { store, sums, signal } = listing;
  let unequal = 0;
  for (let shelf = 0; shelf < SHELVES; shelf += 1) {
    const buckets = unequalOf(sums, shelf);
    unequal += buckets.size;
    for (const some of inGroups(buckets, sums)) {
      signal.throwIfAborted();
      store.candidates.add(candidatesIn(some, { shelf, listing }));
      // Others have waited long enough.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
  return unequal;
}

/** Lists every document of the runs, where they hold only what has changed: nothing tells those that are equal. */
export async function listAll({ store, sourceLevels, signal }: Omit<Listing, 'sums'>): Promise<void> {
  for (let shelf = 0; shelf < SHELVES; shelf += 1) {
    signal.throwIfAborted();
    const found = new Map<string, Alone>();
    for (const side of ['source', 'target'] as const)
      for (const run of store.runs(side, shelf)) for (const entry of entriesOf(run)) note(found, entry);
    store.candidates.add(namedIn(found, sourceLevels));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function note(found: Map<string, Alone>, { identity, name }: Pick<Entry, 'identity' | 'name'>): void {
  const key = identity.toString('latin1');
  const known = found.get(key) ?? { identity: Buffer.from(identity), names: [] };
  known.names.push(Buffer.from(name));
  found.set(key, known);
}

function* namedIn(
  found: ReadonlyMap<string, Alone>,
  sourceLevels: number,
): Generator<{ readonly identity: Buffer; readonly name: CandidateName }> {
  for (const { identity, names } of found.values())
    yield { identity, name: joined(names.map((name) => readName(name, sourceLevels))) };
}

type Unequal = ReadonlyMap<number, 'unequal' | 'guard'>;

function unequalOf({ source, target }: Sums, shelf: number): Unequal {
  const found = new Map<number, 'unequal' | 'guard'>();
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    if (shelfOf(bucket) !== shelf) continue;
    const compared = source.compare(target, bucket);
    if (compared !== 'equal') found.set(bucket, compared);
  }
  return found;
}

/** As many buckets at a time as fit into memory. */
function* inGroups(buckets: Unequal, { source, target }: Sums): Generator<Unequal> {
  let some = new Map<number, 'unequal' | 'guard'>();
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

/** Entries of one identity that have no equal on the other side. */
interface Alone {
  readonly identity: Buffer;
  readonly names: Buffer[];
}

function* candidatesIn(
  buckets: Unequal,
  { shelf, listing }: { readonly shelf: number; readonly listing: Listing },
): Generator<{ readonly identity: Buffer; readonly name: CandidateName }> {
  const { store, sourceLevels } = listing;
  const words = new Uint32Array(4);
  /** The source's, by who and what; those of the target take theirs away. */
  const entries = new Map<string, Buffer>();
  const alone = new Map<string, Alone>();
  const stands = (entry: Pick<Entry, 'identity' | 'name'>): void => note(alone, entry);
  const each = (side: SideName, see: (entry: Entry, key: string) => void): void => {
    for (const run of store.runs(side, shelf)) {
      for (const entry of entriesOf(run)) {
        for (let i = 0; i < 4; i += 1) words[i] = entry.identity.readUInt32LE(4 * i);
        const compared = buckets.get(bucketOf(words, 0));
        if (compared === undefined) continue;
        // The sums are equal, and still JSON.parse reads another document: all of the sample is looked at.
        if (compared === 'guard' && isSampled(words, 0)) stands(entry);
        else see(entry, run.toString('latin1', entryAt(run, entry), entryAt(run, entry) + 32));
      }
    }
  };
  each('source', ({ name }, key) => entries.set(key, Buffer.from(name)));
  each('target', (entry, key) => {
    if (!entries.delete(key)) stands(entry);
  });
  for (const [key, name] of entries) stands({ identity: Buffer.from(key.slice(0, 16), 'latin1'), name });
  yield* namedIn(alone, sourceLevels);
}

function entryAt(run: Buffer, { identity }: Entry): number {
  return identity.byteOffset - run.byteOffset;
}

/** One name for all that was seen of a document. */
function joined(names: ReturnType<typeof readName>[]): CandidateName {
  const [first] = names;
  const keys = new Map(
    names
      .filter(({ targetKey }) => targetKey.length > 0)
      .map(({ targetKey }) => [JSON.stringify(targetKey), targetKey] as const),
  );
  return { id: first?.id ?? '""', sourceKey: first?.sourceKey ?? [], targetKeys: [...keys.values()] };
}
