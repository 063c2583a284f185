import { describe, expect, test } from 'vitest';
import { ruSpreadOf } from '../../../../src/report/status/ru-spread.ts';
import type { RunReport } from '../../../../src/state/runs.ts';
import { NO_LOAD } from '../../../helpers/run-load.ts';

type Range = readonly [id: string, min: string, max: string, ru: number];

function reportOf(...ranges: readonly Range[]): RunReport {
  const used = ranges.map(([id, min, max, ru]) => {
    return { id, min, max, ru, throttled: 0, isResting: false };
  });
  const none = { atMs: 0, lagSeconds: null, waitsFor: null, expected: null };
  return { ...none, ...NO_LOAD, target: { ...NO_LOAD.target, ranges: used } };
}

describe('RU of each partition', () => {
  test('no run, or none that used anything -> not known', () => {
    expect(ruSpreadOf([], 'target')).toBeNull();
    expect(ruSpreadOf([reportOf(['0', '', 'FF', 0])], 'target')).toBeNull();
    expect(ruSpreadOf([reportOf(['0', '', 'FF', 5])], 'source')).toBeNull();
  });

  test('runs with the same partitions -> added up; those with others -> left out', () => {
    const copy = [reportOf(['1', '', '1F', 100], ['2', '1F', 'FF', 50])];
    const again = reportOf(['1', '', '1F', 7], ['2', '1F', 'FF', 3]);
    const split = reportOf(['1', '', '1F', 1], ['3', '1F', '2F', 2], ['4', '2F', 'FF', 90]);
    expect(ruSpreadOf([split, again, ...copy], 'target')).toEqual({
      ranges: [
        { id: '1', min: '', max: '1F', ru: 107 },
        { id: '2', min: '1F', max: 'FF', ru: 53 },
      ],
      ru: 160,
    });
  });

  test('the same ids with other bounds -> other partitions', () => {
    const reports = [reportOf(['0', '', '1F', 10]), reportOf(['0', '', '2F', 3])];
    expect(ruSpreadOf(reports, 'target')?.ru).toBe(10);
  });
});
