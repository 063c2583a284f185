/** Owns the totals of the migration, by name. A commit changes the totals in its own transaction. */
import type { Database } from '../lib/sqlite/sqlite.ts';
import { number, text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';

export class CounterStore {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      add: database.prepare(
        `INSERT INTO counters (name, value) VALUES (@name, @delta)
         ON CONFLICT (name) DO UPDATE SET value = value + @delta`,
      ),
      all: database.prepare<[], Columns>('SELECT name, value FROM counters ORDER BY name'),
    };
  }

  /** Adds to a total. Called inside a transaction of units.ts; opens none. */
  add(name: string, delta: number): void {
    if (delta !== 0) this.#sql.add.run({ name, delta });
  }

  all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#sql.all.all().map((row) => [text(row, 'name'), number(row, 'value')]));
  }
}
