/**
 * Transactions of a ledger or a verify file: each runs one synchronous body, all or nothing. When `durable` returns,
 * its transaction and all earlier ones are on disk. A power cut may lose other transactions, the latest first and never
 * out of order (WAL). Problems with the file become a LedgerError.
 */
import { asDatabaseError } from './database-errors.ts';
import type { Database } from './sqlite.ts';

export class Transactions {
  readonly #database: Database;
  readonly #onDurable: () => void;

  /** `onDurable` is called after each durable transaction. */
  constructor(database: Database, onDurable: () => void = () => {}) {
    this.#database = database;
    this.#onDurable = onDurable;
    // By default a commit is not synced; `durable` changes that for one transaction. Both set it with `exec`, because
    // SQLite applies this pragma when it is prepared, and not when a prepared statement is run.
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
        // If the disk is full, SQLite may have rolled the transaction back already.
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    } catch (error) {
      throw asDatabaseError(error, database.name);
    }
  }

  durable<T>(body: () => T): T {
    this.#database.exec('PRAGMA synchronous = FULL');
    let value: T;
    try {
      value = this.run(body);
    } finally {
      this.#database.exec('PRAGMA synchronous = NORMAL');
    }
    // A transaction within another one becomes durable only with the outer one.
    if (!this.#database.inTransaction) this.#onDurable();
    return value;
  }

  /** Runs `body`, whose reads all see the same state of the file, whatever another process writes meanwhile. */
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
