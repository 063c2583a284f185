/** The progress of a comparison in the verify file, for processes that show it while another one compares. */
import { existsSync } from 'node:fs';
import { jsonText, number, type Columns } from '../lib/sqlite/column.ts';
import { asContentsError, openDatabase, type Database } from '../lib/sqlite/sqlite.ts';
import { checkRows } from '../lib/sqlite/table-sums.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';
import type { VerifyProgress } from './verify.ts';

/** A report that comes sooner after the last one is not recorded. */
const RECORD_EVERY_MS = 900;

export interface RecordedProgress extends VerifyProgress {
  readonly atMs: number;
}

export class ProgressRecord {
  readonly #transactions: Transactions;
  readonly #put;
  #lastMs = -Infinity;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#put = database.prepare('INSERT OR REPLACE INTO progress (id, at_ms, report) VALUES (1, ?, ?)');
  }

  put(progress: VerifyProgress, atMs: number): void {
    if (Math.abs(atMs - this.#lastMs) < RECORD_EVERY_MS) return;
    this.#lastMs = atMs;
    this.#transactions.run(() => this.#put.run(atMs, JSON.stringify(progress)));
  }
}

/** Returns what the comparison of this verify file last reported; null: nothing. Needs no lock. */
export function lastProgress(path: string): RecordedProgress | null {
  if (!existsSync(path)) return null;
  const database = openDatabase({ path, readonly: true });
  try {
    // The table is missing in a file that is being created, or that an older cosmig has written.
    const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'progress'").all();
    if (tables.length === 0) return null;
    checkRows(database, ['progress']);
    const row = database.prepare<[], Columns>('SELECT * FROM progress').get();
    if (row === undefined) return null;
    return { ...(JSON.parse(jsonText(row, 'report')) as VerifyProgress), atMs: number(row, 'at_ms') };
  } catch (error) {
    throw asContentsError(error, path);
  } finally {
    database.close();
  }
}
