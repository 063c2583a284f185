/**
 * Which documents are not the same on both sides, from the runs on disk: nothing is read again. What always holds: every
 * document of an unequal bucket that has no equal on the other side is among the candidates, and so is the sample of the
 * guard wherever that sees a difference; memory does not grow with the number of documents.
 */
import { Buckets, bucketsOf, SHELVES, type Compared } from '../pass/buckets.ts';
import { ENTRY } from '../../documents/comparison-entries.ts';
import type { CandidateName } from './candidate-store.ts';
import { isSampled } from '../pass/json-cross-check.ts';
import { keyOf, placeText, readName } from '../document-name.ts';
import { damaged, entriesOf, type Entry, type Run } from '../pass/entry-chunks.ts';
import type { SideName } from '../../cosmos/side.ts';
import type { VerifyStore } from '../store.ts';

/** Entries in memory at a time; one bucket with more is still taken whole. */
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

/** How many documents a side has read again, just as they were. */
export type Repeated = Record<SideName, number>;

/** Lists the candidates; gives what was read more than once, which is what makes buckets unequal after a merge. */
export async function listCandidates(listing: Listing): Promise<Repeated> {
  const { store, sums, signal } = listing;
  const proof = new Recount(sums);
  const repeated = { source: 0, target: 0 };
  for (let shelf = 0; shelf < SHELVES; shelf += 1) {
    const buckets = unequalOf(sums, shelf);
    for (const some of inGroups(buckets, sums)) {
      signal.throwIfAborted();
      store.candidates.add(candidatesIn(some, { shelf, listing, proof, repeated }));
      // Others have waited long enough.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
  return repeated;
}

/** Lists every document of the runs, where they hold only what has changed: nothing tells those that are equal. */
export async function listAll({ store, sums, sourceLevels, signal }: Listing): Promise<Repeated> {
  const proof = new Recount(sums);
  for (let shelf = 0; shelf < SHELVES; shelf += 1) {
    signal.throwIfAborted();
    const found = new Map<string, Alone>();
    for (const side of ['source', 'target'] as const)
      for (const run of store.runs(side, shelf))
        for (const entry of entriesOf(run, () => true)) {
          proof.see(side, { run, entry });
          note(found, entry);
        }
    proof.check(bucketsOf(shelf));
    store.candidates.add(namedIn(found, sourceLevels));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { source: 0, target: 0 };
}

/** What runs hold of buckets, summed again: it is what was summed when the pages were read, or nobody can rely on it. */
class Recount {
  readonly #sums: Sums;
  readonly #found = { source: new Buckets(), target: new Buckets() };

  constructor(sums: Sums) {
    this.#sums = sums;
  }

  see(side: SideName, { run, entry }: { readonly run: Run; readonly entry: Entry }): void {
    const at = entry.at + ENTRY.contribution;
    this.#found[side].add(entry.bucket, { sizeBytes: 0, hash: run.words, at });
  }

  check(buckets: Iterable<number>): void {
    for (const bucket of buckets)
      for (const side of ['source', 'target'] as const)
        if (!this.#found[side].isSumOf(this.#sums[side], bucket)) throw damaged();
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

/** Buckets that are not the same on both sides. */
type Unequal = ReadonlyMap<number, Compared>;

function unequalOf({ source, target }: Sums, shelf: number): Unequal {
  const found = new Map<number, Compared>();
  for (const bucket of bucketsOf(shelf)) {
    const compared = source.compare(target, bucket);
    if (compared.isUnequal || compared.isDoubted) found.set(bucket, compared);
  }
  return found;
}

/** As many buckets at a time as fit into memory. */
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

/** Entries of one identity that have no equal on the other side. */
interface Alone {
  readonly identity: Buffer;
  readonly names: Buffer[];
}

interface Finding {
  readonly shelf: number;
  readonly listing: Listing;
  readonly proof: Recount;
  /** Counted on. */
  readonly repeated: Repeated;
}

function* candidatesIn(
  buckets: Unequal,
  { shelf, listing, proof, repeated }: Finding,
): Generator<{ readonly identity: Buffer; readonly name: CandidateName }> {
  const { store, sourceLevels } = listing;
  /** The source's, by who and what; those of the target take theirs away. */
  const entries = new Map<string, Buffer>();
  const alone = new Map<string, Alone>();
  const stands = (entry: Pick<Entry, 'identity' | 'name'>): void => note(alone, entry);
  const each = (side: SideName, see: (entry: Entry, key: string) => void): void => {
    for (const run of store.runs(side, shelf)) {
      for (const entry of entriesOf(run, (bucket) => buckets.has(bucket))) {
        proof.see(side, { run, entry });
        const { identity, contribution } = entry;
        // JSON.parse reads another document than the scan: all of the sample is looked at, also what seems equal.
        const isDoubted =
          buckets.get(entry.bucket)?.isDoubted === true && isSampled(run.words, entry.at + ENTRY.identity);
        if (isDoubted) stands(entry);
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
    else if (!entries.delete(key)) stands(entry);
    seen.add(key);
  });
  proof.check(buckets.keys());
  for (const [key, name] of entries) stands({ identity: Buffer.from(key.slice(0, 16), 'latin1'), name });
  yield* namedIn(alone, sourceLevels);
}

/** One name for all that was seen of a document. One place may be spelled in several ways, and is one all the same. */
function joined(names: ReturnType<typeof readName>[]): CandidateName {
  const [first] = names;
  const keys = new Map(
    names
      .filter(({ targetKey }) => targetKey.length > 0)
      .map(({ targetKey }) => [placeText(keyOf(targetKey)), targetKey] as const),
  );
  return { id: first?.id ?? '""', sourceKey: first?.sourceKey ?? [], targetKeys: [...keys.values()] };
}
