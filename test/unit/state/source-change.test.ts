import { expect, test } from 'vitest';
import { describeChanges } from '../../../src/state/source-change.ts';

test.each([
  [['a', 'b'], ['b', 'c'], 'a, b, c written in range 0; d deleted in range 0'],
  [
    ['a', 'b', 'c'],
    ['d', 'e', 'f'],
    'a, b, c, d, e and perhaps others written in range 0; d deleted in range 0',
  ],
])('changes of one range: found by two searches -> named once', (first, second, text) => {
  const found = [
    { range: '0', ids: first, what: 'written' },
    { range: '0', ids: ['d'], what: 'deleted' },
    { range: '0', ids: second, what: 'written' },
  ] as const;
  expect(describeChanges(found)).toBe(text);
});
