import { describe, expect, test } from 'vitest';
import { problemsOf } from '../../../scripts/commit-rule.ts';

const AREAS = new Set(['engine', 'test', 'ci']);
const FORM = 'it is not of the form "area: imperative subject"';

describe('commit rule', () => {
  test.each([
    'engine: keep per-document order across retries',
    'test: seed the clock of the model',
    'ci: process macOS and Windows in one job',
    'engine: embed the kernel',
    `engine: ${'x'.repeat(64)}`,
  ])('a subject that follows it -> accepted: %s', (subject) => {
    expect(problemsOf(subject, AREAS)).toEqual([]);
  });

  test.each([
    ['no area', 'keep the order', [FORM]],
    [
      'another scheme',
      'fix(engine): keep the order',
      ['"fix(engine)" is not an area; the areas are ci, engine, test'],
    ],
    ['an unknown area', 'motor: keep the order', ['"motor" is not an area; the areas are ci, engine, test']],
    ['no blank after the colon', 'engine:keep the order', [FORM]],
    ['nothing after the area', 'engine: ', [FORM]],
    ['too long', `engine: ${'x'.repeat(65)}`, ['it has 73 characters; at most 72 are allowed']],
    ['a period', 'engine: keep the order.', ['it ends with a period']],
    ['a capital', 'engine: Keep the order', ['it begins with "Keep", not with a verb in lower case']],
    ['an article', 'engine: the order is kept', ['it begins with "the", not with a verb']],
    ['a past form', 'engine: fixed the order', ['"fixed" looks like a past form; use the imperative']],
    ['an irregular past', 'engine: kept the order', ['"kept" looks like a past form; use the imperative']],
    ['an -ing form', 'engine: keeping order', ['"keeping" looks like an -ing form; use the imperative']],
    [
      'a third person',
      'engine: keeps the order',
      ['"keeps" looks like a third-person form or a plural; use the imperative'],
    ],
    ['several of them', 'fixed it.', ['it ends with a period', FORM]],
  ])('%s -> refused', (_what, subject, problems) => {
    expect(problemsOf(subject, AREAS)).toEqual(problems);
  });
});
