/**
 * Documents of a page as the kernel has packed them (wasm/pack.ts), in pooled memory: an entry for each document, the etags,
 * the segments, and the operations that create the documents. Invariant: `entry` is the number of a document among the
 * entries, in the segments, and among the operations; the bytes of the page are no longer needed; the memory is lent from
 * `fill` to `clear`.
 */
import { BufferPool } from '../../lib/buffers.ts';
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

/**
 * Pooled memory of packed pages. The page budget limits what is lent. With hundreds of ranges some pages are large and others
 * small, and each gets memory of its size.
 */
const MEMORY = { stepBytes: 64 * 1024, idleBytesMax: 16 * 1024 * 1024 };

/** Makes the memory that the packed pages of a reader share. */
export function packedMemory(): BufferPool {
  return new BufferPool(MEMORY);
}

const NO_BYTES = Buffer.alloc(0);
const NO_WORDS = new Uint32Array(0);
const NO_DOUBLES = new Float64Array(0);

export class PackedPage {
  /** The number of documents. */
  count = 0;
  segments: readonly PackedSegment[] = [];
  readonly #memory: BufferPool;
  #bytes: Buffer = NO_BYTES;
  /** Sixteen words for each entry. The first eight are the hashes of its identity and its slot. */
  words: Uint32Array = NO_WORDS;
  #doubles: Float64Array = NO_DOUBLES;

  constructor(memory: BufferPool) {
    this.#memory = memory;
  }

  /** Drops all documents, and gives their memory back. */
  clear(): void {
    if (this.#bytes.length > 0) this.#memory.giveBack(this.#bytes);
    this.#bytes = NO_BYTES;
    this.words = NO_WORDS;
    this.#doubles = NO_DOUBLES;
    this.count = 0;
    this.segments = [];
  }

  /** Takes over a copy of so many packed documents. */
  fill(count: number, { parts, bytes }: Packed): void {
    this.clear();
    const lent = this.#memory.lend(bytes.length);
    this.#bytes = lent;
    this.words = new Uint32Array(lent.buffer);
    this.#doubles = new Float64Array(lent.buffer);
    lent.set(bytes);
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
