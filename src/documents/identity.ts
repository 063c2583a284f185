/**
 * Computes the identity of a document: a 128-bit hash of its id and its key values, in this order. The slot of a
 * document is computed in the same way, from its target key.
 *
 * Invariant: different values are never hashed from the same bytes, because the bytes contain the type of each value
 * and the length of each text. So these differ: 1 and "1"; null and a missing value; ("ab","c") and ("a","bc"). Texts
 * are hashed by UTF-16 units, so different lone surrogates stay different. Numbers are hashed as doubles, with -0 as 0.
 * How a value is written in JSON does not matter: a text without escapes is hashed as it is on the page, any other
 * value is decoded first, and both ways have the same result. An object or an array is hashed as a missing value,
 * because the service takes it for one: a document whose key property changes from {} to {"x":1} keeps its identity. If
 * no value of a row needs decoding, the kernel computes the whole hash.
 */
import { FALSE, MISSING, NULL, NUMBER, TEXT, TRUE } from '../epk/encoding.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import { assert } from '../lib/assert.ts';
import type { ByteOutput } from './byte-output.ts';
import { hashKernel } from './kernel/hash-kernel.ts';
import { packNodes, type PackedNodes } from './kernel/scan-kernel.ts';
import { writeUnits } from './name-tree.ts';
import { decodeNumber, decodeText, isComposite } from './scalar.ts';
import type { PageScan } from './page-scan.ts';

/**
 * The most bytes that are hashed for a value besides its text: one for the type, and eight for a number (or four for
 * the length of a text).
 */
const HEAD_BYTES = 9;

const double = new DataView(new ArrayBuffer(8));

/**
 * Hashes values one by one, for rows whose values must be decoded. The caller calls `clear`, then `add` or `addRaw` for
 * each value, then `finish`, and uses no other hasher in between.
 */
export class IdentityHasher {
  readonly #kernel = hashKernel();
  #end = this.#kernel.start;

  /** Drops the values that were added. */
  clear(): void {
    this.#end = this.#kernel.start;
  }

  /** Adds the value whose JSON text is in the page from `start` to `end`; if `start` is 0, the value is missing. */
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
        if (isComposite(page, start)) this.#word(MISSING);
        else this.add(decodeNumber(page, start, end));
    }
  }

  /** Adds a decoded value. */
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

  /** Writes the bytes that stand for all added values in the input of the hash. */
  writeTo(out: ByteOutput): void {
    out.putSlice(this.#kernel.bytes, this.#kernel.start, this.#end);
  }

  /** Writes the hash of all added values as four words to `out[at]`. */
  finish(out: Uint32Array, at: number): void {
    this.#kernel.hash(this.#end, out, at);
  }

  #word(type: number): void {
    const at = this.#reserve(0);
    this.#kernel.bytes[at] = type;
    this.#end = at + 1;
  }

  /** Adds the bytes of a text as they are. If they contain a backslash, adds nothing and returns false. */
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

/** Computes the identity of a row: the hash of its id and of its values at the key paths. */
export class RowIdentity {
  readonly #scan: PageScan;
  readonly #hasher = new IdentityHasher();
  readonly #nodes: readonly number[];
  readonly #packed: PackedNodes;

  /** Precondition: the scan looks for all the key paths. */
  constructor(scan: PageScan, keyPaths: ReadonlyArray<readonly string[]>) {
    assert(keyPaths.length <= 4, 'a key has at most four levels');
    this.#scan = scan;
    this.#nodes = [scan.nodes.id, ...keyPaths.map((path) => scan.nodeAt(path))];
    this.#packed = packNodes(this.#nodes);
  }

  /** Writes the identity of a row as four words to `out[at]`. */
  read(row: number, out: Uint32Array, at: number): void {
    const scan = this.#scan;
    if (scan.hashIdentity(row, this.#packed, out, at)) return;
    this.#hasher.clear();
    for (const node of this.#nodes)
      this.#hasher.addRaw(scan.page, scan.start(row, node), scan.end(row, node));
    this.#hasher.finish(out, at);
  }
}
