/** Owns the runs: which commands have worked with the ledger, how each ended, and what the newest last reported. */
import type { Database } from '../lib/sqlite/sqlite.ts';
import { jsonText, number, orNull, text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';

export interface Run {
  readonly number: number;
  readonly command: string;
  /** The process, for the operator to read. Only the lock says whether the process still runs. */
  readonly pid: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly outcome: string | null;
  /** The last report of the run; null before the first one. */
  readonly report: RunReport | null;
}

/** The progress of a run, for other processes to read. */
export interface RunReport {
  readonly atMs: number;
  /** The lag of the range that is farthest behind; null while a range is being copied, or if the lag is unknown. */
  readonly lagSeconds: number | null;
  /** What the run waits for, in a few words; null while documents are moving. */
  readonly waitsFor: string | null;
  /** How many documents the source had at the start of the run; null if the service does not report it. */
  readonly expected: number | null;
}

export class RunStore {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#sql = {
      begin: database.prepare(
        'INSERT INTO runs (command, pid, started_at_ms) VALUES (@command, @pid, @nowMs)',
      ),
      end: database.prepare('UPDATE runs SET ended_at_ms = @nowMs, outcome = @outcome WHERE number = @run'),
      report: database.prepare(
        'UPDATE runs SET reported_at_ms = @atMs, report = @report WHERE number = (SELECT max(number) FROM runs)',
      ),
      last: database.prepare<[], Columns>('SELECT * FROM runs ORDER BY number DESC LIMIT 1'),
    };
  }

  /** Stores a run that begins, and returns its number. Durable. */
  begin(run: { readonly command: string; readonly pid: number; readonly nowMs: number }): number {
    return this.#transactions.durable(() => Number(this.#sql.begin.run(run).lastInsertRowid));
  }

  end(run: number, { outcome, nowMs }: { readonly outcome: string; readonly nowMs: number }): void {
    this.#transactions.run(() => this.#sql.end.run({ run, outcome, nowMs }));
  }

  /** Stores a report of the newest run. */
  report({ atMs, ...report }: RunReport): void {
    this.#transactions.run(() => this.#sql.report.run({ atMs, report: JSON.stringify(report) }));
  }

  last(): Run | null {
    const row = this.#sql.last.get();
    if (row === undefined) return null;
    return {
      number: number(row, 'number'),
      command: text(row, 'command'),
      pid: number(row, 'pid'),
      startedAtMs: number(row, 'started_at_ms'),
      endedAtMs: orNull(row, 'ended_at_ms', number),
      outcome: orNull(row, 'outcome', text),
      report: reportIn(row),
    };
  }
}

function reportIn(row: Columns): RunReport | null {
  const atMs = orNull(row, 'reported_at_ms', number);
  if (atMs === null) return null;
  const report = JSON.parse(jsonText(row, 'report')) as Omit<RunReport, 'atMs'>;
  return { ...report, atMs };
}
