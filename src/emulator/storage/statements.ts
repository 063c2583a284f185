/** Prepares SQL once and returns it as functions, so that the name of a function leads to its SQL. */
import { must } from '../../lib/assert.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';

/** A function that runs a statement with the values of its parameters. */
type Statement<Values extends unknown[], Result> = (...values: Values) => Result;

export class Statements {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns a function that runs a statement and returns how many rows it has changed. */
  run<Values extends unknown[]>(sql: string): Statement<Values, number> {
    const statement = this.#database.prepare(sql);
    return (...values) => statement.run(...values).changes;
  }

  /** Returns a function that reads all rows. */
  all<Values extends unknown[], Row>(sql: string): Statement<Values, Row[]> {
    const statement = this.#database.prepare<unknown[], Row>(sql);
    return (...values) => statement.all(...values);
  }

  /** Returns a function that reads the first row; undefined if there is none. */
  first<Values extends unknown[], Row>(sql: string): Statement<Values, Row | undefined> {
    const statement = this.#database.prepare<unknown[], Row>(sql);
    return (...values) => statement.get(...values);
  }

  /** Returns a function that reads the first column of all rows. */
  column<Values extends unknown[], Value>(sql: string): Statement<Values, Value[]> {
    const statement = this.#database.prepare<unknown[], Value>(sql).pluck();
    return (...values) => statement.all(...values);
  }

  /** Returns a function that reads the first column of the first row; undefined if there is no row. */
  value<Values extends unknown[], Value>(sql: string): Statement<Values, Value | undefined> {
    const statement = this.#database.prepare<unknown[], Value>(sql).pluck();
    return (...values) => statement.get(...values);
  }

  /** Returns a function that reads the number in the only row of an aggregate. */
  number<Values extends unknown[]>(sql: string): Statement<Values, number> {
    const value = this.value<Values, number>(sql);
    return (...values) => must(value(...values), 'an aggregate has a row');
  }
}
