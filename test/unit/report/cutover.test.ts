import { describe, expect, test } from 'vitest';
import { cutoverJson, cutoverText, errorForCutover } from '../../../src/report/cutover.ts';
import type { CutoverResult } from '../../../src/engine/cutover/contract.ts';
import { NotReadyError } from '../../../src/lib/errors.ts';

const DONE: CutoverResult = {
  committedAtMs: 0,
  stoppedMs: 1,
  proof: null,
  repaired: { documents: 0, byOthers: 0, ids: [] },
  settings: [],
  trouble: null,
  lateWrites: [],
  isSwitched: true,
};
const trouble = new NotReadyError('no right to see them', { why: 'it', hint: 'sign in' });
const lateWrites = [{ range: '0', ids: ['"late"'], what: 'written' }] as const;

test.each<readonly [string, Partial<CutoverResult>, string | undefined]>([
  ['nothing', {}, undefined],
  ['settings that could not be read', { trouble }, 'the target is in use, but no right to see them'],
  ['late writes', { lateWrites }, '1 document or more changed in the source after the commit'],
  ['both', { trouble, lateWrites }, '1 document or more changed in the source after the commit'],
])('cutover result: %s -> its error', (_what, more, message) => {
  const result = { ...DONE, ...more };
  expect(errorForCutover(result)?.message).toBe(message);
  expect(cutoverJson(result)).toMatchObject({ lateWrites: result.lateWrites });
});

describe('cutover result: documents that were repaired', () => {
  const result = { ...DONE, repaired: { documents: 1727, byOthers: 0, ids: ['"a"', '"b"'] } };
  const NONE = { missing: 0, extra: 0, different: 0, wrongSlot: 0 };
  const rowOf = (...found: Parameters<typeof cutoverText>[1]): string =>
    /^repaired +(.*(?:\n .*)*)/m.exec(cutoverText(result, found))?.[1]?.replaceAll(/\s+/g, ' ') ?? '';

  test('what each comparison had found -> says how they differed', () => {
    const found = [
      { ...NONE, extra: 1000, missing: 700 },
      { ...NONE, extra: 27 },
    ];
    expect(rowOf(...found)).toBe(
      '1,727 documents while writers were stopped (1,027 extra, 700 missing): "a", "b", ...',
    );
  });

  test.each([
    ['not known, since an earlier run has committed', []],
    ['of which some differed again', [{ ...NONE, extra: 1728 }]],
  ])('%s -> not said', (_what, found) => {
    expect(rowOf(...found)).toBe('1,727 documents while writers were stopped: "a", "b", ...');
  });
});
