/**
 * Builds an index by an external merge sort over its segments:
 *
 *   collect   up to 65,536 entries are sorted in memory and become a run of level 0, until every segment is scanned
 *   merge     up to 64 runs of the lowest level become one run of the next level, until one run is left
 *   done      the last run is the index
 *
 * A step takes a few milliseconds and at most one transaction, so that the event loop stays responsive. Invariant: a
 * crash loses only what is in memory. The progress is written together with the runs, and a merged block is deleted in
 * the transaction that writes its entries elsewhere. Memory does not grow with the number of documents.
 */
import { assert, must } from '../../lib/assert.ts';
import type { EntryStore } from '../segments/segment-reader.ts';
import { compareEntries, INDEX_BYTES, prefixOf, SORTED_MAX, sortEntries, writeIndexEntry } from './entry.ts';
import type { BuildState, IndexRunStore } from './runs.ts';
import { IndexWriter } from './merge-writer.ts';
import { markAt } from '../segments/outcome-numbers.ts';
import type { RowStore } from '../rows.ts';
import { SEGMENT_ENTRIES_MAX } from '../segments/segment.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';

/** The sizes of a step and of a run. */
export interface BuildSizes {
  /** Entries that are sorted at once; at most 65,536. */
  readonly runEntries: number;
  readonly segmentsAStep: number;
  readonly blocksAStep: number;
}

/** A step reads 8,192 entries or merges 8,736, which takes a few milliseconds. */
const SIZES: BuildSizes = { runEntries: SORTED_MAX, segmentsAStep: 32, blocksAStep: 48 };
/**
 * How many runs are merged at once. One block of each is in memory, 256 KB in all. 64 runs hold four million documents,
 * so two passes are enough for 268 million.
 */
const FAN_IN = 64;

interface Stores {
  readonly transactions: Transactions;
  readonly runs: IndexRunStore;
  readonly entries: EntryStore;
  readonly rows: RowStore;
}

export class IndexBuild {
  readonly #stores: Stores;
  readonly #indexId: number;
  readonly #sizes: BuildSizes;
  #state: BuildState;
  /** Entries that were collected and are not sorted yet. */
  #collected: Buffer;
  #count = 0;
  #scannedTo: number;
  /** Sorted entries that are being written to a run. */
  #writing: Writing | undefined;
  #merge: Merge | undefined;

  constructor(stores: Stores, indexId: number, sizes = SIZES) {
    assert(sizes.runEntries <= SORTED_MAX, 'a sort takes at most 65,536 entries');
    this.#stores = stores;
    this.#indexId = indexId;
    this.#sizes = sizes;
    assert(
      !stores.runs.hasOpenSegments(indexId),
      'an index is built when every page of its leases is committed',
    );
    stores.transactions.run(() => stores.runs.begin(indexId));
    this.#state = must(stores.runs.state(indexId), 'a build that has begun has a state');
    this.#scannedTo = this.#state.scannedTo;
    this.#dropUnfinished();
    this.#collected = Buffer.alloc((sizes.runEntries + SEGMENT_ENTRIES_MAX) * INDEX_BYTES);
  }

  get phase(): BuildState['phase'] {
    return this.#state.phase;
  }

  /** Does one step and returns false when the index is finished. After an error the caller must create a new build. */
  step(): boolean {
    switch (this.#state.phase) {
      case 'collect':
        this.#collect();
        return true;
      case 'merge':
        this.#stores.transactions.run(() => this.#mergeMore());
        return this.#state.phase !== ('done' as string);
      case 'done':
        return false;
    }
  }

  #collect(): void {
    const { entries, transactions } = this.#stores;
    if (this.#writing !== undefined) {
      transactions.run(() => this.#writeMore());
      return;
    }
    const segments = transactions.read(() =>
      entries.after({ indexId: this.#indexId, after: this.#scannedTo, limit: this.#sizes.segmentsAStep }),
    );
    for (const segment of segments) {
      const { count, data } = segment;
      for (let position = 0; position < count; position += 1) {
        if (markAt(segment, count, position) === 0) continue;
        writeIndexEntry(
          data,
          { segment: segment.number, position },
          this.#collected,
          this.#count * INDEX_BYTES,
        );
        this.#count += 1;
      }
      this.#scannedTo = segment.number;
      // The segments after this one are read again when the run is written.
      if (this.#count + SEGMENT_ENTRIES_MAX > this.#sizes.runEntries) return this.#beginRun('collect');
    }
    if (segments.length < this.#sizes.segmentsAStep) this.#beginRun('merge');
  }

  #beginRun(next: BuildState['phase']): void {
    const sorted = sortEntries(this.#collected, this.#count);
    this.#count = 0;
    this.#writing = { next, sorted, at: 0, writer: undefined };
  }

  /** Writes more blocks of a run. The segments of the run count as scanned only when its last block is written. */
  #writeMore(): void {
    const { runs } = this.#stores;
    const writing = must(this.#writing, 'a run is being written');
    const { sorted, next } = writing;
    if (sorted.length > 0) {
      if (writing.writer === undefined) {
        const output = runs.addRun(this.#indexId, 0);
        writing.writer = new IndexWriter(this.#stores, { indexId: this.#indexId, run: output });
        this.#keep({ ...this.#state, output });
      }
      const { writer } = writing;
      const end = writer.blocks + this.#sizes.blocksAStep;
      for (; writing.at < sorted.length && writer.blocks < end; writing.at += INDEX_BYTES)
        writer.add(sorted, writing.at);
      if (writing.at < sorted.length) return;
      writer.finish();
    }
    this.#keep({ phase: next, scannedTo: this.#scannedTo, output: null, consumed: null });
    this.#writing = undefined;
  }

  /** Drops a run of the collect phase that a crash left unfinished. It is then written from scratch. */
  #dropUnfinished(): void {
    const { phase, output } = this.#state;
    if (phase !== 'collect' || output === null) return;
    this.#stores.transactions.run(() => {
      this.#stores.runs.dropRun(output);
      this.#keep({ ...this.#state, output: null });
    });
  }

  #mergeMore(): void {
    const { runs } = this.#stores;
    this.#merge ??= this.#openMerge();
    const merge = this.#merge;
    if (merge === undefined) {
      this.#keep({ ...this.#state, phase: 'done', output: null, consumed: null });
      this.#collected = Buffer.alloc(0);
      return;
    }
    if (merge.advance(this.#sizes.blocksAStep)) {
      this.#keep({ ...this.#state, consumed: Buffer.from(merge.writer.consumed) });
      return;
    }
    for (const run of merge.inputs) runs.dropRun(run);
    this.#keep({ ...this.#state, output: null, consumed: null });
    this.#merge = undefined;
  }

  /** Opens the merge that a crash interrupted, or the next merge. Returns undefined when one run is left. */
  #openMerge(): Merge | undefined {
    const { runs } = this.#stores;
    const { output, consumed } = this.#state;
    const inputs = runs.runs(this.#indexId).filter(({ number }) => number !== output);
    if (output === null && inputs.length <= 1) return undefined;
    const lowest = inputs[0]?.level ?? 0;
    // Takes runs of the lowest level, or of any level if the lowest has only one run. The order is fixed, so that a
    // merge that resumes after a crash takes the same runs.
    const same = inputs.filter(({ level }) => level === lowest);
    const taken = (same.length > 1 ? same : inputs).slice(0, FAN_IN).map(({ number }) => number);
    const level =
      Math.max(...inputs.filter(({ number }) => taken.includes(number)).map((run) => run.level)) + 1;
    const into = output ?? runs.addRun(this.#indexId, level);
    this.#state = { ...this.#state, output: into };
    return new Merge(this.#stores, { indexId: this.#indexId, inputs: taken, output: into, consumed });
  }

  #keep(state: BuildState): void {
    this.#stores.runs.keepState(this.#indexId, state);
    this.#state = state;
  }
}

interface Writing {
  readonly next: BuildState['phase'];
  readonly sorted: Buffer;
  at: number;
  writer: IndexWriter | undefined;
}

interface Cursor {
  readonly run: number;
  block: number;
  data: Buffer;
  at: number;
  prefix: number;
}

/** Merges several runs into one. Each run has a cursor, and the smallest entry of all cursors is written next. */
class Merge {
  readonly inputs: readonly number[];
  readonly writer: IndexWriter;
  readonly #runs: IndexRunStore;
  /** The cursors, sorted by their current entry in descending order. */
  readonly #cursors: Cursor[] = [];
  /** Blocks that were read completely, each with its last entry. A block is deleted when this entry is written. */
  #spent: Array<{ block: number; last: Buffer }> = [];

  constructor(stores: Stores, { indexId, inputs, output, consumed }: MergeOptions) {
    this.inputs = inputs;
    this.#runs = stores.runs;
    this.writer = new IndexWriter(stores, { indexId, run: output });
    for (const run of inputs) this.#openCursor(run, consumed);
  }

  /** Writes this many blocks and returns false when no entry is left. */
  advance(blocks: number): boolean {
    const end = this.writer.blocks + blocks;
    while (this.writer.blocks < end) {
      const cursor = this.#cursors.pop();
      if (cursor === undefined) {
        this.writer.finish();
        return false;
      }
      this.writer.add(cursor.data, cursor.at);
      cursor.at += INDEX_BYTES;
      if (cursor.at < cursor.data.length || this.#nextBlock(cursor)) this.#insert(cursor);
    }
    const { consumed } = this.writer;
    this.#spent = this.#spent.filter(({ block, last }) => {
      const isWritten = compareEntries(last, 0, consumed, 0) <= 0;
      if (isWritten) this.#runs.dropBlock(block);
      return !isWritten;
    });
    return true;
  }

  #openCursor(run: number, consumed: Buffer | null): void {
    const from = consumed ?? Buffer.alloc(INDEX_BYTES);
    const block = this.#runs.blockWith(run, from) ?? this.#runs.blockAfter(run, from);
    if (block === null) return;
    const cursor: Cursor = { run, block: block.number, data: block.data, at: 0, prefix: 0 };
    // A `from` of zeros is before every entry, since segment numbers begin at 1.
    while (compareEntries(cursor.data, cursor.at, from, 0) <= 0) {
      cursor.at += INDEX_BYTES;
      if (cursor.at === cursor.data.length && !this.#nextBlock(cursor)) return;
    }
    this.#insert(cursor);
  }

  #nextBlock(cursor: Cursor): boolean {
    const last = cursor.data.subarray(cursor.data.length - INDEX_BYTES);
    this.#spent.push({ block: cursor.block, last });
    const next = this.#runs.blockAfter(cursor.run, last);
    if (next === null) return false;
    cursor.block = next.number;
    cursor.data = next.data;
    cursor.at = 0;
    return true;
  }

  #insert(cursor: Cursor): void {
    cursor.prefix = prefixOf(cursor.data, cursor.at);
    const cursors = this.#cursors;
    let to = cursors.length;
    // There are at most 64 cursors, and this loop is faster than a call of `splice`.
    for (let other = cursors[to - 1]; other !== undefined && isBehind(cursor, other);) {
      cursors[to] = other;
      to -= 1;
      other = cursors[to - 1];
    }
    cursors[to] = cursor;
  }
}

interface MergeOptions {
  readonly indexId: number;
  readonly inputs: readonly number[];
  readonly output: number;
  readonly consumed: Buffer | null;
}

function isBehind(one: Cursor, other: Cursor): boolean {
  if (one.prefix !== other.prefix) return one.prefix > other.prefix;
  return compareEntries(one.data, one.at, other.data, other.at) > 0;
}
