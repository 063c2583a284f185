/** Owns the runs: which commands have worked with the ledger, how each ended, and what the newest last reported. */
import type { Database } from '../lib/sqlite/sqlite.ts';
import type { InFlightNow } from '../cosmos/load/flights.ts';
import { json, number, orNull, text } from '../lib/sqlite/column.ts';
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
  /** The message of the error that ended it; null: none, or it is not known. */
  readonly why: string | null;
  /** The last report of the run; null before the first one. */
  readonly report: RunReport | null;
}

const ENDLESS: ReadonlySet<string> = new Set(['tail', 'reverse']);

/** Whether a run goes on until it is stopped, going by the name of its command in the ledger. */
export function isEndless({ command }: Pick<Run, 'command'>): boolean {
  return ENDLESS.has(command);
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
  /** How many documents were read and have no outcome yet. */
  readonly inFlight: number;
  /** The pages of these documents, until they are committed; absent in reports of an older cosmig. */
  readonly pages?: InFlightNow;
  readonly source: SideReport;
  readonly target: SideReport;
  /** The steps of a cutover that have begun, in order; empty for other commands. */
  readonly steps: readonly StepReport[];
}

/** What a run has used of one side since it began. */
export interface SideReport {
  readonly ru: number;
  /** How many operations or reads were answered with 429. */
  readonly throttled: number;
  /** RU/s that the run may use; null: no limit. */
  readonly allowedRu: number | null;
  /** RU/s of the container; null: it has none of its own. */
  readonly containerRu: number | null;
  /** The paths of the partition key of the container; absent in reports of an older cosmig. */
  readonly keyPaths?: readonly string[];
  /** How long the requests took; absent in reports of an older cosmig. */
  readonly durations?: DurationCounts;
  /** Requests without a reply yet; absent in reports of an older cosmig. */
  readonly requests?: InFlightNow;
  /** The physical partitions as they are now, in the order of the key space. */
  readonly ranges: readonly RangeReport[];
}

/** Requests by their duration; src/cosmos/load/durations.ts has the bounds. */
export interface DurationCounts {
  readonly counts: readonly number[];
  readonly sumMs: number;
}

export interface RangeReport {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  readonly ru: number;
  readonly throttled: number;
  /** Whether the range rests after a 429. */
  readonly isResting: boolean;
}

export interface StepReport {
  readonly name: string;
  readonly atMs: number;
}

/** A moment on the monotonic clock of one boot of one machine. Moments of different clocks cannot be compared. */
export interface MachineMoment {
  /** Identifies the boot, and the time namespace of the process, which may shift the clock. */
  readonly clock: string;
  readonly ms: number;
}

/**
 * When a run last began a request to the target. `answered`: every request was answered since. `unknown`: the moment
 * cannot be compared with moments of a later run.
 */
export type LastRequest = MachineMoment | 'answered' | 'unknown';

export class RunStore {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#sql = {
      begin: database.prepare(
        'INSERT INTO runs (command, pid, started_at_ms) VALUES (@command, @pid, @nowMs)',
      ),
      end: database.prepare(
        'UPDATE runs SET ended_at_ms = @nowMs, outcome = @outcome, why = @why WHERE number = @run',
      ),
      report: database.prepare(
        'UPDATE runs SET reported_at_ms = @atMs, report = @report WHERE number = (SELECT max(number) FROM runs)',
      ),
      last: database.prepare<[], Columns>('SELECT * FROM runs ORDER BY number DESC LIMIT 1'),
      since: database.prepare<[number, number], Columns>(
        'SELECT * FROM runs WHERE number >= ? ORDER BY number LIMIT ?',
      ),
      notDone: database.prepare<[number], Columns>(
        "SELECT * FROM runs WHERE outcome IS NOT 'done' ORDER BY number DESC LIMIT ?",
      ),
      reports: database.prepare<[number], Columns>(
        'SELECT reported_at_ms, report FROM runs WHERE reported_at_ms IS NOT NULL ORDER BY number DESC LIMIT ?',
      ),
      noteRequest: database.prepare(
        'UPDATE runs SET last_request = ? WHERE number = (SELECT max(number) FROM runs)',
      ),
      lastRequest: database.prepare<[], Columns>(
        'SELECT last_request FROM runs WHERE last_request IS NOT NULL ORDER BY number DESC LIMIT 1',
      ),
    };
  }

  /** Stores a run that begins, and returns its number. Durable. */
  begin(run: { readonly command: string; readonly pid: number; readonly nowMs: number }): number {
    return this.#transactions.durable(() => Number(this.#sql.begin.run(run).lastInsertRowid));
  }

  end(
    run: number,
    {
      outcome,
      why = null,
      nowMs,
    }: { readonly outcome: string; readonly why?: string | null; readonly nowMs: number },
  ): void {
    this.#transactions.run(() => this.#sql.end.run({ run, outcome, why, nowMs }));
  }

  /** Stores a report of the newest run. */
  report({ atMs, ...report }: RunReport): void {
    this.#transactions.run(() => this.#sql.report.run({ atMs, report: JSON.stringify(report) }));
  }

  /**
   * Stores when the newest run last began a request. Not durable: after a power cut, moments cannot be compared anyway.
   */
  noteRequest(request: LastRequest): void {
    this.#transactions.run(() => this.#sql.noteRequest.run(JSON.stringify(request)));
  }

  /** Returns when a run last began a request; null if none has recorded it. */
  lastRequest(): LastRequest | null {
    const row = this.#sql.lastRequest.get();
    return row === undefined ? null : (json(row, 'last_request') as LastRequest);
  }

  /** Returns the last reports of the newest runs, the newest first. */
  reports(limit: number): RunReport[] {
    return this.#sql.reports.all(limit).flatMap((row) => reportIn(row) ?? []);
  }

  /** Returns the newest runs that are not done, the newest first: they were stopped, failed or died, or still run. */
  notDone(limit: number): Run[] {
    return this.#sql.notDone.all(limit).map(runIn);
  }

  last(): Run | null {
    const row = this.#sql.last.get();
    return row === undefined ? null : runIn(row);
  }

  /** Returns the runs from a number on, the oldest first. */
  since(first: number, limit: number): Run[] {
    return this.#sql.since.all(first, limit).map(runIn);
  }
}

function runIn(row: Columns): Run {
  return {
    number: number(row, 'number'),
    command: text(row, 'command'),
    pid: number(row, 'pid'),
    startedAtMs: number(row, 'started_at_ms'),
    endedAtMs: orNull(row, 'ended_at_ms', number),
    outcome: orNull(row, 'outcome', text),
    why: orNull(row, 'why', text),
    report: reportIn(row),
  };
}

function reportIn(row: Columns): RunReport | null {
  const atMs = orNull(row, 'reported_at_ms', number);
  if (atMs === null) return null;
  const report = json(row, 'report') as Omit<RunReport, 'atMs'>;
  return { ...report, atMs };
}

/** Whether a command switches the application from one container to the other. */
export function isSwitch(command: string | undefined): boolean {
  return command === 'cutover' || command === 'rollback';
}
