import { describe, expect, test } from 'vitest';
import { fit, runLine, Speed, verifyLine, type Rates } from '../../../src/report/live-line.ts';
import type { RunSnapshot } from '../../../src/engine/progress/snapshot.ts';
import { NOTHING, snapshotOf } from '../../helpers/run-load.ts';

const RATES: Rates = { documents: 1234.4, ru: 5678.9 };
const UNKNOWN: Rates = { documents: null, ru: null };

function snapshot(more: Partial<RunSnapshot> = {}): RunSnapshot {
  return snapshotOf({
    goal: 'copy',
    phase: 'copying',
    complete: false,
    documents: { read: 42_000, written: 41_000, deleted: 0, moved: 0, deadLettered: 0 },
    ru: { source: 1, target: 2 },
    throttled: 3,
    ranges: [{ id: '0', min: '', max: 'FF', phase: 'copy', documents: 42_000 }],
    outlook: { documents: 1_000_000, readBefore: 100_000, uncommitted: 0, targetRu: 18_000 },
    ...more,
  });
}

const tailed = {
  phase: 'tailing',
  lagSeconds: 1.4,
  ranges: [{ id: '0', min: '', max: 'FF', phase: 'tail', documents: 42_000 }],
} as const;

describe('live line of a run', () => {
  test.each<[name: string, Partial<RunSnapshot>, rates: Rates, columns: number, line: string]>([
    [
      'all there is, where nothing is cut',
      {},
      RATES,
      Infinity,
      'copying  14%     142,000 docs    1,234/s    5,679 of 18,000 RU/s       3 throttled  ETA 12 min',
    ],
    [
      '120 columns have room for numbers in full',
      {},
      RATES,
      117,
      'copying  14%     142,000 docs    1,234/s    5,679 of 18,000 RU/s       3 throttled  ETA 12 min',
    ],
    [
      '80 columns have room for short ones',
      {},
      RATES,
      77,
      'copying  14%   142k docs  1,234/s  5,679/18k RU/s      3 x 429  ETA 12 min',
    ],
    [
      '80 columns have room when the numbers are large',
      {
        documents: { read: 87_654_321, written: 0, deleted: 0, moved: 0, deadLettered: 0 },
        throttled: 43_210,
        outlook: { documents: 2_000_000_000, readBefore: 0, uncommitted: 0, targetRu: 1_000_000 },
      },
      { documents: 108_765, ru: 999_900 },
      77,
      'copying   4%  87.6M docs   108k/s   999k/1M RU/s  43.2k x 429  ETA 5 h',
    ],
    ['very narrow', {}, RATES, 20, 'copying  14%'],
    ['narrower than its first word', {}, RATES, 5, 'co...'],
    [
      'nothing is known yet',
      { outlook: { documents: null, readBefore: 0, uncommitted: 0, targetRu: null } },
      UNKNOWN,
      Infinity,
      'copying      42,000 docs        -/s        - RU/s       3 throttled',
    ],
    [
      'the end is unknown while nothing moves',
      {},
      { documents: 0, ru: 0 },
      77,
      'copying  14%   142k docs      0/s      0/18k RU/s      3 x 429  ETA unknown',
    ],
    [
      'more than there were is not yet all',
      { outlook: { documents: 42_000, readBefore: 0, uncommitted: 0, targetRu: null } },
      RATES,
      77,
      'copying  99%    42k docs  1,234/s  5,679 RU/s      3 x 429  ETA 0 s',
    ],
    [
      'a tail has a lag and no end',
      { ...tailed, documents: { read: 5, written: 5, deleted: 0, moved: 0, deadLettered: 2 } },
      RATES,
      117,
      'tailing           5 docs    1,234/s    5,679 of 18,000 RU/s       3 throttled  2 dead letters  lag 1 s',
    ],
    [
      'so it has within 80 columns',
      { ...tailed, documents: { read: 5, written: 5, deleted: 0, moved: 0, deadLettered: 2 } },
      RATES,
      77,
      'tailing      5 docs  1,234/s  5,679/18k RU/s      3 x 429  2 letters  lag 1 s',
    ],
    [
      'dead letters stay where RU/s do not fit',
      { ...tailed, documents: { read: 5, written: 5, deleted: 0, moved: 0, deadLettered: 254 } },
      RATES,
      60,
      'tailing      5 docs  1,234/s  254 letters  lag 1 s',
    ],
    [
      'what is done of pages in flight counts',
      { outlook: { documents: 1_000_000, readBefore: 0, uncommitted: 999, targetRu: null } },
      RATES,
      77,
      'copying   4%  42.9k docs  1,234/s  5,679 RU/s      3 x 429  ETA 13 min',
    ],
    [
      'nothing has begun, and there is no lag',
      { ranges: [], waitsFor: 'a write was not answered, and may land late' },
      UNKNOWN,
      77,
      'copying    42k docs  waits: a write was not answered, and may land late',
    ],
    [
      'why it waits stays to the last',
      { waitsFor: 'throttled by the target (range 3, 12 s)' },
      RATES,
      77,
      'copying  14%   142k docs  waits: throttled by the target (range 3, 12 s)',
    ],
  ])('%s -> the line, within the width', (_name, more, rates, columns, line) => {
    const shown = runLine(snapshot(more), rates, columns);
    expect(shown).toBe(line);
    expect(shown.length).toBeLessThanOrEqual(columns);
  });

  test.each([77, 117])('growing numbers, %i columns -> parts keep their place', (columns) => {
    const at = (read: number, documents: number, throttled: number): string => {
      const now = snapshot({
        throttled,
        documents: { read, written: 0, deleted: 0, moved: 0, deadLettered: 0 },
        outlook: { documents: 90_000_000, readBefore: 0, uncommitted: 0, targetRu: 250_000 },
      });
      const line = runLine(now, { documents, ru: documents * 5 }, columns);
      return ['%', 'docs', '/s', 'RU/s', 'ETA'].map((word) => line.indexOf(word)).join(' ');
    };
    const places = [
      at(1, 1, 0),
      at(500, 40, 3),
      at(98_765, 999, 450),
      at(800_000, 10_000, 1234),
      at(45_678_901, 49_000, 98_765),
    ];
    expect(places).toEqual(places.map(() => places[0]));
    expect(places[0]).not.toContain('-1');
  });
});

describe('live line of a comparison', () => {
  const progress = {
    stage: 'reading',
    source: 5000,
    target: 2500,
    open: 1,
    oldestOpenMs: null,
    waitsFor: null,
    expected: 10_000,
    ru: 12_345,
    throttled: 7,
    budgetRu: 24_000,
    requests: NOTHING,
  };
  test.each<[stage: string, columns: number, line: string]>([
    [
      'reading',
      Infinity,
      'reading  25%       5,000 and      2,500 docs    1,234/s    5,679 of 24,000 RU/s       7 throttled  ETA 7 s',
    ],
    ['reading', 77, 'reading  25%  5,000 and 2,500 docs  5,679/24k RU/s      7 x 429  ETA 7 s'],
    ['rechecking', 77, 'rechecking       1 docs left    5,679 of 24,000 RU/s       7 throttled'],
    ['rechecking', 50, 'rechecking      1 docs left  5,679/24k RU/s'],
  ])('%s, %s columns -> its line', (stage, columns, line) => {
    const shown = verifyLine({ ...progress, stage }, RATES, columns);
    expect(shown).toBe(line);
    expect(shown.length).toBeLessThanOrEqual(columns);
  });

  test('more RU/s than are allowed, as in a part of a second -> the limit is reached, and not exceeded', () => {
    const rates = { documents: 1234, ru: 26_846 };
    expect(verifyLine({ ...progress, stage: 'reading' }, rates, Infinity)).toContain(
      '  24,000 of 24,000 RU/s',
    );
    const free = { ...progress, stage: 'reading', budgetRu: null };
    expect(verifyLine(free, rates, Infinity)).toContain('  26,846 RU/s');
  });

  test.each([
    [Infinity, 'rechecking       1 docs left    5,679 of 24,000 RU/s       7 throttled  waits: the tail'],
    [77, 'rechecking      1 docs left  5,679/24k RU/s      7 x 429  waits: the tail'],
    [50, 'rechecking      1 docs left  waits: the tail'],
  ])('documents in flight, %s columns -> what they wait for', (columns, line) => {
    const shown = verifyLine({ ...progress, stage: 'rechecking', waitsFor: 'the tail' }, RATES, columns);
    expect(shown).toBe(line);
  });
});

describe('speed', () => {
  test('first samples -> unknown, then smoothed', () => {
    const pace = new Speed();
    expect(pace.measure({ atMs: 0, documents: 0, ru: 0 })).toEqual(UNKNOWN);
    expect(pace.measure({ atMs: 100, documents: 50, ru: 0 })).toEqual(UNKNOWN);
    expect(pace.measure({ atMs: 1000, documents: 100, ru: 1000 })).toEqual({ documents: 100, ru: 1000 });
    const { documents } = pace.measure({ atMs: 2000, documents: 100, ru: 1000 });
    expect(documents).toBeCloseTo(81.9, 1);
  });

  test('counters start from zero -> unknown again', () => {
    const pace = new Speed();
    pace.measure({ atMs: 0, documents: 100, ru: 0 });
    pace.measure({ atMs: 1000, documents: 200, ru: 0 });
    expect(pace.measure({ atMs: 2000, documents: 3, ru: 0 })).toEqual(UNKNOWN);
  });
});

test('fit: parts of the same rank -> dropped from the right', () => {
  const parts = ['one', 'two', 'three'].map((text) => ({ text, rank: 1 }));
  expect(fit(parts, 8)).toBe('one  two');
});
