/**
 * The mutations that `npm run mutations` applies still fit the code: a text that was edited would otherwise be noticed
 * only by the nightly run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { CUTOVER_RULES } from './faults/mutations-cutover.ts';
import { DOCUMENT_RULES } from './faults/mutations-documents.ts';
import { LOAD_RULES } from './faults/load/mutations.ts';
import { PATCHES } from './faults/mutations-patches.ts';
import { LEDGER_RULES } from './faults/ledger/mutations.ts';
import { VERIFY_RULES } from './faults/mutations-verify.ts';
import { FOUND_MUTATIONS, MUTATIONS } from './model/mutations.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const RULES = [...DOCUMENT_RULES, ...VERIFY_RULES, ...CUTOVER_RULES, ...LEDGER_RULES, ...LOAD_RULES];

test.each([...PATCHES, ...RULES])(
  'mutation $name: each text it replaces occurs exactly once',
  ({ edits }) => {
    const stale = edits.filter(
      ({ file, find }) => readFileSync(`${ROOT}${file}`, 'utf8').split(find).length !== 2,
    );
    expect(stale).toEqual([]);
  },
);

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
  expect(readme).toContain(
    `${MUTATIONS.length + RULES.length} rules of the model, the comparison and the cutover`,
  );
  const testing = read('docs/internals/testing.md');
  expect(testing).toContain(`Each of the ${MUTATIONS.length} rules of the model`);
  expect(testing).toContain(`${PATCHES.length} of them also have an edit`);
  const named = [...testing.matchAll(/npm run mutations -- (?<name>[a-z][a-z-]+)/g)].map(
    ({ groups }) => groups?.['name'],
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => ![...PATCHES, ...RULES].some((rule) => rule.name === name))).toEqual([]);
});
