/**
 * Documents of a page as the kernel has packed them (wasm/pack.ts), in memory that the next page uses again: an entry for
 * each document, the etags, the segments, and the operations that create the documents. Invariant: `entry` is the number of
 * a document among the entries, in the segments, and among the operations; the bytes of the page are no longer needed.
 */
import type { Packed } from '../kernel/pack-kernel.ts';

/** The layout of an entry, in words of 32 bits; the LSN is a double. */
const WORDS = 16;
const LSN_DOUBLE = 4;
const KEY_WORD = 10;
const OPERATION_WORD = 11;
const DOCUMENT_WORD = 12;
const END_WORD = 13;
const ETAG_WORD = 14;
const ETAG_END_WORD = 15;

/** The layout of a segment in the list of segments, in bytes. */
const PART = { bytes: 24, count: 0, data: 4, dataEnd: 8, namesEnd: 12, lsnBase: 16 } as const;

/** A segment, as src/state/segments/segment.ts makes it. */
export interface PackedSegment {
  readonly count: number;
  readonly lsnBase: number;
  readonly data: Buffer;
  readonly names: Buffer;
}

/** New memory is larger than needed by this factor, because the next page may be a little larger. */
const SPARE = 1.25;

export class PackedPage {
  /** The number of documents. */
  count = 0;
  segments: readonly PackedSegment[] = [];
  #bytes = Buffer.alloc(0);
  /** Sixteen words for each entry. The first eight are the hashes of its identity and its slot. */
  words = new Uint32Array(0);
  #doubles = new Float64Array(0);

  /** Drops all documents. */
  clear(): void {
    this.count = 0;
    this.segments = [];
  }

  /** Takes over a copy of so many packed documents. */
  fill(count: number, { parts, bytes }: Packed): void {
    if (bytes.length > this.#bytes.length) {
      const memory = new ArrayBuffer(Math.ceil((bytes.length * SPARE) / 8) * 8);
      this.#bytes = Buffer.from(memory);
      this.words = new Uint32Array(memory);
      this.#doubles = new Float64Array(memory);
    }
    this.#bytes.set(bytes);
    this.count = count;
    const segments: PackedSegment[] = [];
    for (let at = 0; parts.getUint32(at, true) > 0; at += PART.bytes) {
      const word = (offset: number): number => parts.getUint32(at + offset, true);
      segments.push({
        count: word(PART.count),
        lsnBase: parts.getFloat64(at + PART.lsnBase, true),
        data: this.#bytes.subarray(word(PART.data), word(PART.dataEnd)),
        names: this.#bytes.subarray(word(PART.dataEnd), word(PART.namesEnd)),
      });
    }
    this.segments = segments;
  }

  /** Returns the index in `words` at which the hash of an entry's identity begins. The hash of its slot follows. */
  hashAt(entry: number): number {
    return entry * WORDS;
  }

  lsn(entry: number): number {
    return this.#doubles[(entry * WORDS) / 2 + LSN_DOUBLE] ?? 0;
  }

  /** Returns the number of an entry's key. */
  key(entry: number): number {
    return this.#word(entry, KEY_WORD);
  }

  /** Returns the size of the operations from `from` up to and excluding `to`, with the commas between them. */
  operationBytes(from: number, to: number): number {
    return this.#word(to - 1, END_WORD) - this.#word(from, OPERATION_WORD);
  }

  /** Copies the operations from `from` up to and excluding `to`, with the commas between them, to `body[at]`. */
  copyOperations(from: number, to: number, body: Buffer, at: number): void {
    this.#bytes.copy(body, at, this.#word(from, OPERATION_WORD), this.#word(to - 1, END_WORD));
  }

  /** Returns a copy of the document of an entry. */
  document(entry: number): Buffer {
    // The last byte is the closing brace of the operation.
    const [start, end] = [this.#word(entry, DOCUMENT_WORD), this.#word(entry, END_WORD) - 1];
    return Buffer.from(this.#bytes.subarray(start, end));
  }

  /** Returns the etag of an entry, as JSON text. */
  etag(entry: number): string {
    return this.#bytes.toString('utf8', this.#word(entry, ETAG_WORD), this.#word(entry, ETAG_END_WORD));
  }

  #word(entry: number, which: number): number {
    return this.words[entry * WORDS + which] ?? 0;
  }
}
