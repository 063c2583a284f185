/**
 * How fast a migration moves, and when it may be done, from the moments that its run has recorded. Invariant: what the
 * moments do not show is null, and is shown as unknown.
 */
import type { HistoryEntry } from '../../../state/reading/history.ts';

/** Rates per second. */
export interface RecentRates {
  readonly documents: number;
  readonly sourceRu: number;
  readonly targetRu: number;
}

/** Rates are taken over this time: long enough to hide the steps in which pages are committed. */
export const WINDOW_MS = 10_000;
/** How many such times the end is estimated from. */
const WINDOWS = 6;
/** Fewer do not show how much the rate changes. */
const WINDOWS_LEAST = 3;

/** Returns the newest rates; null: too little was recorded since `sinceMs`, when the run began. */
export function paceOf(history: readonly HistoryEntry[], sinceMs: number): RecentRates | null {
  const last = history.at(-1);
  if (last === undefined) return null;
  return between(startOf(history, { endMs: last.atMs, sinceMs }), last);
}

/** A moment that is older says nothing of now. */
const NOW_MS = 30_000;

/** Returns the rates of a run that is in progress; null: too little was recorded, or it was long ago. */
export function paceNow(
  history: readonly HistoryEntry[],
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): RecentRates | null {
  const last = history.at(-1);
  return last === undefined || nowMs - last.atMs > NOW_MS ? null : paceOf(history, sinceMs);
}

/** The time that is left for so many documents, at the lowest and at the highest rate of the last minute. */
export interface TimeLeft {
  readonly shortMs: number;
  readonly longMs: number;
}

export function timeLeft(
  history: readonly HistoryEntry[],
  { documents, sinceMs }: { readonly documents: number; readonly sinceMs: number },
): TimeLeft | null {
  const rates: number[] = [];
  let last = history.at(-1);
  while (last !== undefined && rates.length < WINDOWS) {
    const start = startOf(history, { endMs: last.atMs, sinceMs });
    const pace = between(start, last);
    if (pace === null) break;
    rates.push(pace.documents);
    last = start;
  }
  const slowest = Math.min(...rates);
  if (rates.length < WINDOWS_LEAST || slowest <= 0) return null;
  return { shortMs: (documents / Math.max(...rates)) * 1000, longMs: (documents / slowest) * 1000 };
}

/** Returns the newest moment that is at least a window older than `endMs`, or else the oldest one of the run. */
function startOf(
  history: readonly HistoryEntry[],
  { endMs, sinceMs }: { readonly endMs: number; readonly sinceMs: number },
): HistoryEntry | undefined {
  const ofRun = history.filter(({ atMs }) => atMs >= sinceMs && atMs < endMs);
  return ofRun.findLast(({ atMs }) => atMs <= endMs - WINDOW_MS) ?? ofRun[0];
}

function between(start: HistoryEntry | undefined, end: HistoryEntry): RecentRates | null {
  if (start === undefined || start.atMs >= end.atMs) return null;
  const seconds = (end.atMs - start.atMs) / 1000;
  return {
    documents: (end.read - start.read) / seconds,
    sourceRu: (end.sourceRu - start.sourceRu) / seconds,
    targetRu: (end.targetRu - start.targetRu) / seconds,
  };
}
