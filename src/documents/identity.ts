/**
 * Who a document is: 128 bits of its id and its key values, decoded and typed. The same function names a source
 * identity and a slot of the target; both are (key values, id).
 *
 * What is hashed says the type of each value and the length of each text, so no two identities share their bytes:
 * 1 and "1" differ, null and missing, ("ab","c") and ("a","bc"). Texts are taken by UTF-16 units, one to one, so that
 * lone surrogates stay apart; numbers are doubles, with -0 as 0. How a value was spelled in JSON leaves no trace:
 * bytes without escapes are taken as they are, everything else is decoded first and gives the same.
 *
 * The id comes first, then the levels of the key. The kernel does this alone where a row's bytes say all.
 */
import type { KeyComponent } from '../epk/effective-key.ts';
import { assert } from '../lib/assert.ts';
import { hashKernel, packNodes } from './wasm-kernel.ts';
import type { PackedNodes } from './wasm-kernel.ts';
import { writeUnits } from './name-tree.ts';
import { decodeNumber, decodeText, isComposite } from './scalar.ts';
import type { PageScan } from './page-scan.ts';

/** Words of 32 bits in a hash. */
export const HASH_WORDS = 4;

// The first byte of a value says what it is.
const MISSING = 0;
const NULL = 1;
const FALSE = 2;
const TRUE = 3;
const NUMBER = 5;
const TEXT = 8;
const COMPOSITE = 9;

/** A value's bytes besides its text: type and length, or type and double. */
const HEAD_BYTES = 9;

const double = new DataView(new ArrayBuffer(8));

/** The slow way, and the one for keys that stand in no page: `clear`, values one by one, `finish`, in one go. */
export class IdentityHasher {
  readonly #kernel = hashKernel();
  #end = this.#kernel.start;

  /** Forgets what was added. */
  clear(): void {
    this.#end = this.#kernel.start;
  }

  /** The next value as it stands in the page; from 0 when the document has none. */
  addRaw(page: Buffer, start: number, end: number): void {
    if (start === 0) return this.#word(MISSING);
    switch (page[start]) {
      case 0x22:
        if (!this.#slice(TEXT, page, start + 1, end - 1)) this.add(decodeText(page, start, end));
        return;
      case 0x74:
        return this.#word(TRUE);
      case 0x66:
        return this.#word(FALSE);
      case 0x6e:
        return this.#word(NULL);
      default:
        if (isComposite(page, start)) {
          // Nobody can write such a key; it is only told from others, by its bytes.
          const text = page.toString('latin1', start, end);
          this.#word(COMPOSITE);
          this.add(text);
        } else this.add(decodeNumber(page, start, end));
    }
  }

  /** The next value, decoded. */
  add(value: KeyComponent): void {
    if (typeof value === 'string') {
      const at = this.#room(value.length * 3);
      const end = writeUnits(this.#kernel.bytes, at + 5, value);
      this.#head(at, TEXT, end - at - 5);
      this.#end = end;
    } else if (typeof value === 'number') {
      const at = this.#room(0);
      double.setFloat64(0, value === 0 ? 0 : value, true);
      this.#kernel.bytes[at] = NUMBER;
      for (let i = 0; i < 8; i += 1) this.#kernel.bytes[at + 1 + i] = double.getUint8(i);
      this.#end = at + 9;
    } else if (value === undefined) this.#word(MISSING);
    else if (value === null) this.#word(NULL);
    else this.#word(value ? TRUE : FALSE);
  }

  /** The hash of the values, as four words at `out[at]`. */
  finish(out: Uint32Array, at: number): void {
    this.#kernel.hash(this.#end, out, at);
  }

  #word(type: number): void {
    const at = this.#room(0);
    this.#kernel.bytes[at] = type;
    this.#end = at + 1;
  }

  /** The bytes as they are; false, and nothing added, if one of them is a backslash. */
  #slice(type: number, page: Buffer, from: number, to: number): boolean {
    const at = this.#room(to - from);
    const { bytes } = this.#kernel;
    const shift = at + 5 - from;
    for (let i = from; i < to; i += 1) {
      const byte = page[i] ?? 0;
      if (byte === 0x5c) return false;
      bytes[i + shift] = byte;
    }
    this.#head(at, type, to - from);
    this.#end = to + shift;
    return true;
  }

  #head(at: number, type: number, sizeBytes: number): void {
    const { bytes } = this.#kernel;
    bytes[at] = type;
    bytes[at + 1] = sizeBytes;
    bytes[at + 2] = sizeBytes >>> 8;
    bytes[at + 3] = sizeBytes >>> 16;
    bytes[at + 4] = sizeBytes >>> 24;
  }

  #room(textBytes: number): number {
    this.#kernel.reserve(this.#end - this.#kernel.start + textBytes + HEAD_BYTES);
    return this.#end;
  }
}

/** The identity of each row of a scan, from the values at the same nodes: the id, and the levels of the key. */
export class RowIdentity {
  readonly #scan: PageScan;
  readonly #hasher = new IdentityHasher();
  readonly #nodes: readonly number[];
  readonly #packed: PackedNodes;

  constructor(scan: PageScan, id: number, levels: readonly number[]) {
    assert(levels.length <= 4, 'a key has at most four levels');
    this.#scan = scan;
    this.#nodes = [id, ...levels];
    this.#packed = packNodes(this.#nodes);
  }

  /** The row's hash, as four words at `out[at]`. */
  read(row: number, out: Uint32Array, at: number): void {
    const scan = this.#scan;
    if (scan.hashIdentity(row, this.#packed, out, at)) return;
    this.#hasher.clear();
    for (const node of this.#nodes)
      this.#hasher.addRaw(scan.page, scan.start(row, node), scan.end(row, node));
    this.#hasher.finish(out, at);
  }
}

/** The 128-bit hash of a few bytes, as four words at `out[at]`. */
export function hashBytes(bytes: Uint8Array, out: Uint32Array, at: number): void {
  const kernel = hashKernel();
  kernel.reserve(bytes.length);
  kernel.bytes.set(bytes, kernel.start);
  kernel.hash(kernel.start + bytes.length, out, at);
}

/** Another one, faster where there are many; equal to `PageScan.hashContent` on the same bytes. */
export function hashContentBytes(bytes: Uint8Array, out: Uint32Array, at: number): void {
  const kernel = hashKernel();
  kernel.reserve(bytes.length);
  kernel.bytes.set(bytes, kernel.start);
  kernel.hashLong(kernel.start + bytes.length, out, at);
}

/** A hash as the key of a map in memory: eight units, made faster than digits are. */
export function hashKey(words: Uint32Array, at: number): string {
  const [a, b] = [words[at] ?? 0, words[at + 1] ?? 0];
  const [c, d] = [words[at + 2] ?? 0, words[at + 3] ?? 0];
  // fromCharCode takes the lower 16 bits.
  return String.fromCharCode(a, a >>> 16, b, b >>> 16, c, c >>> 16, d, d >>> 16);
}

/** A hash as text, for people. */
export function hashText(words: Uint32Array, at: number): string {
  let text = '';
  for (let i = at; i < at + HASH_WORDS; i += 1) text += (words[i] ?? 0).toString(16).padStart(8, '0');
  return text;
}
