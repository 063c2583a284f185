import { describe, expect, test } from 'vitest';
import { fit, moveLine, Pace, verifyLine, type Rates } from '../../../src/commands/live-line.ts';
import type { Snapshot } from '../../../src/engine/snapshot.ts';

const RATES: Rates = { documents: 1234.4, ru: 5678.9 };
const UNKNOWN: Rates = { documents: null, ru: null };

function snapshot(more: Partial<Snapshot> = {}): Snapshot {
  return {
    migration: 'shop/orders -> shop/by-tenant',
    goal: 'copy',
    phase: 'copying',
    complete: false,
    documents: { read: 42_000, written: 41_000, deleted: 0, moved: 0, deadLettered: 0 },
    ru: { source: 1, target: 2 },
    throttled: 3,
    durationMs: 1000,
    lagSeconds: null,
    ranges: [{ id: '0', min: '', max: 'FF', phase: 'copy', documents: 42_000 }],
    waitsFor: null,
    sweepPending: false,
    outlook: { documents: 1_000_000, readBefore: 100_000, targetRu: 18_000 },
    ...more,
  };
}

const tailed = {
  phase: 'tailing',
  lagSeconds: 1.4,
  ranges: [{ id: '0', min: '', max: 'FF', phase: 'tail', documents: 42_000 }],
} as const;

describe('the line of a run', () => {
  test.each<[name: string, Partial<Snapshot>, rates: Rates, columns: number, line: string]>([
    [
      'all there is, where nothing is cut',
      {},
      RATES,
      Infinity,
      'copying   14%    142,000 docs   1,234/s   5,679 of 18,000 RU/s    3 throttled  ETA 12 min',
    ],
    [
      '77 columns keep what matters',
      {},
      RATES,
      77,
      'copying   14%    142,000 docs   1,234/s   5,679 of 18,000 RU/s  ETA 12 min',
    ],
    ['very narrow', {}, RATES, 20, 'copying   14%'],
    ['narrower than its first word', {}, RATES, 5, 'co...'],
    [
      'nothing is known yet',
      { outlook: { documents: null, readBefore: 0, targetRu: null } },
      UNKNOWN,
      Infinity,
      'copying     42,000 docs       -/s       - RU/s    3 throttled',
    ],
    [
      'the end is unknown while nothing moves',
      {},
      { documents: 0, ru: 0 },
      77,
      'copying   14%    142,000 docs       0/s       0 of 18,000 RU/s  ETA unknown',
    ],
    [
      'more than there were is not yet all',
      { outlook: { documents: 42_000, readBefore: 0, targetRu: null } },
      RATES,
      77,
      'copying   99%     42,000 docs   1,234/s   5,679 RU/s    3 throttled  ETA 0 s',
    ],
    [
      'a tail has a lag and no end',
      { ...tailed, documents: { read: 5, written: 5, deleted: 0, moved: 0, deadLettered: 2 } },
      RATES,
      100,
      'tailing          5 docs   1,234/s   5,679 of 18,000 RU/s    3 throttled  2 dead letters  lag 1 s',
    ],
    [
      'why it waits stays to the last',
      { waitsFor: 'throttled by the target (range 3, 12 s)' },
      RATES,
      77,
      'copying   14%    142,000 docs  waits: throttled by the target (range 3, 12 s)',
    ],
  ])('%s', (_name, more, rates, columns, line) => {
    const told = moveLine(snapshot(more), rates, columns);
    expect(told.length).toBeLessThanOrEqual(columns);
    expect(told).toBe(line);
  });

  test('numbers do not jump while they grow', () => {
    const at = (read: number, documents: number): number => {
      const now = snapshot({ documents: { read, written: 0, deleted: 0, moved: 0, deadLettered: 0 } });
      return moveLine(now, { documents, ru: documents * 5 }, 120).indexOf('throttled');
    };
    const places = [at(1, 1), at(500, 40), at(98_765, 999), at(800_000, 10_000)];
    expect(new Set(places).size).toBe(1);
  });
});

describe('the line of a comparison', () => {
  const progress = { stage: 'reading', source: 5000, target: 2500, open: 1, expected: 10_000 };
  test.each<[columns: number, line: string]>([
    [Infinity, 'reading   25%      5,000 source      2,500 target   1,234/s    1 to look at again  ETA 5 s'],
    [77, 'reading   25%      5,000 source      2,500 target  ETA 5 s'],
  ])('within %s columns', (columns, line) => {
    expect(verifyLine(progress, RATES, columns)).toBe(line);
  });
});

describe('a pace', () => {
  test('is unknown at first, then follows slowly', () => {
    const pace = new Pace();
    expect(pace.see({ atMs: 0, documents: 0, ru: 0 })).toEqual(UNKNOWN);
    expect(pace.see({ atMs: 100, documents: 50, ru: 0 })).toEqual(UNKNOWN);
    expect(pace.see({ atMs: 1000, documents: 100, ru: 1000 })).toEqual({ documents: 100, ru: 1000 });
    const { documents } = pace.see({ atMs: 2000, documents: 100, ru: 1000 });
    expect(documents).toBeCloseTo(81.9, 1);
  });

  test('begins anew with another stage', () => {
    const pace = new Pace();
    pace.see({ atMs: 0, documents: 100, ru: 0 });
    pace.see({ atMs: 1000, documents: 200, ru: 0 });
    expect(pace.see({ atMs: 2000, documents: 3, ru: 0 })).toEqual(UNKNOWN);
  });
});

test('parts of the same rank go from the right', () => {
  const parts = ['one', 'two', 'three'].map((text) => ({ text, rank: 1 }));
  expect(fit(parts, 8)).toBe('one  two');
});
