import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/lib/random.ts';
import {
  lsnOfPosition,
  positionAfter,
  stretchCount,
  stretchesOf,
  stretchPageSize,
} from '../../../../src/plan/reading/stretches.ts';
import { draws } from '../../../helpers/generated.ts';

test('any range and share -> stretches in order, apart from each other, and within the range', () => {
  fc.assert(
    fc.property(
      fc.nat(100_000),
      fc.double({ min: 0.001, max: 1, noNaN: true }),
      fc.integer({ min: 1, max: 500 }),
      fc.nat(),
      (endLsn, share, count, seed) => {
        let last = 0;
        for (const { after, until } of stretchesOf(endLsn, { share, count, random: seededRandom(seed) })) {
          expect(after).toBeGreaterThanOrEqual(last);
          expect(until).toBeGreaterThanOrEqual(after);
          last = until;
        }
        expect(last).toBeLessThanOrEqual(endLsn);
      },
    ),
    { numRuns: draws(300) },
  );
});

test('many samples -> each LSN is read equally often', () => {
  const [endLsn, share, rounds] = [40, 0.15, 6000];
  const random = seededRandom(3);
  const read = new Float64Array(endLsn + 1);
  for (let round = 0; round < rounds; round += 1)
    for (const { after, until } of stretchesOf(endLsn, { share, count: 5, random }))
      for (let lsn = after + 1; lsn <= until; lsn += 1) read[lsn] = (read[lsn] ?? 0) + 1;
  const often = [...read.subarray(1)].map((times) => times / rounds);
  expect(Math.min(...often)).toBeGreaterThan(0.12);
  expect(Math.max(...often)).toBeLessThan(0.18);
});

test('positions -> those of the service, and only plain ones are read', () => {
  expect(positionAfter(0)).toBeNull();
  expect(lsnOfPosition(positionAfter(17) ?? '')).toBe(17);
  for (const text of ['17', '"17;full"', '"a"', '', '"1,2"']) expect(lsnOfPosition(text)).toBeUndefined();
});

test('numbers of stretches -> limited, for all ranges together', () => {
  expect(stretchCount(1e9, 0.05, 1)).toBe(2048);
  expect(stretchCount(1e9, 0.05, 512)).toBe(4);
  expect(stretchCount(1e9, 0.05, 10_000)).toBe(1);
  expect(stretchCount(100_000, 0.05, 1)).toBe(32);
  // Each stretch is worth its request.
  expect(stretchCount(1000, 0.05, 1)).toBe(5);
  expect(stretchCount(3, 0.05, 1)).toBe(1);
});

test('pages of a stretch -> no larger than what is left of it', () => {
  expect(stretchPageSize({ after: 100, until: 250 }, 1, 1000)).toBe(150);
  expect(stretchPageSize({ after: 100, until: 250 }, 0.1, 1000)).toBe(15);
  expect(stretchPageSize({ after: 0, until: 5000 }, 3, 1000)).toBe(1000);
  expect(stretchPageSize({ after: 7, until: 8 }, 0.01, 1000)).toBe(1);
});
