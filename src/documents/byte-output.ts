/** Bytes that are written one piece after the other. Invariant: `clear` keeps the memory, which is then reused. */
import { writeUnits } from './name-tree.ts';

/** Shorter pieces are copied by a loop, which is faster than a call. */
const SHORT_BYTES = 24;

export class ByteOutput {
  #bytes: Uint8Array;
  /** How many bytes were written. */
  length = 0;

  constructor(sizeBytes = 64 * 1024) {
    this.#bytes = new Uint8Array(sizeBytes);
  }

  /** The memory, of which `length` bytes were written. It is replaced when it has to grow. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** The written bytes; valid until the next write. */
  view(): Buffer {
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset, this.length);
  }

  /** Goes back to an earlier length, by default to 0. */
  clear(length = 0): void {
    this.length = length;
  }

  /** The bytes from `from` to `to`. */
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

  /** Text as UTF-8. JSON.stringify escapes lone surrogates; others are written one to one (`writeUnits`). */
  putText(text: string): void {
    const { length } = this;
    this.#advance(text.length * 3);
    this.length = writeUnits(this.#bytes, length, text);
  }

  /** Writes ASCII text that needs no escape in a JSON string; returns false and writes nothing for other text. */
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

  /** Reserves `size` bytes and returns where they start. */
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
