/**
 * The mover's lock. Invariant: at most one mover works with a ledger. The mover holds an exclusive lock on a small
 * SQLite file next to the ledger. The operating system releases this lock when the process ends, even after a kill,
 * which a pid file could not ensure. Other processes can find out whether the lock is held without changing a byte.
 *
 * The holder also records in the small file how far the migration has come. A ledger that was restored from an older
 * copy lacks this progress, and so is recognized.
 */
import { existsSync } from 'node:fs';
import { codeOf, LedgerError, NotReadyError } from '../lib/errors.ts';
import { realPath } from '../lib/sqlite/file.ts';
import { openDatabase } from '../lib/sqlite/sqlite.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';

// How long to wait if the file is busy: two processes that start at the same time may both be creating it.
const BUSY_TIMEOUT_MS = 250;
// How often to try while other processes only look: several seconds, since a look takes a millisecond, but a process on a
// busy machine may be suspended in the middle of it.
const TRIES_MAX = 20;

/** How far a migration has come. */
export interface MigrationProgress {
  /** When the ledger was created. This distinguishes the ledger from that of an earlier migration at the same path. */
  readonly createdAtMs: number;
  /** The number of the newest run. */
  readonly run: number;
  readonly phase: string;
}

export class MoverLock {
  readonly #database: Database;

  private constructor(database: Database) {
    this.#database = database;
  }

  /** Takes the lock, or refuses if another process holds it. */
  static take(ledger: string): MoverLock {
    for (let tries = 1; ; tries += 1) {
      try {
        return new MoverLock(lockFile(lockPath(ledger)));
      } catch (error) {
        if (!isBusy(error)) throw error;
        // A process that only looks whether the lock is held, as cosmig watch does each second, is in the way until it
        // has looked.
        if (tries < TRIES_MAX && !MoverLock.isHeld(ledger)) continue;
        throw new NotReadyError(`another cosmig is working with ${ledger}`, {
          why: 'only one process at a time may work with a ledger, and its lock is held',
          hint: 'wait for it to end; a cosmig tail does not end, so stop it with Ctrl-C in its terminal; cosmig status shows which command it is',
          cause: error,
        });
      }
    }
  }

  /** Whether an error is that of `take` when another process holds the lock. */
  static isRefusal(error: unknown): error is NotReadyError {
    return error instanceof NotReadyError && isBusy(error.cause);
  }

  /**
   * Takes the lock of a file that is not a ledger. If another process holds it, the error says `what` is the case, and
   * that the `holder` has the file.
   */
  static takeFor(
    path: string,
    { what, holder }: { readonly what: string; readonly holder: string },
  ): MoverLock {
    try {
      return MoverLock.take(path);
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      throw new NotReadyError(what, {
        why: `${holder} holds ${path}`,
        hint: 'wait for it to end or stop it, then run the same command again',
        cause: error,
      });
    }
  }

  /** Whether a process holds the lock. */
  static isHeld(ledger: string): boolean {
    const path = lockPath(ledger);
    if (!existsSync(path)) return false;
    let database: Database | undefined;
    try {
      database = openDatabase({ path, readonly: true, busyTimeoutMs: 0 });
      return false;
    } catch (error) {
      if (isBusy(error)) return true;
      if (isInterrupted(error)) return false;
      throw error;
    } finally {
      database?.close();
    }
  }

  /** Returns the recorded progress; null if there is none. */
  read(): MigrationProgress | null {
    const text = this.#database.prepare<[], string>('SELECT text FROM progress').pluck().get();
    return text === undefined ? null : parse(text);
  }

  /** Records the progress. Durable. */
  note(progress: MigrationProgress): void {
    const text = JSON.stringify(progress);
    if (this.#database.prepare('UPDATE progress SET text = ?').run(text).changes === 0)
      this.#database.prepare('INSERT INTO progress VALUES (?)').run(text);
  }

  release(): void {
    this.#database.close();
  }
}

/** Opens the small file and locks it. */
function lockFile(path: string): Database {
  let database: Database | undefined;
  try {
    // With a rollback journal the holder excludes all other processes. In WAL mode it would not exclude readers.
    database = openDatabase({ path, busyTimeoutMs: BUSY_TIMEOUT_MS });
    database.pragma('journal_mode = DELETE');
    // In this mode the first transaction takes the lock, and its commit does not release it.
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS progress (text TEXT NOT NULL); COMMIT');
    return database;
  } catch (error) {
    database?.close();
    throw error;
  }
}

/** Parses recorded progress. Returns null for an unknown format, which a newer cosmig may have written. */
function parse(text: string): MigrationProgress | null {
  const { createdAtMs, run, phase } = Object(JSON.parse(text)) as Record<string, unknown>;
  if (typeof createdAtMs !== 'number' || typeof run !== 'number' || typeof phase !== 'string') return null;
  return { createdAtMs, run, phase };
}

/** Returns the path of the lock file. Symbolic links are resolved, so that all paths to one ledger share one lock. */
function lockPath(ledger: string): string {
  return `${realPath(ledger)}-lock`;
}

/** Whether an earlier holder was killed while it recorded progress. Only the next holder can roll that back. */
function isInterrupted(error: unknown): boolean {
  return error instanceof LedgerError && codeOf(error.cause) === 'SQLITE_READONLY_ROLLBACK';
}

function isBusy(error: unknown): boolean {
  return error instanceof NotReadyError || /^SQLITE_(?:BUSY|LOCKED)(?:_|$)/.test(codeOf(error));
}
