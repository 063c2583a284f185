/**
 * The change mark: a small file next to a ledger or a verify file that records how many of its changes are durable.
 * Invariant: the file has at least as many changes as its mark records. If it has fewer, it has lost some: an older
 * copy of it was restored, or its write-ahead log (`-wal`) was deleted, cut or damaged. SQLite itself does not notice
 * this.
 *
 * The mark is written after each durable transaction and is not synced: after a power cut it may be too low, but it is
 * never too high. A missing or damaged mark therefore proves nothing, and is ignored, unless the log of a killed process
 * is missing as well.
 */
import { closeSync, constants, existsSync, openSync, readSync, writeSync } from 'node:fs';
import { OWNER_ONLY, realPath } from '../lib/sqlite/file.ts';
import { asDatabaseError } from '../lib/sqlite/database-errors.ts';
import { type Database } from '../lib/sqlite/sqlite.ts';
import { changeCount, checksumOf } from '../lib/sqlite/table-sums.ts';

const SIZE_BYTES = 80;

/**
 * What the mark records when the file has lost changes. It is higher than every number of changes, so it stays until
 * `reset`.
 */
const UNREACHABLE = Number.MAX_SAFE_INTEGER;

interface Mark {
  /**
   * When the file was created. A mark with another time belongs to an earlier file at the same path, and is ignored.
   */
  readonly createdAtMs: number;
  readonly changes: number;
}

export class ChangeMark {
  readonly #path: string;
  readonly #file: number;
  readonly #createdAtMs: number;
  #changes: number;
  /** Whether the mark was there, and is one of this file. */
  readonly #wasThere: boolean;

  private constructor(path: string, file: number, database: Database) {
    this.#path = path;
    this.#file = file;
    this.#createdAtMs = markOf(database).createdAtMs;
    const recorded = recordIn(file);
    this.#wasThere = recorded?.createdAtMs === this.#createdAtMs;
    this.#changes = this.#wasThere ? (recorded?.changes ?? 0) : 0;
    // Without this `reset`, the file would catch up with its mark by new changes, and hide that older ones are lost.
    if (recorded !== null && isAhead(recorded, database)) this.reset(UNREACHABLE);
  }

  /** Returns what the mark of a file records; null if there is no valid mark. Changes nothing. */
  static read(path: string): Mark | null {
    const markPath = `${realPath(path)}-mark`;
    if (!existsSync(markPath)) return null;
    const file = openSync(markPath, 'r');
    try {
      return recordIn(file);
    } finally {
      closeSync(file);
    }
  }

  /** Opens or creates the mark of a file. */
  static open(path: string, database: Database): ChangeMark {
    const markPath = `${realPath(path)}-mark`;
    try {
      const file = openSync(markPath, constants.O_RDWR | constants.O_CREAT, OWNER_ONLY);
      return new ChangeMark(markPath, file, database);
    } catch (error) {
      throw asDatabaseError(error, markPath);
    }
  }

  /** Whether the file has lost durable changes. Stays true, also in later runs, until `reset`. */
  get isAhead(): boolean {
    return this.#changes === UNREACHABLE;
  }

  /**
   * Called when the log of a killed process is missing. If the file had no valid mark, the changes in the log count as
   * lost. A valid mark has already shown whether changes are lost.
   */
  suspect(): void {
    if (!this.#wasThere) this.reset(UNREACHABLE);
  }

  /** Records that this many changes are durable. */
  raise(changes: number): void {
    if (changes > this.#changes) this.reset(changes);
  }

  reset(changes: number): void {
    this.#changes = changes;
    const createdAtMs = this.#createdAtMs;
    const text = JSON.stringify({ createdAtMs, changes, checksum: checksumOf(createdAtMs, changes) });
    try {
      writeSync(this.#file, `${text.padEnd(SIZE_BYTES - 1)}\n`, 0);
    } catch (error) {
      throw asDatabaseError(error, this.#path);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Whether a mark that was read earlier records more durable changes than its file has now. */
export function isAhead(mark: Mark, database: Database): boolean {
  const { createdAtMs, changes } = markOf(database);
  return mark.createdAtMs === createdAtMs && mark.changes > changes;
}

function markOf(database: Database): Mark {
  const created = database.prepare<[], string>('SELECT min(applied_at) FROM cosmig_schema').pluck().get();
  return { createdAtMs: Date.parse(created ?? ''), changes: changeCount(database) };
}

function recordIn(file: number): Mark | null {
  const bytes = Buffer.alloc(SIZE_BYTES);
  const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, SIZE_BYTES, 0));
  try {
    const { createdAtMs, changes, checksum } = Object(JSON.parse(text)) as Record<string, unknown>;
    if (typeof createdAtMs !== 'number' || typeof changes !== 'number') return null;
    return checksum === checksumOf(createdAtMs, changes) ? { createdAtMs, changes } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
