import { expect, test } from 'vitest';
import { wrapText } from '../../../src/report/format.ts';

test.each<[condition: string, text: string, columns: number, lines: readonly string[]]>([
  ['words that fit', 'one two three', 7, ['one two', 'three']],
  [
    'a path that is longer than a line',
    'at /var/lib/cosmig/shop.db now',
    16,
    ['at', '/var/lib/cosmig/', 'shop.db now'],
  ],
  ['a long word without a slash', 'abcdefghij', 4, ['abcd', 'efgh', 'ij']],
  ['a slash at the beginning alone', '/abcdefghij', 4, ['/abc', 'defg', 'hij']],
])('wrapping a text: %s', (_condition, text, columns, lines) => {
  expect(wrapText(text, columns)).toEqual(lines);
});
