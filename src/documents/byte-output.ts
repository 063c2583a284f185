/** A growing sequence of bytes, written piece by piece. Invariant: `clear` keeps the memory for the next use. */
import { writeUnits } from './name-tree.ts';

/** Pieces up to this size are copied by a loop, which is faster than a call for so few bytes. */
const SHORT_BYTES = 24;

export class ByteOutput {
  #bytes: Uint8Array;
  /** The number of bytes written. */
  length = 0;

  constructor(sizeBytes = 64 * 1024) {
    this.#bytes = new Uint8Array(sizeBytes);
  }

  /** The memory, whose first `length` bytes are written. Another array replaces it when more memory is needed. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Returns the written bytes without a copy; valid until the next write. */
  view(): Buffer {
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset, this.length);
  }

  /** Drops the bytes after the first `length`. Default: all bytes. */
  clear(length = 0): void {
    this.length = length;
  }

  /** Writes the bytes of `source` from `from` up to and excluding `to`. */
  putSlice(source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    const at = this.#advance(size);
    if (size > SHORT_BYTES) {
      this.#bytes.set(new Uint8Array(source.buffer, source.byteOffset + from, size), at);
      return;
    }
    const bytes = this.#bytes;
    for (let i = 0; i < size; i += 1) bytes[at + i] = source[from + i] ?? 0;
  }

  putBytes(source: Uint8Array): void {
    const size = source.length;
    const at = this.#advance(size);
    const bytes = this.#bytes;
    if (size > SHORT_BYTES) bytes.set(source, at);
    else for (let i = 0; i < size; i += 1) bytes[at + i] = source[i] ?? 0;
  }

  putByte(byte: number): void {
    const at = this.#advance(1);
    this.#bytes[at] = byte;
  }

  /**
   * Writes a text as UTF-8, and a lone surrogate as three bytes (`writeUnits`). JSON.stringify escapes lone surrogates,
   * so its texts have none.
   */
  putText(text: string): void {
    const { length } = this;
    this.#advance(text.length * 3);
    this.length = writeUnits(this.#bytes, length, text);
  }

  /**
   * Writes an ASCII text that needs no escape in a JSON string. For any other text writes nothing and returns false.
   */
  putPlain(text: string): boolean {
    const { length } = this;
    const at = this.#advance(text.length);
    const bytes = this.#bytes;
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) {
        this.length = length;
        return false;
      }
      bytes[at + i] = unit;
    }
    return true;
  }

  /** Reserves `size` bytes; returns the offset of the first of them. */
  #advance(size: number): number {
    const at = this.length;
    this.length = at + size;
    if (this.length > this.#bytes.length) {
      const wider = new Uint8Array(Math.max(this.length, this.#bytes.length * 2));
      wider.set(this.#bytes.subarray(0, at));
      this.#bytes = wider;
    }
    return at;
  }
}
