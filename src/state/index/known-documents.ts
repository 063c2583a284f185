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
}

interface Stores {
  readonly rows: RowStore;
  readonly runs: IndexRunStore;
  readonly entries: EntryStore;
}

/** How many identities are looked up between two pauses. */
const IDENTITIES_A_STEP = 1000;

/** Counts in steps. The caller makes sure that all steps read the same state of the ledger. */
export function* countKnown({ rows, runs, entries }: Stores): Generator<void, KnownDocuments> {
  const { live, quarantined, outdated } = rows.totals();
  const finished = runs.finished(null);
  let indexed = finished.reduce((sum, run) => sum + runs.entryCount(run), 0);
  // A document has an entry in at most one index, and its row takes precedence over the entry.
  const inRuns = new Finder(runs, finished);
  for (const some of inSteps((after) => rows.identitiesAfter(after, IDENTITIES_A_STEP))) {
    for (const identity of some) if (inRuns.find(identity) !== null) indexed -= 1;
    yield;
  }
  const inRunsAgain = new Finder(runs, finished);
  for (const some of inSteps((after) => rows.overriddenAfter(after, IDENTITIES_A_STEP))) {
    for (const identity of some) {
      const found = rows.find(identity) === null ? inRunsAgain.find(identity) : null;
      if (found !== null && rows.isOverridden(entries.read(found.block, found.at))) indexed -= 1;
    }
    yield;
  }
  return { source: live + indexed + quarantined, target: live + indexed + outdated };
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
