/** Time limits and intervals of a run. */

export interface Timing {
  /** After this long a request counts as lost; what it wrote may still land within the same time. */
  readonly requestTimeoutMs: number;
  /** How long a reader waits after it has reached the end of its feed. */
  readonly pollMs: number;
  /** How often the progress of the run is shown. */
  readonly showMs: number;
}

export const TIMING: Timing = { requestTimeoutMs: 45_000, pollMs: 1000, showMs: 1000 };

/** The same for a comparison of both sides. */
export interface CompareTiming {
  readonly requestTimeoutMs: number;
  /** Between two looks at the same document or the same counts. */
  readonly gapMs: number;
  /** How often the pass saves how far it has come: at most this much is read again after a crash. */
  readonly checkpointMs: number;
  /** Documents a page. */
  readonly pageSize: number;
}

export const COMPARE_TIMING: CompareTiming = {
  requestTimeoutMs: 45_000,
  gapMs: 2000,
  checkpointMs: 2000,
  pageSize: 1000,
};
