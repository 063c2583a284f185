/**
 * One mover per ledger: an exclusive lock that the operating system holds on a small SQLite file beside it, for as long as
 * the process lives, however it ends. Never a pid file. Others may ask for it without changing a byte.
 *
 * The holder notes there how far the migration has come: a ledger that is put back in its place from an older copy
 * does not know it, and is told from the newest by that.
 */
import { existsSync } from 'node:fs';
import { LedgerError, NotReadyError } from '../lib/errors.ts';
import { openDatabase } from '../lib/sqlite.ts';
import type { Database } from '../lib/sqlite.ts';

// Two that start at once meet for some milliseconds in the making of the file.
const BUSY_TIMEOUT_MS = 250;

/** How far a migration has come. */
export interface Progress {
  /** When its ledger was created: another migration may have had a ledger of this name. */
  readonly createdAtMs: number;
  /** The number of its newest run. */
  readonly run: number;
  readonly phase: string;
}

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
      // Held from the first transaction on, and not let go by its commit.
      database.pragma('locking_mode = EXCLUSIVE');
      database.exec('BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS progress (text TEXT NOT NULL); COMMIT');
      return new MoverLock(database);
    } catch (error) {
      database?.close();
      if (!isBusy(error)) throw error;
      throw new NotReadyError(`another cosmig is working with ${ledger}`, {
        why: 'one process at a time moves documents by one ledger; the lock is held',
        hint: 'wait for it to end or stop it; cosmig status shows what it does',
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
      if (isCutOff(error)) return false;
      throw error;
    } finally {
      database?.close();
    }
  }

  /** What was noted last. */
  read(): Progress | null {
    const text = this.#database.prepare<[], string>('SELECT text FROM progress').pluck().get();
    return text === undefined ? null : parse(text);
  }

  /** Durable. */
  note(progress: Progress): void {
    const text = JSON.stringify(progress);
    if (this.#database.prepare('UPDATE progress SET text = ?').run(text).changes === 0)
      this.#database.prepare('INSERT INTO progress VALUES (?)').run(text);
  }

  release(): void {
    this.#database.close();
  }
}

/** Nothing when it is not ours to read: a newer cosmig may note other things. */
function parse(text: string): Progress | null {
  const { createdAtMs, run, phase } = Object(JSON.parse(text)) as Record<string, unknown>;
  if (typeof createdAtMs !== 'number' || typeof run !== 'number' || typeof phase !== 'string') return null;
  return { createdAtMs, run, phase };
}

function lockPath(ledger: string): string {
  return `${ledger}-lock`;
}

/** A holder was killed in the middle of a note, which only the next one can take back. */
function isCutOff(error: unknown): boolean {
  const cause: unknown = error instanceof LedgerError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'SQLITE_READONLY_ROLLBACK';
}

function isBusy(error: unknown): boolean {
  if (error instanceof NotReadyError) return true;
  return (
    error instanceof Error && 'code' in error && /^SQLITE_(?:BUSY|LOCKED)(?:_|$)/.test(String(error.code))
  );
}
