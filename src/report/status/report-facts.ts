/**
 * What only the report of `cosmig status` shows: how documents and RU are spread over the partitions of both sides, the
 * whole story of the last cutover, and what the operator has left out. The live page would read it every second for
 * nothing.
 */
import type { Letter } from '../../state/dead-letters.ts';
import type { JournalEntry } from '../../state/journal.ts';
import { Ledger } from '../../state/ledger.ts';
import type { RunReport } from '../../state/runs.ts';
import { lastSpread, type CountedSpread } from '../../verify/spread.ts';
import { verifyPath } from '../../verify/store.ts';
import type { MigrationFacts } from '../watch/facts.ts';

export interface ReportFacts extends MigrationFacts {
  /** The documents of each partition, as they were last counted; null: never with these settings. */
  readonly spread: CountedSpread | null;
  /** The last report of each run, the newest first. */
  readonly reports: readonly RunReport[];
  /** Dead letters that the operator has discarded, the oldest first. */
  readonly discarded: readonly Letter[];
  /** The events of the last cutover, the oldest first. */
  readonly cutover: readonly JournalEntry[];
}

/** A file for people: more than this is not read by anyone. The ledger has all of it. */
const EVENTS_MAX = 500;
const LETTERS_MAX = 200;
/** Runs that have reported, among them those that have copied: a migration with a run every minute has so many a day. */
const RUNS_MAX = 2000;

export function readReportFacts(ledgerPath: string, known: MigrationFacts): ReportFacts {
  using ledger = Ledger.openReadonly(ledgerPath);
  return ledger.atOnce(() => {
    const spread = lastSpread(verifyPath(ledgerPath));
    const { fingerprint } = ledger.migration.read();
    return {
      ...known,
      spread: spread?.fingerprint === fingerprint ? spread : null,
      reports: ledger.runs.reports(RUNS_MAX),
      cutover: ledger.journal.lastCutover(EVENTS_MAX),
      events: ledger.journal.newest(EVENTS_MAX),
      letters: ledger.letters.newest(LETTERS_MAX),
      discarded: ledger.letters.list({ state: 'discarded', after: 0, limit: LETTERS_MAX }),
    };
  });
}
