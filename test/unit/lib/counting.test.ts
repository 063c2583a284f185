import { assert, double, maxSafeInteger, oneof, property } from 'fast-check';
import { expect, test } from 'vitest';
import { formatCount } from '../../../src/lib/counting.ts';

const ODD = [
  0,
  -1,
  999,
  1000,
  -1000,
  1e6,
  1.5,
  -1234.5678,
  2 ** 53,
  1e21,
  Number.NaN,
  Number.POSITIVE_INFINITY,
];

test('formatCount: any number -> as Node formats it in English', () => {
  for (const value of ODD) expect(formatCount(value)).toBe(value.toLocaleString('en-US'));
  const numbers = oneof(maxSafeInteger(), double({ min: -1e12, max: 1e12 }));
  assert(
    property(numbers, (value) => {
      // Zero has no sign in a message.
      expect(formatCount(value)).toBe((value === 0 ? 0 : value).toLocaleString('en-US'));
    }),
  );
});
