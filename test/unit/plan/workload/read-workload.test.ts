import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { kqlFor } from '../../../../src/plan/workload/kql.ts';
import { readCsv } from '../../../../src/plan/workload/read/csv.ts';
import { parseWorkload, readWorkload } from '../../../../src/plan/workload/read/read-workload.ts';
import type { Workload } from '../../../../src/plan/workload/workload.ts';
import { draws } from '../../../helpers/generated.ts';

const OF = { database: 'shop', container: 'orders' };
const folder = mkdtempSync(join(tmpdir(), 'cosmig-workload-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const parse = (text: string, name = 'w.csv'): Workload => parseWorkload([text], { of: OF, name });

/** The same text in pieces of one size. */
function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_none, at) =>
    text.slice(at * size, (at + 1) * size),
  );
}

function refusal(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

const HEADER =
  'Kind,QueryText,OperationName,PartitionKey,Executions,TotalRU,AvgPartitions,DatabaseName,CollectionName,WindowSeconds';
const QUERY_ROW =
  'query,"SELECT *\r\nFROM c WHERE c.mail = ""a@b.c"" AND c.userId = @u",Query,,100,280.5,4,shop,orders,86400';
const ROWS = [
  HEADER,
  QUERY_ROW,
  'operation,,Create,,50,350,,shop,orders,86400',
  'operation,,ReadFeed,,9,18,,shop,orders,86400',
  'key,,Create,"[""A""]",40,86400,,shop,orders,86400',
  'key,,Create,"[""B""]",40,43200,,shop,orders,86400',
].join('\r\n');

describe('an export as CSV', () => {
  test('of the printed query -> calls, keys, and the time', () => {
    const workload = parse(`\uFEFF${ROWS}\r\n`);
    expect(workload).toMatchObject({
      file: 'w.csv',
      seconds: 86_400,
      skipped: 0,
      notes: [],
      obfuscated: null,
      hottestKeys: [
        { value: '["A"]', ruPerSecond: 1 },
        { value: '["B"]', ruPerSecond: 0.5 },
      ],
    });
    expect(workload.calls).toMatchObject([
      {
        text: 'SELECT * FROM c WHERE c.mail = ? AND c.userId = @u',
        executions: 100,
        ru: 280.5,
        partitions: 4,
      },
      { text: 'Create', does: { kind: 'write' }, executions: 50, ru: 350, partitions: null },
    ]);
  });

  test('in pieces of any size -> the same', () => {
    const whole = parse(ROWS);
    for (const size of [1, 2, 3, 7, 64])
      expect(parseWorkload(pieces(ROWS, size), { of: OF, name: 'w.csv' })).toEqual(whole);
  });

  test.each([
    [
      'older logs',
      'querytext_s,requestCharge_s,databasename_s,collectionname_s\n"SELECT * FROM c",2.5,shop,orders',
    ],
    ['semicolons', 'Query;Count;Ru\n"SELECT * FROM c";1;2,5\nSELECT * FROM c;1;2.5'],
    ['tabs', 'Query\tCount\tRu\nSELECT * FROM c\t1\t2.5'],
    ['old line ends', 'Query,Count,Ru\rSELECT * FROM c,1,2.5\r'],
    ['columns that have the same meaning', 'count_,RequestCount,QUERYTEXT,ru\n,1,SELECT * FROM c,2.5'],
    [
      'any case, and a query as JSON',
      'QUERYTEXT,COUNT,RU\n"{""query"":""SELECT * FROM c"",""parameters"":[]}",1,2.5',
    ],
    ['spaces before it', '\n\n  QueryText,Ru\nSELECT * FROM c,2.5'],
  ])('with %s -> read', (_name, text) => {
    expect(parse(text).calls).toMatchObject([{ text: 'SELECT * FROM c', executions: 1, ru: 2.5 }]);
  });

  test('queries that differ in their values -> one; lists of different lengths -> two', () => {
    const rows = ['c.a = 1', 'c.a = 2', 'c.a IN (1)', 'c.a IN (1, 2)', "c.a = 'x'"];
    const text = ['QueryText,Executions', ...rows.map((row) => `"SELECT * FROM c WHERE ${row}",10`)].join(
      '\n',
    );
    expect(parse(text).calls.map(({ text: shown, executions }) => [shown, executions])).toEqual([
      ['SELECT * FROM c WHERE c.a = ?', 30],
      ['SELECT * FROM c WHERE c.a IN (?)', 10],
      ['SELECT * FROM c WHERE c.a IN (?, ?)', 10],
    ]);
  });

  test('cut in the middle -> what is complete counts, and the rest is said', () => {
    const longest = ROWS.length;
    for (let length = HEADER.length + QUERY_ROW.length + 10; length < longest; length += 1) {
      const { calls, skipped, notes } = parse(ROWS.slice(0, length));
      expect(calls[0]?.executions).toBe(100);
      expect(skipped).toBe(notes.some((note) => note.startsWith('the export is cut')) ? 1 : 0);
    }
    expect(parse(ROWS.slice(0, longest - 12))).toMatchObject({ skipped: 1 });
    // In the middle of a quoted text.
    const inQuotes = `${HEADER}\noperation,,Create,,50,350,,shop,orders,86400\nquery,"SELECT * FROM`;
    expect(parse(inQuotes)).toMatchObject({ skipped: 1, calls: [{ text: 'Create' }] });
  });

  test('lines with wrong numbers, or too few fields -> skipped and counted', () => {
    const numbers = ['-1', 'NaN', '1e999', '', '1;2', 'x'];
    const rows = numbers.map((one) => `SELECT * FROM c,${one}`);
    const { calls, skipped } = parse(
      ['QueryText,Executions', ...rows, 'SELECT', 'SELECT * FROM c,7'].join('\n'),
    );
    // An empty number is one that is not known: a line of a log is one execution.
    expect([calls.length, calls[0]?.executions, skipped]).toEqual([1, 8, 6]);
  });

  test('huge numbers -> finite', () => {
    const { calls } = parse('QueryText,Executions,TotalRU\nSELECT * FROM c,1e15,9007199254740993');
    expect(calls).toMatchObject([{ executions: 1e15, ru: 9007199254740992 }]);
  });

  test('of another container -> refused with both names; of several -> only ours count', () => {
    expect(refusal(() => parse(ROWS.replaceAll('orders', 'carts')))).toMatchObject({
      message: 'w.csv is about another container',
      why: 'its rows are about shop/carts, and the plan is about shop/orders',
    });
    const mixed = `${ROWS}\r\nquery,SELECT 1 FROM c,Query,,7,7,1,Shop,CARTS,86400\r\nquery,SELECT 2 FROM c,Query,,7,7,1,SHOP,Orders,86400`;
    expect(parse(mixed)).toMatchObject({ notes: ['1 rows about other containers were left out'] });
    expect(parse(mixed).calls).toHaveLength(3);
  });

  test.each([
    ['', 'w.csv is not a workload file', /it is empty/],
    [' \n', 'w.csv is not a workload file', /it is empty/],
    ['a,b\n1,2', 'w.csv is not a workload file', /its first line names no column/],
    ['PK\u0003\u0004\0\0', 'w.csv is not a workload file', /it is not text/],
    [HEADER, 'w.csv has no queries and no operations', /no row has a column/],
    ['QueryText,Executions\nSELECT * FROM c,0', 'w.csv has no queries and no operations', /no row/],
  ])('%j -> refused', (text, message, why) => {
    expect(refusal(() => parse(text))).toMatchObject({ message, why: expect.stringMatching(why) as string });
  });

  test('names are hidden -> said, with the fix', () => {
    const text = 'QueryText,Executions\n"SELECT * FROM c WHERE (c.p1__10 != true) AND c.p2 = ""str1""",5';
    expect(parse(text).obfuscated).toMatch(/Diagnostics full-text query/);
  });

  test('no times -> one day is assumed, and said; times -> their span', () => {
    const untimed = parse('QueryText\nSELECT * FROM c');
    expect(untimed).toMatchObject({ seconds: 86_400, notes: [expect.stringMatching(/one day is assumed/)] });
    for (const [first, last] of [
      ['2026-11-19T10:00:00Z', '2026-11-19T11:00:00.000Z'],
      ['"11/19/2026, 10:00:00.000 AM"', '"11/19/2026, 11:00:00.000 AM"'],
      ['2026-11-19 10:00:00', '2026-11-19 11:00:00'],
    ])
      expect(
        parse(`TimeGenerated [UTC],QueryText\n${first},SELECT * FROM c\n${last},SELECT * FROM c`).seconds,
      ).toBe(3600);
  });
});

test('any fields, written as CSV and cut into any pieces -> read back', () => {
  const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ';', ' ', 'ü') });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(field, field), { minLength: 1 }),
      fc.integer({ min: 1, max: 9 }),
      (rows, size) => {
        const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
        const text = ['one,two', ...rows.map((row) => row.map(quoted).join(','))].join('\n');
        const read = [...readCsv(pieces(text, size))];
        expect(read).toEqual([['one', 'two'], ...rows].map((fields) => ({ fields, isCut: false })));
      },
    ),
    { numRuns: draws(300) },
  );
});

const STATISTICS = (
  activity: string,
  range: string,
  query = 'SELECT * FROM c WHERE c.userId = 5',
): object => ({
  time: '2026-11-19T10:00:00Z',
  category: 'QueryRuntimeStatistics',
  properties: {
    activityId: activity,
    correlatedActivityId: 'q1',
    databasename: 'shop',
    collectionname: 'orders',
    partitionkeyrangeid: range,
    querytext: JSON.stringify({ query, parameters: [{ name: '@x', value: 'secret' }] }),
  },
});
const REQUEST = (activity: string, charge: string, operationName = 'Query'): object => ({
  time: '2026-11-19T11:00:00Z',
  category: 'DataPlaneRequests',
  operationName,
  properties: {
    activityId: activity,
    databaseName: 'shop',
    collectionName: 'orders',
    requestResourceType: 'Document',
    requestCharge: charge,
  },
});
const LOGS = [
  STATISTICS('a1', '0'),
  STATISTICS('a2', '1'),
  STATISTICS('a2', '2'),
  REQUEST('a1', '2.5'),
  REQUEST('a2', '5.25'),
  REQUEST('b1', '7', 'Upsert'),
  { ...REQUEST('b2', '1', 'Read'), properties: { requestResourceType: 'Collection' } },
];

describe('an export as JSON', () => {
  const expected = {
    seconds: 3600,
    skipped: 0,
    calls: [
      { text: 'Upsert', does: { kind: 'write' }, executions: 1, ru: 7 },
      { text: 'SELECT * FROM c WHERE c.userId = ?', executions: 1, ru: 7.75, partitions: 3 },
    ],
  };

  test('lines of a storage account -> requests are joined to their queries', () => {
    const text = LOGS.map((one) => JSON.stringify(one)).join('\n');
    const workload = parse(text, 'PT1H.json');
    expect(workload).toMatchObject(expected);
    expect(JSON.stringify(workload)).not.toContain('secret');
    expect(parseWorkload(pieces(`\uFEFF${text}\n`, 11), { of: OF, name: 'PT1H.json' })).toEqual(workload);
  });

  test('lines that are cut, or damaged -> the others count', () => {
    const lines = LOGS.map((one) => JSON.stringify(one));
    const text = [...lines.slice(0, 6), '{"damaged":', lines[6]].join('\n').slice(0, -20);
    expect(parse(text, 'PT1H.json')).toMatchObject({
      ...expected,
      skipped: 2,
      notes: [expect.stringMatching(/^the export is cut/)],
    });
  });

  test.each([
    ['a list', LOGS],
    ['records of an event hub', { records: LOGS }],
    ['an indented list', LOGS],
  ])('%s -> the same', (name, value) => {
    expect(parse(JSON.stringify(value, null, name === 'an indented list' ? 2 : 0), 'w.json')).toMatchObject(
      expected,
    );
  });

  test('tables of the query API -> read', () => {
    const columns = ['QueryText', 'Executions', 'TotalRU'].map((name) => ({ name, type: 'string' }));
    const rows = [['SELECT * FROM c', 12, 36.5], ['SELECT * FROM c', null, null], 'damaged'];
    const text = JSON.stringify({ tables: [{ name: 'PrimaryResult', columns, rows }] });
    expect(parse(text, 'w.json')).toMatchObject({
      // One row has no charge, and costs what the others cost.
      calls: [{ executions: 13, ru: (36.5 * 13) / 12 }],
      skipped: 1,
    });
  });

  test.each([JSON.stringify(LOGS, null, 2), JSON.stringify(LOGS)])(
    'a list that is cut -> refused with the fix',
    (text) => {
      expect(refusal(() => parse(text.slice(0, -30), 'w.json'))).toMatchObject({
        message: 'w.json cannot be read',
        hint: 'export it again, and wait for the end of the download',
      });
    },
  );

  test('a number, or an empty list -> a plain answer', () => {
    expect(refusal(() => parse('[]', 'w.json'))).toMatchObject({
      message: 'w.json has no queries and no operations',
    });
    expect(refusal(() => parse('[1, null]', 'w.json'))).toMatchObject({ exitCode: 2 });
  });
});

describe('a file written by hand', () => {
  const parseYaml = (text: string): Workload => parse(text, 'w.yaml');

  test('queries and operations -> calls of a day', () => {
    const workload = parseYaml(`
container: shop/orders
queries:
  - query: SELECT * FROM c WHERE c.userId = @user
    perSecond: 2
    results: 20
    ru: 3.5
  - query: |
      SELECT * FROM c
      WHERE c.done = 'x'
    perHour: 1
    partitionKey: true
  - operation: read
    perMinute: 60
    knows: [/userId, '/a/b']
`);
    expect(workload).toMatchObject({
      seconds: 86_400,
      calls: [
        { executions: 172_800, ru: 604_800, results: 20, namesKey: false },
        { text: 'SELECT * FROM c WHERE c.done = ?', executions: 24, ru: null, namesKey: true },
        { text: 'read', does: { kind: 'by-id' }, executions: 86_400, knows: [['userId'], ['a', 'b']] },
      ],
    });
  });

  test.each([
    ['container: shop/carts\nqueries: [{operation: read, perDay: 1}]', /a container other than shop\/orders/],
    ['queries: []', /no list named queries/],
    ['- query: x', /no list named queries/],
    ['querys: []', /a name other than container and queries/],
    ['queries: [{query: SELECT * FROM c}]', /entry 1 of queries needs one of perSecond/],
    ['queries: [{query: SELECT * FROM c, perDay: 1, perHour: 1}]', /needs one of/],
    ['queries: [{query: SELECT * FROM c, perDay: -1}]', /a perDay that is not a number from 0 up/],
    ['queries: [{query: SELECT * FROM c, perDay: 0}]', /a perDay of 0/],
    ['queries: [{query: SELECT * FROM c, perSecond: 1e308}]', /too large/],
    ['queries: [{query: SELECT * FROM c, perDay: "7"}]', /not a number/],
    ['queries: [{query: SELECT * FROM c, persecond: 1}]', /did you mean perSecond\?/],
    ['queries: [{operation: fly, perDay: 1}]', /an operation other than/],
    ['queries: [{operation: read, query: x, perDay: 1}]', /either query or operation/],
    ['queries: [{operation: read, perDay: 1, knows: userId}]', /paths such as \/userId/],
    ['queries: [5]', /entry 1 of queries is not/],
    ['queries: [{operation: read, perDay: 1}', /line 1: /],
    ['queries: &a [*a]', /alias/],
  ])('%j -> refused', (text, why) => {
    expect(refusal(() => parseYaml(text))).toMatchObject({
      exitCode: 2,
      why: expect.stringMatching(why) as string,
    });
  });
});

describe('a file', () => {
  const write = (name: string, bytes: Buffer | string): string => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  };

  test('in UTF-8 or UTF-16, also larger than one read -> read', () => {
    const rows = Array.from({ length: 5000 }, (_none, at) => `"SELECT * FROM c WHERE c.ü = ${at}",1`);
    const text = `\uFEFF${['QueryText,Executions', ...rows].join('\r\n')}`;
    for (const encoding of ['utf8', 'utf16le'] as const)
      expect(readWorkload(write(`${encoding}.csv`, Buffer.from(text, encoding)), OF)).toMatchObject({
        calls: [{ text: 'SELECT * FROM c WHERE c.ü = ?', executions: 5000 }],
        skipped: 0,
      });
  });

  test.each([
    ['missing.csv', undefined, 'there is no such file or folder'],
    [
      'latin1.csv',
      Buffer.from('QueryText\nSELECT * FROM c WHERE c.\xfc = 1', 'latin1'),
      'it is not text in UTF-8 or UTF-16',
    ],
  ])('%s -> refused', (name, bytes, why) => {
    const path = bytes === undefined ? join(folder, name) : write(name, bytes);
    expect(refusal(() => readWorkload(path, OF))).toMatchObject({
      message: `${path} is not a workload file`,
      why,
    });
  });

  test('a folder -> refused', () => {
    expect(refusal(() => readWorkload(folder, OF))).toMatchObject({ why: 'it is a folder' });
  });
});

test('the printed query -> names the container, whatever it is called', () => {
  const kql = kqlFor({ database: 'a"b\\c', container: 'x\ny' });
  expect(kql).toContain(String.raw`let ownDatabase = "a\"b\\c";`);
  expect(kql).toContain('let ownContainer = "x y";');
  expect(kql.split('\n').filter((line) => line.startsWith('//'))).toHaveLength(5);
  // Each column that the reader needs is in the result.
  for (const column of HEADER.split(',')) expect(kql).toContain(column);
});
