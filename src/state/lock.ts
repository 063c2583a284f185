/**
 * One mover per ledger: an exclusive lock that the operating system holds on a small SQLite file beside it, for as long as
 * the process lives, however it ends. Never a pid file. Others may ask for it without changing a byte.
 */
import { existsSync } from 'node:fs';
import { NotReadyError } from '../lib/errors.ts';
import { openDatabase } from '../lib/sqlite.ts';
import type { Database } from '../lib/sqlite.ts';

// Two that start at once meet for some milliseconds in the making of the file.
const BUSY_TIMEOUT_MS = 250;

export class MoverLock {
  readonly #database: Database;

  private constructor(database: Database) {
    this.#database = database;
  }

  /** Refuses when somebody else has it. */
  static take(ledger: string): MoverLock {
    let database: Database | undefined;
    try {
      const path = lockPath(ledger);
      // A WAL would let readers in; in the old mode the holder keeps everybody out.
      database = openDatabase({ path, busyTimeoutMs: BUSY_TIMEOUT_MS });
      database.pragma('journal_mode = DELETE');
      database.exec('BEGIN EXCLUSIVE');
      return new MoverLock(database);
    } catch (error) {
      database?.close();
      if (!isBusy(error)) throw error;
      throw new NotReadyError(`another cosmig is working with ${ledger}`, {
        why: 'one process at a time moves documents by one ledger; the lock is held',
        hint: 'wait for it to end or stop it, or use --skip-if-running; cosmig status shows what it does',
        cause: error,
      });
    }
  }

  /** Whether a mover is running now. */
  static isHeld(ledger: string): boolean {
    const path = lockPath(ledger);
    if (!existsSync(path)) return false;
    let database: Database | undefined;
    try {
      database = openDatabase({ path, readonly: true, busyTimeoutMs: 0 });
      return false;
    } catch (error) {
      if (isBusy(error)) return true;
      throw error;
    } finally {
      database?.close();
    }
  }

  release(): void {
    this.#database.close();
  }
}

function lockPath(ledger: string): string {
  return `${ledger}-lock`;
}

function isBusy(error: unknown): boolean {
  if (error instanceof NotReadyError) return true;
  return (
    error instanceof Error && 'code' in error && /^SQLITE_(?:BUSY|LOCKED)(?:_|$)/.test(String(error.code))
  );
}
