/** What a run reports that has not begun to do anything on either side. */
import type { RunLoad } from '../../src/engine/progress/snapshot.ts';
import type { SideReport } from '../../src/state/runs.ts';

const IDLE: SideReport = { ru: 0, throttled: 0, allowedRu: null, containerRu: null, ranges: [] };

/** Nothing is in flight. */
export const NOTHING = { count: 0, bytes: 0, oldestMs: null };

export const NO_LOAD: RunLoad = { inFlight: 0, pages: NOTHING, source: IDLE, target: IDLE, steps: [] };
