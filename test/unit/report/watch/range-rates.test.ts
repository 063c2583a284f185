import { expect, test } from 'vitest';
import { ReportRates } from '../../../../src/report/watch/rates/range-rates.ts';
import { NO_LOAD } from '../../../helpers/run-load.ts';

const range = (id: string, ru: number) => ({ id, min: '', max: 'FF', ru, throttled: 0, isResting: false });
const side = (...ranges: ReadonlyArray<ReturnType<typeof range>>) => ({
  ...NO_LOAD.source,
  ru: ranges.reduce((sum, { ru }) => sum + ru, 0),
  ranges,
});

test('rates of ranges: a burst, then nothing for seconds -> still the rate of the last ten seconds', () => {
  const rates = new ReportRates();
  for (let second = 0; second <= 14; second += 1) {
    const child = second < 13 ? [] : [range('1', (second - 13) * 7)];
    const source = side(range('0', second < 8 ? 0 : 500), ...child);
    rates.add({ atMs: second * 1000, source, target: side() });
  }
  expect([...rates.current.source]).toEqual([
    ['0', 50],
    ['1', 7],
  ]);
  rates.add({ atMs: 15_000, source: side(range('0', 3)), target: side() });
  expect([...rates.current.source]).toEqual([]);
});
