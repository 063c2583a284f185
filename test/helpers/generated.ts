/**
 * How many cases a generated test draws. `npm test` draws all of them. `npm run test:unit`, which runs between two edits,
 * draws a quarter: the seeds differ from run to run, so that a few edits draw as many.
 */
const isBetweenEdits = process.env['npm_lifecycle_event'] === 'test:unit';

export function draws(count: number): number {
  return isBetweenEdits ? Math.ceil(count / 4) : count;
}
