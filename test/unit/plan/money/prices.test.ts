import { expect, test } from 'vitest';
import { parsePrices, priceNote } from '../../../../src/plan/money/prices.ts';
import { PRICES } from '../../../../src/spec/money/prices.ts';

test('a price file -> replaces what it names and keeps the rest', () => {
  const prices = parsePrices('\uFEFFdate: "2027-01-31"\nmanual: 0.009\ndiscount: 0.2', 'prices.yaml');
  expect(prices).toEqual({
    ...PRICES,
    date: '2027-01-31',
    manual: 0.009,
    discount: 0.2,
    source: 'prices.yaml',
  });
  expect(priceNote(prices)).toContain('less 20 % on throughput');
  expect(priceNote(PRICES)).toContain('2026-05-15');
});

test('a price file in JSON, with another currency -> read like YAML', () => {
  const text = JSON.stringify({ currency: 'EUR', source: 'contract 12', date: '2026-11-01', autoscale: 0 });
  expect(parsePrices(text, 'p.json')).toMatchObject({ currency: 'EUR', source: 'contract 12', autoscale: 0 });
});

test.each([
  ['manual: 0.009', 'it has no date, and prices change'],
  ['date: yesterday', 'its date is not of the form YYYY-MM-DD'],
  ['date: 2026-11-01\nmanuel: 1', 'it has an unknown name; did you mean manual?'],
  ['date: 2026-11-01\nmanual: -1', 'manual is not a number from 0 up'],
  ['date: 2026-11-01\nmanual: .inf', 'manual is not a number from 0 up'],
  ['date: 2026-11-01\nmanual: "0.01"', 'manual is not a number from 0 up'],
  ['date: 2026-11-01\ndiscount: 20', 'discount is a part of the price, from 0 to 1'],
  ['date: 2026-11-01\nhoursPerMonth: 0', 'a month has 1 to 744 hours'],
  ['date: 2026-11-01\ncurrency: ""', 'currency is not a text'],
  ['- 1', 'it is not a list of names with values'],
  ['', 'it is not a list of names with values'],
  ['date: 1\ndate: 2', 'line 2: this name occurs a second time'],
  [' '.repeat(20_000), 'it has more than 16 KB'],
])('a price file %j -> refused', (text, why) => {
  expect(() => parsePrices(text, 'p.yaml')).toThrow(
    expect.objectContaining({ message: 'the prices in p.yaml cannot be used', why }) as Error,
  );
});
