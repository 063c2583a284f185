/**
 * Whole migrations under trouble, from seeds: an application writes, ranges split and merge, replies are lost, and the
 * mover is killed at named points and at random until it ends by itself. Invariant: each live document of the source
 * is in the target exactly once under its new key, to the byte, or in the dead letters with a reason that is true.
 *
 * A seed replays the plan, not the machine: run it a few times. `npm run torture` goes on for hours.
 */
import { describe, expect, test } from 'vitest';
import { runMigration } from './harness/migration/run.ts';
import { seedsOf } from './harness/migration/seeds.ts';
import { sized } from '../helpers/nightly.ts';

/** They differ in everything that a scenario varies. */
const FIXED = sized({ daily: [8], nightly: [2, 3, 4, 8] });
const FRESH = sized({ daily: 0, nightly: 2 });
const RUN_WITHIN_MS = 600_000;

describe.concurrent('migration: crashes and faults -> its promises hold', () => {
  test.each(seedsOf(FIXED, FRESH))('seed %i', { timeout: RUN_WITHIN_MS }, async (seed) => {
    await expect(runMigration(seed)).resolves.toMatchObject({ seed });
  });
});
