/** Up to when the source is replicated, and for how long its feed still remembers what is not. */
import type { HistoryEntry } from './history.ts';

/** What decides it. */
export interface ReplicatedFacts {
  readonly phase: string;
  readonly deletes: string | null;
  /** When the migration began. */
  readonly beganMs: number;
  readonly ranges: ReadonlyArray<{ readonly phase: string }>;
  /** The moments of the migration, the oldest first. */
  readonly history: ReadonlyArray<Pick<HistoryEntry, 'atMs' | 'lagSeconds'>>;
}

/**
 * The retention of the shortest continuous backup (fact SVC-19). The service does not report that of an account to
 * readers of its data; with the longer backup it is 30 days.
 */
const RETENTION_MS = 7 * 24 * 3600 * 1000;

/** Null: a range is not copied yet, no run has measured its lag, or the migration is over. */
export function replicatedUntilMs({ phase, ranges, history }: ReplicatedFacts): number | null {
  if (phase === 'committed' || isCopying(ranges)) return null;
  const measured = history.findLast(({ lagSeconds }) => lagSeconds !== null);
  return measured === undefined ? null : measured.atMs - (measured.lagSeconds ?? 0) * 1000;
}

/**
 * Null: no feed reports deletes, or the migration is over. The feed of deletes is read from when the migration began, and
 * not before a range is copied.
 */
export function retentionEndMs(facts: ReplicatedFacts): number | null {
  const { phase, deletes, beganMs } = facts;
  if (deletes !== 'avad' || phase === 'committed') return null;
  return (replicatedUntilMs(facts) ?? beganMs) + RETENTION_MS;
}

function isCopying(ranges: ReplicatedFacts['ranges']): boolean {
  return ranges.length === 0 || ranges.some(({ phase }) => phase !== 'tail');
}
