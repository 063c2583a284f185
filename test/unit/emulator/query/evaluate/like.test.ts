import { describe, expect, test, vi } from 'vitest';
import { likeMatcher } from '../../../../../src/emulator/query/evaluate/like.ts';
import { refusalOf } from '../asking.ts';

/** How often a match looks at a unit of the text. */
function stepsOf(pattern: string, text: string): number {
  const matches = likeMatcher(pattern, undefined);
  const looked = vi.spyOn(String.prototype, 'charAt');
  try {
    matches(text);
  } catch {
    // A refusal has looked at units, too.
  }
  const steps = looked.mock.calls.length;
  looked.mockRestore();
  return steps;
}

describe('LIKE: the steps of a match', () => {
  test('a long pattern that almost matches everywhere -> at most 64 for each unit of the text', () => {
    const pattern = `%${'a'.repeat(50_000)}b`;
    expect(stepsOf(pattern, 'a'.repeat(1000))).toBeLessThanOrEqual(10_000 + 64 * 1000);
    expect(stepsOf(pattern, 'a'.repeat(4000))).toBeLessThanOrEqual(10_000 + 64 * 4000);
  });

  test('a pattern of 50,000 characters on a text of 100 kB -> refused by name', () => {
    const matches = likeMatcher(`%${'a'.repeat(50_000)}b`, undefined);
    expect(refusalOf(() => matches('a'.repeat(100_000)))).toContain('LIKE');
  });

  test.each([
    ['a long pattern that matches', `%${'ab'.repeat(20_000)}%`, `x${'ab'.repeat(20_000)}y`, true],
    ['a long pattern that fails early', `%${'ab'.repeat(20_000)}%`, 'ax'.repeat(500_000), false],
    ['many short parts', `%${'a%'.repeat(20_000)}`, 'ab'.repeat(20_000), true],
    ['short parts that almost match everywhere', `%${'a'.repeat(50)}b%`, 'a'.repeat(100_000), false],
    ['wildcards of one unit', `%${'_'.repeat(30)}b`, `${'a'.repeat(100_000)}b`, true],
  ])('%s -> answered', (_what, pattern, text, expected) => {
    expect(likeMatcher(pattern, undefined)(text)).toBe(expected);
  });
});
