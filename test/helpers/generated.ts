/**
 * How many cases a generated test draws: all of them by night and when a mutation has to be noticed, otherwise an eighth.
 * By day every run draws the same ones, so more of them would only take longer.
 */
import { isNightly } from './nightly.ts';

const isBetweenEdits = process.env['npm_lifecycle_event'] === 'test:unit';
const isWhole = isNightly || process.env['COSMIG_TEST_DRAWS'] === 'all';
const PART = 8;

export function draws(count: number): number {
  return isWhole ? count : Math.ceil(count / PART);
}

/** All cases by day as well, a sixteenth between two edits: for cases that take less than a millisecond each. */
export function cheapDraws(count: number): number {
  return isBetweenEdits ? Math.ceil(count / (2 * PART)) : count;
}

/** All of the cases that a test goes through one by one; between two edits every eighth, beginning at one of the eight. */
export function drawn<T>(cases: readonly T[]): T[] {
  const isDrawn = drawing();
  return cases.filter((_, index) => isDrawn(index));
}

/** Says of each case by its index whether it is among those that `drawn` takes. */
export function drawing(): (index: number) => boolean {
  const first = Math.floor(Math.random() * PART);
  return (index) => !isBetweenEdits || index % PART === first;
}

/**
 * Of the cases that a test goes through one by one, each with a run of the engine, every nth by day, from the one of that
 * index on; all by night and when a mutation has to be noticed. Lists of the same things begin at different ones.
 */
export function byDay<T>(cases: readonly T[], { every, from = 0 }: { every: number; from?: number }): T[] {
  return isWhole ? [...cases] : cases.filter((_, index) => index % every === from);
}
