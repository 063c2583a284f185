/**
 * The identity of a document: a 128-bit hash of its id and its key values, in this order. Source documents and target slots
 * are identified in the same way.
 *
 * The hashed bytes contain the type of each value and the length of each text, so different identities never have the same
 * bytes: 1 and "1" differ, null and missing, ("ab","c") and ("a","bc"). Texts are hashed by UTF-16 units, so lone surrogates
 * stay distinct; numbers are doubles, with -0 as 0. The spelling in JSON does not matter: bytes without escapes are hashed
 * as they are, everything else is decoded first, with the same result. The kernel does this alone for a row whose values
 * need no decoding.
 */
import { FALSE, MISSING, NULL, NUMBER, TEXT, TRUE } from '../epk/encoding.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { assert } from '../lib/assert.ts';
import { hashKernel, packNodes } from './wasm-kernel.ts';
import type { PackedNodes } from './wasm-kernel.ts';
import { writeUnits } from './name-tree.ts';
import { decodeNumber, decodeText, isComposite } from './scalar.ts';
import type { PageScan } from './page-scan.ts';

/** Not a type of the service: a key value that is an object or an array. */
const COMPOSITE = 9;

/** The bytes of a value without its text: type and length, or type and double. */
const HEAD_BYTES = 9;

const double = new DataView(new ArrayBuffer(8));

/** Hashes values one by one: `clear`, the values, `finish`, without an interruption. For values that must be decoded. */
export class IdentityHasher {
  readonly #kernel = hashKernel();
  #end = this.#kernel.start;

  /** Forgets what was added. */
  clear(): void {
    this.#end = this.#kernel.start;
  }

  /** The next value as JSON text in the page; `start` 0 means that the document has none. */
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
          // The service does not store such a key. It only has to differ from other values, by its bytes.
          const text = page.toString('latin1', start, end);
          this.#word(COMPOSITE);
          this.add(text);
        } else this.add(decodeNumber(page, start, end));
    }
  }

  /** The next value, decoded. */
  add(value: KeyComponent): void {
    if (typeof value === 'string') {
      const at = this.#reserve(value.length * 3);
      const end = writeUnits(this.#kernel.bytes, at + 5, value);
      this.#head(at, TEXT, end - at - 5);
      this.#end = end;
    } else if (typeof value === 'number') {
      const at = this.#reserve(0);
      double.setFloat64(0, value === 0 ? 0 : value, true);
      this.#kernel.bytes[at] = NUMBER;
      for (let i = 0; i < 8; i += 1) this.#kernel.bytes[at + 1 + i] = double.getUint8(i);
      this.#end = at + 9;
    } else if (value === undefined) this.#word(MISSING);
    else if (value === null) this.#word(NULL);
    else this.#word(value ? TRUE : FALSE);
  }

  /** Writes the hash as four words to `out[at]`. */
  finish(out: Uint32Array, at: number): void {
    this.#kernel.hash(this.#end, out, at);
  }

  #word(type: number): void {
    const at = this.#reserve(0);
    this.#kernel.bytes[at] = type;
    this.#end = at + 1;
  }

  /** Adds the bytes as they are; returns false and adds nothing if one of them is a backslash. */
  #slice(type: number, page: Buffer, from: number, to: number): boolean {
    const at = this.#reserve(to - from);
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

  #reserve(textBytes: number): number {
    this.#kernel.reserve(this.#end - this.#kernel.start + textBytes + HEAD_BYTES);
    return this.#end;
  }
}

/** The identity of each row of a scan, from the values at the given nodes: the id and the levels of the key. */
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

  /** Writes the hash of a row as four words to `out[at]`. */
  read(row: number, out: Uint32Array, at: number): void {
    const scan = this.#scan;
    if (scan.hashIdentity(row, this.#packed, out, at)) return;
    this.#hasher.clear();
    for (const node of this.#nodes)
      this.#hasher.addRaw(scan.page, scan.start(row, node), scan.end(row, node));
    this.#hasher.finish(out, at);
  }
}
