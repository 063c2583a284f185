import { expect, test } from 'vitest';
import { conditionsOf } from '../../../../src/plan/workload/query/conditions.ts';
import { withoutValues } from '../../../../src/plan/workload/query/tokens.ts';

/** The alternatives as plain objects: paths with dots, and how many values each can have. */
function alternatives(query: string): unknown {
  return conditionsOf(query)?.alternatives.map((one) =>
    Object.fromEntries([...one].map(([path, count]) => [(JSON.parse(path) as string[]).join('.'), count])),
  );
}

const where = (condition: string): string => `SELECT * FROM c WHERE ${condition}`;

test.each([
  ["c.tenantId = 'x'", [{ tenantId: 1 }]],
  ['c.tenantId = @tenant', [{ tenantId: 1 }]],
  ['@tenant = c.tenantId', [{ tenantId: 1 }]],
  ['c["tenantId"] = "x"', [{ tenantId: 1 }]],
  [`c['tenant''Id'] = 1`, [{}]],
  [String.raw`c["a\"b"].d = -1.5e3`, [{ 'a"b.d': 1 }]],
  ['c.address.zip = 8000', [{ 'address.zip': 1 }]],
  ['c.address["zip"] = null AND c.done = true', [{ 'address.zip': 1, done: 1 }]],
  ['(c.a = 1 AND (c.b = 2)) AND c.d > 3', [{ a: 1, b: 1 }]],
  ["c.a IN ('x', 'y', @z)", [{ a: 3 }]],
  ["c.a = 'x' OR c.a = 'y'", [{ a: 1 }, { a: 1 }]],
  ["c.a = 'x' OR c.b = 'y'", [{ a: 1 }, { b: 1 }]],
  [
    'c.t = @t AND (c.s = 1 OR c.s = 2)',
    [
      { t: 1, s: 1 },
      { t: 1, s: 1 },
    ],
  ],
  // OR binds less than AND, so the second half is not limited to a tenant.
  ['c.t = @t AND c.s = 1 OR c.s = 2', [{ t: 1, s: 1 }, { s: 1 }]],
  ['c.t = @t and c.d between 1 and 5 and c.s = 2', [{ t: 1, s: 1 }]],
  ['c.a = 1 AND c.a IN (1, 2)', [{ a: 1 }]],
  // Not understood, so everything is possible.
  ['NOT c.a = 1', [{}]],
  ['NOT (c.a = 1) AND c.b = 2', [{ b: 1 }]],
  ['c.a != 1', [{}]],
  ['LOWER(c.tenantId) = @t', [{}]],
  ['c.tenantId = LOWER(@t)', [{}]],
  ['c.a = 1 + c.b', [{}]],
  ['c.a = c.b', [{}]],
  ['c.a = @a ? c.b : c.d', [{}]],
  ['c.a = @a ?? true', [{}]],
  ['c[@name] = 1', [{}]],
  ['c.tags[0] = 1', [{}]],
  ['ARRAY_CONTAINS(@list, c.a)', [{}]],
  ["c.a LIKE 'x%'", [{}]],
  ['c.a IN (SELECT VALUE t FROM t IN c.tags)', [{}]],
  ['c.a IN (1, c.b)', [{}]],
  ['d.a = 1', [{}]],
  ['C.a = 1', [{}]],
  ['a = 1', [{}]],
  ['x.c.a = 1', [{}]],
  ['c = 1', [{}]],
  ["EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'x' OR c.a = 1) AND c.b = 2", [{ b: 1 }]],
  ["c.a = 'OR c.b = 1'", [{ a: 1 }]],
  ["c.a = 'x' -- OR c.b = 1\n AND c.d = 1", [{ a: 1, d: 1 }]],
  ['c.a = /* c.b */ 1', [{ a: 1 }]],
  ['c.order = 1 AND c.group = 2 AND c.offset = 3', [{ order: 1, group: 1, offset: 1 }]],
])('WHERE %s -> %j', (condition, expected) => {
  expect(alternatives(where(condition))).toEqual(expected);
});

test.each([
  ['SELECT * FROM c', [{}]],
  ['SELECT VALUE COUNT(1) FROM c', [{}]],
  ['SELECT TOP 5 c.id FROM c WHERE c.a = 1 ORDER BY c.b DESC', [{ a: 1 }]],
  ['SELECT c.a, COUNT(1) FROM c WHERE c.a = 1 GROUP BY c.a', [{ a: 1 }]],
  ['SELECT * FROM c WHERE c.a = 1 OFFSET 0 LIMIT 10', [{ a: 1 }]],
  ['select o.id from orders o where o.a = 1', [{ a: 1 }]],
  ['SELECT * FROM root AS r WHERE r.a = 1', [{ a: 1 }]],
  ['SELECT * FROM root WHERE root.a = 1', [{ a: 1 }]],
  ['SELECT * FROM orders o WHERE orders.a = 1', [{}]],
  ['SELECT * FROM c.address a WHERE a.zip = 1', [{ 'address.zip': 1 }]],
  ['SELECT * FROM c JOIN i IN c.items WHERE c.t = @t AND i.q = 3', [{ t: 1 }]],
  ['SELECT (SELECT VALUE 1 FROM x WHERE x.a = 1) FROM c WHERE c.b = 2', [{ b: 1 }]],
  // Not about documents, or not a query: cannot be known.
  ['SELECT * FROM i IN c.items WHERE i.a = 1', undefined],
  ['SELECT * FROM (SELECT * FROM c) d WHERE d.a = 1', undefined],
  ['SELECT 1', undefined],
  ["SELECT * FROM c WHERE c.a = 'x", undefined],
  ['SELECT * FROM c WHERE (c.a = 1', undefined],
  ['SELECT * FROM c WHERE c.a = 1)', undefined],
  ['DELETE FROM c', undefined],
  ['', undefined],
])('%s -> %j', (query, expected) => {
  expect(alternatives(query)).toEqual(expected);
});

test('a range, a function and a limit -> named as such', () => {
  const query = "SELECT TOP 3 * FROM c WHERE c.a > 5 AND UPPER(c.b) = 'X' AND c.d BETWEEN 1 AND 2";
  expect(conditionsOf(query)).toMatchObject({
    ranges: [['a'], ['d']],
    unsure: [['b']],
    named: [['a'], ['b'], ['d']],
    isLimited: true,
  });
});

test('a thousand alternatives, or a thousand parentheses -> everything is possible', () => {
  const many = Array.from({ length: 1000 }, (_none, at) => `c.a = ${at}`).join(' OR ');
  expect(alternatives(where(many))).toEqual([{}]);
  expect(alternatives(where(`c.b = 1 AND (${many})`))).toEqual([{ b: 1 }]);
  expect(alternatives(where(`${'('.repeat(1000)}c.a = 1${')'.repeat(1000)}`))).toEqual([{}]);
});

test.each([
  ["SELECT * FROM c WHERE c.mail = 'a@b.c' AND c.n = 42", 'SELECT * FROM c WHERE c.mail = ? AND c.n = ?'],
  ['SELECT *\n  FROM c -- secret\n WHERE c["mail"] = @m', 'SELECT * FROM c WHERE c["mail"] = @m'],
  ["SELECT * FROM c WHERE c.a = 'unclosed secret", 'SELECT * FROM c WHERE c.a = ...'],
])('%j without its values -> %j', (query, shown) => {
  expect(withoutValues(query)).toBe(shown);
});
