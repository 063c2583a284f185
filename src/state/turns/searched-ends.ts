/**
 * Owns how far the container that only cosmig may write to was searched for writes of others. Invariant: a position moves
 * in the transaction that records what was found before it, so a crash repeats a search and skips nothing.
 */
import { orNull, text, type Columns } from '../../lib/sqlite/column.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';
import type { Journal } from '../journal.ts';
import type { SourceChange } from '../source-change.ts';

/** How far one part of the container was searched. */
export interface SearchedEnd {
  readonly rangeId: string;
  readonly min: string;
  readonly max: string;
  /** The position in the latest-version feed. */
  readonly lv: string;
  /** The position in the feed of all versions, in which deletes of others are found; null: that feed is not read. */
  readonly avad: string | null;
}

export class SearchedEndStore {
  readonly #transactions: Transactions;
  readonly #journal: Journal;
  readonly #sql;

  constructor(database: Database, transactions: Transactions, journal: Journal) {
    this.#transactions = transactions;
    this.#journal = journal;
    this.#sql = {
      all: database.prepare<[], Columns>('SELECT * FROM closed_ends ORDER BY min'),
      drop: database.prepare('DELETE FROM closed_ends'),
      add: database.prepare(
        'INSERT INTO closed_ends (min, max, range_id, position, deletes_position) VALUES (@min, @max, @rangeId, @lv, @avad)',
      ),
    };
  }

  /** Returns the positions; none in the first turn, and if the turn was begun by an older cosmig. */
  all(): SearchedEnd[] {
    return this.#transactions.read(() =>
      this.#sql.all.all().map((row) => ({
        rangeId: text(row, 'range_id'),
        min: text(row, 'min'),
        max: text(row, 'max'),
        lv: text(row, 'position'),
        avad: orNull(row, 'deletes_position', text),
      })),
    );
  }

  /** Replaces the positions, and records what was found before them. Durable if something was found. */
  move(ends: readonly SearchedEnd[], found: readonly SourceChange[], nowMs: number): void {
    const write = (): void => {
      this.#sql.drop.run();
      for (const end of ends) this.#sql.add.run(end);
      for (const change of found) this.#journal.append({ event: 'written by others', ...change }, nowMs);
    };
    if (found.length > 0) this.#transactions.durable(write);
    else this.#transactions.run(write);
  }
}
