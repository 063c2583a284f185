/** What a ledger says at one moment, for those who only look: read without the lock and without changing a byte. */
import type { JournalEntry } from './journal.ts';
import type { MigrationRecord } from './migration.ts';
import type { Lease } from './leases.ts';
import { Ledger } from './ledger.ts';
import type { LetterState, Reason } from './dead-letters.ts';
import type { Run } from './runs.ts';

export interface Overview {
  readonly migration: MigrationRecord;
  /** Those that are read, in the order of the key space. */
  readonly leases: readonly Lease[];
  readonly counters: Readonly<Record<string, number>>;
  readonly letters: ReadonlyArray<{
    readonly state: LetterState;
    readonly reason: Reason;
    readonly letters: number;
  }>;
  readonly lastRun: Run | null;
  /** What the last cutover has written into the journal. */
  readonly cutover: readonly JournalEntry[];
  /** A mover holds the lock: the word of the operating system, not of what was written. */
  readonly isRunning: boolean;
}

// A run that begins or ends while we look makes it look again; three of them in a row are none of ours.
const LOOKS_MAX = 3;
/** A cutover writes some ten lines, and one for each who still writes. */
const ENTRIES_MAX = 1000;

export function readOverview(path: string): Overview {
  using ledger = Ledger.openReadonly(path);
  for (let look = 1; ; look += 1) {
    const isRunning = Ledger.isRunning(path);
    const written = ledger.atOnce(() => ({
      migration: ledger.migration.read(),
      leases: ledger.leases.live(),
      counters: ledger.counters.all(),
      letters: ledger.letters.counts(),
      lastRun: ledger.runs.last(),
      cutover: ledger.journal.lastCutover(ENTRIES_MAX),
    }));
    // Else a run that was seen without its end would pass for one that crashed.
    if (Ledger.isRunning(path) === isRunning || look === LOOKS_MAX) return { ...written, isRunning };
  }
}
