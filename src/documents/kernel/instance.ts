/**
 * Loads the WebAssembly kernel (source: wasm/kernel.ts; built by `npm run build`). Only the files of this folder call it.
 * Invariant: every call is synchronous, so all scans of the process share one memory, and all hashes share another.
 *
 * The kernel is loaded from dist also when this file runs from src, so that tests use the kernel that is shipped.
 */
import { readFileSync } from 'node:fs';
import { assert } from '../../lib/assert.ts';
import { InternalError, NotReadyError } from '../../lib/errors.ts';

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(wasmPages: number): number;
}

export interface KernelExports {
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
  readonly forgetKeys: (at: number, end: number) => void;
  readonly keysAreFull: () => number;
  readonly addRecord: (key: number, ...sizes: number[]) => number;
  readonly lookRows: (...asked: number[]) => void;
  readonly packRows: (list: number, count: number, work: number, parts: number, out: number) => number;
  readonly mapRows: (...asked: number[]) => number;
  readonly mappedCount: { readonly value: number };
  readonly beyondCount: { readonly value: number };
  readonly listedCount: { readonly value: number };
  readonly shelve: (segment: number, strideBytes: number, count: number, ...where: number[]) => number;
  readonly sortShelf: (from: number, count: number, starts: number, to: number) => void;
  readonly nextRival: (entries: number, first: number, count: number) => number;
  readonly beginMerge: (cursors: number, heap: number) => void;
  readonly addCursor: (cursor: number, from: number, end: number) => void;
  readonly merge: (to: number, countMax: number) => number;
  readonly exhausted: { readonly value: number };
}

/** The part of WebAssembly that this file uses. TypeScript declares WebAssembly for browsers only. */
interface Engine {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: KernelExports };
}

const WASM_PAGE_BYTES = 65_536;
/** The first offset in the memory that the kernel does not use for its own data. */
export const FREE_AT = 1024;
/**
 * The number of zeros after a page: the kernel loads several bytes at once, and may read beyond the end of the page.
 */
export const PADDING_BYTES = 64;

let compiled: object | undefined;

export function instantiate(): KernelExports {
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
    return readFileSync(new URL('../../../dist/documents/kernel.wasm', import.meta.url));
  } catch (cause) {
    throw new InternalError('dist/documents/kernel.wasm is there', { cause, hint: 'run npm run build' });
  }
}

export function growTo(memory: Memory, sizeBytes: number): void {
  const missing = sizeBytes - memory.buffer.byteLength;
  if (missing > 0) withMemory(() => memory.grow(Math.ceil(missing / WASM_PAGE_BYTES)));
  assert(memory.buffer.byteLength >= sizeBytes, 'the memory has grown');
}

export function align(at: number): number {
  return (at + 15) & ~15;
}

export function copyHash(bytes: Uint8Array, from: number, out: Uint32Array, at: number): void {
  for (let word = 0; word < 4; word += 1) {
    const first = from + word * 4;
    out[at + word] =
      (bytes[first] ?? 0) |
      ((bytes[first + 1] ?? 0) << 8) |
      ((bytes[first + 2] ?? 0) << 16) |
      ((bytes[first + 3] ?? 0) << 24);
  }
}
