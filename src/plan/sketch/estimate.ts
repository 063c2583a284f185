/** A figure with its bounds. Bounds of samples hold in 99 of 100 cases; exact figures have equal bounds. */
export interface Bounded {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/** How many standard deviations the bounds are away, so that they contain the truth in 99 of 100 cases. */
const DEVIATIONS = 2.576;

export function exactly(value: number): Bounded {
  return { estimate: value, low: value, high: value };
}

/**
 * Estimates how many things there are when a sample found `found` of them, and each was in the sample with the
 * probability `share`. The bounds are those of Wilson's interval for a Poisson variable, which is also right when
 * nothing was found.
 */
export function sampledCount(found: number, share: number): Bounded {
  if (share >= 1) return exactly(found);
  const half = (DEVIATIONS * DEVIATIONS) / 2;
  const spread = DEVIATIONS * Math.sqrt(found + half / 2);
  return {
    estimate: Math.round(found / share),
    low: Math.max(found, Math.floor((found + half - spread) / share)),
    high: Math.ceil((found + half + spread) / share),
  };
}
