/** Time limits and intervals of a run. */

export interface Timing {
  /**
   * How long a request may take before it counts as lost. After this time, the service may still execute a lost request
   * for as long again.
   */
  readonly requestTimeoutMs: number;
  /** How long a reader waits at the end of its feed, while no change comes. */
  readonly pollMs: number;
  /** How often the progress of the run is shown. */
  readonly showMs: number;
}

export const TIMING: Timing = { requestTimeoutMs: 45_000, pollMs: 1000, showMs: 1000 };

/** A tail that lags by more than this would keep the writers stopped for too long. */
export const LAG_MAX_MS = 60_000;
/** How many minutes the writers may be stopped unless the operator says otherwise. */
export const DEADLINE_MIN = 2;

/** After this time since the commit, a cutover that is run again no longer looks for late writes. */
export const LATE_WRITES_MS = 24 * 3600 * 1000;

/** Time limits and intervals of a comparison of both sides. */
export interface CompareTiming {
  readonly requestTimeoutMs: number;
  /** The wait before the same document, or the same count, is read again. */
  readonly gapMs: number;
  /** How often the comparison saves its progress. After a crash, at most this much time of reading is repeated. */
  readonly checkpointMs: number;
  /** How many documents a page contains. */
  readonly pageSize: number;
}

export const COMPARE_TIMING: CompareTiming = {
  requestTimeoutMs: 45_000,
  gapMs: 2000,
  checkpointMs: 2000,
  pageSize: 1000,
};
