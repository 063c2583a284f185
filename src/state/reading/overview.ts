/** A consistent overview of a ledger, read without the lock and without changing a byte. */
import type { JournalEntry } from '../journal.ts';
import type { MigrationRecord } from '../migration.ts';
import type { Lease } from '../leases.ts';
import { Ledger } from '../ledger.ts';
import type { LetterState, Reason } from '../dead-letters.ts';
import type { Run } from '../runs.ts';

export interface Overview {
  readonly migration: MigrationRecord;
  /** The leases that are not replaced, in the order of the key space. */
  readonly leases: readonly Lease[];
  readonly counters: Readonly<Record<string, number>>;
  readonly letters: ReadonlyArray<{
    readonly state: LetterState;
    readonly reason: Reason;
    readonly letters: number;
  }>;
  readonly lastRun: Run | null;
  /** Journal entries of the last cutover. */
  readonly cutover: readonly JournalEntry[];
  /** Whether the migration has begun with a target that others have filled; see Journal.adoption. */
  readonly adoption: ReturnType<Ledger['journal']['adoption']>;
  /** Writes of others to the container that only cosmig may write to, the newest of them first. */
  readonly writtenByOthers: ReturnType<Ledger['journal']['writtenByOthers']>;
  /** The container that was noticed to be deleted and created again; null: none. */
  readonly recreated: ReturnType<Ledger['journal']['recreated']>;
  /** The container whose ranges the last run could not use; null: none. */
  readonly unusableRanges: ReturnType<Ledger['journal']['unusableRanges']>;
  /** Whether a mover holds the lock, as the operating system reports it. */
  readonly isRunning: boolean;
}

// If a run begins or ends during the reading, the overview is inconsistent, and is read again. It is read at most three
// times.
const LOOKS_MAX = 3;
/** How many journal entries are read. A cutover writes about ten, and one for each change of the source that it sees. */
const ENTRIES_MAX = 1000;
/** How many writes of others are named. */
const NAMED_MAX = 10;

export function readOverview(path: string): Overview {
  return readOverviewAnd(path, () => null).overview;
}

/** Reads an overview, and what `more` reads from the ledger at the same moment. */
export function readOverviewAnd<T>(
  path: string,
  more: (ledger: Ledger) => T,
): { readonly overview: Overview; readonly more: T } {
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
      adoption: ledger.journal.adoption(),
      recreated: ledger.journal.recreated(),
      unusableRanges: ledger.journal.unusableRanges(),
      writtenByOthers: ledger.journal.writtenByOthers(NAMED_MAX),
      more: more(ledger),
    }));
    // Without this check, a run that has just ended would look like a run that has crashed.
    const { more: read, ...overview } = written;
    if (Ledger.isRunning(path) === isRunning || look === LOOKS_MAX)
      return { overview: { ...overview, isRunning }, more: read };
  }
}
