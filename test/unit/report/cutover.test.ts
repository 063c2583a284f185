import { expect, test } from 'vitest';
import { cutoverJson, errorForCutover } from '../../../src/report/cutover.ts';
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
