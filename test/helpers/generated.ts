/**
 * How many cases a generated test draws. `npm test` draws all of them. `npm run test:unit`, which runs between two edits,
 * draws a quarter: the seeds differ from run to run, so that a few edits draw as many.
 */
const isBetweenEdits = process.env['npm_lifecycle_event'] === 'test:unit';

export function draws(count: number): number {
  return isBetweenEdits ? Math.ceil(count / 4) : count;
}

/** All of the cases that a test goes through one by one; between two edits every fourth, beginning at one of the four. */
export function drawn<T>(cases: readonly T[]): T[] {
  const first = Math.floor(Math.random() * 4);
  return isBetweenEdits ? cases.filter((_, index) => index % 4 === first) : [...cases];
}
