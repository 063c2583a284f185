/**
 * How many cases a generated test draws. `npm test` draws all of them. `npm run test:unit`, which runs between two edits,
 * draws an eighth: the seeds differ from run to run, so that a few edits draw as many.
 */
const isBetweenEdits = process.env['npm_lifecycle_event'] === 'test:unit';
const PART = 8;

export function draws(count: number): number {
  return isBetweenEdits ? Math.ceil(count / PART) : count;
}

/** All of the cases that a test goes through one by one; between two edits every eighth, beginning at one of the eight. */
export function drawn<T>(cases: readonly T[]): T[] {
  const first = Math.floor(Math.random() * PART);
  return isBetweenEdits ? cases.filter((_, index) => index % PART === first) : [...cases];
}
