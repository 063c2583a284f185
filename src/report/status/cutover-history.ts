/** The last cutover as the journal records it: its state, how it ended, and what remains to be done. */
import { isSwitch } from '../../state/runs.ts';
import type { JournalEntry, JournalEvent } from '../../state/journal.ts';
import type { Overview } from '../../state/reading/overview.ts';
import { isoTime } from '../format.ts';
import type { StatusResult } from '../json/ledger-results.ts';

type CutoverStatus = NonNullable<StatusResult['cutover']>;

export function cutoverOf({ cutover, isRunning, lastRun }: Overview): CutoverStatus | null {
  const last = cutover.findLast((entry) => entry.event === 'phase');
  if (last === undefined) return null;
  const at = isoTime(last.atMs);
  const none = { at, why: null, stoppedMs: null, stoppedSince: null, lateWrites: [], left: [] };
  const has = (event: JournalEvent['event']): boolean => cutover.some((entry) => entry.event === event);
  if (last.phase === 'committed') {
    return {
      ...none,
      state: 'committed',
      stoppedMs: last.stoppedMs,
      lateWrites: [...new Set(cutover.flatMap(lateIds))],
      left: [
        ...(has('application switched') || last.hasHook === false ? [] : (['hook'] as const)),
        ...(has('late write watch ended') ? [] : (['watch'] as const)),
        ...(has('target settings applied') || last.likeSource.length === 0 ? [] : (['settings'] as const)),
      ],
    };
  }
  const fence = cutover.find((entry) => entry.event === 'phase' && entry.phase === 'fencing');
  const stoppedSince = fence === undefined || has('writers resumed') ? null : isoTime(fence.atMs);
  if (last.phase === 'tailing') return { ...none, state: 'backed out', why: last.why, stoppedSince };
  const isAtIt = isRunning && isSwitch(lastRun?.command);
  return { ...none, state: isAtIt ? 'in progress' : 'interrupted', stoppedSince };
}

function lateIds(entry: JournalEntry): readonly string[] {
  if (entry.event !== 'late write') return [];
  return entry.ids.length === 0 ? [''] : entry.ids;
}
