/**
 * The file with the entries of a comparison, next to the verify file. The file consists of chunks, one for each
 * checkpoint. Within a chunk the entries are ordered by shelf, so the entries of one shelf can be read alone.
 * Invariant: only chunks recorded in the verify file are read; bytes after the last recorded chunk are overwritten.
 */
import { closeSync, constants, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { ENTRY } from '../../documents/comparison-entries.ts';
import { assert } from '../../lib/assert.ts';
import { OWNER_ONLY } from '../../lib/sqlite/file.ts';
import { asDatabaseError } from '../../lib/sqlite/database-errors.ts';
import { bucketOf, shelfOf, SHELVES } from './buckets.ts';
import { damaged, type EntryChunk } from './entry-chunks.ts';

/** Where a chunk starts in the file, and where each shelf ends within the chunk, in bytes. */
export interface Chunk {
  readonly start: number;
  readonly ends: Uint32Array;
}

export class ChunkFile {
  readonly #path: string;
  #file: number | undefined;
  /** The entries that are being written or were read last. */
  #words = new Uint32Array(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** Writes entries at the offset `start` of the file; returns the new chunk. */
  write(start: number, entries: Uint32Array): Chunk {
    const ends = this.#sort(entries);
    const bytes = new Uint8Array(this.#words.buffer, 0, entries.byteLength);
    this.#attempt((file) => {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, start + at);
    });
    return { start, ends };
  }

  /** Returns the entries of one shelf of a chunk. The result is valid until the next read or write. */
  read({ start, ends }: Chunk, shelf: number): EntryChunk {
    const from = shelf === 0 ? 0 : (ends[shelf - 1] ?? 0);
    const sizeBytes = (ends[shelf] ?? 0) - from;
    this.#grow(sizeBytes / 4);
    const bytes = Buffer.from(this.#words.buffer, 0, sizeBytes);
    this.#attempt((file) => {
      for (let at = 0; at < sizeBytes;) {
        const read = readSync(file, bytes, at, sizeBytes - at, start + from + at);
        if (read === 0) throw damaged();
        at += read;
      }
    });
    return { words: this.#words.subarray(0, sizeBytes / 4), bytes };
  }

  /** Deletes the file, when no chunk is needed any longer. */
  drop(): void {
    this.close();
    rmSync(this.#path, { force: true });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Sorts entries by shelf into `#words`; returns where each shelf ends, in bytes. */
  #sort(entries: Uint32Array): Uint32Array {
    this.#grow(entries.length);
    const sorted = this.#words;
    const ends = new Uint32Array(SHELVES);
    for (let at = 0; at < entries.length; at += sizeAt(entries, at)) {
      const shelf = shelfAt(entries, at);
      ends[shelf] = (ends[shelf] ?? 0) + sizeAt(entries, at);
    }
    const next = new Uint32Array(SHELVES);
    for (let shelf = 1; shelf < SHELVES; shelf += 1) {
      next[shelf] = ends[shelf - 1] ?? 0;
      ends[shelf] = (ends[shelf] ?? 0) + (next[shelf] ?? 0);
    }
    for (let at = 0; at < entries.length;) {
      const size = sizeAt(entries, at);
      const shelf = shelfAt(entries, at);
      const to = next[shelf] ?? 0;
      for (let i = 0; i < size; i += 1) sorted[to + i] = entries[at + i] ?? 0;
      next[shelf] = to + size;
      at += size;
    }
    return ends.map((words) => 4 * words);
  }

  #grow(sizeWords: number): void {
    if (this.#words.length < sizeWords) this.#words = new Uint32Array(Math.ceil(sizeWords * 1.25));
  }

  #attempt(work: (file: number) => void): void {
    try {
      this.#file ??= openSync(this.#path, constants.O_RDWR | constants.O_CREAT, OWNER_ONLY);
      work(this.#file);
    } catch (error) {
      throw asDatabaseError(error, this.#path);
    }
  }
}

/** Returns the size, in words, of the entry at `entries[at]`. */
function sizeAt(entries: Uint32Array, at: number): number {
  return (entries[at + ENTRY.size] ?? 0) >>> 2;
}

function shelfAt(entries: Uint32Array, at: number): number {
  return shelfOf(bucketOf(entries, at + ENTRY.identity));
}

/** Returns the offset in the file at which a chunk ends. */
export function endOf({ start, ends }: Chunk): number {
  const size = ends.at(-1);
  assert(size !== undefined, 'a chunk has all shelves');
  return start + size;
}
