/**
 * What happened to a migration, before it is sent. Invariant: a key is made of what the ledger holds, so the run and
 * `cosmig watch` find the same key for the same event.
 */
import type { Notification } from '../../report/json/notification.ts';
import type { JournalEntry } from '../../state/journal.ts';
import type { Run } from '../../state/runs.ts';

type Details = 'stalled' | 'proof' | 'proofAge' | 'retention' | 'cutover' | 'end';

/** The members of a notification that depend on the event. */
export type Happening = Pick<Notification, 'event' | 'text' | Details> & {
  /** What names the event in the ledger; null: nothing, since only one process can see it. */
  readonly key: string | null;
  /** When it happened; absent: now. */
  readonly atMs?: number;
  /** The phase that the migration entered; absent: the one in which it is. */
  readonly phase?: string;
};

/** Returns the key of an event of the journal. A restored ledger gives a number again, but not at the same time. */
export function entryKey({ number, atMs }: Pick<JournalEntry, 'number' | 'atMs'>, what: string): string {
  return `journal ${number} ${atMs} ${what}`;
}

/** A run as the ledger names it. */
export type NamedRun = Pick<Run, 'number' | 'startedAtMs'>;

/** Returns the key of an event of a run; null: the ledger does not know the run. */
export function runKey(run: NamedRun | null, what: string): string | null {
  return run === null ? null : `run ${run.number} ${run.startedAtMs} ${what}`;
}

/** Returns the key of the proof that the ledger names by its time. */
export function proofKey(atMs: number): string {
  return `proof ${atMs}`;
}
