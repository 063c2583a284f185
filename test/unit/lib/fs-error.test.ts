import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeFsError } from '../../../src/lib/fs-error.ts';

test.each([
  [join(tmpdir(), 'never', 'written'), 'there is no such file or folder'],
  [tmpdir(), 'it is a folder'],
])('file system error: %s -> %s', (path, words) => {
  let trouble: unknown;
  try {
    readFileSync(path);
  } catch (error) {
    trouble = error;
  }
  expect(describeFsError(trouble)).toBe(words);
});

test('describeFsError: an unknown error -> its own message', () => {
  expect(describeFsError(Object.assign(new Error('odd'), { code: 'EODD' }))).toBe('odd');
  expect(describeFsError('odd')).toBe('odd');
});
