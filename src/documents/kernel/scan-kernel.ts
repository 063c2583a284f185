/** The kernel that scans pages, and makes entries and keys of their rows. All scans of the process share its memory. */
import { assert } from '../../lib/assert.ts';
import { InternalError } from '../../lib/errors.ts';
import type { NameTree } from '../name-tree.ts';
import { FAULTS, PageError, TOO_LARGE } from '../page-error.ts';
import { HASH_RESERVED_BYTES } from './hash-kernel.ts';
import { align, copyHash, FREE_AT, growTo, instantiate, PADDING_BYTES } from './instance.ts';

/** The deepest nesting that the kernel's stack can hold; the service stops at 128. */
export const DEPTH_MAX = 1024;
/** The largest page that is scanned. Pages of the service have at most 4 MB; those of an emulator may be larger. */
export const PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** How many numbers precede the values in a row: start and end of the element, first cut and end of the cuts. */
export const ROW_HEAD = 4;

/** Up to eight nodes in two numbers: one byte for each node, the first node in the lowest byte. */
export interface PackedNodes {
  readonly first: number;
  readonly others: number;
  readonly count: number;
}

/** How many nodes fit into the two numbers of PackedNodes. */
export const NODES_MAX = 8;

export function packNodes(nodes: readonly number[]): PackedNodes {
  assert(nodes.length <= NODES_MAX, 'so many nodes go into two numbers');
  const byte = (i: number): number => (nodes[i] ?? 0) << (8 * (i & 3));
  return {
    first: byte(0) | byte(1) | byte(2) | byte(3),
    others: byte(4) | byte(5) | byte(6) | byte(7),
    count: nodes.length,
  };
}

/** The kernel hashes an identity only if its texts have at most this many bytes together. */
export const IDENTITY_BYTES_MAX = 4096;
/** The memory that the kernel needs for the texts of an identity, its other bytes and its hash. */
const IDENTITY_RESERVED_BYTES = IDENTITY_BYTES_MAX + 256;

/** The result of a scan. The arrays are views of the kernel's memory, which the next scan overwrites. */
export interface KernelResult {
  readonly count: number;
  readonly rows: Int32Array;
  readonly cuts: Int32Array;
}

/** From which nodes, and for which rows, the kernel makes entries (comparison-entries.ts). */
export interface AskedOfRows {
  readonly lsn: number;
  readonly document: number;
  readonly documentBytesMax: number;
  /** A row that has a value at this node gets no entry; 0: no node has this effect. */
  readonly stop: number;
  /** A row gets an entry only if its id and target key are texts, the key with at most this many bytes; 0: no limit. */
  readonly plainKeyBytesMax: number;
  readonly identity: PackedNodes;
  readonly slot: PackedNodes;
  readonly name: PackedNodes;
}

/** A table with two numbers for each row, and the entries. Both are views of memory that the next call overwrites. */
export interface KernelEntries {
  readonly table: Uint32Array;
  readonly entries: Uint8Array;
}

/** Which keys the kernel computes for the rows of a page (plan/pass/key-program.ts), and from which nodes. */
export interface AskedOfKeys {
  readonly program: Uint32Array;
  readonly lsn: number;
  readonly document: number;
  readonly id: number;
  readonly ts: number;
  /** A larger document gets no keys. */
  readonly documentBytesMax: number;
  /** How many rows each column has space for, and the size of all columns. */
  readonly space: number;
  readonly columnBytes: number;
}

/** The columns of the rows up to the fence. They are a view of memory that the next call overwrites. */
export interface KernelColumns {
  readonly taken: number;
  readonly columns: Uint8Array;
}

/** The memory for the names that the kernel has read before (wasm/known-names.ts): masks, and 260 entries. */
const KNOWN_NAMES_BYTES = 64 + 260 * 64;
/** The memory that the kernel needs for what it keeps of values and templates, and for texts. */
const KEYS_WORK_BYTES = 16 * 1024;

/** Scans one page at a time, in a memory of its own. */
class ScanKernel {
  readonly exports = instantiate();
  #bytes = new Uint8Array(this.exports.memory.buffer);
  /** Where the memory begins that changes with each scan. What is before it was kept. */
  #changingAt = FREE_AT;
  #tree: NameTree | undefined;
  #pageAt = 0;
  #rowsAt = 0;
  #rowBytes = 0;
  #count = 0;
  #freeAt = 0;
  #pageBytes = 0;
  /** The number of scans so far. A caller detects by it that a later scan has overwritten a result. */
  generation = 0;

  scan(shape: 'feed' | 'array', tree: NameTree, page: Uint8Array): KernelResult {
    this.generation += 1;
    if (page.length > PAGE_BYTES_MAX) throw new PageError(TOO_LARGE, PAGE_BYTES_MAX);
    if (this.#tree !== tree) this.#setNames(tree);
    const cutsAt = align(this.#pageAt + page.length + PADDING_BYTES);
    // The cuts fit into as many bytes as the page has: a cut takes eight bytes, and no system property is shorter than
    // the eight bytes of "_ts":0 and a comma.
    this.#rowsAt = align(cutsAt + page.length + PADDING_BYTES);
    this.#grow(this.#rowsAt);
    this.#bytes.set(page, this.#pageAt);
    this.#bytes.fill(0, this.#pageAt + page.length, this.#pageAt + page.length + PADDING_BYTES);
    const { count } = this.#run(shape, page.length, cutsAt);
    this.#refresh();
    this.#count = count;
    this.#freeAt = this.#rowsAt + count * this.#rowBytes;
    this.#pageBytes = page.length;
    const rows = new Int32Array(this.exports.memory.buffer, this.#rowsAt, (count * this.#rowBytes) / 4);
    const cutCount = rows[rows.length - this.#rowBytes / 4 + 3] ?? 0;
    return { count, rows, cuts: new Int32Array(this.exports.memory.buffer, cutsAt, cutCount * 2) };
  }

  /** The memory. Another array replaces it when the memory grows. */
  get bytes(): Uint8Array {
    this.#refresh();
    return this.#bytes;
  }

  /** The number of rows of the last scan. */
  get count(): number {
    return this.#count;
  }

  /** Sets memory aside for good, and returns its address. Drops the results of the last scan. */
  keep(sizeBytes: number): number {
    const at = align(this.#changingAt);
    this.#changingAt = at + sizeBytes;
    this.#grow(this.#changingAt);
    this.#tree = undefined;
    this.generation += 1;
    return at;
  }

  /** Reserves memory until the next scan, and returns its address. */
  reserve(sizeBytes: number): number {
    const at = align(this.#freeAt);
    this.#freeAt = at + sizeBytes + PADDING_BYTES;
    this.#grow(this.#freeAt);
    return at;
  }

  /** Writes the identity hash of a row's values to `out[at]`; returns false if a value must be decoded first. */
  hashIdentity(row: number, nodes: PackedNodes, out: Uint32Array, at: number): boolean {
    const rowAt = this.#rowsAt + row * this.#rowBytes;
    const hashAt = align(this.#freeAt);
    this.#grow(hashAt + IDENTITY_RESERVED_BYTES);
    const { first, others, count } = nodes;
    if (this.exports.identity(rowAt, first, others, count, hashAt + 16, hashAt) === 0) return false;
    copyHash(this.#bytes, hashAt, out, at);
    return true;
  }

  /** Writes the hash of the page's bytes from `from` to `until`, without the cuts of the row, to `out[at]`. */
  hashKept(row: number, from: number, until: number, out: Uint32Array, at: number): void {
    const rowAt = this.#rowsAt + row * this.#rowBytes;
    const hashAt = align(this.#freeAt);
    const textAt = hashAt + HASH_RESERVED_BYTES;
    this.#grow(textAt + (until - from) + PADDING_BYTES);
    const end = this.exports.copyKept(rowAt, this.#pageAt + from, this.#pageAt + until, textAt);
    this.exports.hashLong(textAt, end - textAt, hashAt + 16, hashAt);
    copyHash(this.#bytes, hashAt, out, at);
  }

  /** Makes entries of the rows of the last scan up to a fence. */
  digest(asked: AskedOfRows, fenceLsn: number): KernelEntries {
    const { identity, slot, name } = asked;
    const count = this.#count;
    const workAt = align(this.#freeAt);
    const tableAt = align(workAt + IDENTITY_RESERVED_BYTES + this.#pageBytes + PADDING_BYTES);
    const entriesAt = align(tableAt + count * 8);
    this.#grow(entriesAt);
    const end = this.exports.digest(
      fenceLsn,
      asked.lsn,
      asked.document,
      asked.documentBytesMax,
      asked.stop,
      asked.plainKeyBytesMax,
      ...[identity, slot, name].flatMap(({ first, others, count: nodes }) => [first, others, nodes]),
      workAt,
      tableAt,
      entriesAt,
    );
    this.#refresh();
    const { buffer } = this.exports.memory;
    return {
      table: new Uint32Array(buffer, tableAt, count * 2),
      entries: new Uint8Array(buffer, entriesAt, end - entriesAt),
    };
  }

  /** Computes the keys of the rows of the last scan up to a fence. */
  rowKeys(asked: AskedOfKeys, fenceLsn: number): KernelColumns {
    const { program, space } = asked;
    const count = this.#count;
    assert(count <= space, 'each row has space in the columns');
    const programAt = align(this.#freeAt);
    const workAt = align(programAt + program.byteLength);
    const columnsAt = align(workAt + KEYS_WORK_BYTES);
    this.#grow(columnsAt + asked.columnBytes);
    new Uint32Array(this.#bytes.buffer, programAt, program.length).set(program);
    const taken = this.exports.rowKeys(
      fenceLsn,
      asked.lsn,
      asked.document,
      asked.id,
      asked.ts,
      asked.documentBytesMax,
      programAt,
      workAt,
      columnsAt,
      space,
    );
    return { taken, columns: this.#bytes.subarray(columnsAt, columnsAt + asked.columnBytes) };
  }

  #run(shape: 'feed' | 'array', sizeBytes: number, cutsAt: number): { count: number } {
    const { scanFeed, scanArray, faultKind, faultAt, count } = this.exports;
    try {
      (shape === 'feed' ? scanFeed : scanArray)(this.#pageAt, sizeBytes, cutsAt, this.#rowsAt);
    } catch (error) {
      const kind = faultKind.value;
      // If the kernel has recorded no fault of the page, the error is a bug of the kernel.
      if (kind === 0) throw new InternalError('the kernel stays within its memory', { cause: error });
      throw new PageError(FAULTS[kind] ?? '', faultAt.value);
    }
    return { count: count.value };
  }

  /**
   * Writes the tables of names. The memory contains: what was kept | tables | stack | known names | space for an
   * unescaped name | page | cuts | rows.
   */
  #setNames(tree: NameTree): void {
    const nodesAt = align(this.#changingAt);
    const bucketsAt = align(nodesAt + tree.nodes.byteLength);
    const namesAt = align(bucketsAt + tree.buckets.byteLength);
    const stackAt = align(namesAt + tree.names.byteLength);
    const knownAt = align(stackAt + (DEPTH_MAX + 1) * 4);
    const scratchAt = align(knownAt + KNOWN_NAMES_BYTES);
    const scratchBytes = Math.max(tree.longest * 6, PADDING_BYTES);
    this.#pageAt = align(scratchAt + scratchBytes + PADDING_BYTES);
    this.#rowBytes = (ROW_HEAD + tree.count * 2) * 4;
    this.#grow(this.#pageAt);
    new Int32Array(this.#bytes.buffer, nodesAt, tree.nodes.length).set(tree.nodes);
    this.#bytes.set(tree.buckets, bucketsAt);
    this.#bytes.set(tree.names, namesAt);
    this.exports.setNames(nodesAt, bucketsAt, namesAt, tree.longest, tree.count, stackAt, scratchAt, knownAt);
    this.#tree = tree;
  }

  #grow(sizeBytes: number): void {
    if (sizeBytes <= this.#bytes.length) return;
    growTo(this.exports.memory, sizeBytes);
    this.#refresh();
  }

  /**
   * Takes a new view of the memory if the memory has grown, because growth detaches the old views. The kernel itself
   * may make the memory grow.
   */
  #refresh(): void {
    const { buffer } = this.exports.memory;
    if (this.#bytes.buffer !== buffer) this.#bytes = new Uint8Array(buffer);
  }
}

let scanning: ScanKernel | undefined;

export function scanKernel(): ScanKernel {
  return (scanning ??= new ScanKernel());
}
