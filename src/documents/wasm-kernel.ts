/**
 * The only access to the WebAssembly kernel (source: wasm/kernel.ts; built by `npm run build`). Invariant: every call is
 * synchronous and completes, so one memory serves all scans of the process, and another one all hashes.
 *
 * The file is loaded from dist also when this runs from src, so that tests use what is shipped.
 */
import { readFileSync } from 'node:fs';
import { assert } from '../lib/assert.ts';
import { InternalError } from '../lib/errors.ts';
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
  readonly setNames: (...places: number[]) => void;
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
}

/** The part of WebAssembly that is used here; TypeScript declares it for browsers only. */
interface Engine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: KernelExports };
}

const WASM_PAGE_BYTES = 65_536;
/** The kernel's own data ends below this. */
const FREE_AT = 1024;
/** The deepest nesting that the kernel's stack can hold; the service stops at 128. */
export const DEPTH_MAX = 1024;
/** Zeros after a page, so that the kernel can look ahead. */
const PADDING_BYTES = 64;
/** Pages of the service have at most 4 MB; those of an emulator may be larger. */
export const PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** Numbers at the start of a row: start, end, first cut, end of the cuts. */
export const ROW_HEAD = 4;

let compiled: object | undefined;

function instantiate(): KernelExports {
  const { WebAssembly: engine } = globalThis as unknown as { WebAssembly: Engine };
  compiled ??= new engine.Module(readKernel());
  const abort = (): never => {
    throw new InternalError('the kernel asserts what holds');
  };
  return new engine.Instance(compiled, { env: { abort } }).exports;
}

function readKernel(): Uint8Array<ArrayBuffer> {
  try {
    return readFileSync(new URL('../../dist/documents/kernel.wasm', import.meta.url));
  } catch (cause) {
    throw new InternalError('dist/documents/kernel.wasm is there', { cause, hint: 'run npm run build' });
  }
}

/** Up to eight nodes in two numbers, one byte each, the first node in the lowest byte. */
export interface PackedNodes {
  readonly first: number;
  readonly others: number;
  readonly count: number;
}

/** As many as two numbers hold. */
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

/** The kernel hashes an identity itself if its texts have at most this many bytes. */
export const IDENTITY_BYTES_MAX = 4096;
/** For the texts of an identity, its other bytes and its hash. */
const IDENTITY_ROOM_BYTES = IDENTITY_BYTES_MAX + 256;

/** For a hash and its last block. */
const HASH_ROOM_BYTES = 64;

/** The result of a scan. The arrays are the kernel's memory, which the next scan overwrites. */
export interface KernelResult {
  readonly count: number;
  readonly rows: Int32Array;
  readonly cuts: Int32Array;
}

/** The nodes from which entries are made (comparison-entries.ts). */
export interface AskedOfRows {
  readonly lsn: number;
  readonly document: number;
  readonly documentBytesMax: number;
  /** Rows that have this value get no entry; 0: not used. */
  readonly stop: number;
  /** Rows without an id, or without short texts as the key of their slot, get no entry; 0: not used. */
  readonly plainKeyBytesMax: number;
  readonly identity: PackedNodes;
  readonly slot: PackedNodes;
  readonly name: PackedNodes;
}

/** Two numbers for each row, and the entries, in the kernel's memory, which the next call overwrites. */
export interface KernelEntries {
  readonly table: Uint32Array;
  readonly entries: Uint8Array;
}

/** A page in the kernel's memory. */
class ScanKernel {
  readonly #exports = instantiate();
  #bytes = new Uint8Array(this.#exports.memory.buffer);
  #tree: NameTree | undefined;
  #pageAt = 0;
  #rowsAt = 0;
  #rowBytes = 0;
  #freeAt = 0;
  #pageBytes = 0;
  /** The number of scans; a result belongs to one of them. */
  generation = 0;

  scan(shape: 'feed' | 'array', tree: NameTree, page: Uint8Array): KernelResult {
    this.generation += 1;
    if (page.length > PAGE_BYTES_MAX) throw new PageError(TOO_LARGE, PAGE_BYTES_MAX);
    if (this.#tree !== tree) this.#setNames(tree);
    const cutsAt = align(this.#pageAt + page.length + PADDING_BYTES);
    // A cut takes eight bytes, and removes more than that: the shortest is "_ts":0, so the cuts fit.
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

  /** The identity hash of a row's values; false if they must be decoded. */
  hashIdentity(row: number, nodes: PackedNodes, out: Uint32Array, at: number): boolean {
    const rowAt = this.#rowsAt + row * this.#rowBytes;
    const hashAt = align(this.#freeAt);
    this.#grow(hashAt + IDENTITY_ROOM_BYTES);
    const { first, others, count } = nodes;
    if (this.#exports.identity(rowAt, first, others, count, hashAt + 16, hashAt) === 0) return false;
    copyHash(this.#bytes, hashAt, out, at);
    return true;
  }

  /** The hash of a row's bytes from `from` to `until`, without its cuts. */
  hashKept(row: number, from: number, until: number, out: Uint32Array, at: number): void {
    const rowAt = this.#rowsAt + row * this.#rowBytes;
    const hashAt = align(this.#freeAt);
    const textAt = hashAt + HASH_ROOM_BYTES;
    this.#grow(textAt + (until - from) + PADDING_BYTES);
    const end = this.#exports.copyKept(rowAt, from, until, textAt);
    this.#exports.hashLong(textAt, end - textAt, hashAt + 16, hashAt);
    copyHash(this.#bytes, hashAt, out, at);
  }

  /** Entries of the rows up to a fence. */
  digest(asked: AskedOfRows, fenceLsn: number): KernelEntries {
    const { identity, slot, name } = asked;
    const count = (this.#freeAt - this.#rowsAt) / this.#rowBytes;
    const workAt = align(this.#freeAt);
    const tableAt = align(workAt + IDENTITY_ROOM_BYTES + this.#pageBytes + PADDING_BYTES);
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

  #run(shape: 'feed' | 'array', sizeBytes: number, cutsAt: number): { count: number } {
    const { scanFeed, scanArray, faultKind, faultAt, count } = this.#exports;
    try {
      (shape === 'feed' ? scanFeed : scanArray)(this.#pageAt, sizeBytes, cutsAt, this.#rowsAt);
    } catch (error) {
      const kind = faultKind.value;
      // If the page has no fault, the kernel has one.
      if (kind === 0) throw new InternalError('the kernel stays within its memory', { cause: error });
      throw new PageError(FAULTS[kind] ?? '', faultAt.value);
    }
    return { count: count.value };
  }

  /** Memory layout: tables | stack | space for an escaped name | page | cuts | rows. */
  #setNames(tree: NameTree): void {
    const nodesAt = FREE_AT;
    const placesAt = align(nodesAt + tree.nodes.byteLength);
    const namesAt = align(placesAt + tree.places.byteLength);
    const stackAt = align(namesAt + tree.names.byteLength);
    const scratchAt = align(stackAt + (DEPTH_MAX + 1) * 4);
    const scratchBytes = Math.max(tree.longest * 6, PADDING_BYTES);
    this.#pageAt = align(scratchAt + scratchBytes + PADDING_BYTES);
    this.#rowBytes = (ROW_HEAD + tree.count * 2) * 4;
    this.#grow(this.#pageAt);
    new Int32Array(this.#bytes.buffer, nodesAt, tree.nodes.length).set(tree.nodes);
    this.#bytes.set(tree.places, placesAt);
    this.#bytes.set(tree.names, namesAt);
    this.#exports.setNames(nodesAt, placesAt, namesAt, tree.longest, tree.count, stackAt, scratchAt);
    this.#tree = tree;
  }

  #grow(sizeBytes: number): void {
    if (sizeBytes <= this.#bytes.length) return;
    growTo(this.#exports.memory, sizeBytes);
    this.#refresh();
  }

  /** Growing the memory, which the kernel also does, detaches the old views. */
  #refresh(): void {
    const { buffer } = this.#exports.memory;
    if (this.#bytes.buffer !== buffer) this.#bytes = new Uint8Array(buffer);
  }
}

/** Hashes bytes that the caller has written to `bytes` from `start` on, after `reserve`. */
class HashKernel {
  readonly #exports = instantiate();
  readonly start = FREE_AT + HASH_ROOM_BYTES;
  bytes = new Uint8Array(this.#exports.memory.buffer);

  /** Makes space for that many bytes. Afterwards `bytes` may be another array with the same contents. */
  reserve(sizeBytes: number): void {
    const neededBytes = this.start + sizeBytes + PADDING_BYTES;
    // `bytes.length`, because access to the memory object takes longer than hashing.
    if (neededBytes <= this.bytes.length) return;
    growTo(this.#exports.memory, neededBytes);
    this.bytes = new Uint8Array(this.#exports.memory.buffer);
  }

  /** Writes the hash of the bytes from `start` to `end` as four words to `out[at]`. */
  hash(end: number, out: Uint32Array, at: number): void {
    this.#exports.hash(this.start, end - this.start, FREE_AT);
    copyHash(this.bytes, FREE_AT, out, at);
  }

  /** The same with the hash for long inputs, which differs from `hash`. */
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
  if (missing > 0) memory.grow(Math.ceil(missing / WASM_PAGE_BYTES));
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
