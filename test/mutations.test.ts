/**
 * The mutations that `npm run mutations` applies still fit the code: a text that was edited would otherwise be noticed
 * only by the nightly run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { DRIVEN, FAULTY, TESTED } from './faults/mutations/all-rules.ts';
import { FOUND_MUTATIONS, MUTATIONS } from './model/mutations.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const RULES = [...DRIVEN, ...TESTED];

test.each(RULES)('mutation $name: each text it replaces occurs exactly once', ({ edits }) => {
  const stale = edits.filter(
    ({ file, find }) => readFileSync(`${ROOT}${file}`, 'utf8').split(find).length !== 2,
  );
  expect(stale).toEqual([]);
});

test.each(RULES)('mutation $name: the test that must notice it exists', ({ test: file, by }) => {
  expect(existsSync(`${ROOT}${file}`)).toBe(true);
  // `by` is a pattern, and a test.each fills its name from a table: so word by word.
  const text = readFileSync(`${ROOT}${file}`, 'utf8');
  expect(by.split(/[\s.]+/).filter((word) => !text.includes(word))).toEqual([]);
});

test('documents: the numbers of rules -> are those of the lists', () => {
  const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8').replaceAll(/\s+/g, ' ');
  const readme = read('README.md');
  expect(readme).toContain(`found ${FOUND_MUTATIONS.length} rules that the first design lacked`);
  const [, least] = /More than (\d+) rules are/.exec(readme) ?? [];
  expect(RULES.length).toBeGreaterThan(Number(least));
  const testing = read('docs/internals/testing.md');
  expect(testing).toContain(`Each of the ${MUTATIONS.length} rules of the model`);
  expect(testing).toContain(`${DRIVEN.length - MUTATIONS.length} more rules of the engine`);
  expect(testing).toContain(`${FAULTY.length} of them`);
  const named = [...testing.matchAll(/npm run mutations -- (?<name>[a-z][a-z-]+)/g)].map(
    ({ groups }) => groups?.['name'],
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !RULES.some((rule) => rule.name === name))).toEqual([]);
});
