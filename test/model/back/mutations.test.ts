/**
 * Every rule of the way back earns its place: without it some journey breaks a promise, the shortest trace found is
 * short, and with the rule the same trace breaks nothing.
 */
import { expect, test } from 'vitest';
import { drawn } from '../../helpers/generated.ts';
import { BACK_CASES } from './cases.ts';
import { BACK_MUTATIONS, type BackMutation } from './mutations.ts';
import { describeVoyage, explore, replay, shortest, type Voyage } from './travel.ts';
import { linesOf } from '../shrink.ts';

// The seed in the table fails at once; after a change of the model the search continues from there.
const RUNS_MAX = 20_000;

function find(mutation: BackMutation): Voyage | null {
  const { seed, itinerary } = BACK_CASES[mutation];
  for (let next = seed; next < seed + RUNS_MAX; next += 1) {
    const voyage = explore(next, { mutation, itinerary });
    if (voyage !== null) return shortest(voyage);
  }
  return null;
}

test.each(drawn(BACK_MUTATIONS))('way back without %s -> a promise is broken', (mutation) => {
  const voyage = find(mutation);
  expect(voyage).not.toBeNull();
  if (voyage === null) return;
  if (process.env['COSMIG_MODEL_TRACE'] !== undefined) process.stdout.write(`\n${describeVoyage(voyage)}\n`);
  expect(linesOf(voyage.trace).length).toBeLessThanOrEqual(BACK_CASES[mutation].lines);
  expect(replay({ ...voyage, mutation: null }, voyage.trace)).toBeNull();
});
