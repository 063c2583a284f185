/** What a journal says of the last cutover: where it is, how it ended, and what is left of it. */
import { LET_ON } from '../engine/phases.ts';
import type { JournalEntry } from '../state/migration.ts';
import type { Picture } from '../state/overview.ts';

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

export function cutoverOf({ cutover, facts: { phase }, isRunning, lastRun }: Picture): CutoverStatus | null {
  const last = cutover.findLast(({ event }) => event.startsWith('phase '));
  if (last === undefined) return null;
  const fence = cutover.findLast(({ event }) => event === 'phase fencing');
  const first = cutover.find(({ event }) => event === 'phase fencing') ?? fence;
  const at = isoOf(last.atMs);
  const none = { at, why: null, stoppedMs: null, stoppedSince: null, lateWrites: [], left: [] };
  if (phase === 'committed') {
    const has = (event: string): boolean => cutover.some((entry) => entry.event === event);
    return {
      ...none,
      state: 'committed',
      stoppedMs: numberIn(last, 'stoppedMs'),
      lateWrites: [...new Set(cutover.filter(({ event }) => event === 'late write').flatMap(idsIn))],
      left: [
        ...(has('switched') ? [] : (['hook'] as const)),
        ...(has('watched') ? [] : (['watch'] as const)),
        ...(has('settings') || !asksForSettings(last) ? [] : (['settings'] as const)),
      ],
    };
  }
  const isLetOn = first === undefined || cutover.some(({ event }) => event === LET_ON);
  const stoppedSince = isLetOn ? null : isoOf(first.atMs);
  if (last.event === 'phase tailing') {
    return { ...none, state: 'backed out', why: textIn(last, 'why'), stoppedSince };
  }
  const isAtIt = isRunning && lastRun?.command === 'cutover';
  return { ...none, state: isAtIt ? 'under way' : 'interrupted', stoppedSince };
}

function fieldOf({ details }: JournalEntry, name: string): unknown {
  const parsed: unknown = JSON.parse(details);
  return typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, name) : undefined;
}

function numberIn(entry: JournalEntry, name: string): number | null {
  const value = fieldOf(entry, name);
  return typeof value === 'number' ? value : null;
}

function textIn(entry: JournalEntry, name: string): string | null {
  const value = fieldOf(entry, name);
  return typeof value === 'string' ? value : null;
}

/** With the commit; what is asked for later is told to who has asked. */
function asksForSettings(entry: JournalEntry): boolean {
  const names = fieldOf(entry, 'likeSource');
  return Array.isArray(names) && names.length > 0;
}

function idsIn(entry: JournalEntry): string[] {
  const ids = fieldOf(entry, 'ids');
  return Array.isArray(ids) && ids.length > 0 ? ids.map(String) : [''];
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
