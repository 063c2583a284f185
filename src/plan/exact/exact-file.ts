/**
 * The file of `cosmig plan --exact`, next to the plan file. It consists of chunks; a chunk has one section for the
 * addresses of documents, and one for each candidate and for each of its unique keys. Invariant: only chunks that the
 * plan file has recorded are read, and bytes after the last of them are overwritten, so a crash in the middle of a
 * chunk loses nothing.
 */
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { LedgerError } from '../../lib/errors.ts';
import { OWNER_ONLY } from '../../lib/sqlite/file.ts';
import { asDatabaseError } from '../../lib/sqlite/database-errors.ts';
import { sumOf } from './entries.ts';

/** A part of a chunk: how many entries it has, and the sum of their words. */
export interface ChunkSection {
  readonly count: number;
  readonly sum: number;
}

/** A part of the key space, as its lower and its upper bound. */
export type IntervalPair = readonly [min: string, max: string];

export interface ExactChunk {
  /** Where it begins in the file, in bytes. */
  readonly start: number;
  readonly sections: readonly ChunkSection[];
  /** The parts of the key space from which its documents come. Their addresses refer to them by number. */
  readonly intervals: readonly IntervalPair[];
}

/** Returns the path of this file for a plan file. */
export function exactPath(planFile: string): string {
  return `${planFile}-exact`;
}

export class ExactFile {
  readonly path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** Whether the file has all bytes up to an offset. */
  reaches(end: number): boolean {
    return this.#attempt((file) => fstatSync(file).size >= end);
  }

  /** Removes what was written after an offset, which a run has left that was killed. */
  cut(end: number): void {
    this.#attempt((file) => ftruncateSync(file, end));
  }

  /** Writes words at an offset; returns where they end. */
  write(start: number, words: Uint32Array): number {
    const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    this.#attempt((file) => {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, start + at);
    });
    return start + bytes.length;
  }

  /** Fills words from an offset. */
  read(start: number, into: Uint32Array<ArrayBuffer>): void {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
    this.#attempt((file) => {
      for (let at = 0; at < bytes.length;) {
        const read = readSync(file, bytes, at, bytes.length - at, start + at);
        if (read === 0) throw this.damaged('it is shorter than what was recorded of it');
        at += read;
      }
    });
  }

  /** Returns when everything that was written is on the disk. */
  sync(): void {
    this.#attempt((file) => fdatasyncSync(file));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Deletes the file. */
  drop(): void {
    this.close();
    rmSync(this.path, { force: true });
  }

  damaged(why: string): LedgerError {
    return new LedgerError(`${this.path} is damaged`, {
      why,
      hint: 'run the same command again with --fresh: plan then reads the source from the beginning',
    });
  }

  #attempt<T>(work: (file: number) => T): T {
    try {
      this.#file ??= openSync(this.path, constants.O_RDWR | constants.O_CREAT, OWNER_ONLY);
      return work(this.#file);
    } catch (error) {
      throw asDatabaseError(error, this.path);
    }
  }
}

/** Checks that the words of a section are those that were written, when all of them were read. */
export class SectionCheck {
  readonly #file: ExactFile;
  readonly #expected: number;
  #sum = 0;

  constructor(file: ExactFile, sections: readonly ChunkSection[]) {
    this.#file = file;
    this.#expected = sections.reduce((sum, section) => (sum + section.sum) | 0, 0);
  }

  readonly read = (start: number, into: Uint32Array<ArrayBuffer>): void => {
    this.#file.read(start, into);
    this.#sum = sumOf(into, this.#sum);
  };

  /** Throws if something else was read. */
  end(): void {
    if (this.#sum !== this.#expected)
      throw this.#file.damaged('its entries do not add up to the recorded sum');
  }
}
