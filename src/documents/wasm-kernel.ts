/**
 * The only file that calls the WebAssembly kernel (source: wasm/kernel.ts; built by `npm run build`). Invariant: every
 * call is synchronous, so all scans of the process share one memory, and all hashes share another.
 *
 * The kernel is loaded from dist also when this file runs from src, so that tests use the kernel that is shipped.
 */
import { readFileSync } from 'node:fs';
import { assert } from '../lib/assert.ts';
import { InternalError, NotReadyError } from '../lib/errors.ts';
import type { NameTree } from './name-tree.ts';
import { FAULTS, PageError, TOO_LARGE } from './page-error.ts';

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(wasmPages: number): number;
}

interface KernelExports {
  readonly memory: Memory;
  readonly count: { readonly value: number };
  readonly faultKind: { readonly value: number };
  readonly faultAt: { readonly value: number };
  readonly setNames: (...addresses: number[]) => void;
  readonly scanFeed: (page: number, sizeBytes: number, cuts: number, rows: number) => void;
  readonly scanArray: (page: number, sizeBytes: number, cuts: number, rows: number) => void;
  readonly hash: (at: number, sizeBytes: number, out: number) => void;
  readonly hashLong: (at: number, sizeBytes: number, work: number, out: number) => void;
  readonly identity: (
    row: number,
    firstNodes: number,
    otherNodes: number,
    nodeCount: number,
    text: number,
    out: number,
  ) => number;
  readonly copyKept: (row: number, from: number, until: number, to: number) => number;
  readonly digest: (fenceLsn: number, ...asked: number[]) => number;
  readonly rowKeys: (...asked: number[]) => number;
}

/** The part of WebAssembly that this file uses. TypeScript declares WebAssembly for browsers only. */
interface Engine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: KernelExports };
}

const WASM_PAGE_BYTES = 65_536;
/** The first offset in the memory that the kernel does not use for its own data. */
const FREE_AT = 1024;
/** The deepest nesting that the kernel's stack can hold; the service stops at 128. */
export const DEPTH_MAX = 1024;
/**
 * The number of zeros after a page: the kernel loads several bytes at once, and may read beyond the end of the page.
 */
const PADDING_BYTES = 64;
/** The largest page that is scanned. Pages of the service have at most 4 MB; those of an emulator may be larger. */
export const PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** How many numbers precede the values in a row: start and end of the element, first cut and end of the cuts. */
export const ROW_HEAD = 4;

let compiled: object | undefined;

function instantiate(): KernelExports {
  const { WebAssembly: engine } = globalThis as unknown as { WebAssembly: Engine };
  const bytes = readKernel();
  const abort = (): never => {
    throw new InternalError('the kernel asserts what holds');
  };
  return withMemory(() => {
    compiled ??= new engine.Module(bytes);
    return new engine.Instance(compiled, { env: { abort } }).exports;
  });
}

/** Calls `body`, which asks the system for memory. If the system refuses, WebAssembly throws a RangeError. */
function withMemory<T>(body: () => T): T {
  try {
    return body();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new NotReadyError('there is not enough memory', {
      why: `the system refused memory for reading documents: ${cause.message}`,
      hint: 'raise or remove the limit of addresses, of which WebAssembly reserves up to 10 GB (ulimit -v), or free some memory',
      cause,
    });
  }
}

function readKernel(): Uint8Array<ArrayBuffer> {
  try {
    return readFileSync(new URL('../../dist/documents/kernel.wasm', import.meta.url));
  } catch (cause) {
    throw new InternalError('dist/documents/kernel.wasm is there', { cause, hint: 'run npm run build' });
  }
}

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

/** The memory that the kernel needs for a hash and for the last block of its input. */
const HASH_RESERVED_BYTES = 64;

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

/** The memory that the kernel needs for what it keeps of values and templates, and for texts. */
const KEYS_WORK_BYTES = 16 * 1024;

/** Scans one page at a time, in a memory of its own. */
class ScanKernel {
  readonly #exports = instantiate();
  #bytes = new Uint8Array(this.#exports.memory.buffer);
  #tree: NameTree | undefined;
  #pageAt = 0;
  #rowsAt = 0;
  #rowBytes = 0;
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
    this.#freeAt = this.#rowsAt + count * this.#rowBytes;
    this.#pageBytes = page.length;
    const rows = new Int32Array(this.#exports.memory.buffer, this.#rowsAt, (count * this.#rowBytes) / 4);
    const cutCount = rows[rows.length - this.#rowBytes / 4 + 3] ?? 0;
    return { count, rows, cuts: new Int32Array(this.#exports.memory.buffer, cutsAt, cutCount * 2) };
  }

  /** Writes the identity hash of a row's values to `out[at]`; returns false if a value must be decoded first. */
  hashIdentity(row: number, nodes: PackedNodes, out: Uint32Array, at: number): boolean {
    const rowAt = this.#rowsAt + row * this.#rowBytes;
    const hashAt = align(this.#freeAt);
    this.#grow(hashAt + IDENTITY_RESERVED_BYTES);
    const { first, others, count } = nodes;
    if (this.#exports.identity(rowAt, first, others, count, hashAt + 16, hashAt) === 0) return false;
    copyHash(this.#bytes, hashAt, out, at);
    return true;
  }

  /** Writes the hash of the page's bytes from `from` to `until`, without the cuts of the row, to `out[at]`. */
  hashKept(row: number, from: number, until: number, out: Uint32Array, at: number): void {
    const rowAt = this.#rowsAt + row * this.#rowBytes;
    const hashAt = align(this.#freeAt);
    const textAt = hashAt + HASH_RESERVED_BYTES;
    this.#grow(textAt + (until - from) + PADDING_BYTES);
    const end = this.#exports.copyKept(rowAt, from, until, textAt);
    this.#exports.hashLong(textAt, end - textAt, hashAt + 16, hashAt);
    copyHash(this.#bytes, hashAt, out, at);
  }

  /** Makes entries of the rows of the last scan up to a fence. */
  digest(asked: AskedOfRows, fenceLsn: number): KernelEntries {
    const { identity, slot, name } = asked;
    const count = (this.#freeAt - this.#rowsAt) / this.#rowBytes;
    const workAt = align(this.#freeAt);
    const tableAt = align(workAt + IDENTITY_RESERVED_BYTES + this.#pageBytes + PADDING_BYTES);
    const entriesAt = align(tableAt + count * 8);
    this.#grow(entriesAt);
    const end = this.#exports.digest(
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
    const { buffer } = this.#exports.memory;
    return {
      table: new Uint32Array(buffer, tableAt, count * 2),
      entries: new Uint8Array(buffer, entriesAt, end - entriesAt),
    };
  }

  /** Computes the keys of the rows of the last scan up to a fence. */
  rowKeys(asked: AskedOfKeys, fenceLsn: number): KernelColumns {
    const { program, space } = asked;
    const count = (this.#freeAt - this.#rowsAt) / this.#rowBytes;
    assert(count <= space, 'each row has space in the columns');
    const programAt = align(this.#freeAt);
    const workAt = align(programAt + program.byteLength);
    const columnsAt = align(workAt + KEYS_WORK_BYTES);
    this.#grow(columnsAt + asked.columnBytes);
    new Uint32Array(this.#bytes.buffer, programAt, program.length).set(program);
    const taken = this.#exports.rowKeys(
      this.#pageAt,
      this.#rowsAt,
      this.#rowBytes,
      count,
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
    const { scanFeed, scanArray, faultKind, faultAt, count } = this.#exports;
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
   * Writes the tables of names. The memory contains: tables | stack | space for an unescaped name | page | cuts | rows.
   */
  #setNames(tree: NameTree): void {
    const nodesAt = FREE_AT;
    const bucketsAt = align(nodesAt + tree.nodes.byteLength);
    const namesAt = align(bucketsAt + tree.buckets.byteLength);
    const stackAt = align(namesAt + tree.names.byteLength);
    const scratchAt = align(stackAt + (DEPTH_MAX + 1) * 4);
    const scratchBytes = Math.max(tree.longest * 6, PADDING_BYTES);
    this.#pageAt = align(scratchAt + scratchBytes + PADDING_BYTES);
    this.#rowBytes = (ROW_HEAD + tree.count * 2) * 4;
    this.#grow(this.#pageAt);
    new Int32Array(this.#bytes.buffer, nodesAt, tree.nodes.length).set(tree.nodes);
    this.#bytes.set(tree.buckets, bucketsAt);
    this.#bytes.set(tree.names, namesAt);
    this.#exports.setNames(nodesAt, bucketsAt, namesAt, tree.longest, tree.count, stackAt, scratchAt);
    this.#tree = tree;
  }

  #grow(sizeBytes: number): void {
    if (sizeBytes <= this.#bytes.length) return;
    growTo(this.#exports.memory, sizeBytes);
    this.#refresh();
  }

  /**
   * Takes a new view of the memory if the memory has grown, because growth detaches the old views. The kernel itself
   * may make the memory grow.
   */
  #refresh(): void {
    const { buffer } = this.#exports.memory;
    if (this.#bytes.buffer !== buffer) this.#bytes = new Uint8Array(buffer);
  }
}

/** Hashes bytes that the caller has written to `bytes` from `start` on, after `reserve`. */
class HashKernel {
  readonly #exports = instantiate();
  readonly start = FREE_AT + HASH_RESERVED_BYTES;
  bytes = new Uint8Array(this.#exports.memory.buffer);

  /** Makes space for `sizeBytes` bytes. Afterwards `bytes` may be another array with the same contents. */
  reserve(sizeBytes: number): void {
    const neededBytes = this.start + sizeBytes + PADDING_BYTES;
    // This compares with `bytes.length`, because access to the memory object would take longer than hashing.
    if (neededBytes <= this.bytes.length) return;
    growTo(this.#exports.memory, neededBytes);
    this.bytes = new Uint8Array(this.#exports.memory.buffer);
  }

  /** Writes the hash of the bytes from `start` to `end` as four words to `out[at]`. */
  hash(end: number, out: Uint32Array, at: number): void {
    this.#exports.hash(this.start, end - this.start, FREE_AT);
    copyHash(this.bytes, FREE_AT, out, at);
  }

  /**
   * Writes the content hash of the bytes from `start` to `end` as four words to `out[at]`. It differs from the result
   * of `hash` and is faster for long inputs.
   */
  hashLong(end: number, out: Uint32Array, at: number): void {
    this.#exports.hashLong(this.start, end - this.start, FREE_AT + 16, FREE_AT);
    copyHash(this.bytes, FREE_AT, out, at);
  }
}

let scanning: ScanKernel | undefined;
let hashing: HashKernel | undefined;

export function scanKernel(): ScanKernel {
  return (scanning ??= new ScanKernel());
}

export function hashKernel(): HashKernel {
  return (hashing ??= new HashKernel());
}

function growTo(memory: Memory, sizeBytes: number): void {
  const missing = sizeBytes - memory.buffer.byteLength;
  if (missing > 0) withMemory(() => memory.grow(Math.ceil(missing / WASM_PAGE_BYTES)));
  assert(memory.buffer.byteLength >= sizeBytes, 'the memory has grown');
}

function align(at: number): number {
  return (at + 15) & ~15;
}

function copyHash(bytes: Uint8Array, from: number, out: Uint32Array, at: number): void {
  for (let word = 0; word < 4; word += 1) {
    const first = from + word * 4;
    out[at + word] =
      (bytes[first] ?? 0) |
      ((bytes[first + 1] ?? 0) << 8) |
      ((bytes[first + 2] ?? 0) << 16) |
      ((bytes[first + 3] ?? 0) << 24);
  }
}
