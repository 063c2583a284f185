/**
 * Counts the documents that the ledger knows: how many the source must have, and how many copies the target must have.
 * A feed without deletes shows everything else, so a side that has fewer documents than the ledger knows has lost some.
 * Invariant: a document counts once, by its row if it has one, and otherwise by its entry in the index. Memory does not
 * grow with the number of documents.
 */
import { HASH_BYTES } from '../../documents/hash.ts';
import type { EntryStore } from '../segments/segment-reader.ts';
import { findIdentity, INDEX_BYTES, prefixOf } from './entry.ts';
import type { IndexRunStore } from './runs.ts';
import type { RowStore } from '../rows.ts';

export interface KnownDocuments {
  /**
   * Documents that the mover has seen in the source, and has not seen deleted: live ones, and those with a dead letter.
   */
  readonly source: number;
  /** The copies of these documents in the target. A document with a dead letter has no copy, or an outdated one. */
  readonly target: number;
  /** Those of some given documents that are counted on both sides. */
  readonly live: readonly Buffer[];
}

interface Stores {
  readonly rows: RowStore;
  readonly runs: IndexRunStore;
  readonly entries: EntryStore;
}

/** How many identities are looked up between two pauses. */
const IDENTITIES_A_STEP = 1000;

/**
 * Counts in steps, and looks up `some` documents, in order. The caller makes sure that all steps read the same state of the
 * ledger.
 */
export function* countKnown(
  { rows, runs, entries }: Stores,
  some: readonly Buffer[],
): Generator<void, KnownDocuments> {
  const { live, quarantined, outdated } = rows.totals();
  const isVoid = (found: Found): boolean => rows.isOverridden(entries.read(found.block, found.at));
  const finished = runs.finished(null);
  let indexed = finished.reduce((sum, run) => sum + runs.entryCount(run), 0);
  // A document has an entry in at most one index, and its row takes precedence over the entry.
  const inRuns = new Finder(runs, finished);
  for (const those of inSteps((after) => rows.identitiesAfter(after, IDENTITIES_A_STEP))) {
    for (const identity of those) if (inRuns.find(identity) !== null) indexed -= 1;
    yield;
  }
  const inRunsAgain = new Finder(runs, finished);
  for (const those of inSteps((after) => rows.overriddenAfter(after, IDENTITIES_A_STEP))) {
    for (const identity of those) {
      const found = rows.find(identity) === null ? inRunsAgain.find(identity) : null;
      if (found !== null && isVoid(found)) indexed -= 1;
    }
    yield;
  }
  const inRunsOnceMore = new Finder(runs, finished);
  const isLive = (identity: Buffer): boolean => {
    const row = rows.find(identity);
    if (row !== null) return row.state === 'live';
    const found = inRunsOnceMore.find(identity);
    return found !== null && !isVoid(found);
  };
  const totals = { source: live + indexed + quarantined, target: live + indexed + outdated };
  return { ...totals, live: some.filter(isLive) };
}

/** All identities from `first` to `last`. */
export interface IdentitySpan {
  readonly first: Buffer;
  readonly last: Buffer;
}

/**
 * Yields the documents of a span that the ledger counts on both sides, except those that `isKnown` knows already. Of
 * these nothing else is read.
 */
export function* liveIn(
  { rows, runs, entries }: Stores,
  { first, last }: IdentitySpan,
  isKnown: (identity: Buffer) => boolean,
): Generator<Buffer> {
  for (const identity of rows.liveBetween(first, last)) if (!isKnown(identity)) yield identity;
  for (const run of runs.finished(null)) {
    for (const { block, at } of entriesIn(runs, run, { first, last })) {
      const identity = block.subarray(at, at + HASH_BYTES);
      if (isKnown(identity) || rows.find(identity) !== null) continue;
      if (!rows.isOverridden(entries.read(block, at))) yield Buffer.from(identity);
    }
  }
}

/** Yields the entries of a run whose identities are in a span. */
function* entriesIn(runs: IndexRunStore, run: number, { first, last }: IdentitySpan): Generator<Found> {
  const probe = Buffer.alloc(INDEX_BYTES);
  first.copy(probe);
  let block = runs.blockWith(run, probe) ?? runs.blockAfter(run, probe);
  while (block !== null) {
    const { data } = block;
    for (let at = 0; at < data.length; at += INDEX_BYTES) {
      if (data.compare(first, 0, HASH_BYTES, at, at + HASH_BYTES) < 0) continue;
      if (data.compare(last, 0, HASH_BYTES, at, at + HASH_BYTES) > 0) return;
      yield { block: data, at };
    }
    block = runs.blockAfter(run, data.subarray(0, INDEX_BYTES));
  }
}

/** Yields identities in order, some at a time. */
function* inSteps(read: (after: Buffer) => readonly Buffer[]): Generator<readonly Buffer[]> {
  for (let after: Buffer = Buffer.alloc(0); ;) {
    const some = read(after);
    const last = some.at(-1);
    if (last === undefined) return;
    yield some;
    after = last;
  }
}

interface Found {
  readonly block: Buffer;
  readonly at: number;
}

/**
 * Finds identities in finished index runs. The caller must ask for them in ascending order, since only the block that
 * was read last is kept of each run.
 */
class Finder {
  readonly #runs: readonly Blocks[];

  constructor(store: IndexRunStore, runs: readonly number[]) {
    this.#runs = runs.map((run) => new Blocks(store, run));
  }

  find(identity: Buffer): Found | null {
    const prefix = prefixOf(identity, 0);
    for (const run of this.#runs) {
      const found = run.find(identity, prefix);
      if (found !== null) return found;
    }
    return null;
  }
}

/** One run. Prefixes are compared first, which is several times faster than comparing bytes. */
class Blocks {
  readonly #store: IndexRunStore;
  readonly #run: number;
  readonly #probe = Buffer.alloc(INDEX_BYTES, 0xff);
  #block: Buffer = Buffer.alloc(0);
  /** The prefixes of the first and the last entry of the block. */
  #first = Infinity;
  #last = -Infinity;

  constructor(store: IndexRunStore, run: number) {
    this.#store = store;
    this.#run = run;
  }

  find(identity: Buffer, prefix: number): Found | null {
    // An identity with the prefix of the last entry may be in the next block.
    if (prefix < this.#first || prefix >= this.#last) this.#load(identity);
    const block = this.#block;
    if (prefix < this.#first || prefix > this.#last) return null;
    const at = findIdentity(block, identity);
    return at < 0 ? null : { block, at };
  }

  #load(identity: Buffer): void {
    identity.copy(this.#probe, 0, 0, HASH_BYTES);
    this.#block = this.#store.blockWith(this.#run, this.#probe)?.data ?? Buffer.alloc(0);
    const isEmpty = this.#block.length === 0;
    this.#first = isEmpty ? Infinity : prefixOf(this.#block, 0);
    this.#last = isEmpty ? -Infinity : prefixOf(this.#block, this.#block.length - INDEX_BYTES);
  }
}
