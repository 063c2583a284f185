/**
 * Estimates what a rollback would have to catch up with now, and for how long it would stop the writers, from what the
 * ledger and the last comparison know. The rollback catches up before it stops them; then it replicates what came in the
 * meantime, and compares while it waits for the source to be quiet. Invariant: what is not known is null. The time of the
 * operator's scripts is never known.
 */
import type { StatusResult } from '../json/ledger-results.ts';
import type { HistoryEntry } from '../../state/reading/history.ts';
import type { RunReport } from '../../state/runs.ts';
import { LAG_MAX_MS } from '../../spec/timing.ts';
import { isoTime } from '../format.ts';

type WayBack = NonNullable<StatusResult['wayBack']>;
type StopEstimate = NonNullable<WayBack['stopEstimate']>;
type CatchUp = NonNullable<WayBack['catchUp']>;

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
  /** How many changes were read so far, with those that have to be caught up with. */
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

/** How far back the changes are counted from which those are estimated that have arrived since. */
const COUNTED_MS = 3600_000;
/** After less time, a rate says nothing. */
const COUNTED_LEAST_MS = 10_000;

interface CatchingUp {
  readonly history: readonly HistoryEntry[];
  /** What the last run has reported last, with the RU/s that it could use. */
  readonly report: Pick<RunReport, 'source' | 'target'> | null;
}

/** What a rollback would have to catch up with, and whether the gate would then let it stop the writers. */
interface ToCatchUp extends CatchUp {
  /** Whether so much would arrive while it catches up that its gate would refuse. */
  readonly isTooMuch: boolean;
}

/** Returns what has to be caught up with since nothing has tailed; null: it is not known since when. */
export function catchUpOf({ history, report }: CatchingUp, nowMs: number): ToCatchUp | null {
  const tailed = history.filter(({ lagSeconds }) => lagSeconds !== null);
  const last = tailed.at(-1);
  if (last === undefined) return null;
  const sinceMs = last.atMs - (last.lagSeconds ?? 0) * 1000;
  const since = isoTime(sinceMs);
  const first = tailed.find(({ atMs }) => atMs >= last.atMs - COUNTED_MS) ?? last;
  const countedMs = last.atMs - first.atMs;
  if (countedMs < COUNTED_LEAST_MS) return { since, changes: null, ms: null, isTooMuch: false };
  const read = last.read - first.read;
  const share = Math.max(0, nowMs - sinceMs) / countedMs;
  const changes = Math.round(read * share);
  // How long so many changes take with the RU/s of both sides. Each costs as much as those that were counted.
  const timeOf = (ru: number, allowedRu: number): number => (ru * share * 1000) / Math.max(1, allowedRu);
  const source = report?.source.allowedRu ?? null;
  const target = report?.target.allowedRu ?? null;
  // Reads cost far less than writes, and often have no limit. Without one for writes, the time is not known.
  const readMs = source === null ? 0 : timeOf(last.sourceRu - first.sourceRu, source);
  const ms =
    target === null ? null : Math.round(Math.max(readMs, timeOf(last.targetRu - first.targetRu, target)));
  // In the second round of the gate, what has arrived during the first.
  const secondMs = ms === null ? 0 : ms * (ms / Math.max(1, nowMs - sinceMs));
  return { since, changes, ms, isTooMuch: secondMs > LAG_MAX_MS };
}
