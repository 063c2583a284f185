/**
 * Counts the documents that the ledger knows: how many the source must have, and how many copies the target must have.
 * A feed without deletes shows everything else, so a side that has fewer documents than this has lost some. Invariant: a
 * document counts once, by its row if it has one, and otherwise by its entry in the index. Memory does not grow with the
 * number of documents.
 */
import { HASH_BYTES } from '../../documents/hash.ts';
import type { EntryStore } from '../segments/segment-reader.ts';
import { findIdentity, INDEX_BYTES } from './entry.ts';
import type { IndexRunStore } from './runs.ts';
import type { RowStore } from '../rows.ts';

export interface KnownDocuments {
  /** Documents that the mover has seen in the source, and whose delete it has not: live ones, and those with a letter. */
  readonly source: number;
  /** Their copies. A document with a dead letter has none, or an outdated one. */
  readonly target: number;
}

interface Stores {
  readonly rows: RowStore;
  readonly runs: IndexRunStore;
  readonly entries: EntryStore;
}

/** How many identities are looked up between two pauses. */
const IDENTITIES_A_STEP = 1000;

/** Counts in steps; the caller sees to it that all steps read the same state of the ledger. */
export function* countKnown({ rows, runs, entries }: Stores): Generator<void, KnownDocuments> {
  const { live, quarantined, outdated } = rows.totals();
  let indexed = 0;
  for (const run of runs.finished(null)) {
    indexed += runs.entryCount(run);
    const blocks = new Blocks(runs, run);
    // The row of a document takes precedence over its entry.
    for (const identity of inSteps((after) => rows.identitiesAfter(after, IDENTITIES_A_STEP))) {
      if (identity === null) yield;
      else if (blocks.find(identity) !== null) indexed -= 1;
    }
    for (const identity of inSteps((after) => rows.overriddenAfter(after, IDENTITIES_A_STEP))) {
      if (identity === null) {
        yield;
        continue;
      }
      const found = rows.find(identity) === null ? blocks.find(identity) : null;
      if (found !== null && rows.isOverridden(entries.read(found.block, found.at))) indexed -= 1;
    }
  }
  return { source: live + indexed + quarantined, target: live + indexed + outdated };
}

/** Yields identities in order, and null after each step. */
function* inSteps(read: (after: Buffer) => readonly Buffer[]): Generator<Buffer | null> {
  for (let after: Buffer = Buffer.alloc(0); ;) {
    const some = read(after);
    yield* some;
    const last = some.at(-1);
    if (last === undefined) return;
    after = last;
    yield null;
  }
}

/** Finds identities in a finished index run. Keeps the block that was read last, since identities come in order. */
class Blocks {
  readonly #runs: IndexRunStore;
  readonly #run: number;
  readonly #probe = Buffer.alloc(INDEX_BYTES, 0xff);
  #block: Buffer | undefined;

  constructor(runs: IndexRunStore, run: number) {
    this.#runs = runs;
    this.#run = run;
  }

  find(identity: Buffer): { readonly block: Buffer; readonly at: number } | null {
    if (this.#block === undefined || !isWithin(this.#block, identity)) {
      identity.copy(this.#probe, 0, 0, HASH_BYTES);
      this.#block = this.#runs.blockWith(this.#run, this.#probe)?.data;
    }
    const block = this.#block;
    const at = block === undefined ? -1 : findIdentity(block, identity);
    return block === undefined || at < 0 ? null : { block, at };
  }
}

/** Whether an identity is not before the first and not behind the last of a block. */
function isWithin(block: Buffer, identity: Buffer): boolean {
  const last = block.length - INDEX_BYTES;
  return identity.compare(block, 0, HASH_BYTES) >= 0 && identity.compare(block, last, last + HASH_BYTES) <= 0;
}
