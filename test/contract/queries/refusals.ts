/** Queries that the emulator refuses, by the names that docs/emulator.md has for them, and what each refusal names. */
type Refusals = Readonly<Record<string, readonly (readonly [query: string, named: RegExp])[]>>;

export const REFUSED_SQL: Refusals = {
  'FROM a subquery': [['SELECT * FROM (SELECT VALUE c.tags FROM c) AS t', /FROM a subquery/]],
  'ORDER BY together with GROUP BY': [
    ['SELECT c.n FROM c GROUP BY c.n ORDER BY c.n', /ORDER BY with GROUP BY/],
  ],
  'ORDER BY and GROUP BY in a subquery': [
    [
      'SELECT ARRAY(SELECT VALUE t FROM t IN c.tags ORDER BY t.n) AS x FROM c',
      /ORDER BY or GROUP BY in a subquery/,
    ],
    [
      'SELECT ARRAY(SELECT t.n FROM t IN c.tags GROUP BY t.n) AS x FROM c',
      /ORDER BY or GROUP BY in a subquery/,
    ],
  ],
  'bitwise operators': ['&', '|', '^', '<<', '>>', '>>>'].map(
    (operator) => [`SELECT VALUE 6 ${operator} 3`, /operator [&|^<>]+ is not/] as const,
  ),
  '`RegexMatch`': [['SELECT VALUE RegexMatch("a", "a")', /RegexMatch/]],
  'functions of the current time and of geography': [
    ['SELECT VALUE GetCurrentDateTime()', /GetCurrentDateTime/],
    ['SELECT VALUE GetCurrentDateTimeStatic()', /GetCurrentDateTimeStatic/],
    ['SELECT VALUE GetCurrentTicks()', /GetCurrentTicks/],
    ['SELECT VALUE GetCurrentTimestamp()', /GetCurrentTimestamp/],
    ['SELECT * FROM c WHERE ST_DISTANCE(c.place, {"type":"Point","coordinates":[1,2]}) < 1', /ST_DISTANCE/],
    ['SELECT * FROM c WHERE ST_WITHIN(c.place, c.area)', /ST_WITHIN/],
  ],
  'expressions of aggregates': [
    ['SELECT VALUE COUNT(1) + 1 FROM c', /COUNT/],
    ['SELECT VALUE IIF(SUM(c.n) > 1, 1, 2) FROM c', /SUM/],
    ['SELECT c.id, COUNT(1) FROM c', /COUNT alongside a property/],
  ],
  '`ARRAY_CONTAINS` with a part of an object within an object': [
    ['SELECT VALUE ARRAY_CONTAINS([{"a": {"b": 1, "c": 2}}], {"a": {"b": 1}}, true)', /ARRAY_CONTAINS/],
  ],
};

/** What the list has outside its entry for SQL. */
export const REFUSED_ELSEWHERE: Refusals = {
  Scripts: [['SELECT VALUE udf.f(c.n) FROM c', /user-defined/]],
  'Full-text, vector and semantic search': [
    ['SELECT * FROM c WHERE FullTextContains(c.name, "x")', /FullTextContains/],
    ['SELECT * FROM c WHERE FullTextContainsAll(c.name, "x", "y")', /FullTextContainsAll/],
    ['SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1, 2])', /VectorDistance/],
    ['SELECT TOP 5 c.id FROM c ORDER BY RANK FullTextScore(c.name, "x")', /RANK/],
  ],
};
