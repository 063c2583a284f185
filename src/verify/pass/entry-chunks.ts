/**
 * Entries record which document contributed what to the sums, in the layout of documents/comparison-entries.ts.
 * Invariant: an entry consists of whole words, and a reader accepts only complete entries.
 */
import { ENTRY } from '../../documents/comparison-entries.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { assert } from '../../lib/assert.ts';
import { LedgerError } from '../../lib/errors.ts';
import { bucketOf } from './buckets.ts';
import { putName, type NameParts } from '../document-name.ts';

/** Initial size of the buffer, in words. The buffer grows if a page has more entries. */
const WORDS = 64 * 1024;
const HEAD_BYTES = 4 * ENTRY.name;

/** Holds entries in memory until the next checkpoint writes them. */
export class EntryBuffer {
  #words = new Uint32Array(WORDS);
  #bytes = new Uint8Array(this.#words.buffer);
  #name = new ByteOutput(1024);
  #length = 0;

  get sizeBytes(): number {
    return 4 * this.#length;
  }

  /** All entries, as words; valid until the next entry is added. */
  get words(): Uint32Array {
    return this.#words.subarray(0, this.#length);
  }

  /** Adds entries that the kernel has made; returns the index of the word at which the first of them starts. */
  append(entries: Uint8Array): number {
    assert(entries.length % 4 === 0, 'entries are whole words');
    const at = this.#advance(entries.length / 4);
    this.#bytes.set(entries, 4 * at);
    return at;
  }

  /**
   * Makes and adds the entry of one document; `head` has four words of identity and four of contribution. `instant` is
   * the word that ends the entry, if instants are compared.
   */
  add(head: Uint32Array, parts: NameParts, instant: number | undefined): void {
    const name = this.#name;
    name.clear();
    putName(name, parts);
    const nameEnd = ENTRY.name + Math.ceil(name.length / 4);
    const sizeWords = nameEnd + (instant === undefined ? 0 : 1);
    const at = this.#advance(sizeWords);
    const words = this.#words;
    words[at + nameEnd - 1] = 0;
    if (instant !== undefined) words[at + nameEnd] = instant;
    words[at + ENTRY.size] = 4 * sizeWords;
    for (let i = 0; i < 8; i += 1) words[at + ENTRY.identity + i] = head[i] ?? 0;
    this.#bytes.set(name.view(), 4 * (at + ENTRY.name));
  }

  /** Calls `use` with the words of an entry, without a copy. */
  read<T>(atWord: number, use: (words: Uint32Array, atWord: number) => T): T {
    return use(this.#words, atWord);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Reserves memory for `sizeWords` more words; returns the index of the first of them. */
  #advance(sizeWords: number): number {
    const at = this.#length;
    this.#length = at + sizeWords;
    if (this.#length > this.#words.length) {
      const wider = new Uint32Array(Math.max(this.#length, 2 * this.#words.length));
      wider.set(this.#words.subarray(0, at));
      this.#words = wider;
      this.#bytes = new Uint8Array(wider.buffer);
    }
    return at;
  }
}

export interface ChunkEntry {
  /** The hash of the document's id and source key, 16 bytes. This and the next two fields are views of the chunk. */
  readonly identity: Buffer;
  readonly contribution: Buffer;
  readonly name: Buffer;
  readonly bucket: number;
  /** The index of the entry's first word in the chunk. */
  readonly at: number;
  /** The last word of the entry: the instant of expiry, if instants are compared. */
  readonly lastWord: number;
}

/** Whole entries, as words and as bytes of one buffer. */
export interface EntryChunk {
  readonly words: Uint32Array;
  readonly bytes: Buffer;
}

/** Yields the entries of a chunk whose bucket is wanted. */
export function* entriesOf(
  { words, bytes }: EntryChunk,
  isWanted: (bucket: number) => boolean,
): Generator<ChunkEntry> {
  for (let at = 0; at < words.length;) {
    const sizeBytes = words[at] ?? 0;
    if (sizeBytes < HEAD_BYTES || sizeBytes % 4 !== 0 || 4 * at + sizeBytes > bytes.length) throw damaged();
    const bucket = bucketOf(words, at + ENTRY.identity);
    const start = 4 * at;
    if (isWanted(bucket)) {
      yield {
        identity: bytes.subarray(start + 4, start + 20),
        contribution: bytes.subarray(start + 20, start + HEAD_BYTES),
        name: bytes.subarray(start + HEAD_BYTES, start + sizeBytes),
        bucket,
        at,
        lastWord: words[at + sizeBytes / 4 - 1] ?? 0,
      };
    }
    at += sizeBytes / 4;
  }
}

/** The error for a chunk file that lacks what was written last, which can happen after a power cut. */
export class DamagedChunks extends LedgerError {}

export function damaged(): DamagedChunks {
  return new DamagedChunks('the data of an earlier pass is damaged', {
    why: 'the entries on disk do not add up to the recorded sums, as after a power cut',
    hint: 'run cosmig verify again: it starts from scratch',
  });
}
