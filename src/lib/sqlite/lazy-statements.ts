/**
 * A view of a database that prepares a statement when it is first used. A process that opens a file for a single look
 * uses few of the statements that its stores have, and preparing all of them takes longer than the look.
 */
import type { Database, PreparedStatement } from './sqlite-driver.ts';

/** Returns the same database with lazy statements. A statement with an error in it is refused when it is first used. */
export function withLazyStatements(database: Database): Database {
  const prepare = (sql: string): LazyStatement => new LazyStatement(() => database.prepare(sql));
  return Object.create(database, { prepare: { value: prepare } }) as Database;
}

/** The methods of a statement that stores use. */
class LazyStatement {
  readonly #prepare: () => PreparedStatement;
  #statement: PreparedStatement | undefined;

  constructor(prepare: () => PreparedStatement) {
    this.#prepare = prepare;
  }

  /** Returns the statement with the first column of each row as its value. */
  pluck(): LazyStatement {
    return new LazyStatement(() => this.#prepare().pluck());
  }

  get = (...values: unknown[]): unknown => this.#made().get(...values);
  all = (...values: unknown[]): unknown[] => this.#made().all(...values);
  run = (...values: unknown[]): ReturnType<PreparedStatement['run']> => this.#made().run(...values);
  iterate = (...values: unknown[]): IterableIterator<unknown> => this.#made().iterate(...values);

  #made(): PreparedStatement {
    return (this.#statement ??= this.#prepare());
  }
}
