/** What a journal says of the last cutover: where it is, how it ended, and what is left of it. */
import type { JournalEntry, JournalEvent } from '../state/journal.ts';
import type { Overview } from '../state/overview.ts';

export interface CutoverStatus {
  /** `interrupted`: it has died before its commit, and the application may still be stopped. */
  readonly state: 'under way' | 'interrupted' | 'backed out' | 'committed';
  /** When it got there. */
  readonly at: string;
  /** Since when, or for how long, writers were stopped; null while they may write. */
  readonly stoppedSince: string | null;
  readonly stoppedMs: number | null;
  /** Of one that has backed out. */
  readonly why: string | null;
  /** Ids, as JSON texts; '' for those that could not be named. */
  readonly lateWrites: readonly string[];
  /** Of one that is committed: what it has not come to. */
  readonly left: readonly ('hook' | 'watch' | 'settings')[];
}

export function cutoverOf({ cutover, isRunning, lastRun }: Overview): CutoverStatus | null {
  const last = cutover.findLast((entry) => entry.event === 'phase');
  if (last === undefined) return null;
  const at = isoOf(last.atMs);
  const none = { at, why: null, stoppedMs: null, stoppedSince: null, lateWrites: [], left: [] };
  const has = (event: JournalEvent['event']): boolean => cutover.some((entry) => entry.event === event);
  if (last.phase === 'committed') {
    return {
      ...none,
      state: 'committed',
      stoppedMs: last.stoppedMs,
      lateWrites: [...new Set(cutover.flatMap(lateIds))],
      left: [
        ...(has('application switched') ? [] : (['hook'] as const)),
        ...(has('late write watch ended') ? [] : (['watch'] as const)),
        ...(has('target settings applied') || last.likeSource.length === 0 ? [] : (['settings'] as const)),
      ],
    };
  }
  const fence = cutover.find((entry) => entry.event === 'phase' && entry.phase === 'fencing');
  const stoppedSince = fence === undefined || has('writers resumed') ? null : isoOf(fence.atMs);
  if (last.phase === 'tailing') return { ...none, state: 'backed out', why: last.why, stoppedSince };
  const isAtIt = isRunning && lastRun?.command === 'cutover';
  return { ...none, state: isAtIt ? 'under way' : 'interrupted', stoppedSince };
}

function lateIds(entry: JournalEntry): readonly string[] {
  if (entry.event !== 'late write') return [];
  return entry.ids.length === 0 ? [''] : entry.ids;
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
