/**
 * Builds an index by an external merge sort over its segments:
 *
 *   collect   about half a million entries are sorted in memory and become a run of level 0, until every segment is scanned
 *   merge     up to 64 runs of the lowest level become one run of the next level, until one run is left
 *   done      the last run is the index
 *
 * The kernel sorts and merges (documents/kernel/index-kernel.ts). A step takes a few milliseconds and at most one
 * transaction, so that the event loop stays responsive. Invariant: a crash loses only what is in memory. The progress
 * is written together with the runs, and a merged block is deleted in the transaction that writes its entries
 * elsewhere. Memory does not grow with the number of documents.
 */
import {
  CURSORS_MAX,
  giveIndexKernelBack,
  SHELVES,
  takeIndexKernel,
  type IndexKernel,
} from '../../documents/kernel/index-kernel.ts';
import { assert, must } from '../../lib/assert.ts';
import type { EntryStore } from '../segments/segment-reader.ts';
import { BLOCK_ENTRIES, compareEntries, INDEX_BYTES } from './entry.ts';
import type { Block, BuildState, IndexRunStore } from './runs.ts';
import { IndexWriter } from './merge-writer.ts';
import type { RowStore } from '../rows.ts';
import { ENTRY_BYTES, SEGMENT_ENTRIES_MAX } from '../segments/segment.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';

/** The sizes of a step and of a run. */
export interface BuildSizes {
  /** The most documents whose entries are sorted at once. */
  readonly runEntries: number;
  readonly segmentsAStep: number;
  readonly blocksAStep: number;
}

/** A step reads 8,192 entries or merges 8,736, which takes a few milliseconds. */
const SIZES: BuildSizes = { runEntries: Infinity, segmentsAStep: 32, blocksAStep: 48 };
/**
 * How many runs are merged at once. One block of each is in memory, 256 KB in all. 64 runs hold 32 million documents, so two
 * passes are enough for two billion.
 */
const FAN_IN = CURSORS_MAX;

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
  readonly #kernel = takeIndexKernel();
  #scannedTo: number;
  /** The run to which the collected entries are being written. */
  #writing: Writing | undefined;
  #merge: Merge | undefined;

  constructor(stores: Stores, indexId: number, sizes = SIZES) {
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
    const kernel = this.#kernel;
    for (const segment of segments) {
      kernel.collect(segment, ENTRY_BYTES);
      this.#scannedTo = segment.number;
      // The segments after this one are read again when the run is written.
      const isFull = kernel.isFull || kernel.collected + SEGMENT_ENTRIES_MAX > this.#sizes.runEntries;
      if (isFull) return this.#beginRun('collect');
    }
    if (segments.length < this.#sizes.segmentsAStep) this.#beginRun('merge');
  }

  #beginRun(next: BuildState['phase']): void {
    this.#writing = { next, shelf: 0, writer: undefined };
  }

  /** Writes more shelves to a run. The segments of the run count as scanned only when its last block is written. */
  #writeMore(): void {
    const { runs } = this.#stores;
    const writing = must(this.#writing, 'a run is being written');
    const kernel = this.#kernel;
    const end = (writing.writer?.blocks ?? 0) + this.#sizes.blocksAStep;
    for (; writing.shelf < SHELVES && (writing.writer?.blocks ?? 0) < end; writing.shelf += 1) {
      const count = kernel.sortShelf(writing.shelf);
      if (count === 0) continue;
      if (writing.writer === undefined) {
        const output = runs.addRun(this.#indexId, 0);
        writing.writer = new IndexWriter(this.#stores, { indexId: this.#indexId, run: output });
        this.#keep({ ...this.#state, output });
      }
      writing.writer.addSorted(kernel, count);
    }
    if (writing.shelf < SHELVES) return;
    writing.writer?.finish();
    kernel.clear();
    this.#keep({ phase: writing.next, scannedTo: this.#scannedTo, output: null, consumed: null });
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
      giveIndexKernelBack(this.#kernel);
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
    const what = { indexId: this.#indexId, inputs: taken, output: into, consumed };
    return new Merge(this.#stores, this.#kernel, what);
  }

  #keep(state: BuildState): void {
    this.#stores.runs.keepState(this.#indexId, state);
    this.#state = state;
  }
}

interface Writing {
  readonly next: BuildState['phase'];
  /** The next shelf. */
  shelf: number;
  /** Undefined while there was no entry. */
  writer: IndexWriter | undefined;
}

/** How far a run is merged: its block in the kernel. */
interface Cursor {
  readonly run: number;
  block: number;
  data: Buffer;
}

/** Merges several runs into one. The kernel has a block of each, and chooses the smallest entries. */
class Merge {
  readonly inputs: readonly number[];
  readonly writer: IndexWriter;
  readonly #runs: IndexRunStore;
  readonly #kernel: IndexKernel;
  readonly #cursors: Array<Cursor | undefined>;
  /** Blocks that were read completely, each with its last entry. A block is deleted when this entry is written. */
  #spent: Array<{ block: number; last: Buffer }> = [];

  constructor(stores: Stores, kernel: IndexKernel, { indexId, inputs, output, consumed }: MergeOptions) {
    this.inputs = inputs;
    this.#runs = stores.runs;
    this.#kernel = kernel;
    this.writer = new IndexWriter(stores, { indexId, run: output });
    kernel.beginMerge();
    this.#cursors = inputs.map((run, number) => this.#openCursor(run, number, consumed));
  }

  /** Writes this many blocks and returns false when no entry is left. */
  advance(blocks: number): boolean {
    const end = this.writer.blocks + blocks;
    while (this.writer.blocks < end) {
      const { count, cursor } = this.#kernel.merge((end - this.writer.blocks) * BLOCK_ENTRIES);
      if (count === 0) {
        this.writer.finish();
        return false;
      }
      this.writer.addSorted(this.#kernel, count);
      if (cursor !== undefined) this.#nextBlock(cursor);
    }
    const { consumed } = this.writer;
    this.#spent = this.#spent.filter(({ block, last }) => {
      const isWritten = compareEntries(last, 0, consumed, 0) <= 0;
      if (isWritten) this.#runs.dropBlock(block);
      return !isWritten;
    });
    return true;
  }

  #openCursor(run: number, number: number, consumed: Buffer | null): Cursor | undefined {
    const from = consumed ?? Buffer.alloc(INDEX_BYTES);
    let next = this.#runs.blockWith(run, from) ?? this.#runs.blockAfter(run, from);
    // A `from` of zeros is before every entry, since segment numbers begin at 1.
    for (; next !== null; next = this.#after(run, next)) {
      const { number: block, data } = next;
      let at = 0;
      while (at < data.length && compareEntries(data, at, from, 0) <= 0) at += INDEX_BYTES;
      if (at === data.length) continue;
      this.#kernel.addBlock(number, data, at);
      return { run, block, data };
    }
    return undefined;
  }

  #nextBlock(number: number): void {
    const cursor = must(this.#cursors[number], 'a run that was merged had a block');
    const next = this.#after(cursor.run, { number: cursor.block, data: cursor.data });
    if (next === null) return;
    cursor.block = next.number;
    cursor.data = next.data;
    this.#kernel.addBlock(number, next.data, 0);
  }

  /** Returns the block after one that was read completely. */
  #after(run: number, { number, data }: Block): Block | null {
    const last = data.subarray(data.length - INDEX_BYTES);
    this.#spent.push({ block: number, last });
    return this.#runs.blockAfter(run, last);
  }
}

interface MergeOptions {
  readonly indexId: number;
  readonly inputs: readonly number[];
  readonly output: number;
  readonly consumed: Buffer | null;
}
