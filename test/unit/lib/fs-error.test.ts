import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileTrouble } from '../../../src/lib/fs-error.ts';

test.each([
  [join(tmpdir(), 'nobody', 'wrote', 'this'), 'there is no such file or folder'],
  [tmpdir(), 'it is a folder'],
])('%s: %s', (path, words) => {
  let trouble: unknown;
  try {
    readFileSync(path);
  } catch (error) {
    trouble = error;
  }
  expect(fileTrouble(trouble)).toBe(words);
});

test('what has no words of ours keeps its own', () => {
  expect(fileTrouble(Object.assign(new Error('odd'), { code: 'EODD' }))).toBe('odd');
  expect(fileTrouble('odd')).toBe('odd');
});
