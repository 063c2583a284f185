/** Queries: what a mover, a test and a plain application ask, answered directly; the rest refused by name. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import type { SqlQuerySpec } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { parseJson } from '../helpers/emulator/raw.ts';
import type { Doc, Scope, WireContainer } from '../helpers/emulator/wire-container.ts';
import { forEachBackend } from './backend.ts';
import type { TestContainer } from '../helpers/emulator/lab.ts';

interface Person extends Doc {
  readonly pk: string;
  readonly n: number;
  readonly name: string;
}

/** Twenty people; every third has no score, every fifth a null one; sparse and nested members on purpose. */
const PEOPLE: readonly Person[] = Array.from({ length: 20 }, (_, n) => ({
  id: `p${String(n).padStart(2, '0')}`,
  pk: `k${n % 4}`,
  n,
  name: ['Ada', 'Bob', 'Cem', 'Dora'][n % 4] ?? '',
  even: n % 2 === 0,
  ...(n % 3 === 0 ? {} : { score: n % 5 === 0 ? null : n / 2 }),
  address: { city: n < 10 ? 'Oslo' : 'Bergen', 'zip code': 1000 + n },
  tags: n % 2 === 0 ? ['even', `t${n}`] : ['odd'],
  'odd name': n,
}));

const ids = (keep: (person: Person) => boolean): string[] => PEOPLE.filter(keep).map((person) => person.id);
const score = (person: Person): unknown => person['score'];
const numeric = (person: Person): number =>
  typeof score(person) === 'number' ? Number(score(person)) : Number.NaN;

/** WHERE clauses, and whom they keep. The result is compared as a set. */
const FILTERS: readonly [string, (person: Person) => boolean][] = [
  ['c.n = 7', (p) => p.n === 7],
  ['c.n != 7', (p) => p.n !== 7],
  ['c.n <> 7', (p) => p.n !== 7],
  ['c.n < 5', (p) => p.n < 5],
  ['c.n <= 5', (p) => p.n <= 5],
  ['c.n > 15', (p) => p.n > 15],
  ['c.n >= 15', (p) => p.n >= 15],
  ['7 = c.n', (p) => p.n === 7],
  ["c.name = 'Ada'", (p) => p.name === 'Ada'],
  ['c.name = "Ada"', (p) => p.name === 'Ada'],
  ["c.name > 'B' AND c.name < 'D'", (p) => p.name > 'B' && p.name < 'D'],
  ['c.even = true', (p) => p['even'] === true],
  ['c.even', (p) => p['even'] === true],
  ['NOT c.even', (p) => p['even'] === false],
  ['c.score = null', (p) => score(p) === null],
  ['c.score > 3', (p) => numeric(p) > 3],
  ['NOT (c.score > 3)', (p) => numeric(p) <= 3],
  ["c.n = '7'", () => false],
  ['c.missing = null', () => false],
  ['c.missing != 1', () => false],
  ['c.n < 3 OR c.n > 17', (p) => p.n < 3 || p.n > 17],
  ['c.missing = 1 OR c.n = 1', (p) => p.n === 1],
  [
    "(c.n < 10 OR c.even) AND NOT (c.name = 'Ada')",
    (p) => (p.n < 10 || p['even'] === true) && p.name !== 'Ada',
  ],
  ['c.n IN (1, 3, 99)', (p) => p.n === 1 || p.n === 3],
  ["c.name NOT IN ('Ada', 'Bob')", (p) => p.name !== 'Ada' && p.name !== 'Bob'],
  ['c.n BETWEEN 4 AND 6', (p) => p.n >= 4 && p.n <= 6],
  ['c.n NOT BETWEEN 4 AND 16', (p) => p.n < 4 || p.n > 16],
  ['IS_DEFINED(c.score)', (p) => 'score' in p],
  ['NOT IS_DEFINED(c.score)', (p) => !('score' in p)],
  ['IS_NULL(c.score)', (p) => score(p) === null],
  ['IS_NUMBER(c.score)', (p) => typeof score(p) === 'number'],
  ['IS_STRING(c.name)', () => true],
  ['IS_STRING(c.n)', () => false],
  ['IS_BOOL(c.even)', () => true],
  ['IS_ARRAY(c.tags)', () => true],
  ['IS_OBJECT(c.address)', () => true],
  ["STARTSWITH(c.name, 'D')", (p) => p.name === 'Dora'],
  ["STARTSWITH(c.name, 'd', true)", (p) => p.name === 'Dora'],
  ["ENDSWITH(c.name, 'a')", (p) => p.name.endsWith('a')],
  ["CONTAINS(c.name, 'or')", (p) => p.name.includes('or')],
  ["CONTAINS(c.name, 'OR', true)", (p) => p.name.includes('or')],
  ["ARRAY_CONTAINS(c.tags, 'odd')", (p) => p.n % 2 === 1],
  ["LOWER(c.name) = 'ada'", (p) => p.name === 'Ada'],
  ["UPPER(c.name) = 'ADA'", (p) => p.name === 'Ada'],
  ['LENGTH(c.name) = 4', (p) => p.name.length === 4],
  ["c.address.city = 'Oslo'", (p) => p.n < 10],
  ['c.address["zip code"] = 1003', (p) => p.n === 3],
  ['c["odd name"] = 5', (p) => p.n === 5],
  ["c.tags[0] = 'even'", (p) => p.n % 2 === 0],
  ['c.n % 7 = 0', (p) => p.n % 7 === 0],
  ['c.n + 1 = 8', (p) => p.n === 7],
  ['c.n = -1', () => false],
  ["(c.name || '!') = 'Bob!'", (p) => p.name === 'Bob'],
  ["c.id = 'p07' AND c.pk = 'k3'", (p) => p.id === 'p07'],
  ['true', () => true],
];

/** Whole queries whose results and order are fixed. */
const QUERIES: readonly [string, unknown[]][] = [
  ["SELECT c.id, c.n FROM c WHERE c.id = 'p03'", [{ id: 'p03', n: 3 }]],
  ["SELECT c.n AS number, c.address.city FROM c WHERE c.id = 'p03'", [{ number: 3, city: 'Oslo' }]],
  ["SELECT c.n number FROM c WHERE c.id = 'p03'", [{ number: 3 }]],
  ["SELECT VALUE c.n FROM c WHERE c.id = 'p03'", [3]],
  ["SELECT VALUE c.address FROM c WHERE c.id = 'p03'", [{ city: 'Oslo', 'zip code': 1003 }]],
  ["SELECT VALUE { a: c.n, b: [c.name, 1] } FROM c WHERE c.id = 'p03'", [{ a: 3, b: ['Dora', 1] }]],
  ["SELECT VALUE c.missing FROM c WHERE c.id = 'p03'", []],
  ["SELECT c.missing, c.n FROM c WHERE c.id = 'p03'", [{ n: 3 }]],
  ["SELECT VALUE r.n FROM r WHERE r.id = 'p03'", [3]],
  ["SELECT VALUE root.n FROM root WHERE root.id = 'p03'", [3]],
  ["select value c.n from c where c.id = 'p03'", [3]],
  ['SELECT VALUE c.n FROM c ORDER BY c.n', PEOPLE.map((p) => p.n)],
  ['SELECT VALUE c.n FROM c ORDER BY c.n ASC', PEOPLE.map((p) => p.n)],
  ['SELECT VALUE c.n FROM c ORDER BY c.n DESC', PEOPLE.map((p) => p.n).toReversed()],
  ['SELECT VALUE c.id FROM c WHERE c.n > 10 ORDER BY c.id DESC', ids((p) => p.n > 10).toReversed()],
  ['SELECT VALUE c.address["zip code"] FROM c ORDER BY c.address["zip code"]', PEOPLE.map((p) => 1000 + p.n)],
  ['SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n', [0, 1, 2]],
  ['SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 3', [5, 6, 7]],
  ['SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 18 LIMIT 10', [18, 19]],
  ['SELECT VALUE COUNT(1) FROM c', [20]],
  ['SELECT VALUE COUNT(c.score) FROM c', [PEOPLE.filter((p) => 'score' in p).length]],
  ['SELECT VALUE COUNT(1) FROM c WHERE c.n > 99', [0]],
  ['SELECT COUNT(1) AS total FROM c', [{ total: 20 }]],
  ['SELECT VALUE SUM(c.n) FROM c', [190]],
  ['SELECT VALUE MIN(c.n) FROM c WHERE c.n > 3', [4]],
  ['SELECT VALUE MAX(c.name) FROM c', ['Dora']],
  [`SELECT VALUE "it's" FROM c WHERE c.n = 0`, ["it's"]],
  [String.raw`SELECT VALUE 'it\'s \u0041' FROM c WHERE c.n = 0`, ["it's A"]],
];

/** Features beyond the subset, and the word the refusal must contain. */
const REFUSED: readonly [string, RegExp][] = [
  ['SELECT VALUE t FROM (SELECT VALUE c.tags FROM c) AS t', /subquery/i],
  ['SELECT c.name, COUNT(1) FROM c GROUP BY c.name ORDER BY c.name', /group by/i],
  ['SELECT VALUE udf.f(c.n) FROM c', /user-defined|udf/i],
  ['SELECT VALUE c.n FROM c ORDER BY c.name, c.n', /composite index/i],
  ["SELECT * FROM c WHERE FullTextContains(c.name, 'x')", /full.?text/i],
  ['SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1, 2])', /vector/i],
  ["SELECT TOP 5 c.id FROM c ORDER BY RANK FullTextScore(c.name, 'x')", /full.?text|rank/i],
  ['SELECT VALUE NO_SUCH_FUNCTION(c.n) FROM c', /NO_SUCH_FUNCTION/],
];

const BROKEN = [
  'SELECT',
  'SELECT * FROM',
  'SELECT * FROM c WHERE',
  'SELECT * FROM c WHERE c.n = ',
  'DELETE FROM c',
  '',
  "SELECT * FROM c WHERE c.a = 'open",
];

forEachBackend('queries', (backend) => {
  let shared: TestContainer | undefined;
  /** The people, once per backend and never changed. Two ranges, so that every answer crosses partitions. */
  const people = async (): Promise<TestContainer> => {
    if (shared === undefined) {
      shared = backend.live ? await backend.container() : await backend.splitContainer(2);
      backend.lab.keep(shared.container);
      await shared.wire.seed(PEOPLE);
    }
    return shared;
  };
  const ask = async <T>(query: string | SqlQuerySpec): Promise<T[]> =>
    (await (await people()).container.items.query<T>(query).fetchAll()).resources;

  it('WHERE -> the matching documents', async () => {
    for (const [where, keep] of FILTERS) {
      const found = await ask<string>(`SELECT VALUE c.id FROM c WHERE ${where}`);
      expect([...found].sort(), where).toEqual(ids(keep));
    }
  });

  it('projections, ORDER BY, limits and aggregates -> their results', async () => {
    for (const [query, result] of QUERIES) expect(await ask(query), query).toEqual(result);
  });

  it('SELECT * -> documents as they are stored', async () => {
    const { container, wire } = await people();
    const all = await ask<Person>('SELECT * FROM c');
    expect([...all].sort((a, b) => a.n - b.n)).toMatchObject(PEOPLE);
    const stored = parseJson<Person>(await wire.read('p03', ['k3']));
    expect(all.find((person) => person.id === 'p03')).toEqual(stored);
    const readAll = (await container.items.readAll<Person>().fetchAll()).resources;
    expect(readAll).toHaveLength(PEOPLE.length);
  });

  it('parameters of every type -> accepted', async () => {
    const cases: [string, unknown, string[]][] = [
      ['c.n = @v', 4, ids((p) => p.n === 4)],
      ['c.name = @v', 'Ada', ids((p) => p.name === 'Ada')],
      ['c.even = @v', false, ids((p) => p['even'] === false)],
      ['c.score = @v', null, ids((p) => score(p) === null)],
      ['ARRAY_CONTAINS(@v, c.n)', [1, 2], ids((p) => p.n === 1 || p.n === 2)],
      ['c.name = @v', "x' OR true", []],
    ];
    for (const [where, value, expected] of cases) {
      const found = await ask<string>({
        query: `SELECT VALUE c.id FROM c WHERE ${where}`,
        parameters: [{ name: '@v', value: value as string }],
      });
      expect([...found].sort(), where).toEqual(expected);
    }
  });

  it('several pages -> each document once', async () => {
    const { container } = await people();
    for (const query of [
      'SELECT * FROM c',
      'SELECT * FROM c WHERE c.n > 4',
      'SELECT * FROM c ORDER BY c.n DESC',
    ]) {
      const iterator = container.items.query<Person>(query, { maxItemCount: 3 });
      const pages: Person[][] = [];
      while (iterator.hasMoreResults()) pages.push((await iterator.fetchNext()).resources ?? []);
      const seen = pages.flat().map((person) => person.n);
      expect(Math.max(...pages.map((page) => page.length)), query).toBeLessThanOrEqual(3);
      const expected = PEOPLE.map((person) => person.n).filter((n) => !query.includes('> 4') || n > 4);
      expect(query.includes('DESC') ? [...seen].toReversed() : seen.sort((a, b) => a - b), query).toEqual(
        expected,
      );
    }
  });

  it('a continuation in another client -> resumes', async () => {
    const { container } = await people();
    const first = await container.items.query<Person>('SELECT * FROM c', { maxItemCount: 8 }).fetchNext();
    expect(first.resources.length).toBeLessThanOrEqual(8);
    expect(first.continuationToken).toBeTruthy();
    const seen = first.resources.map((person) => person.id);
    const other = backend.lab.through(backend.client(), container);
    const rest = other.items.query<Person>('SELECT * FROM c', {
      continuationToken: first.continuationToken,
      maxItemCount: 8,
    });
    while (rest.hasMoreResults())
      seen.push(...((await rest.fetchNext()).resources ?? []).map((person) => person.id));
    expect(seen.sort()).toEqual(ids(() => true));
  });

  it('within one key -> documents of that key only', async () => {
    const { container } = await people();
    const options = { partitionKey: 'k1' };
    const { resources } = await container.items.query<number>('SELECT VALUE c.n FROM c', options).fetchAll();
    expect(resources.sort((a, b) => a - b)).toEqual([1, 5, 9, 13, 17]);
    const count = await container.items.query<number>('SELECT VALUE COUNT(1) FROM c', options).fetchAll();
    expect(count.resources).toEqual([5]);
  });

  it('within one range -> documents of that range only', async () => {
    const { wire } = await people();
    const seen: string[] = [];
    for (const range of await wire.ranges()) {
      const reply = await wire.query('SELECT VALUE c.id FROM c', { rangeId: range.id });
      expect(reply.status).toBe(200);
      seen.push(...parseJson<{ Documents: string[] }>(reply).Documents);
    }
    expect(seen.sort()).toEqual(ids(() => true));
  });

  it('documents without a key or with a null key -> found', async () => {
    const { container, wire } = await backend.container();
    await wire.seed([{ id: 'none' }, { id: 'null', pk: null }, { id: 'text', pk: 'null' }]);
    const where = async (filter: string): Promise<string[]> =>
      (await container.items.query<string>(`SELECT VALUE c.id FROM c WHERE ${filter}`).fetchAll()).resources;
    expect(await where('NOT IS_DEFINED(c.pk)')).toEqual(['none']);
    expect(await where('c.pk = null')).toEqual(['null']);
    expect(await where('IS_NULL(c.pk)')).toEqual(['null']);
  });

  it('system properties -> visible to filters', async () => {
    const found = await ask<{ _ts: number; _etag: string }>(
      "SELECT c._ts, c._etag FROM c WHERE c.id = 'p01' AND c._ts > 0",
    );
    expect(found).toEqual([{ _ts: expect.any(Number), _etag: expect.stringMatching(/^"/) }]);
  });

  it('a query -> the reply has the form that the SDK reads', async () => {
    const { wire } = await people();
    const reply = await wire.query('SELECT * FROM c', {}, { 'x-ms-max-item-count': '5' });
    expect(parseJson(reply)).toMatchObject({
      _rid: expect.any(String),
      Documents: expect.any(Array),
      _count: 5,
    });
    expect(reply.headers['x-ms-continuation']).toBeTruthy();
    expect(Number(reply.headers['x-ms-request-charge'])).toBeGreaterThan(0);
  });

  it.skipIf(backend.live)(
    'counts of everything -> equal the documents that queries return, in every part',
    async () => {
      const { wire } = await backend.splitContainer(3, { defaultTtl: -1 });
      await wire.seed(
        Array.from({ length: 40 }, (_, n) => ({ id: `d${n}`, pk: `k${n}`, ttl: n % 3 === 0 ? 5 : -1 })),
      );
      const countOf = async (query: string, scope: Scope = {}): Promise<number> =>
        Number(parseJson<{ Documents: unknown[] }>(await wire.query(query, scope)).Documents[0]);
      const ranges = await wire.ranges();
      const parts: Scope[] = ranges.flatMap(({ id, minInclusive, maxExclusive }) => {
        const middle = `${minInclusive || '0'}8`;
        return [
          { rangeId: id },
          { rangeId: id, startEpk: minInclusive, endEpk: middle },
          { rangeId: id, startEpk: middle, endEpk: maxExclusive },
        ];
      });
      for (const expected of [40, 26]) {
        expect(await countOf('SELECT VALUE COUNT(1) FROM c')).toBe(expected);
        let counted = 0;
        for (const part of parts) {
          // Only the second has to be looked for in the documents.
          const [fast, slow] = [
            await countOf('SELECT VALUE COUNT(1) FROM c', part),
            await countOf('SELECT VALUE COUNT(c.id) FROM c', part),
          ];
          expect(fast, JSON.stringify(part)).toBe(slow);
          if (part.startEpk === undefined) counted += fast;
        }
        expect(counted).toBe(expected);
        await backend.admin.clock(10 * 1000);
      }
      expect(await countOf('SELECT VALUE COUNT(undefined) FROM c')).toBe(0);
      expect(await countOf('SELECT VALUE COUNT(1) FROM c', { key: ['k1'] })).toBe(1);
      expect(
        await wire
          .query('SELECT COUNT(1) AS n, [COUNT(1)] AS list FROM c')
          .then((reply) => parseJson<{ Documents: unknown[] }>(reply).Documents),
      ).toEqual([{ n: 26, list: [26] }]);
    },
  );

  it.skipIf(backend.live)('unsupported SQL -> 400 that names the feature', async () => {
    for (const [query, word] of REFUSED) {
      const error = await failure(ask(query));
      expect(error.code, query).toBe(400);
      expect(error.message, query).toMatch(word);
    }
  });

  it('invalid queries -> 400', async () => {
    const { wire } = await people();
    for (const query of BROKEN) {
      const reply = await wire.query(query);
      expect(reply.status, query).toBe(400);
      expect(parseJson(reply)['message'], query).toEqual(expect.any(String));
    }
    const noQuery = await rawQuery(wire, '{"parameters":[]}');
    const noJson = await rawQuery(wire, '{"query":');
    const badParameters = await rawQuery(wire, '{"query":"SELECT * FROM c","parameters":7}');
    expect([noQuery, noJson, badParameters]).toEqual([400, 400, 400]);
  });

  it.skipIf(backend.live)('very deep queries -> answered or refused', async () => {
    const { wire } = await people();
    const deep = `SELECT * FROM c WHERE ${'('.repeat(5000)}true${')'.repeat(5000)}`;
    const long = `SELECT * FROM c WHERE ${Array.from({ length: 3000 }, (_, n) => `c.n = ${n}`).join(' OR ')}`;
    for (const query of [deep, long]) expect([200, 400]).toContain((await wire.query(query)).status);
    expect((await wire.query('SELECT VALUE COUNT(1) FROM c')).status).toBe(200);
  });
});

async function rawQuery(wire: WireContainer, body: string): Promise<number> {
  const headers = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' };
  return (await wire.account.send('POST', `${wire.path}/docs`, { body, headers })).status;
}
