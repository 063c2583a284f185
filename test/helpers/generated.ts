/**
 * How many cases a generated test draws: all of them by night and when a mutation has to be noticed, half of them with
 * `npm test`, and an eighth with `npm run test:unit`, which runs between two edits.
 */
import { isNightly } from './nightly.ts';

const isBetweenEdits = process.env['npm_lifecycle_event'] === 'test:unit';
const isWhole = isNightly || process.env['COSMIG_TEST_DRAWS'] === 'all';
const PART_BETWEEN_EDITS = 8;
const PART_BY_DAY = 2;

export function draws(count: number): number {
  if (isBetweenEdits) return Math.ceil(count / PART_BETWEEN_EDITS);
  return isWhole ? count : Math.ceil(count / PART_BY_DAY);
}

/** All of the cases that a test goes through one by one; between two edits every eighth, beginning at one of the eight. */
export function drawn<T>(cases: readonly T[]): T[] {
  const first = Math.floor(Math.random() * PART_BETWEEN_EDITS);
  return isBetweenEdits ? cases.filter((_, index) => index % PART_BETWEEN_EDITS === first) : [...cases];
}
