/**
 * Owns the history of a migration: what it had done at moments since it began, so that a page which is opened late can
 * draw all of it. Invariant: there are at most MOMENTS_MAX moments, however long the migration lasts. The longer it lasts,
 * the farther apart they are.
 */
import { json, number, type Columns } from '../../lib/sqlite/column.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';

/** More moments than a picture has columns, few enough to be read every second. */
const MOMENTS_MAX = 720;
/** The shortest time between two moments. */
const STEP_MS = 1000;

/** What the migration had done. The numbers are totals of all runs, unless they say otherwise. */
export interface Figures {
  /** The command that was running. */
  readonly command: string;
  readonly read: number;
  readonly written: number;
  readonly deleted: number;
  readonly moved: number;
  readonly sourceRu: number;
  readonly targetRu: number;
  readonly throttled: number;
  /** Dead letters that were open at the time. */
  readonly openLetters: number;
  /** The lag at the time; null: unknown, or a range was being copied. */
  readonly lagSeconds: number | null;
}

export interface HistoryEntry extends Figures {
  readonly atMs: number;
}

export class HistoryStore {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#sql = {
      ends: database.prepare<[], Columns>(
        'SELECT ifnull(min(at_ms), 0) AS first, ifnull(max(at_ms), 0) AS last, count(*) AS moments FROM history',
      ),
      last: database.prepare<[number], Columns>(
        'SELECT at_ms FROM history WHERE at_ms < ? ORDER BY at_ms DESC LIMIT 1',
      ),
      add: database.prepare('INSERT OR REPLACE INTO history (at_ms, figures) VALUES (?, ?)'),
      remove: database.prepare('DELETE FROM history WHERE at_ms = ?'),
      removeFrom: database.prepare('DELETE FROM history WHERE at_ms >= ?'),
      // The last moment of each step remains.
      thin: database.prepare(
        'DELETE FROM history WHERE at_ms NOT IN (SELECT max(at_ms) FROM history GROUP BY at_ms / CAST(? AS INTEGER))',
      ),
      all: database.prepare<[], Columns>('SELECT * FROM history ORDER BY at_ms'),
    };
  }

  /** Adds a moment. It replaces the newest one if that is less than a step after the one before it. */
  add({ atMs, ...figures }: HistoryEntry): void {
    this.#transactions.run(() => {
      // After a clock was set back, later moments are those of a clock that was ahead.
      this.#sql.removeFrom.run(atMs);
      const { first, last, moments } = this.#ends();
      const stepMs = stepOf(atMs - (moments === 0 ? atMs : first));
      const before = this.#sql.last.get(last);
      if (moments > 1 && before !== undefined && atMs - number(before, 'at_ms') <= stepMs)
        this.#sql.remove.run(last);
      this.#sql.add.run(atMs, JSON.stringify(figures));
      if (moments >= MOMENTS_MAX) this.#sql.thin.run(stepMs);
    });
  }

  /** Returns all moments, the oldest first. */
  all(): HistoryEntry[] {
    return this.#sql.all
      .all()
      .map((row) => ({ ...(json(row, 'figures') as Figures), atMs: number(row, 'at_ms') }));
  }

  #ends(): { readonly first: number; readonly last: number; readonly moments: number } {
    const row = this.#sql.ends.get() ?? {};
    return { first: number(row, 'first'), last: number(row, 'last'), moments: number(row, 'moments') };
  }
}

/** The time between two moments of a history of this length: a power of two of seconds. */
function stepOf(lengthMs: number): number {
  let stepMs = STEP_MS;
  while (lengthMs / stepMs > MOMENTS_MAX - 1) stepMs *= 2;
  return stepMs;
}
