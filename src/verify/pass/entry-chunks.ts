/**
 * Entries: which document contributed what to the sums, packed as documents/comparison-entries.ts describes. Invariant:
 * entries are whole words, and a reader accepts only complete ones.
 */
import { ENTRY } from '../../documents/comparison-entries.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { assert } from '../../lib/assert.ts';
import { LedgerError } from '../../lib/errors.ts';
import { bucketOf } from './buckets.ts';
import { putName, type NameParts } from '../document-name.ts';

/** Initial size; it grows with larger pages. */
const WORDS = 64 * 1024;
const HEAD_BYTES = 4 * ENTRY.name;

/** Entries in memory, until the next checkpoint. */
export class EntryBuffer {
  #words = new Uint32Array(WORDS);
  #bytes = new Uint8Array(this.#words.buffer);
  #name = new ByteOutput(1024);
  #length = 0;

  get sizeBytes(): number {
    return 4 * this.#length;
  }

  /** All entries; valid until one is added. */
  get words(): Uint32Array {
    return this.#words.subarray(0, this.#length);
  }

  /** Adds entries made by the kernel; returns the word at which the first one starts. */
  append(entries: Uint8Array): number {
    assert(entries.length % 4 === 0, 'entries are whole words');
    const at = this.#advance(entries.length / 4);
    this.#bytes.set(entries, 4 * at);
    return at;
  }

  /** Adds an entry built here; `head` is identity and contribution, eight words. */
  add(head: Uint32Array, parts: NameParts): void {
    const name = this.#name;
    name.clear();
    putName(name, parts);
    const sizeWords = ENTRY.name + Math.ceil(name.length / 4);
    const at = this.#advance(sizeWords);
    const words = this.#words;
    words[at + sizeWords - 1] = 0;
    words[at + ENTRY.size] = 4 * sizeWords;
    for (let i = 0; i < 8; i += 1) words[at + ENTRY.identity + i] = head[i] ?? 0;
    this.#bytes.set(name.view(), 4 * (at + ENTRY.name));
  }

  /** Reads an entry in place. */
  read<T>(atWord: number, use: (words: Uint32Array, atWord: number) => T): T {
    return use(this.#words, atWord);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Makes room for more words; returns where they start. */
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
  /** 16 bytes each, views of the chunk. */
  readonly identity: Buffer;
  readonly contribution: Buffer;
  readonly name: Buffer;
  readonly bucket: number;
  /** Where it starts in the words of the chunk. */
  readonly at: number;
}

/** Whole entries, as words and as bytes of one buffer. */
export interface EntryChunk {
  readonly words: Uint32Array;
  readonly bytes: Buffer;
}

/** The entries of a chunk that belong to wanted buckets. */
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
      };
    }
    at += sizeBytes / 4;
  }
}

/** After a power cut a file may lack what was written last. */
export class DamagedChunks extends LedgerError {}

export function damaged(): DamagedChunks {
  return new DamagedChunks('the data of an earlier pass is damaged', {
    why: 'the entries on disk do not add up to the recorded sums, as after a power cut',
    hint: 'run cosmig verify again: it starts from scratch',
  });
}
