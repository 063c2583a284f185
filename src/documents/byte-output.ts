/** Bytes being written one piece after the other. The memory is kept and reused after `clear`. */
import { writeUnits } from './name-tree.ts';

/** Pieces up to here are copied by a loop; a call costs more than that. */
const SHORT_BYTES = 24;

export class ByteOutput {
  #bytes: Uint8Array;
  /** How many bytes were written. */
  length = 0;

  constructor(sizeBytes = 64 * 1024) {
    this.#bytes = new Uint8Array(sizeBytes);
  }

  /** The memory, of which `length` bytes were written; another one when it had to grow. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** What was written; it stands until something else is. */
  view(): Buffer {
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset, this.length);
  }

  /** Goes back to an earlier length, at first to nothing. */
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

  /** A number of 32 bits, lowest byte first. */
  putWord(word: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.putByte((word >>> shift) & 0xff);
  }

  /** Text as UTF-8. JSON.stringify escapes lone surrogates; where they are not, they stay apart (`writeUnits`). */
  putText(text: string): void {
    const { length } = this;
    this.#advance(text.length * 3);
    this.length = writeUnits(this.#bytes, length, text);
  }

  /** Text of ASCII that stands for itself inside a JSON string, however often quoted; false if it is not such. */
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

  /** Room for the next bytes; gives where they start. */
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
