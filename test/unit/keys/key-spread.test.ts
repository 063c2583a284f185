import { expect, test } from 'vitest';
import type { KeyComponent } from '../../../src/epk/effective-key.ts';
import type { ComputedKey } from '../../../src/keys/plan.ts';
import { KeyTally } from '../../../src/keys/key-spread.ts';

function key(...values: KeyComponent[]): ComputedKey {
  return { kind: 'key', values, additions: [], missing: values.includes(undefined) };
}

test('key spread: keys of different types -> counted apart, the largest first', () => {
  const tally = new KeyTally('hash-v2', 4);
  for (const value of ['a', 1, '1', 'b', 1, undefined, 'b', 1, null]) tally.add(key(value));
  tally.add({ kind: 'refused', reason: 'invalid-key', why: 'odd' });
  expect(tally).toMatchObject({
    documents: 10,
    distinct: 6,
    isExact: true,
    missing: 1,
    refused: { 'missing-key': 0, 'invalid-key': 1, 'key-too-long': 0 },
  });
  expect(tally.biggest(3)).toEqual([
    { values: [1], documents: 3 },
    { values: ['b'], documents: 2 },
    { values: ['a'], documents: 1 },
  ]);
  expect(tally.inRanges.reduce((sum, count) => sum + count, 0)).toBe(9);
});

test('key spread: every key -> in one of the even ranges', () => {
  const tally = new KeyTally('hash-v2', 4);
  // 22E3... is in the third quarter of what ends at 40.
  expect(tally.positionOf(['redmond'])).toEqual({
    effectiveKey: '22E342F38A486A088463DFF7838A5963',
    range: 3,
  });
  expect(new KeyTally('hash-v2', 1).positionOf(['redmond']).range).toBe(1);
  expect(new KeyTally('multi-hash', 4).positionOf(['t', 1, null]).range).toBe(4);
});

test('key spread: too many keys -> memory is bounded, isExact is false', () => {
  const tally = new KeyTally('hash-v2', 1);
  for (let id = 0; id < 100_001; id += 1) tally.add(key(id));
  tally.add(key(7));
  expect(tally).toMatchObject({ documents: 100_002, distinct: 100_000, isExact: false });
  expect(tally.biggest(1)).toEqual([{ values: [7], documents: 2 }]);
});
