import { expect, test } from 'vitest';
import type { Scalar } from '../../../../src/documents/scalar.ts';
import { bucketOf } from '../../../../src/keys/filters/hash.ts';

// Worked out apart from our code, from effective keys that Microsoft's SDK gave: the last eight digits, mod N. Keys
// of real containers are made of these numbers. They never change.
test.each<[value: Scalar, of2: number, of100: number, of400: number, ofMillion: number]>([
  ['', 0, 12, 112, 342112],
  ['abc', 0, 24, 24, 917224],
  ['redmond', 1, 47, 147, 882147],
  ['é', 1, 79, 379, 980379],
  ['日本', 1, 7, 7, 951207],
  [0, 0, 92, 392, 330392],
  [-0, 0, 92, 392, 330392],
  [1, 0, 24, 224, 376624],
  [-1, 1, 21, 121, 14521],
  [5.5, 1, 49, 349, 408749],
  [1e15, 1, 39, 339, 719139],
  [true, 1, 45, 345, 269145],
  [false, 0, 46, 146, 293746],
  [null, 0, 18, 118, 482518],
])('hash suffix: %j -> %i of 2, %i of 100, %i of 400, %i of 1,000,000', (value, ...buckets) => {
  expect([2, 100, 400, 1_000_000].map((count) => bucketOf(value, count))).toEqual(buckets);
});

test('hash suffix: many keys -> buckets of similar size', () => {
  const counts = Array.from({ length: 100 }, () => 0);
  for (let id = 0; id < 20_000; id += 1) {
    const bucket = bucketOf(`order-${id}`, counts.length);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  // 200 expected, with a standard deviation of 14.
  expect(Math.min(...counts)).toBeGreaterThan(140);
  expect(Math.max(...counts)).toBeLessThan(260);
});
