/** What the clauses mean, by small examples: arrays in FROM, JOIN, subqueries, DISTINCT, GROUP BY, several order keys. */
import { describe, expect, test } from 'vitest';
import { ask, refusalOf } from './asking.ts';

const PRODUCTS = [
  {
    id: 'surfboard',
    kind: 'board',
    price: 300,
    tags: ['fast', 'blue'],
    sizes: [
      { name: 'small', stock: 2 },
      { name: 'large', stock: 0 },
    ],
    maker: { name: 'Ada', town: 'Faro' },
  },
  {
    id: 'kayak',
    kind: 'boat',
    price: 900,
    tags: ['blue', 'blue'],
    sizes: [],
    maker: { town: 'Faro', name: 'Ada' },
  },
  { id: 'sail', kind: 'board', price: 120, tags: 'none', sizes: [{ name: 'small', stock: 7 }], maker: null },
  { id: 'rope', price: 12.5, tags: [], maker: { name: 'Bob', town: 'Nice' } },
].map((product) => JSON.stringify(product));

const answer = (query: string): unknown[] => ask(query, PRODUCTS).map((item) => JSON.parse(item) as unknown);

describe('FROM and JOIN', () => {
  test.each<[query: string, answer: readonly unknown[]]>([
    ['SELECT VALUE t FROM t IN p.tags', ['fast', 'blue', 'blue', 'blue']],
    [
      'SELECT * FROM s IN products.sizes WHERE s.stock > 0',
      [
        { name: 'small', stock: 2 },
        { name: 'small', stock: 7 },
      ],
    ],
    ['SELECT VALUE m.name FROM p.maker AS m', ['Ada', 'Ada', 'Bob']],
    ['SELECT VALUE maker.town FROM p.maker', ['Faro', 'Faro', 'Nice']],
    [
      'SELECT * FROM p.sizes[0] AS s',
      [
        { name: 'small', stock: 2 },
        { name: 'small', stock: 7 },
      ],
    ],
    ['SELECT VALUE t FROM t IN p["tags"] WHERE STARTSWITH(t, "f")', ['fast']],
    [
      'SELECT p.id, t FROM p JOIN t IN p.tags',
      [
        { id: 'surfboard', t: 'fast' },
        { id: 'surfboard', t: 'blue' },
        { id: 'kayak', t: 'blue' },
        { id: 'kayak', t: 'blue' },
      ],
    ],
    [
      'SELECT VALUE CONCAT(p.id, " ", t, " ", s.name) FROM p JOIN t IN p.tags JOIN s IN p.sizes WHERE s.stock > 0',
      ['surfboard fast small', 'surfboard blue small'],
    ],
    ['SELECT VALUE p.id FROM p JOIN s IN p.missing', []],
    [
      'SELECT VALUE s.name FROM p JOIN (SELECT VALUE s FROM s IN p.sizes WHERE s.stock > 1) AS s',
      ['small', 'small'],
    ],
    ['SELECT VALUE s.stock FROM p JOIN (SELECT VALUE s FROM s IN p.sizes WHERE s.stock = 0) AS s', [0]],
    ['SELECT VALUE COUNT(1) FROM p JOIN (SELECT VALUE s FROM s IN p.sizes WHERE s.stock = 0)', [1]],
    // After IN, the items of the results that are arrays.
    ["SELECT VALUE t FROM p JOIN t IN (SELECT VALUE p.tags) WHERE p.id = 'surfboard'", ['fast', 'blue']],
    ['SELECT VALUE t FROM p JOIN t IN (SELECT VALUE p.id)', []],
    ["SELECT VALUE w FROM p JOIN w IN (SELECT VALUE [1, [2]]) WHERE p.id = 'rope'", [1, [2]]],
    ['SELECT VALUE COUNT(1) FROM t IN p.tags', [4]],
    ['SELECT VALUE COUNT(t) FROM p JOIN t IN p.tags WHERE p.kind = "boat"', [2]],
    ['SELECT TOP 2 VALUE t FROM t IN p.tags', ['fast', 'blue']],
    ['SELECT VALUE t FROM t IN p.tags OFFSET 1 LIMIT 2', ['blue', 'blue']],
    ['SELECT VALUE t FROM t IN p.tags ORDER BY t DESC', ['fast', 'blue', 'blue', 'blue']],
    ['SELECT VALUE s.stock FROM p JOIN s IN p.sizes ORDER BY s.stock', [0, 2, 7]],
  ])('%s', (query, expected) => {
    expect(answer(query)).toEqual(expected);
  });

  test('a part of the document -> is spelled as it is stored', () => {
    const document = '{"id":"1","list":[{"n":1.10,"big":9007199254740993}, {"n":2e0}]}';
    expect(ask('SELECT VALUE x FROM x IN c.list', [document])).toEqual([
      '{"n":1.10,"big":9007199254740993}',
      '{"n":2e0}',
    ]);
    expect(ask('SELECT x.n FROM c JOIN x IN c.list', [document])).toEqual(['{"n":1.10}', '{"n":2e0}']);
    expect(ask('SELECT * FROM c.list', [document])).toEqual([
      '[{"n":1.10,"big":9007199254740993}, {"n":2e0}]',
    ]);
  });

  test('arrays that multiply without end -> refused', () => {
    const document = JSON.stringify({ a: Array.from({ length: 120 }, (_, n) => n) });
    const query = 'SELECT VALUE COUNT(1) FROM c JOIN x IN c.a JOIN y IN c.a JOIN z IN c.a';
    expect(refusalOf(() => ask(query, [document]))).toContain('JOIN made more than 1000000 rows');
  });
});

describe('subqueries', () => {
  test.each<[query: string, answer: readonly unknown[]]>([
    [
      'SELECT VALUE p.id FROM p WHERE EXISTS(SELECT VALUE t FROM t IN p.tags WHERE t = "fast")',
      ['surfboard'],
    ],
    ['SELECT VALUE p.id FROM p WHERE NOT EXISTS(SELECT VALUE s FROM s IN p.sizes)', ['kayak', 'rope']],
    ['SELECT VALUE EXISTS(SELECT VALUE undefined) FROM p WHERE p.id = "rope"', [false]],
    [
      'SELECT p.id, ARRAY(SELECT VALUE s.name FROM s IN p.sizes) AS names FROM p WHERE p.kind = "board"',
      [
        { id: 'surfboard', names: ['small', 'large'] },
        { id: 'sail', names: ['small'] },
      ],
    ],
    [
      'SELECT VALUE ARRAY(SELECT s.name, p.id FROM s IN p.sizes) FROM p WHERE p.id = "sail"',
      [[{ name: 'small', id: 'sail' }]],
    ],
    ['SELECT VALUE (SELECT VALUE COUNT(1) FROM s IN p.sizes) FROM p', [2, 0, 1, 0]],
    [
      'SELECT VALUE (SELECT VALUE SUM(s.stock) FROM s IN p.sizes WHERE s.stock > 1) FROM p WHERE p.price < 500',
      [2, 7, 0],
    ],
    ['SELECT VALUE p.id FROM p WHERE (SELECT VALUE MAX(s.stock) FROM s IN p.sizes) > 5', ['sail']],
    ['SELECT VALUE (SELECT p.id, p.price * 2 AS double).double FROM p WHERE p.id = "sail"', [240]],
    ['SELECT VALUE (SELECT VALUE UPPER(p.kind)) FROM p', ['BOARD', 'BOAT', 'BOARD']],
    ['SELECT VALUE ARRAY(SELECT DISTINCT VALUE t FROM t IN p.tags) FROM p WHERE p.id = "kayak"', [['blue']]],
    ['SELECT VALUE ARRAY(SELECT TOP 1 VALUE t FROM t IN p.tags) FROM p WHERE p.id = "surfboard"', [['fast']]],
    [
      'SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT VALUE x FROM x IN (SELECT VALUE p.sizes))) FROM p',
      [2, 0, 1, 0],
    ],
  ])('%s', (query, expected) => {
    expect(answer(query)).toEqual(expected);
  });

  test('a value with several results -> refused', () => {
    const query = 'SELECT VALUE (SELECT VALUE t FROM t IN p.tags) FROM p';
    expect(refusalOf(() => answer(query))).toContain('has more than one result');
  });
});

describe('DISTINCT, GROUP BY and ORDER BY', () => {
  test.each<[query: string, answer: readonly unknown[]]>([
    ['SELECT DISTINCT VALUE p.kind FROM p', ['board', 'boat']],
    ['SELECT DISTINCT p.kind FROM p', [{ kind: 'board' }, { kind: 'boat' }, {}]],
    ['SELECT DISTINCT VALUE t FROM t IN p.tags', ['fast', 'blue']],
    [
      'SELECT DISTINCT VALUE p.maker FROM p',
      [{ name: 'Ada', town: 'Faro' }, null, { name: 'Bob', town: 'Nice' }],
    ],
    ['SELECT DISTINCT VALUE p.maker.town FROM p ORDER BY p.maker.town DESC', ['Nice', 'Faro']],
    ['SELECT DISTINCT TOP 1 VALUE p.kind FROM p ORDER BY p.kind DESC', ['boat']],
    ['SELECT DISTINCT VALUE p.kind FROM p OFFSET 1 LIMIT 5', ['boat']],
    [
      'SELECT p.kind, COUNT(1) AS n, MAX(p.price) AS high FROM p GROUP BY p.kind',
      [
        { kind: 'board', n: 2, high: 300 },
        { kind: 'boat', n: 1, high: 900 },
        { n: 1, high: 12.5 },
      ],
    ],
    ['SELECT VALUE COUNT(1) FROM p GROUP BY p.maker', [2, 1, 1]],
    ['SELECT VALUE p.kind FROM p GROUP BY p.kind', ['board', 'boat']],
    ['SELECT COUNT(1) AS n FROM p GROUP BY p.kind, p.maker.town', [{ n: 1 }, { n: 1 }, { n: 1 }, { n: 1 }]],
    [
      'SELECT t, COUNT(1) AS n FROM p JOIN t IN p.tags GROUP BY t',
      [
        { t: 'fast', n: 1 },
        { t: 'blue', n: 3 },
      ],
    ],
    [
      'SELECT UPPER(p.kind) AS k, AVG(p.price) AS mean FROM p WHERE IS_DEFINED(p.kind) GROUP BY UPPER(p.kind)',
      [
        { k: 'BOARD', mean: 210 },
        { k: 'BOAT', mean: 900 },
      ],
    ],
    [
      'SELECT VALUE {"k": p.kind, "n": [COUNT(1), 1]} FROM p WHERE p.price > 100 GROUP BY p.kind',
      [
        { k: 'board', n: [2, 1] },
        { k: 'boat', n: [1, 1] },
      ],
    ],
    ['SELECT VALUE COUNT(1) FROM p GROUP BY p.kind OFFSET 1 LIMIT 1', [1]],
    ['SELECT VALUE p.id FROM p ORDER BY p.kind, p.price', ['rope', 'sail', 'surfboard', 'kayak']],
    ['SELECT VALUE p.id FROM p ORDER BY p.kind DESC, p.price DESC', ['kayak', 'surfboard', 'sail', 'rope']],
    ['SELECT VALUE p.id FROM p ORDER BY p.kind ASC, p.price DESC', ['rope', 'surfboard', 'sail', 'kayak']],
    [
      'SELECT VALUE s.name FROM p JOIN s IN p.sizes ORDER BY s.name DESC, s.stock DESC',
      ['small', 'small', 'large'],
    ],
  ])('%s', (query, expected) => {
    expect(answer(query)).toEqual(expected);
  });

  test('a missing value and null -> two groups, and two results', () => {
    const documents = ['{"a":null}', '{}', '{"a":null}'];
    expect(ask('SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a', documents)).toEqual([
      '{"a":null,"n":2}',
      '{"n":1}',
    ]);
    expect(ask('SELECT DISTINCT c.a FROM c', documents)).toEqual(['{"a":null}', '{}']);
  });
});
