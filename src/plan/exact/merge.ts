/**
 * Reads sorted runs of entries as one sorted sequence, within bounded memory: a heap has the next entry of each run, and
 * each run has a small part of itself in memory.
 */
import { assert } from '../../lib/assert.ts';

/** Entries in order, somewhere in a file. */
export interface EntryRun {
  readonly start: number;
  readonly count: number;
}

/** How many bytes of all runs together are in memory. */
const BYTES_MAX = 16 * 1024 * 1024;
/** A longer read is not faster. */
const READ_BYTES_MAX = 64 * 1024;

export class EntryMerge {
  /** The words that are in memory; the current entry begins where `next` says. */
  readonly words: Uint32Array<ArrayBuffer>;
  readonly #width: number;
  readonly #runs: readonly EntryRun[];
  readonly #read: (offset: number, into: Uint32Array<ArrayBuffer>) => void;
  /** How many entries of a run are in memory at once. */
  readonly #slots: number;
  /** For each run: where its current entry begins, where its entries in memory end, and how many it still has in the file. */
  readonly #at: Float64Array;
  readonly #end: Float64Array;
  readonly #left: Float64Array;
  /** Numbers of runs; the one with the smallest entry is first. */
  readonly #heap: Int32Array;
  #size = 0;
  #isBegun = false;

  /** `read` fills words from an offset of the file, in bytes. */
  constructor(parts: {
    readonly runs: readonly EntryRun[];
    readonly width: number;
    readonly read: (offset: number, into: Uint32Array<ArrayBuffer>) => void;
    readonly bytesMax?: number;
  }) {
    const { runs, width, read, bytesMax = BYTES_MAX } = parts;
    this.#runs = runs.filter(({ count }) => count > 0);
    this.#width = width;
    this.#read = read;
    const perRun = Math.min(READ_BYTES_MAX, bytesMax / Math.max(1, this.#runs.length));
    this.#slots = Math.max(1, Math.floor(perRun / (4 * width)));
    const { length } = this.#runs;
    this.words = new Uint32Array(length * this.#slots * width);
    this.#at = new Float64Array(length);
    this.#end = new Float64Array(length);
    this.#left = Float64Array.from(this.#runs, ({ count }) => count);
    this.#heap = new Int32Array(length);
  }

  /** Returns where the next entry begins in `words`, valid until the next call; -1 at the end. */
  next(): number {
    if (!this.#isBegun) this.#begin();
    else {
      const run = this.#heap[0] ?? 0;
      this.#at[run] = (this.#at[run] ?? 0) + this.#width;
      if (this.#at[run] === this.#end[run] && !this.#fill(run)) {
        this.#size -= 1;
        this.#heap[0] = this.#heap[this.#size] ?? 0;
      }
      this.#sink(0);
    }
    return this.#size === 0 ? -1 : (this.#at[this.#heap[0] ?? 0] ?? 0);
  }

  #begin(): void {
    this.#isBegun = true;
    for (let run = 0; run < this.#runs.length; run += 1) {
      const isFilled = this.#fill(run);
      assert(isFilled, 'a run has entries');
      this.#heap[run] = run;
    }
    this.#size = this.#runs.length;
    for (let index = this.#size >> 1; index >= 0; index -= 1) this.#sink(index);
  }

  /** Reads the next entries of a run; returns false if it has none. */
  #fill(run: number): boolean {
    const left = this.#left[run] ?? 0;
    const { start = 0, count = 0 } = this.#runs[run] ?? {};
    const entries = Math.min(left, this.#slots);
    if (entries === 0) return false;
    const at = run * this.#slots * this.#width;
    const end = at + entries * this.#width;
    this.#read(start + (count - left) * this.#width * 4, this.words.subarray(at, end));
    this.#at[run] = at;
    this.#end[run] = end;
    this.#left[run] = left - entries;
    return true;
  }

  /** Moves the run at a index of the heap down, until no run below it has a smaller entry. */
  #sink(from: number): void {
    const heap = this.#heap;
    const run = heap[from] ?? 0;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#isBefore(heap[child + 1] ?? 0, heap[child] ?? 0)) child += 1;
      const other = heap[child] ?? 0;
      if (!this.#isBefore(other, run)) break;
      heap[index] = other;
      index = child;
    }
    heap[index] = run;
  }

  #isBefore(one: number, other: number): boolean {
    const { words } = this;
    const a = this.#at[one] ?? 0;
    const b = this.#at[other] ?? 0;
    for (let i = 0; i < this.#width; i += 1) {
      const x = words[a + i] ?? 0;
      const y = words[b + i] ?? 0;
      if (x !== y) return x < y;
    }
    return false;
  }
}
