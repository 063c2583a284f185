/** How durations are counted. */
import { expect, test } from 'vitest';
import { DURATION_BOUNDS_MS, Durations } from '../../../../src/cosmos/load/durations.ts';

test('durations -> each counts once, under the first bound that it does not exceed', () => {
  const durations = new Durations();
  for (const ms of [0, 5, 6, 10_000, 10_001, 1e9]) durations.add(ms);
  const { counts, sumMs } = durations.current;
  expect(counts).toHaveLength(DURATION_BOUNDS_MS.length + 1);
  expect(counts).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
  expect(sumMs).toBe(1_000_020_012);
});
