import { expect, test } from 'vitest';
import { demoText, type DemoFindings, type Spread } from '../../../src/demo/picture.ts';

const before: Spread = {
  container: 'shop/orders',
  partitionKey: '/tenantId',
  documents: 2501,
  keys: 10,
  top: [
    { key: 'amber', documents: 1616 },
    { key: null, documents: 2 },
  ],
  ranges: [
    { id: '1', documents: 414, ru: 102, throttled: 0 },
    { id: '2', documents: 0, ru: 0, throttled: 0 },
    { id: '3', documents: 2087, ru: 482, throttled: 12 },
  ],
};

const findings: DemoFindings = {
  plan: { action: 'migrate', key: '/tenantId,/customerId', against: null, page: '/tmp/plan.html' },
  before,
  after: { ...before, container: 'shop/orders-by-customer', partitionKey: '/customerId', ranges: [] },
  seeded: {},
  moved: { copied: 2584, replayed: 712, moved: 142, deleted: 139 },
  application: { created: 614, updated: 630, moved: 289, deleted: 283, throttled: 10 },
  split: { from: '3', into: ['5', '6'] },
  letters: [
    { number: 1, state: 'discarded', reason: 'collision', id: '"invoice-9"', targetKey: '["c-117"]' },
    { number: 2, state: 'closed', reason: 'collision', id: '"invoice-7"', targetKey: null },
  ],
  refused: 'exit code 3: a document is not in the target',
  stoppedMs: 6012,
  proof: {
    equal: true,
    compared: 2738,
    orders: { known: 400, found: 400 },
    long: { source: '9007199254740993', target: null },
    lateWrites: 0,
  },
};

test('demo picture: ranges -> the busiest first; after a way back, the heading says when', () => {
  const back = {
    replicated: 1234,
    moved: 123,
    deleted: 124,
    stoppedMs: 2000,
    orders: { known: 9, found: 9 },
  };
  const lines = demoText({ ...findings, back }).split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines.slice(3, 6).map((line) => line.replaceAll(/█/g, '').trim().replaceAll(/ +/g, ' '))).toEqual([
    'range 3 482 RU/s, 2,087 docs, 12 x 429',
    'range 1 102 RU/s, 414 docs',
    'range 2 0 RU/s, no documents',
  ]);
  expect(lines).toEqual(
    expect.arrayContaining([
      'BETWEEN  shop/orders-by-customer by /customerId: 2,501 documents, 10 key values',
      'and back             the application uses the source again, by its old key',
    ]),
  );
});

test('demo picture: a finished demo -> at most 80 columns, each dead letter with its end', () => {
  const lines = demoText(findings).split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines).toEqual(
    expect.arrayContaining([
      'BEFORE  shop/orders by /tenantId: 2,501 documents, 10 key values',
      `  amber      ${'█'.repeat(30)}  1,616  65%`,
      `  (none)     █${' '.repeat(29)}      2   0%`,
      `  range 3    ${'█'.repeat(30)}    482 RU/s, 2,087 docs, 12 x 429`,
      'dead letter 1        collision of "invoice-9" at ["c-117"]: left in the source',
      'dead letter 2        collision of "invoice-7" at no key: fixed in the source',
      'writers stopped for  6.0 s',
      '                     the integer 9007199254740993 before, none after',
    ]),
  );
});
