import { describe, expect, test } from 'vitest';
import { must } from '../../../src/lib/assert.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { initialBounds, middleOf } from '../../../src/epk/bounds.ts';
import { effectiveKey, prefixRange } from '../../../src/epk/effective-key.ts';
import type { KeyKind } from '../../../src/epk/effective-key.ts';

const KINDS: readonly KeyKind[] = ['hash-v1', 'hash-v2', 'multi-hash'];
const PREFIX = '0DAE0B8467B011E957BC0B8B0DEB5ACA';
const NEXT = '0DAE0B8467B011E957BC0B8B0DEB5ACB';
const HALF = '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF';

describe('the bounds of a new container', () => {
  test.each([
    ['hash-v1', 1, ['', 'FF']],
    ['hash-v1', 2, ['', '05C1DFFFFFFFFC', 'FF']],
    ['hash-v2', 2, ['', HALF, 'FF']],
    ['multi-hash', 4, ['', `0${'F'.repeat(31)}`, HALF, `2${'F'.repeat(31)}`, 'FF']],
  ] as const)('%s in %i ranges -> %j', (kind, count, bounds) => {
    expect(initialBounds(kind, count)).toEqual(bounds);
  });

  test.each(KINDS)('%s -> ascending, from the start to the end, an equal share for each range', (kind) => {
    for (const count of [1, 2, 3, 7, 10, 100]) {
      const bounds = initialBounds(kind, count);
      expect(bounds).toHaveLength(count + 1);
      expect([bounds[0], bounds.at(-1)]).toEqual(['', 'FF']);
      expect(bounds).toEqual([...new Set(bounds)].sort());
      const found = Array.from({ length: count }, () => 0);
      const keys = count * 200;
      for (let i = 0; i < keys; i += 1) {
        const key = effectiveKey(kind, [`device-${i}`]);
        const range = bounds.findLastIndex((bound) => bound <= key);
        found[range] = (found[range] ?? 0) + 1;
      }
      expect(Math.min(...found)).toBeGreaterThan(120);
      expect(Math.max(...found)).toBeLessThan(280);
    }
  });
});

describe('the middle of a range', () => {
  test.each([
    ['hash-v2', '', 'FF', HALF],
    ['hash-v1', '', 'FF', '05C1DFFFFFFFFC'],
    ['multi-hash', '', 'FF', HALF],
    ['hash-v1', '', '05C1DFFFFFFFFC', '05C1CFFFFFFFF8'],
    ['hash-v2', HALF, 'FF', `2${'F'.repeat(31)}`],
    // One prefix is left: the split goes below it, into the second level, then the third.
    ['multi-hash', PREFIX, NEXT, `${PREFIX}2${'0'.repeat(31)}`],
    ['multi-hash', `${PREFIX}2${'0'.repeat(31)}`, NEXT, `${PREFIX}3${'0'.repeat(31)}`],
    ['multi-hash', PREFIX + PREFIX, PREFIX + NEXT, `${PREFIX}${PREFIX}2${'0'.repeat(31)}`],
    // Bounds of different lengths, across a prefix and far apart.
    ['multi-hash', `${PREFIX}3${'0'.repeat(31)}`, `${NEXT}2${'0'.repeat(31)}`, `${NEXT}08${'0'.repeat(30)}`],
    ['multi-hash', '', `${'0'.repeat(31)}4${PREFIX}${PREFIX}`, `${'0'.repeat(31)}2`],
  ] as const)('%s from %j to %j -> %j', (kind, min, max, middle) => {
    expect(middleOf(kind, min, max)).toBe(middle);
  });

  // V1 has 2^32 hashes, so halving ends there; the others go on for long.
  test.each([
    ['hash-v1', 31],
    ['hash-v2', 100],
    ['multi-hash', 300],
  ] as const)('%s: splits of splits, %i deep -> strictly inside', (kind, depth) => {
    for (let seed = 0; seed < 50; seed += 1) {
      const random = seededRandom(seed);
      let [min, max] = ['', 'FF'];
      for (let i = 0; i < depth; i += 1) {
        const middle = must(middleOf(kind, min, max), 'it has more than one hash');
        expect(middle > min && middle < max, `seed ${seed}: ${min} < ${middle} < ${max}`).toBe(true);
        if (random.below(2) === 0) min = middle;
        else max = middle;
      }
    }
  });

  test.each([
    ['hash-v1', 32],
    ['hash-v2', 126],
    ['multi-hash', 378],
  ] as const)('%s: a range after %i splits -> one hash, and no middle', (kind, splits) => {
    let max: string | undefined = 'FF';
    let halvings = 0;
    for (; max !== undefined && halvings <= splits; halvings += 1) max = middleOf(kind, '', max);
    expect(max).toBeUndefined();
    expect(halvings).toBeGreaterThan(30);
  });

  test('middleOf: a range of one prefix -> its keys are on both sides', () => {
    const { min, max } = prefixRange(['tenant1']);
    const middle = must(middleOf('multi-hash', PREFIX, NEXT), 'a prefix can be split');
    const keys = Array.from({ length: 1000 }, (_, i) => effectiveKey('multi-hash', ['tenant1', `user-${i}`]));
    expect(keys.every((key) => key >= min && key < max)).toBe(true);
    const below = keys.filter((key) => key < middle).length;
    expect(below).toBeGreaterThan(400);
    expect(below).toBeLessThan(600);
  });
});
