/**
 * Whole migrations there, back, and there again, under trouble and with processes that are killed, from seeds. A seed
 * replays the plan, not the machine.
 */
import { describe, expect, test } from 'vitest';
import { sized } from '../helpers/nightly.ts';
import { seedsOf } from './harness/migration/seeds.ts';
import { runTurns } from './harness/turns/run.ts';

const FIXED = sized({ daily: [1], nightly: [1, 2, 3, 4] });
const FRESH = sized({ daily: 0, nightly: 16 });

describe.concurrent('there and back: crashes and faults -> each side has what the application wrote', () => {
  test.each(seedsOf(FIXED, FRESH))('seed %i', { timeout: 600_000 }, async (seed) => {
    await expect(runTurns(seed)).resolves.toMatchObject({ documents: expect.any(Number) });
  });
});
