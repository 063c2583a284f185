/**
 * Keeps target documents as lists of pieces: parts of their source page, and added texts. The bytes of a page are
 * copied only when a document is written into a request, so the caller must keep the page until then.
 */
import { ByteOutput } from './byte-output.ts';

/** Pieces up to this size are copied by a loop, which is faster than a call for so few bytes. */
const SHORT_BYTES = 96;

export class Pieces {
  /** The added texts. A caller that writes a text here must then call `own`. */
  readonly texts = new ByteOutput(32 * 1024);
  /** The number of pieces of all documents. */
  count = 0;
  /** The bytes of all pieces together. */
  length = 0;
  #page: Uint8Array = new Uint8Array(0);
  /**
   * The start and the end of each piece. A number from 0 on is an offset in the page. A negative number is -1 minus an
   * offset in the texts.
   */
  #offsets = new Int32Array(8192);

  /** Drops all pieces; the next pieces are parts of `page`. */
  begin(page: Uint8Array): void {
    this.#page = page;
    this.texts.clear();
    this.count = this.length = 0;
  }

  /** Adds the bytes of the page from `from` up to and excluding `to` as a piece. */
  putSlice(_page: Uint8Array, from: number, to: number): void {
    if (to > from) this.#add(from, to, to - from);
  }

  putText(text: string): void {
    const from = this.texts.length;
    this.texts.putText(text);
    this.own(from);
  }

  /** Adds the bytes of `texts` from `from` to its end as a piece. */
  own(from: number): void {
    const { length } = this.texts;
    if (length > from) this.#add(-1 - from, -1 - length, length - from);
  }

  /**
   * Writes the pieces from `first` up to and excluding `behind` to `out[at]`; returns the offset after the last byte.
   */
  write(first: number, behind: number, out: Uint8Array, at: number): number {
    const offsets = this.#offsets;
    let end = at;
    for (let piece = first; piece < behind; piece += 1) {
      const from = offsets[2 * piece] ?? 0;
      const to = offsets[2 * piece + 1] ?? 0;
      end =
        from < 0
          ? copy(this.texts.bytes, -1 - from, -1 - to, out, end)
          : copy(this.#page, from, to, out, end);
    }
    return end;
  }

  #add(from: number, to: number, sizeBytes: number): void {
    const at = 2 * this.count;
    if (at === this.#offsets.length) {
      const wider = new Int32Array(2 * at);
      wider.set(this.#offsets);
      this.#offsets = wider;
    }
    this.#offsets[at] = from;
    this.#offsets[at + 1] = to;
    this.count += 1;
    this.length += sizeBytes;
  }
}

function copy(source: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  const size = to - from;
  if (size > SHORT_BYTES) out.set(new Uint8Array(source.buffer, source.byteOffset + from, size), at);
  else for (let i = 0; i < size; i += 1) out[at + i] = source[from + i] ?? 0;
  return at + size;
}
