import { describe, expect, test } from 'vitest';
import { ask } from '../asking.ts';

function ids(query: string, documents: readonly object[]): string {
  return ask(
    query,
    documents.map((document) => JSON.stringify(document)),
  )
    .map((item) => (JSON.parse(item) as { id: string }).id)
    .join(' ');
}

describe('ORDER BY', () => {
  const MIXED = [
    { id: 'object', k: { a: 1 } },
    { id: 'text', k: 'b' },
    { id: 'array', k: [1] },
    { id: 'two', k: 2 },
    { id: 'missing' },
    { id: 'true', k: true },
    { id: 'null', k: null },
    { id: 'ten', k: 10 },
    { id: 'capital', k: 'B' },
    { id: 'false', k: false },
    { id: 'object2', k: { a: 0 } },
  ];
  const RISING = 'missing null false true two ten capital text array object object2';

  test('mixed types -> by type, then by value, documents without the property included', () => {
    expect(ids('SELECT * FROM c ORDER BY c.k', MIXED)).toBe(RISING);
    expect(ids('SELECT * FROM c ORDER BY c.k ASC', MIXED)).toBe(RISING);
    expect(ids('SELECT * FROM c ORDER BY c.k DESC', MIXED)).toBe(
      'object object2 array text capital ten two true false null missing',
    );
  });

  test('ties -> by position, ascending and descending', () => {
    const ties = ['a', 'b', 'c', 'd'].map((id, index) => ({ id, k: index % 2 }));
    expect(ids('SELECT * FROM c ORDER BY c.k', ties)).toBe('a c b d');
    expect(ids('SELECT * FROM c ORDER BY c.k DESC', ties)).toBe('b d a c');
  });

  test.each([
    ['SELECT TOP 2 * FROM c ORDER BY c.k', 'missing null'],
    ['SELECT TOP 0 * FROM c ORDER BY c.k', ''],
    ['SELECT * FROM c ORDER BY c.k OFFSET 3 LIMIT 2', 'true two'],
    ['SELECT * FROM c ORDER BY c.k OFFSET 99 LIMIT 2', ''],
    ['SELECT * FROM c WHERE IS_NUMBER(c.k) ORDER BY c.k DESC', 'ten two'],
    ['SELECT TOP 2 * FROM c', 'object text'],
    ['SELECT * FROM c OFFSET 1 LIMIT 2', 'text array'],
    ['SELECT * FROM c WHERE IS_STRING(c.k) OFFSET 1 LIMIT 9', 'capital'],
  ])('%s -> %s', (query, expected) => {
    expect(ids(query, MIXED)).toBe(expected);
  });

  test('TOP, OFFSET and LIMIT as parameters -> accepted', () => {
    const texts = ['1', '2', '3'].map((n) => `{"n":${n}}`);
    expect(ask('SELECT TOP @n VALUE c.n FROM c', texts, { n: 2 })).toEqual(['1', '2']);
    expect(ask('SELECT VALUE c.n FROM c OFFSET @o LIMIT @l', texts, { o: 1, l: 1 })).toEqual(['2']);
  });

  test('VALUE yields no item -> the document is skipped', () => {
    const texts = ['{"k":3}', '{"k":2,"v":"b"}', '{"k":1}', '{"k":4,"v":"d"}'];
    expect(ask('SELECT TOP 1 VALUE c.v FROM c ORDER BY c.k', texts)).toEqual(['"b"']);
    expect(ask('SELECT VALUE c.v FROM c ORDER BY c.k OFFSET 1 LIMIT 1', texts)).toEqual(['"d"']);
    expect(ask('SELECT VALUE c.v FROM c OFFSET 1 LIMIT 1', texts)).toEqual(['"d"']);
  });

  test('many documents -> the first ones with little memory', () => {
    const texts = Array.from({ length: 5000 }, (_, index) => `{"n":${(index * 7919) % 5000}}`);
    expect(ask('SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n', texts)).toEqual(['0', '1', '2']);
  });
});

describe('aggregates', () => {
  const NUMBERS = [
    '{"id":"a","n":1,"m":1}',
    '{"id":"b","n":2.5,"m":"x"}',
    '{"id":"c","m":null}',
    '{"id":"d","n":-4}',
  ];

  test.each([
    ['SELECT VALUE COUNT(1) FROM c', ['4']],
    ['SELECT COUNT(1) FROM c', ['{"$1":4}']],
    ['SELECT COUNT(1) AS n FROM c', ['{"n":4}']],
    ['SELECT VALUE COUNT(c.n) FROM c', ['3']],
    ['SELECT VALUE COUNT(c) FROM c', ['4']],
    ['SELECT VALUE COUNT(undefined) FROM c', ['0']],
    ['SELECT VALUE SUM(c.n) FROM c', ['-0.5']],
    ['SELECT VALUE MIN(c.n) FROM c', ['-4']],
    ['SELECT VALUE MAX(c.n) FROM c', ['2.5']],
    ['SELECT VALUE AVG(c.n) FROM c WHERE c.n > 0', ['1.75']],
    ['SELECT VALUE max(c.id) FROM c', ['"d"']],
    ['SELECT VALUE MIN(c.m) FROM c', ['null']],
    ['SELECT VALUE MAX(c.m) FROM c', ['"x"']],
    ['SELECT VALUE MAX(c.id = "a" ? [1] : c.n) FROM c', []],
    ['SELECT {"low": MIN({"n": c.n})} AS x FROM c', ['{"x":{}}']],
    ['SELECT VALUE SUM(c.m) FROM c', []],
    ['SELECT SUM(c.m) FROM c', ['{}']],
    ['SELECT VALUE AVG(c.m) FROM c', []],
    ['SELECT VALUE SUM(c.n * 2) FROM c', ['-1']],
    [
      'SELECT COUNT(1) AS n, MIN(c.n) AS low, MAX(c.n) AS high, SUM(c.m) AS bad FROM c',
      ['{"n":4,"low":-4,"high":2.5}'],
    ],
    ['SELECT VALUE [{"item": COUNT(1)}] FROM c', ['[{"item":4}]']],
    ['SELECT VALUE [SUM(c.m), MIN(c.n)] FROM c', ['[-4]']],
    [
      'SELECT {"low": MIN(c.n), "bad": {"sum": SUM(c.m)}} AS x, COUNT(1) AS n FROM c',
      ['{"x":{"low":-4,"bad":{}},"n":4}'],
    ],
    ['SELECT VALUE COUNT(1) FROM c WHERE c.n > 100', ['0']],
    ['SELECT VALUE SUM(c.n) FROM c WHERE c.n > 100', ['0']],
    ['SELECT VALUE AVG(c.n) FROM c WHERE c.n > 100', []],
    ['SELECT VALUE MIN(c.n) FROM c WHERE c.n > 100', []],
    ['SELECT COUNT(1) AS n, MAX(c.n) AS high FROM c WHERE false', ['{"n":0}']],
  ])('%s -> %j', (query, expected) => {
    expect(ask(query, NUMBERS)).toEqual(expected);
  });
});
