/**
 * Proofs and cutovers that are killed, from seeds: an application writes, tail, verify and cutover with its hooks are
 * real processes that end by SIGKILL at every step of the state machine, around each line of the journal, in hooks and
 * at random. Invariant: whenever the journal says "committed", both sides hold the same and the application no longer
 * writes to the source; and after every death the command that status names leads on. `npm run torture -- --cutover`
 * goes on for hours.
 */
import { describe, expect, test } from 'vitest';
import { runCutovers } from './harness/cutover/run.ts';
import { seedsOf } from './harness/migration/seeds.ts';
import { sized } from '../helpers/nightly.ts';

/** 706 stops the writers with hooks; 712 runs in a maintenance window in which the application is off. */
const FIXED = sized({ daily: [706], nightly: [706, 712] });
const FRESH = sized({ daily: 0, nightly: 1 });
const RUN_WITHIN_MS = 600_000;

describe.concurrent('cutover: killed -> its promises hold', () => {
  test.each(seedsOf(FIXED, FRESH))('seed %i', { timeout: RUN_WITHIN_MS }, async (seed) => {
    await expect(runCutovers(seed)).resolves.toMatchObject({ seed });
  });
});
