/**
 * Transactions of a ledger or a comparison: one synchronous body, all or nothing. A `durable` one is on disk when it returns, together with
 * everything before it. A power cut may lose others, the latest first and never out of order (WAL). Problems with the file
 * become a LedgerError.
 */
import { asDatabaseError } from './sqlite.ts';
import type { Database } from './sqlite.ts';

export class Transactions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    // `openDatabase` may have set FULL. exec, because a pragma takes effect when it is prepared.
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
        // A full disk may have rolled it back already.
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

  /** Reads of `body` see one consistent state, whatever is written meanwhile. */
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
