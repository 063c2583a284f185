/**
 * What the last plan has found, in short, in the plan file: for the page of the migration that follows. Invariant: reading
 * it needs no lock and changes no byte, so it can be read while another process measures.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { asContentsError } from '../../lib/sqlite/database-errors.ts';
import { openToRead, refuseForeignFile } from '../../lib/sqlite/sqlite.ts';
import { json, number, type Columns } from '../../lib/sqlite/column.ts';
import { checkRows } from '../../lib/sqlite/table-sums.ts';
import { MoverLock } from '../../state/lock.ts';
import type { PlanSummary } from '../summary.ts';
import { planPath, PlanStore } from './plan-store.ts';

/** What the plan file next to a ledger says. */
export type PlanRecord =
  | { readonly is: 'measuring'; readonly documents: number }
  /** A pass was interrupted, or has just ended, and its result is about to be kept. */
  | { readonly is: 'unfinished'; readonly documents: number }
  | { readonly is: 'made'; readonly atMs: number; readonly sourceRid: string; readonly summary: PlanSummary };

/** Keeps what a plan has found, until the next one begins. `ledger`: the path next to which the plan file is. */
export function keepSummary(ledger: string, summary: PlanSummary, takenAtMs: number): void {
  using store = PlanStore.open(planPath(ledger));
  store.keepSummary(summary, takenAtMs);
}

/**
 * Returns what was planned for the migration of this ledger; null: no plan was made. A plan that was made before there
 * was a target is in a file that is named after the source alone.
 */
export function planOfLedger(ledger: string): PlanRecord | null {
  const [, source] = /^(.+?)--.+\.db$/.exec(basename(ledger)) ?? [];
  const earlier = source === undefined ? [] : [join(dirname(ledger), `${source}.db`)];
  const found = [ledger, ...earlier].flatMap((path) => recordIn(planPath(path)) ?? []);
  const measuring = found.find(({ is }) => is === 'measuring');
  const made = found.flatMap((one) => (one.is === 'made' ? [one] : []));
  const newest = made.toSorted((one, other) => other.atMs - one.atMs)[0];
  return measuring ?? newest ?? found[0] ?? null;
}

function recordIn(path: string): PlanRecord | null {
  if (!existsSync(path)) return null;
  const isMeasuring = MoverLock.isHeld(path);
  refuseForeignFile(path, 'plan');
  const database = openToRead(path);
  try {
    const tables = database.prepare<[], string>('SELECT name FROM sqlite_schema').pluck().all();
    // While the process creates the file, it has no tables.
    const sum = 'SELECT ifnull(sum(documents), 0) FROM parts';
    const read = tables.includes('parts') ? database.prepare<[], number>(sum).pluck().get() : 0;
    const documents = read ?? 0;
    if (isMeasuring) return { is: 'measuring', documents };
    // An older cosmig has written a file without this table.
    if (!tables.includes('result')) return null;
    checkRows(database, ['result']);
    const row = database.prepare<[], Columns>('SELECT * FROM result').get();
    const begun = database.prepare<[], string>('SELECT source_rid FROM pass').pluck().get();
    if (begun === undefined) return null;
    if (row === undefined) return { is: 'unfinished', documents };
    return {
      is: 'made',
      atMs: number(row, 'taken_at_ms'),
      sourceRid: begun,
      summary: json(row, 'summary') as PlanSummary,
    };
  } catch (error) {
    throw asContentsError(error, path);
  } finally {
    database.close();
  }
}
