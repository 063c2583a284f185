/** What a run reports that has not begun to do anything on either side. */
import type { RunLoad, RunSnapshot } from '../../src/engine/progress/snapshot.ts';
import type { SideReport } from '../../src/state/runs.ts';

const IDLE: SideReport = { ru: 0, throttled: 0, allowedRu: null, containerRu: null, ranges: [] };

/** Nothing is in flight. */
export const NOTHING = { count: 0, bytes: 0, oldestMs: null };

export const NO_LOAD: RunLoad = { inFlight: 0, pages: NOTHING, source: IDLE, target: IDLE, steps: [] };

/** What a run shows that has caught up without having read anything, but for what is given. */
export function snapshotOf(more: Partial<RunSnapshot> = {}): RunSnapshot {
  return {
    migration: 'shop/orders -> shop/by-tenant',
    goal: 'catch-up',
    phase: 'tailing',
    complete: true,
    documents: { read: 0, written: 0, deleted: 0, moved: 0, deadLettered: 0 },
    ru: { source: 0, target: 0 },
    throttled: 0,
    durationMs: 1000,
    lagSeconds: null,
    ranges: [],
    waitsFor: null,
    sweepPending: false,
    outlook: { documents: null, readBefore: 0, uncommitted: 0, targetRu: null },
    load: NO_LOAD,
    ...more,
  };
}
