/**
 * How the ledger writes: one synchronous body, all or nothing. `durable` is on the disk when it returns, with everything
 * before it; the others may be lost in a power cut, latest first, never out of order (WAL). What SQLite says of
 * the file's troubles arrives as LedgerError.
 */
import { asDatabaseError } from '../lib/sqlite.ts';
import type { Database } from '../lib/sqlite.ts';

export class Transactions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    // `openDatabase` may have said FULL. exec, because a pragma works when it is compiled, and leaves no statement.
    if (!database.readonly) database.exec('PRAGMA synchronous = NORMAL');
  }

  run<T>(body: () => T): T {
    const database = this.#database;
    try {
      if (database.inTransaction) return body();
      database.exec('BEGIN IMMEDIATE');
      try {
        const value = body();
        database.exec('COMMIT');
        return value;
      } catch (error) {
        // A full disk may have ended it already.
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    } catch (error) {
      throw asDatabaseError(error, database.name);
    }
  }

  durable<T>(body: () => T): T {
    this.#database.exec('PRAGMA synchronous = FULL');
    try {
      return this.run(body);
    } finally {
      this.#database.exec('PRAGMA synchronous = NORMAL');
    }
  }

  /** Reads that see one moment of the file, whatever is written meanwhile. */
  atOnce<T>(body: () => T): T {
    const database = this.#database;
    return this.read(() => {
      database.exec('BEGIN');
      try {
        return body();
      } finally {
        database.exec('COMMIT');
      }
    });
  }

  read<T>(body: () => T): T {
    try {
      return body();
    } catch (error) {
      throw asDatabaseError(error, this.#database.name);
    }
  }
}
