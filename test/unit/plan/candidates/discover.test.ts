import { expect, test } from 'vitest';
import { discover } from '../../../../src/plan/candidates/discover.ts';
import { pathsOf } from '../../../../src/plan/candidates/paths.ts';
import { cars, orders, tenants } from '../verdict/literature.ts';

test('paths -> presence, values and skew of every scalar, nested ones too', () => {
  const documents = [
    { id: '1', a: { 'b c': 1, d: [1, 2] }, at: '2026-01-02T03:04:05Z', none: null, _ts: 1 },
    { id: '2', a: { 'b c': 1 }, at: '2026-01-03T03:04:05Z', e: true },
  ];
  expect(
    pathsOf(documents).map(({ printed, presence, distinct, topShare, isTime }) => [
      printed,
      presence,
      distinct,
      topShare,
      isTime,
    ]),
  ).toEqual([
    ['/id', 1, 2, 0.5, false],
    ['/a/"b c"', 1, 1, 1, false],
    ['/at', 1, 2, 0.5, true],
    ['/e', 0.5, 1, 1, false],
  ]);
});

test('names that are values -> bounded', () => {
  const document = Object.fromEntries(Array.from({ length: 5000 }, (_none, n) => [`key ${n}`, n]));
  expect(pathsOf([document])).toHaveLength(300);
});

test('a giant tenant -> users, tenants with users, and a suffix for the giant', () => {
  const found = discover(tenants(1).slice(-3000), [['tenantId']]);
  expect(found.map(({ key }) => key)).toEqual([
    '/userId',
    '/tenantId,/userId',
    '/pk={tenantId}-{id|hash:16}',
  ]);
  expect(found.at(-1)?.proposed).toMatch(/^7\d % of the sample have one value of \/tenantId/);
});

test('orders -> customers, and no day', () => {
  const keys = discover(orders(1).slice(-3000), [['source']]).map(({ key }) => key);
  expect(keys[0]).toBe('/customerId');
  expect(keys).not.toContain('/orderDay');
});

test('cars -> devices, and devices by month', () => {
  const keys = discover(cars(1).slice(-3000), [['plant']]).map(({ key }) => key);
  expect(keys[0]).toBe('/deviceId');
  expect(keys).toContain('/pk={deviceId}-{createdAt|month}');
});

test('amounts, counters, notes and values of one document each -> nothing that a key is made of', () => {
  const documents = Array.from({ length: 400 }, (_none, n) => ({
    id: `${n}`,
    amount: n / 7,
    total: n * 3,
    note: `${'ring twice '.repeat(12)}${n}`,
    reference: `r${n}`,
    shop: `s${n % 90}`,
    buyerId: n % 120,
  }));
  const keys = discover(documents, [['x']]).map(({ key }) => key);
  expect(keys.slice(0, 3)).toEqual(['/buyerId', '/shop', '/reference']);
  expect(keys.join()).not.toMatch(/amount|total|note/);
});

test('a property of documents, or of the key -> no template writes to it', () => {
  const documents = Array.from({ length: 400 }, (_none, n) => ({
    id: `${n}`,
    newPk: 'x',
    pk: n % 3 === 0 ? 'a' : 'b',
  }));
  expect(discover(documents, [['pk']]).map(({ key }) => key)).toEqual(['/partitionKey={pk}-{id|hash:16}']);
});

test.each([
  ['no documents', [], []],
  ['nothing but ids', [{ id: '1' }, { id: '2' }], ['/id']],
  ['no scalars', [{ id: '1', list: [1], object: {} }], ['/id']],
])('%s -> what there is', (_what, documents, keys) => {
  expect(discover(documents, [['x']]).map(({ key }) => key)).toEqual(keys);
});
