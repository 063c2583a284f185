import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Refusal } from '../../../../src/emulator/http/refusal.ts';
import { compileQuery, runPage } from '../../../../src/emulator/query/query.ts';
import { offering, ONE_PAGE, stored } from './asking.ts';
import { drawn, draws } from '../../../helpers/generated.ts';

const DOCUMENTS = offering(
  stored([
    '{"id":"1","a":1,"s":"x","l":[1,{"b":2}],"__proto__":{"a":1}}',
    '{"id":"2"}',
    '{"a":{"b":null},"k":1e999}',
  ]),
);

/** Whatever is asked, the answer is a page of JSON texts or a refusal with status 400. */
function outcomeOf(query: string): string {
  try {
    const page = runPage(
      compileQuery({ query, parameters: [{ name: '@p', value: [1] }] }),
      DOCUMENTS,
      ONE_PAGE,
    );
    for (const item of page.items) JSON.parse(item);
    return 'fine';
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) return 'fine';
    return `${query}: ${error instanceof Error ? error.stack : String(error)}`;
  }
}

const WORDS = (
  'SELECT VALUE * FROM c root AS WHERE AND OR NOT IN BETWEEN LIKE ESCAPE ORDER BY ASC DESC TOP OFFSET LIMIT JOIN GROUP ' +
  'EXISTS ARRAY UDF DISTINCT true false null undefined c.a c.id c.l[0] c["a b"] c.__proto__ @p @q 1 -1 0.5 1e3 1e999 ' +
  '"x" \'y\' \'%_[a\' "\\u0041" "\\ " ( ) [ ] { } , . : ? ?? || = != <> < <= > >= + - -- * / % & | ^ ~ ; ABS( COUNT( ' +
  'MAX( SUM( CONTAINS( REPLACE( ARRAY_CONTAINS( TOSTRING( RegexMatch( IIF( \n'
).split(' ');

const QUERIES = [
  'SELECT * FROM c WHERE c.a = 1 AND (c.s LIKE "x%" OR NOT IS_DEFINED(c.l)) ORDER BY c.a DESC OFFSET 0 LIMIT 5',
  'SELECT c.id, c.l[1].b AS b, {"x": [c.a, @p]} FROM c AS c WHERE c.a IN (1, 2, "x") ?? true',
  'SELECT TOP 3 VALUE c.a BETWEEN 1 AND 2 ? CONCAT("a", c.s) : c["s"] || \'z\' FROM c',
  'SELECT COUNT(1) AS n, MAX(c.a) AS m, SUM(-c.a * 2 % 3) FROM c WHERE ARRAY_CONTAINS(c.l, {"b": 2}, true)',
];

const SETTINGS = { numRuns: draws(5000) };

test('queries: random text -> compiled or refused', () => {
  const start = fc.constantFrom('', 'SELECT ', 'SELECT * FROM c WHERE ');
  fc.assert(
    fc.property(start, fc.string({ unit: 'binary', maxLength: 60 }), (start, rest) => {
      expect(outcomeOf(start + rest)).toBe('fine');
    }),
    SETTINGS,
  );
});

test('queries: random words of the language -> compiled or refused', () => {
  const start = fc.constantFrom('SELECT VALUE', 'SELECT * FROM c WHERE', 'SELECT c.a FROM c WHERE c.a =');
  fc.assert(
    fc.property(start, fc.array(fc.constantFrom(...WORDS), { maxLength: 25 }), (start, words) => {
      expect(outcomeOf([start, ...words].join(' '))).toBe('fine');
    }),
    SETTINGS,
  );
});

test('queries: a piece cut, doubled or replaced -> compiled or refused', () => {
  const change = fc.record({
    at: fc.nat(120),
    length: fc.nat(6),
    put: fc.oneof(fc.constant(''), fc.constantFrom(...WORDS), fc.string({ maxLength: 4 })),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...QUERIES),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      (query, changes) => {
        let mutated = query;
        for (const { at, length, put } of changes)
          mutated = mutated.slice(0, at) + put + mutated.slice(at + length);
        expect(outcomeOf(mutated)).toBe('fine');
      },
    ),
    SETTINGS,
  );
});

test.each(drawn([...WORDS, '((', '"', "'", '\\', '0', 'c.a = 1 OR ', '[1],', '1,', 'x']))(
  'queries: half a megabyte of %j -> answered or refused within seconds',
  (piece) => {
    const query = `SELECT VALUE ${piece.repeat(Math.floor(500_000 / piece.length))}`;
    // CPU time, since the machine may be busy.
    const before = process.cpuUsage();
    expect(outcomeOf(query)).toBe('fine');
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  },
);
