/** Plans: the query for a range, its answer, and how the client merges. */
import { describe, expect, test } from 'vitest';
import { needsPlan, planOf } from '../../../../../src/emulator/query/pages/plan.ts';
import { compileQuery } from '../../../../../src/emulator/query/query.ts';
import { ask, named, refusalOf } from '../asking.ts';

const WHOLE = { min: '', max: 'FF' };
const PARAMETERS = { p: 2 };

function infoOf(query: string): ReturnType<typeof planOf>['queryInfo'] {
  const { statement } = compileQuery({ query, parameters: named(PARAMETERS) });
  return planOf(statement, WHOLE).queryInfo;
}

/** What a range with these documents answers to the query that its plan makes of another. */
function rangeAnswers(query: string, texts: readonly string[]): readonly string[] {
  const asked = infoOf(query).rewrittenQuery.replace('{documentdb-formattableorderbyquery-filter}', 'true');
  return ask(asked, texts, PARAMETERS);
}

const TEXTS = [
  '{"_rid":"A","id":"a","n":3,"s":"x","big":9223372036854775807}',
  '{"_rid":"B","id":"b","n":1.10,"s":"y"}',
  '{"_rid":"C","id":"c","n":2}',
];

describe('a plan is needed', () => {
  test.each([
    ['SELECT * FROM c', false],
    ['SELECT VALUE c.a FROM c WHERE c.b = 1', false],
    ['SELECT 1 AS one', false],
    ['SELECT VALUE COUNT(1)', false],
    ['SELECT VALUE COUNT(1) FROM c', true],
    ['SELECT MAX(c.a) AS a FROM c', true],
    ['SELECT VALUE [COUNT(1)] FROM c', true],
    ['SELECT * FROM c ORDER BY c.a', true],
    ['SELECT TOP 3 * FROM c', true],
    ['SELECT TOP 0 * FROM c', true],
    ['SELECT * FROM c OFFSET 0 LIMIT 3', true],
  ])('%s -> %s', (query, expected) => {
    expect(needsPlan(compileQuery({ query }).statement)).toBe(expected);
  });
});

describe('a plan', () => {
  test('a query -> every field that SDKs read, and the part of the hash space', () => {
    const { statement } = compileQuery({ query: 'SELECT * FROM c' });
    expect(planOf(statement, { min: '05', max: '0A' })).toEqual({
      partitionedQueryExecutionInfoVersion: 2,
      queryInfo: {
        distinctType: 'None',
        top: null,
        offset: null,
        limit: null,
        orderBy: [],
        orderByExpressions: [],
        groupByExpressions: [],
        groupByAliases: [],
        aggregates: [],
        groupByAliasToAggregateType: {},
        rewrittenQuery: '',
        hasSelectValue: false,
        hasNonStreamingOrderBy: false,
      },
      queryRanges: [{ min: '05', max: '0A', isMinInclusive: true, isMaxInclusive: false }],
    });
  });

  test.each([
    ['SELECT VALUE COUNT(1) FROM c', { aggregates: ['Count'], hasSelectValue: true }],
    ['SELECT VALUE AVG(c.n) FROM c', { aggregates: ['Average'], groupByAliasToAggregateType: {} }],
    [
      'SELECT MIN(c.n) AS low, SUM(c.n) FROM c',
      {
        aggregates: [],
        groupByAliasToAggregateType: { low: 'Min', $1: 'Sum' },
        hasSelectValue: false,
      },
    ],
    ['SELECT TOP 4 * FROM c', { top: 4, offset: null, limit: null }],
    ['SELECT TOP @p * FROM c', { top: 2 }],
    ['SELECT * FROM c OFFSET 1 LIMIT @p', { top: null, offset: 1, limit: 2 }],
    [
      'SELECT VALUE c.n FROM c ORDER BY c.a["b c"] DESC',
      { orderBy: ['Descending'], orderByExpressions: ['c.a["b c"]'], hasSelectValue: true },
    ],
    ['SELECT c.n FROM c ORDER BY c.a', { orderBy: ['Ascending'], hasSelectValue: false }],
  ])('%s -> %j', (query, expected) => {
    expect(infoOf(query)).toMatchObject(expected);
  });

  test('an aggregate that cannot be merged -> refused', () => {
    for (const query of ['SELECT VALUE [COUNT(1)] FROM c', 'SELECT {"n": SUM(c.n)} AS a FROM c']) {
      expect(refusalOf(() => infoOf(query))).toContain('cannot be merged');
    }
  });
});

describe('a range answers', () => {
  test.each([
    ['SELECT VALUE COUNT(1) FROM c', ['[{"item":3}]']],
    ['SELECT VALUE COUNT(c.s) FROM c WHERE c.n > @p', ['[{"item":1}]']],
    ['SELECT VALUE SUM(c.n + 1) FROM c', ['[{"item":9.1}]']],
    ['SELECT VALUE SUM(c.s) FROM c', ['[{}]']],
    ['SELECT VALUE AVG(c.n) FROM c WHERE c.n >= 2', ['[{"item":{"sum":5,"count":2}}]']],
    ['SELECT VALUE (AVG -- of what\n(c.n)) FROM c WHERE false', ['[{"item":{"sum":0,"count":0}}]']],
    ['SELECT VALUE MIN(c.n) FROM c', ['[{"item":1.1,"item2":{"min":1.1,"count":3}}]']],
    ['SELECT VALUE max(c.s) FROM c', ['[{"item":"y","item2":{"max":"y","count":2}}]']],
    ['SELECT VALUE MAX(c.n) FROM c WHERE false', ['[{"item2":{"count":0}}]']],
    [
      'SELECT COUNT(1), MIN(c.s) AS low FROM x AS c',
      ['{"payload":{"$1":{"item":3},"low":{"item":"x","item2":{"min":"x","count":2}}}}'],
    ],
  ])('%s -> %j', (query, expected) => {
    expect(rangeAnswers(query, TEXTS)).toEqual(expected);
  });

  test('ORDER BY -> in order, documents as they are stored', () => {
    expect(rangeAnswers('SELECT * FROM c ORDER BY c.n', TEXTS)).toEqual([
      `{"_rid":"B","orderByItems":[{"item":1.10}],"payload":${TEXTS[1]}}`,
      `{"_rid":"C","orderByItems":[{"item":2}],"payload":${TEXTS[2]}}`,
      `{"_rid":"A","orderByItems":[{"item":3}],"payload":${TEXTS[0]}}`,
    ]);
  });

  test.each([
    [
      'SELECT VALUE c.big FROM c WHERE c.n = 3 OR c.n = 2 ORDER BY c.n DESC',
      ['9223372036854775807', undefined],
    ],
    [
      'SELECT c.id, c.n * 2 AS twice FROM c WHERE c.n < 3 ORDER BY c.n',
      ['{"id":"b","twice":2.2}', '{"id":"c","twice":4}'],
    ],
    ['SELECT VALUE c.n < 3 ? c.id : "many" FROM c ORDER BY c.id', ['"many"', '"b"', '"c"']],
    ['SELECT VALUE c.id -- the id\nFROM c WHERE true -- all\nORDER BY c.s -- text', ['"c"', '"a"', '"b"']],
    ['SELECT TOP 1 VALUE c.id FROM c ORDER BY c.n', ['"b"']],
    ['SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 1 LIMIT 1', ['"b"', '"c"']],
  ])('%s -> %j', (query, payloads) => {
    const found = rangeAnswers(query, TEXTS).map((item) => /"payload":(.*)\}$/.exec(item)?.[1]);
    expect(found).toEqual(payloads);
  });

  test('OFFSET and LIMIT -> as many as the client may need', () => {
    expect(rangeAnswers('SELECT c.id, c.n FROM c OFFSET 1 LIMIT 1', TEXTS)).toEqual([
      '{"id":"a","n":3}',
      '{"id":"b","n":1.10}',
    ]);
    expect(rangeAnswers('SELECT TOP 1 c.id AS id2, c.n FROM c', TEXTS)).toEqual(['{"id2":"a","n":3}']);
    expect(
      rangeAnswers(`SELECT VALUE c.id FROM c OFFSET 1 LIMIT ${Number.MAX_SAFE_INTEGER}`, TEXTS),
    ).toHaveLength(3);
  });

  test("a client's position -> the documents after it", () => {
    const { rewrittenQuery } = infoOf('SELECT VALUE c.id FROM c WHERE c.n > 1 OR c.s = "y" ORDER BY c.n');
    const asked = rewrittenQuery.replace('{documentdb-formattableorderbyquery-filter}', '(c.n >= 2)');
    expect(ask(asked, TEXTS).map((item) => (JSON.parse(item) as { _rid: string })._rid)).toEqual(['C', 'A']);
  });
});
