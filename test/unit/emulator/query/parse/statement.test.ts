import { describe, expect, test } from 'vitest';
import { compileQuery } from '../../../../../src/emulator/query/query.ts';
import { ask, refusalOf, refused } from '../asking.ts';

const DOCUMENT = ['{"id":"1","a":{"b":2}}'];

describe('a statement', () => {
  test.each([
    'SELECT VALUE c.id FROM c',
    'select value c.id from c',
    'SELECT VALUE x.id FROM c AS x',
    'SELECT VALUE x.id FROM c x',
    'SELECT VALUE r.id FROM root r',
    'SELECT VALUE root.id FROM root',
    'SELECT VALUE families.id FROM families',
    'SELECT VALUE c.id -- the id\nFROM c -- of all',
    '  SELECT\tVALUE\nc . id\rFROM c  ',
    'SELECT VALUE c["id"] FROM c',
    `SELECT VALUE c['id'] FROM c`,
    'SELECT VALUE c[@name] FROM c',
    'SELECT VALUE (c).id FROM c',
    'SELECT VALUE {"id": c.id}.id FROM c',
    'SELECT VALUE c.id FROM c WHERE TRUE',
  ])('%s -> the id of the document', (query) => {
    expect(ask(query, DOCUMENT, { name: 'id' })).toEqual(['"1"']);
  });

  test('no FROM -> answered once', () => {
    expect(ask('SELECT 1 AS one, @p', ['{}', '{}'], { p: 'x' })).toEqual(['{"one":1,"$1":"x"}']);
    expect(ask('SELECT VALUE 1 WHERE false', ['{}'])).toEqual([]);
  });
});

describe('what is refused by name', () => {
  test.each([
    ['SELECT * FROM (SELECT * FROM c)', 'FROM a subquery is not supported by this emulator (at position 14)'],
    ['SELECT DISTINCT VALUE COUNT(1) FROM c', 'DISTINCT with an aggregate is'],
    ['SELECT * FROM c GROUP BY c.a', 'SELECT * with GROUP BY is'],
    [
      'SELECT c.b FROM c GROUP BY c.a',
      'Selecting anything but aggregates and the expressions of GROUP BY is',
    ],
    ['SELECT c.a FROM c GROUP BY COUNT(1)', 'An aggregate in GROUP BY is'],
    ['SELECT c.a FROM c GROUP BY c.a ORDER BY c.a', 'ORDER BY with GROUP BY is'],
    [
      'SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.a ORDER BY t.b) FROM c',
      'ORDER BY or GROUP BY in a subquery is',
    ],
    [
      'SELECT VALUE ARRAY(SELECT VALUE t.b FROM t IN c.a GROUP BY t.b) FROM c',
      'ORDER BY or GROUP BY in a subquery is',
    ],
    ['SELECT * FROM c WHERE udf.mine(c.a)', 'A user-defined function is'],
    [`SELECT * FROM c ORDER BY ${Array(9).fill('c.a').join()}`, 'ORDER BY with more than 8 keys is'],
    ['SELECT * FROM c ORDER BY RANK FullTextScore(c.a, "x")', 'ORDER BY RANK is'],
    ['SELECT * FROM c ORDER BY c.a + 1', 'ORDER BY anything but a property is'],
    ['SELECT * FROM c ORDER BY c', 'ORDER BY anything but a property is'],
    ['SELECT * FROM c ORDER BY VectorDistance(c.v, [1])', 'The function VectorDistance is'],
    ['SELECT * FROM c WHERE RegexMatch(c.a, "x")', 'The function RegexMatch is'],
    ['SELECT * FROM c WHERE FullTextContains(c.a, "x")', 'The function FullTextContains is'],
    ['SELECT * FROM c WHERE ST_DISTANCE(c.a, c.b) < 1', 'The function ST_DISTANCE is'],
    ['SELECT * FROM c WHERE ALL(SELECT VALUE 1)', 'The function ALL is'],
    ['SELECT * FROM c WHERE c.a & 1 = 1', 'The operator & is'],
    ['SELECT VALUE ~1 FROM c', 'The operator ~ is'],
    ['SELECT * FROM c WHERE c[c.a] = 1', 'A computed property name is'],
    ['SELECT COUNT(1) + 1 FROM c', 'COUNT inside an expression or a filter is'],
    ['SELECT VALUE {"n": MAX(c.a) * 2} FROM c', 'MAX inside an expression or a filter is'],
    ['SELECT VALUE {"n": MAX(c.a), "a": c.a} FROM c', 'MAX alongside a property (GROUP BY) is'],
    ['SELECT VALUE [COUNT(1), []] FROM c', 'COUNT alongside a property (GROUP BY) is'],
    ['SELECT VALUE COUNT(COUNT(1)) FROM c', 'COUNT inside an expression or a filter is'],
    ['SELECT * FROM c WHERE COUNT(1) > 1', 'COUNT inside an expression or a filter is'],
    ['SELECT c.a, COUNT(1) FROM c', 'COUNT alongside a property (GROUP BY) is'],
    ['SELECT TOP 1 VALUE COUNT(1) FROM c', 'TOP with an aggregate is'],
    ['SELECT VALUE COUNT(1) FROM c ORDER BY c.a', 'ORDER BY with an aggregate is'],
    ['SELECT VALUE COUNT(1) FROM c OFFSET 0 LIMIT 1', 'OFFSET LIMIT with an aggregate is'],
  ])('%s -> refused: %s', (query, message) => {
    expect(refused(query)).toContain(
      `${message}${message.includes('position') ? '' : ' not supported by this emulator'}`,
    );
  });
});

describe('syntax errors', () => {
  test.each([
    ['', 'Syntax error at position 0, incorrect syntax near the end of the query. Expected SELECT.'],
    ['DELETE FROM c', "Syntax error at position 0, incorrect syntax near 'DELETE FROM c'. Expected SELECT."],
    ['SELECT', 'position 6'],
    ['SELECT FROM c', 'position 7'],
    ['SELECT * FROM', 'position 13'],
    ['SELECT * FROM c WHERE', 'position 21'],
    ['SELECT * FROM c WHERE c.a =', 'position 27'],
    ['SELECT * FROM c WHERE c.a = = 1', 'position 28'],
    ['SELECT * FROM c WHERE (c.a = 1', 'Expected ).'],
    ['SELECT * FROM c WHERE c.a IN ()', 'position 30'],
    ['SELECT * FROM c WHERE c.a IN (1', 'Expected ).'],
    ['SELECT * FROM c WHERE c.a NOT 1', 'Expected IN, BETWEEN or LIKE.'],
    ['SELECT * FROM c WHERE c.a BETWEEN 1 OR 2', 'Expected AND.'],
    ['SELECT * FROM c WHERE c.a LIKE "x" ESCAPE "ab"', 'ESCAPE takes one character.'],
    ['SELECT * FROM c WHERE c.a ? 1', 'Expected :.'],
    ['SELECT * FROM c x y', 'position 18'],
    ['SELECT * FROM c WHERE x.a = 1', "Identifier 'x' could not be resolved."],
    ['SELECT * FROM c AS x WHERE c.a = 1', "Identifier 'c' could not be resolved."],
    ['SELECT c.a', "Identifier 'c' could not be resolved."],
    ['SELECT *', 'SELECT * needs FROM.'],
    ['SELECT * FROM c JOIN t IN c.tags', 'SELECT * needs a FROM without JOIN.'],
    ['SELECT c.id FROM c JOIN t IN x.tags', "Identifier 'x' could not be resolved."],
    ['SELECT c.id FROM t IN c.tags', "Identifier 'c' could not be resolved."],
    ['SELECT VALUE t FROM c JOIN t IN c.a JOIN t IN c.b', "The name 't' is given twice."],
    ['SELECT VALUE EXISTS(SELECT VALUE x) FROM c', "Identifier 'x' could not be resolved."],
    ['SELECT VALUE t FROM c AS t IN c.tags', 'position 27'],
    ['SELECT VALUE t FROM c.tags[0]', 'needs AS'],
    ['SELECT c.a, c.b FROM c GROUP BY', 'position 31'],
    ['SELECT c.* FROM c', 'Expected a name.'],
    ['SELECT *, c.a FROM c', 'position 8'],
    ['SELECT c.a, FROM c', 'position 12'],
    ['SELECT VALUE c.value FROM c', 'VALUE is a reserved word; as a property write it ["like this"].'],
    ['SELECT c.a AS order FROM c', 'ORDER is a reserved word'],
    ['SELECT c[-1] FROM c', 'A computed property name'],
    ['SELECT c[1.5] FROM c', 'an index a whole number'],
    [
      'SELECT c.a, c.b AS a FROM c',
      "position 12, incorrect syntax near 'c.b AS a FROM c'. The property name 'a'",
    ],
    ['SELECT 1 AS "x" FROM c', 'Expected a name.'],
    ['SELECT VALUE {"a": 1, "a": 2} FROM c', "The name 'a' is given twice."],
    ['SELECT TOP -1 * FROM c', 'TOP takes a whole number.'],
    ['SELECT TOP 1.5 * FROM c', 'TOP takes a whole number.'],
    ['SELECT TOP @s * FROM c', 'TOP takes a whole number.'],
    ['SELECT TOP 1 * FROM c OFFSET 1 LIMIT 1', 'TOP is there already.'],
    ['SELECT * FROM c OFFSET 1', 'Expected LIMIT.'],
    ['SELECT * FROM c LIMIT 1', 'position 16'],
    ['SELECT * FROM c OFFSET 1 LIMIT 1 ORDER BY c.a', 'position 33'],
    ['SELECT * FROM c ORDER c.a', 'Expected BY.'],
    ['SELECT * FROM c WHERE c.a = @none', 'The parameter @none was not given.'],
    ['SELECT * FROM c WHERE ABS() = 1', 'ABS does not take 0 arguments.'],
    ['SELECT * FROM c WHERE CONTAINS(c.a) = 1', 'CONTAINS does not take 1 arguments.'],
    ['SELECT COUNT(1, 2) FROM c', 'COUNT does not take 2 arguments.'],
    ['SELECT * FROM c;', 'position 15'],
  ])('%j -> %s', (query, message) => {
    expect(refused(query, { s: 'text' })).toContain(message);
  });
});

describe('limits', () => {
  test.each([
    ['brackets', `SELECT VALUE ${'('.repeat(100_000)}1${')'.repeat(100_000)}`],
    ['open brackets only', `SELECT VALUE ${'('.repeat(100_000)}`],
    ['arrays', `SELECT VALUE ${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['objects', `SELECT VALUE ${'{"a":'.repeat(50_000)}`],
    ['calls', `SELECT VALUE ${'ABS('.repeat(50_000)}`],
    ['NOTs', `SELECT VALUE ${'NOT '.repeat(50_000)}true`],
    ['signs', `SELECT VALUE ${'- '.repeat(50_000)}1`],
    ['sums', `SELECT VALUE ${'1+'.repeat(50_000)}1`],
    ['concatenations', `SELECT VALUE ${'"a"||'.repeat(50_000)}"a"`],
    ['conditions', `SELECT VALUE ${'true?1:'.repeat(50_000)}1`],
  ])('a hundred thousand %s -> refused', (_what, query) => {
    expect(refused(query)).toContain('nested too deeply');
  });

  test('ten thousand ORs, candidates or steps -> accepted', () => {
    const terms = Array.from({ length: 10_000 }, (_, index) => `c.a.b = ${index}`).join(' OR ');
    expect(ask(`SELECT VALUE c.id FROM c WHERE ${terms}`, DOCUMENT)).toEqual(['"1"']);
    const candidates = Array.from({ length: 100_000 }, (_, index) => index).join(',');
    expect(candidates.length).toBeGreaterThan(500_000);
    expect(
      ask(`SELECT VALUE c.id FROM c WHERE c.a.b IN (${candidates.slice(0, 500_000)}0)`, DOCUMENT),
    ).toHaveLength(1);
    expect(ask(`SELECT VALUE c${'.a'.repeat(100_000)} FROM c`, DOCUMENT)).toEqual([]);
  });

  test('more than 512 KB -> refused', () => {
    expect(refused(`SELECT VALUE 1${' '.repeat(512 * 1024)}`)).toContain('longer than');
    expect(ask(`SELECT VALUE 1${' '.repeat(512 * 1024 - 14)}`, [])).toEqual(['1']);
  });

  test.each([
    [`SELECT VALUE ${'REPLACE('.repeat(9)}"a"${', "a", "aaaaaaaaaa")'.repeat(9)}`, 'became longer than'],
    [`SELECT VALUE [${Array(60).fill('c.big').join(',')}] FROM c`, 'became longer than'],
    [`SELECT VALUE TOSTRING([${Array(2000).fill('c.big').join(',')}]) FROM c`, 'became longer than'],
  ])('a result that multiplies: %# -> refused', (query, message) => {
    const big = JSON.stringify({ big: 'x'.repeat(300_000) });
    expect(refusalOf(() => ask(query, [big]))).toContain(message);
  });
});

describe('the specification of a query', () => {
  test.each([
    [{ query: 1 }, 'The query must be a string.'],
    [{}, 'The query must be a string.'],
    [{ query: 'SELECT 1', parameters: {} }, 'must be an array'],
    [{ query: 'SELECT 1', parameters: [null] }, 'needs a name'],
    [{ query: 'SELECT 1', parameters: [{ value: 1 }] }, 'needs a name'],
    [{ query: 'SELECT 1', parameters: [{ name: 'p', value: 1 }] }, 'a name that starts with @'],
    [{ query: 'SELECT 1', parameters: [{ name: '@', value: 1 }] }, 'a name that starts with @'],
    [{ query: 'SELECT 1', parameters: [{ name: '@p' }, { name: '@p' }] }, '@p is given twice'],
    [
      {
        query: 'SELECT 1',
        parameters: [{ name: '@p', value: JSON.parse('['.repeat(5000) + ']'.repeat(5000)) }],
      },
      '@p is nested too deeply',
    ],
  ])('case %# -> checked', (spec, message) => {
    expect(refusalOf(() => compileQuery(spec as never))).toContain(message);
  });
});

describe('idEquals', () => {
  test.each([
    ['SELECT * FROM c', undefined],
    [`SELECT * FROM c WHERE c.id = 'x'`, 'x'],
    [`SELECT * FROM c WHERE 'x' = c["id"]`, 'x'],
    ['SELECT * FROM c WHERE c.id = @id', 'given'],
    [`SELECT * FROM c WHERE c.a > 1 AND (c.b = 2 AND c.id = 'x') AND c.d`, 'x'],
    [`SELECT VALUE COUNT(1) FROM c WHERE c.id = 'x'`, 'x'],
    [`SELECT * FROM c WHERE c.a = 1 OR c.id = 'x'`, undefined],
    [`SELECT * FROM c WHERE NOT (c.id = 'x')`, undefined],
    [`SELECT * FROM c WHERE c.id != 'x'`, undefined],
    [`SELECT * FROM c WHERE c.a.id = 'x'`, undefined],
    ['SELECT * FROM c WHERE c.id = 1', undefined],
    [`SELECT * FROM c WHERE c.id = c.b`, undefined],
  ])('%s -> %s', (query, expected) => {
    expect(compileQuery({ query, parameters: [{ name: '@id', value: 'given' }] }).idEquals).toBe(expected);
  });
});
