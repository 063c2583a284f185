/**
 * The loops of an index build in the kernel (wasm/index.ts). Each build has a kernel with memory of its own; the next
 * build gets the same one, unless the garbage collector has freed it meanwhile. Of the memory for collected entries,
 * the system provides only what is used. Invariant: a kernel belongs to one build at a time.
 */
import { assert } from '../../lib/assert.ts';
import { align, FREE_AT, growTo, instantiate, PADDING_BYTES } from './instance.ts';

/** The size of an entry: identity 16, segment 4, position 2. */
const INDEX_BYTES = 22;
export const SHELVES = 256;
/**
 * The entries that a shelf has space for. Hashes fill the shelves evenly, so a run has about half a million entries before one
 * of the shelves is full.
 */
const SHELF_ENTRIES = 2560;
const SHELF_BYTES = SHELF_ENTRIES * INDEX_BYTES;
/** The most documents of a segment, and their size in it. */
const SEGMENT_BYTES_MAX = 16 * 1024;
const SEGMENT_ENTRIES_MAX = 256;
/** The numbers that the kernel needs to sort a shelf. */
const STARTS_BYTES = (2048 + 1) * 4;
/** The most runs that are merged at once, and the space for a block of each. */
export const CURSORS_MAX = 64;
const BLOCK_BYTES_MAX = 4096;

/** A segment whose entries are collected. */
export interface CollectedSegment {
  readonly number: number;
  readonly count: number;
  /** Entries of `strideBytes`, which begin with an identity. */
  readonly data: Uint8Array;
  /** A number of two or four bytes for each entry, which is 0 if the entry is left out; null: all are collected. */
  readonly marks: Uint8Array | null;
}

export class IndexKernel {
  readonly #exports = instantiate();
  readonly #segmentAt = FREE_AT;
  readonly #marksAt = align(this.#segmentAt + SEGMENT_BYTES_MAX);
  readonly #fillsAt = align(this.#marksAt + SEGMENT_ENTRIES_MAX * 4);
  readonly #startsAt = align(this.#fillsAt + SHELVES * 4);
  readonly #outAt = align(this.#startsAt + STARTS_BYTES);
  readonly #shelvesAt = align(this.#outAt + SHELF_BYTES + PADDING_BYTES);
  readonly #bytes: Buffer;
  readonly #fills: Uint32Array;
  /** Sorted entries: those of the last shelf that was sorted, or the last ones that were merged. */
  readonly sorted: Buffer;
  /** How many documents the collected segments have. */
  collected = 0;
  #fullest = 0;

  constructor() {
    const { memory } = this.#exports;
    const sizeBytes = this.#shelvesAt + SHELVES * SHELF_BYTES + PADDING_BYTES;
    growTo(memory, sizeBytes);
    this.#bytes = Buffer.from(memory.buffer);
    this.#fills = new Uint32Array(memory.buffer, this.#fillsAt, SHELVES);
    this.sorted = this.#bytes.subarray(this.#outAt, this.#outAt + SHELF_BYTES);
  }

  /** Whether another segment may find no space on a shelf. */
  get isFull(): boolean {
    return this.#fullest + SEGMENT_ENTRIES_MAX > SHELF_ENTRIES;
  }

  /** Collects the entries of a segment. Precondition: the kernel is not full. */
  collect({ number, count, data, marks }: CollectedSegment, strideBytes: number): void {
    assert(!this.isFull && count <= SEGMENT_ENTRIES_MAX, 'a segment has space on every shelf');
    this.#bytes.set(data.subarray(0, count * strideBytes), this.#segmentAt);
    if (marks !== null) this.#bytes.set(marks, this.#marksAt);
    const markBytes = marks === null ? 0 : marks.length / count;
    const fullest = this.#exports.shelve(
      this.#segmentAt,
      strideBytes,
      count,
      this.#marksAt,
      markBytes,
      number,
      this.#fillsAt,
      this.#shelvesAt,
      SHELF_BYTES,
    );
    this.#fullest = Math.max(this.#fullest, fullest);
    this.collected += count;
  }

  /** Sorts the entries of a shelf into `sorted`, and returns how many there are. Shelves are sorted once, in their order. */
  sortShelf(shelf: number): number {
    const count = this.#fills[shelf] ?? 0;
    this.#exports.sortShelf(this.#shelvesAt + shelf * SHELF_BYTES, count, this.#startsAt, this.#outAt);
    return count;
  }

  /** Takes the entries off all shelves. */
  clear(): void {
    this.#fills.fill(0);
    this.collected = this.#fullest = 0;
  }

  /**
   * Returns the number of the first entry from `first` on in `sorted` that has the same identity as the next one, or the last
   * of `count`.
   */
  nextRival(first: number, count: number): number {
    return this.#exports.nextRival(this.#outAt, first, count);
  }

  /** Begins a merge, which uses the memory of the shelves. */
  beginMerge(): void {
    assert(this.collected === 0, 'entries are collected before runs are merged');
    this.#exports.beginMerge(this.#fillsAt, this.#startsAt);
  }

  /** Gives a run the entries of its next block, from `at` on. */
  addBlock(cursor: number, block: Buffer, at: number): void {
    assert(cursor < CURSORS_MAX && block.length <= BLOCK_BYTES_MAX, 'a block has space');
    const from = this.#shelvesAt + cursor * BLOCK_BYTES_MAX;
    this.#bytes.set(block, from);
    this.#exports.addCursor(cursor, from + at, from + block.length);
  }

  /**
   * Merges up to `countMax` entries into `sorted`, until the block of a run is read. Returns their number, and that run, which
   * needs its next block; undefined: there are more entries in the blocks, or all are merged.
   */
  merge(countMax: number): { readonly count: number; readonly cursor: number | undefined } {
    const count = this.#exports.merge(this.#outAt, Math.min(countMax, SHELF_ENTRIES));
    const cursor = this.#exports.exhausted.value;
    return { count, cursor: cursor < 0 ? undefined : cursor };
  }
}

/** A kernel that no build has. To make one takes milliseconds, and a copy from hundreds of ranges has as many builds. */
let idle: WeakRef<IndexKernel> | undefined;

export function takeIndexKernel(): IndexKernel {
  const kernel = idle?.deref();
  idle = undefined;
  return kernel ?? new IndexKernel();
}

/** Called when a build is done. A build that has failed keeps its kernel. */
export function giveIndexKernelBack(kernel: IndexKernel): void {
  kernel.clear();
  idle = new WeakRef(kernel);
}
