/**
 * Estimates for how long a rollback would stop the writers now, from what the ledger and the last comparison know. The
 * rollback catches up before it stops them; then it replicates what came in the meantime, and compares while it waits for
 * the source to be quiet. Invariant: what is not known is null. The time of the operator's scripts is never known.
 */
import type { StatusResult } from '../json/ledger-results.ts';
import type { HistoryEntry } from '../../state/reading/history.ts';

type StopEstimate = NonNullable<NonNullable<StatusResult['wayBack']>['stopEstimate']>;

/** How long a rollback waits for quiet unless --quiet-for says otherwise. */
const QUIET_MS = 5000;

export interface LastComparison {
  /** What was written later may be missing in it. */
  readonly comparedFromMs: number;
  /** How long the last comparison of all documents took to read both sides; null: not known. */
  readonly readMs: number | null;
}

interface Known {
  readonly proof: LastComparison | null;
  readonly history: readonly HistoryEntry[];
  /** How many changes were read so far. */
  readonly read: number;
  /** How many documents there are; null: not known. */
  readonly documents: number | null;
  /** Whether changes were not reported, so that all documents have to be compared. */
  readonly comparesAll: boolean;
  /** How far the stream is behind that runs now; null: none runs, or it is not known. */
  readonly lagMs: number | null;
}

/** Returns the estimate; null if nothing is known of the last comparison. */
export function stopEstimateOf(known: Known): StopEstimate | null {
  const { proof, history, read, documents, comparesAll, lagMs } = known;
  if (proof === null || proof.readMs === null) return null;
  const before = history.findLast(({ atMs }) => atMs <= proof.comparedFromMs)?.read ?? 0;
  const changes = Math.max(0, read - before);
  // Where the number of documents is not known, all of them is the upper bound.
  const share = comparesAll || documents === null ? 1 : Math.min(1, changes / Math.max(1, documents));
  const compareMs = Math.round(proof.readMs * share);
  return { ms: Math.max(QUIET_MS, compareMs) + (lagMs ?? 0), changes, comparesAll };
}
