/** The progress of a comparison in the verify file, for processes that show it while another one compares. */
import { json, number, type Columns } from '../lib/sqlite/column.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';
import { readVerifyFile } from './read-verify-file.ts';
import type { VerifyProgress } from './verify.ts';

/** A report that comes sooner after the last one is not recorded. */
const RECORD_EVERY_MS = 900;

/** Stands for what an older cosmig does not record. */
const NEWER: Pick<VerifyProgress, 'oldestOpenMs' | 'requests'> = {
  oldestOpenMs: null,
  requests: { count: 0, bytes: 0, oldestMs: null },
};

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
  return readVerifyFile(path, 'progress', (database) => {
    const row = database.prepare<[], Columns>('SELECT * FROM progress').get();
    if (row === undefined) return null;
    const report = json(row, 'report') as Omit<VerifyProgress, keyof typeof NEWER>;
    return { ...NEWER, ...report, atMs: number(row, 'at_ms') };
  });
}
