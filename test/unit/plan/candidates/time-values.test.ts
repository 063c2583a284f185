import { expect, test } from 'vitest';
import { hasTimeValues } from '../../../../src/plan/candidates/time-values.ts';
import { parseCandidate } from '../../../../src/plan/candidates/candidate.ts';

test.each([
  ['/day', ['2026-05-03']],
  ['/month', ['2026-05', '2026-04']],
  ['/quarter', ['2026-Q2']],
  ['/week', ['2026-W21']],
  ['/at', ['2026-05-03T10:00:00.123Z', '2026-05-03T10:00:00+02:00', '2026-05-03 10:00']],
  ['/seconds', [1_790_000_000]],
  ['/millis', [1_790_000_000_000]],
  ['/pk={createdAt|month}', ['2026-05']],
  ['/pk={createdAt|year}-{createdAt|week}', ['2026-2026-W21']],
  ['/pk={createdAt|date:yyyy-MM}', ['2026-05']],
  ['/day,/customerId', ['2026-05-03']],
])('%s with %j -> times', (key, values) => {
  expect(
    hasTimeValues(
      parseCandidate(key),
      values.map((value) => [value]),
    ),
  ).toBe(true);
});

test.each([
  ['/id', ['o1']],
  ['/number', [1, 2, 3]],
  ['/year', ['1900']],
  ['/mixed', ['2026-05-03', 'none']],
  ['/empty', []],
  ['/missing', [undefined]],
  // The hash of an id looks like a day of the month.
  ['/pk={createdAt|month}-{id|hash:400}', ['2026-05-17']],
  ['/pk={createdAt|month}-{shop}', ['2026-05-12']],
  ['/pk={deviceId}-{createdAt|month}', ['2026-05']],
  ['/customerId,/day', ['c1']],
])('%s with %j -> not times', (key, values) => {
  expect(
    hasTimeValues(
      parseCandidate(key),
      values.map((value) => [value]),
    ),
  ).toBe(false);
});
