/**
 * Queries in the gateway's own way: what needs merging is refused with a plan, and the SDK asks range by range.
 * Whatever is asked, the answer is that of the direct mode.
 */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { failure, type SdkFailure } from '../helpers/emulator/failure.ts';
import type { RequestPlugin, TestContainer } from '../helpers/emulator/lab.ts';
import { parseJson } from '../helpers/emulator/raw.ts';
import type { Doc } from '../helpers/emulator/wire-container.ts';
import { type Backend, forEachEmulator } from './backend.ts';
import { draws } from '../helpers/generated.ts';

type Mode = 'direct' | 'planned';
type Query = string | SqlQuerySpec;

interface Reading extends Doc {
  readonly pk: string;
  readonly n: number;
}

const COUNT = 60;

/** `n` is another for each; `score` is missing from every third, `even` and `name` are ties. */
const READINGS: readonly Reading[] = Array.from({ length: COUNT }, (_, n) => ({
  id: `r${String((n * 37) % COUNT).padStart(2, '0')}`,
  pk: `k${n % 13}`,
  n: (n * 23) % COUNT,
  name: ['Ada', 'Bob', 'Cem', "O'Dora"][n % 4],
  even: n % 2 === 0,
  ...(n % 3 === 0 ? {} : { score: n / 8 }),
  deep: { 'odd name': `x${n}` },
  tags: Array.from({ length: n % 4 }, (_, tag) => tag),
}));

/** Queries whose whole answer, order included, is decided by the documents alone. */
const SETTLED: readonly Query[] = [
  'SELECT VALUE COUNT(1) FROM c',
  'SELECT VALUE COUNT(c.score) FROM c',
  'SELECT VALUE COUNT(1) FROM c WHERE c.n < 0',
  'SELECT VALUE COUNT(1) FROM c WHERE c.n = 7',
  'SELECT VALUE SUM(c.n) FROM c',
  'SELECT VALUE SUM(c.score * 2) FROM c WHERE c.n > 10 OR c.even',
  'SELECT VALUE SUM(c.n) FROM c WHERE c.n < 0',
  'SELECT VALUE MIN(c.score) FROM c',
  'SELECT VALUE MIN(c.name) FROM c',
  'SELECT VALUE MIN(c.n) FROM c WHERE c.n > 58',
  'SELECT VALUE MAX(c.n) FROM c WHERE c.n < 0',
  'SELECT VALUE MAX(c.id) FROM c',
  'SELECT VALUE AVG(c.score) FROM c',
  'SELECT VALUE AVG(c.n) FROM c WHERE c.n < 0',
  'SELECT VALUE (COUNT(1)) FROM root AS r',
  'SELECT COUNT(1) AS total FROM c',
  'SELECT COUNT(1), MAX(c.n) AS high, MIN(c.name) low, SUM(c.n) sum, AVG(c.n) AS mean FROM c WHERE c.even',
  'SELECT * FROM c ORDER BY c.n',
  'SELECT * FROM c WHERE c.even OR c.n < 9 ORDER BY c.n DESC',
  'SELECT VALUE c.n FROM c ORDER BY c.id ASC',
  'SELECT c.id, c.n AS number, c.missing, c.n + 1 FROM c ORDER BY c.n DESC',
  'SELECT VALUE {"a": c.n, "b": [c.name]} FROM c WHERE c.n BETWEEN 5 AND 25 ORDER BY c.n',
  'SELECT VALUE c.deep["odd name"] FROM c ORDER BY c.deep["odd name"]',
  'SELECT VALUE c.id -- only the id\nFROM c WHERE c.n > 3 -- not all\nORDER BY c.n -- rising',
  'SELECT TOP 7 * FROM c ORDER BY c.n',
  'SELECT TOP 0 * FROM c ORDER BY c.n',
  'SELECT TOP 999 VALUE c.n FROM c ORDER BY c.n DESC',
  'SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 13 LIMIT 12',
  'SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 55 LIMIT 12',
  'SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 0 LIMIT 0',
  'SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 99 LIMIT 5',
  {
    query: 'SELECT TOP @top VALUE c.n FROM c WHERE c.name = @name AND c.n > @n ORDER BY c.n',
    parameters: [
      { name: '@top', value: 6 },
      { name: '@name', value: "O'Dora" },
      { name: '@n', value: 10 },
    ],
  },
  'SELECT VALUE 1',
  'SELECT * FROM c ORDER BY c.name, c.n DESC',
  'SELECT VALUE c.n FROM c ORDER BY c.even DESC, c.name DESC, c.n OFFSET 7 LIMIT 20',
  'SELECT c.id, t FROM c JOIN t IN c.tags ORDER BY c.n',
  'SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags WHERE t > 1',
  'SELECT c.id, ARRAY(SELECT VALUE t FROM t IN c.tags WHERE t > 0) AS high FROM c ORDER BY c.n',
  'SELECT VALUE c.n FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 2) ORDER BY c.n',
  'SELECT DISTINCT VALUE c.name FROM c ORDER BY c.name',
];

/** Queries of which everything but the order of the results is decided. */
const UNORDERED: readonly Query[] = [
  'SELECT DISTINCT VALUE c.name FROM c',
  'SELECT DISTINCT c.name, c.even FROM c WHERE c.n > 10',
  'SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags WHERE t > 0',
  'SELECT c.name, COUNT(1) AS n, SUM(c.n) AS sum, MIN(c.score) AS low, AVG(c.n) AS mean FROM c GROUP BY c.name',
  'SELECT c.even, c.name, MAX(c.n) AS high FROM c WHERE c.n > 5 GROUP BY c.even, c.name',
  'SELECT VALUE COUNT(1) FROM c GROUP BY c.name',
  'SELECT VALUE c.name FROM c GROUP BY c.name',
  'SELECT COUNT(1) AS n FROM c GROUP BY c.missing',
  'SELECT t, COUNT(1) AS n FROM c JOIN t IN c.tags GROUP BY t',
  'SELECT VALUE t FROM t IN c.tags',
];

/** The indexes that the service needs for several order keys. */
const [UP, DOWN] = ['ascending', 'descending'] as const;
const COMPOSITE = [
  [
    { path: '/name', order: UP },
    { path: '/n', order: DOWN },
  ],
  [
    { path: '/even', order: DOWN },
    { path: '/name', order: DOWN },
    { path: '/n', order: UP },
  ],
];

/** An aggregate without a value. With ranges asked one by one the SDK never ends such a query: it spins. */
const UNDEFINED: Query = 'SELECT VALUE SUM(c.name) FROM c';

/** Queries of which only the number of answers, and that each is another, is decided. */
const LOOSE: readonly (readonly [query: string, count: number])[] = [
  ['SELECT * FROM c', COUNT],
  ['SELECT VALUE c.id FROM c WHERE c.n < 20', 20],
  ['SELECT TOP 17 * FROM c', 17],
  ['SELECT TOP 5 c.id, c.n FROM c WHERE c.n < 4', 4],
  ['SELECT VALUE c.id FROM c OFFSET 20 LIMIT 15', 15],
  ['SELECT c.id FROM c WHERE c.n > 49 OFFSET 4 LIMIT 99', 6],
];

const isPlan = (headers: Record<string, unknown> | undefined): boolean =>
  headers?.['x-ms-cosmos-is-query-plan-request'] !== undefined;

forEachEmulator('planned queries', (backend: Backend) => {
  const use = async (mode: Mode): Promise<void> => {
    expect((await backend.admin.send('PUT', 'account', { queries: mode })).status).toBe(200);
  };
  let shared: TestContainer | undefined;
  const readings = async (): Promise<TestContainer> => {
    if (shared === undefined) {
      shared = await backend.splitContainer(4, { indexingPolicy: { compositeIndexes: COMPOSITE } });
      await shared.wire.seed(READINGS);
    }
    return shared;
  };
  const all = async (container: Container, query: Query, options: FeedOptions = {}): Promise<unknown[]> =>
    (await container.items.query<unknown>(query, options).fetchAll()).resources;
  /** The same container through a client whose POSTs are noted. */
  const watched = (container: Container): { container: Container; posts: ('plan' | 'range' | 'whole')[] } => {
    const posts: ('plan' | 'range' | 'whole')[] = [];
    const onRequest: RequestPlugin = (context, next) => {
      if (context.method === backend.sdk.HTTPMethod.post) {
        const ofRange = context.headers?.['x-ms-documentdb-partitionkeyrangeid'] !== undefined;
        posts.push(isPlan(context.headers) ? 'plan' : ofRange ? 'range' : 'whole');
      }
      return next(context);
    };
    return { container: backend.lab.through(backend.client({ onRequest }), container), posts };
  };
  const queriesByStatus = async (): Promise<Record<string, number>> => {
    const state = (await backend.admin.state()) as {
      requests: { byOperation: Record<string, Record<string, number>> };
    };
    return state.requests.byOperation['query'] ?? {};
  };

  /** The same query in direct mode, which has one answer, and in planned mode. */
  const both = async (query: Query): Promise<{ container: Container; expected: unknown[] }> => {
    const { container } = await readings();
    await use('direct');
    const expected = await all(container, query);
    await use('planned');
    return { container, expected };
  };

  // One test for each query: together they are thousands of requests, too many for the time of one test under load.
  it.each([...SETTLED, UNDEFINED])('%j -> the same as in direct mode', async (query) => {
    const { container, expected } = await both(query);
    expect(await all(container, query)).toEqual(expected);
    expect(await all(container, query, { maxItemCount: 3 })).toEqual(expected);
    const oneByOne = query === UNDEFINED ? {} : { maxItemCount: 100, maxDegreeOfParallelism: 1 };
    expect(await all(container, query, oneByOne)).toEqual(expected);
  });

  it.each(UNORDERED)('%j -> the same as in direct mode, in any order', async (query) => {
    const sorted = (found: readonly unknown[]): string[] =>
      found.map((item) => JSON.stringify(item)).toSorted();
    const { container, expected } = await both(query);
    expect(sorted(await all(container, query))).toEqual(sorted(expected));
    expect(sorted(await all(container, query, { maxItemCount: 3 }))).toEqual(sorted(expected));
  });

  it.each(LOOSE)('%j -> %d different results', async (query, count) => {
    const { container } = await readings();
    await use('planned');
    for (const maxItemCount of [undefined, 2, 100]) {
      const found = await all(container, query, maxItemCount === undefined ? {} : { maxItemCount });
      expect(new Set(found.map((item) => JSON.stringify(item))).size).toBe(count);
      expect(found).toHaveLength(count);
    }
  });

  it('random queries -> the same results as in direct mode', async () => {
    const { container } = await readings();
    const select = fc.constantFrom('*', 'VALUE c.n', 'c.id, c.n', 'VALUE {"n": c.n, "name": c.name}');
    const where = fc.constantFrom(
      '',
      ' WHERE c.even',
      ' WHERE c.n > 12 OR c.name = "Ada"',
      ' WHERE NOT IS_DEFINED(c.score)',
    );
    const order = fc.constantFrom('c.n', 'c.n DESC', 'c.id', 'c.id DESC', 'c.deep["odd name"]');
    const cut = fc.oneof(
      fc.constant({ top: '', slice: '' }),
      fc.nat(20).map((top) => ({ top: `TOP ${top} `, slice: '' })),
      fc
        .tuple(fc.nat(40), fc.nat(20))
        .map(([offset, limit]) => ({ top: '', slice: ` OFFSET ${offset} LIMIT ${limit}` })),
    );
    const queries = fc.sample(
      fc.record({ select, where, order, cut, maxItemCount: fc.integer({ min: 1, max: 30 }) }),
      { numRuns: draws(40), seed: Number(process.env['COSMIG_SEED'] ?? 1) },
    );
    for (const { select: what, where: filter, order: key, cut: part, maxItemCount } of queries) {
      const query = `SELECT ${part.top}${what} FROM c${filter} ORDER BY ${key}${part.slice}`;
      await use('direct');
      const expected = await all(container, query);
      await use('planned');
      expect(await all(container, query, { maxItemCount }), `${query} by ${maxItemCount}`).toEqual(expected);
    }
  });

  it('ties -> keep their order, none is lost', async () => {
    const { container } = await readings();
    await use('planned');
    for (const direction of ['ASC', 'DESC']) {
      const query = `SELECT c.id, c.name FROM c ORDER BY c.name ${direction}`;
      const found = (await all(container, query, { maxItemCount: 7 })) as { id: string; name: string }[];
      const names = READINGS.map(({ name }) => String(name)).toSorted();
      expect(found.map(({ name }) => name)).toEqual(direction === 'ASC' ? names : names.toReversed());
      expect(new Set(found.map(({ id }) => id)).size).toBe(COUNT);
    }
  });

  it('a page size -> pages of that size, by default of ten (trap 17)', async () => {
    const { container } = await readings();
    await use('planned');
    const sizes = async (query: string, options: FeedOptions): Promise<number[]> => {
      const iterator = container.items.query<unknown>(query, options);
      const pages: number[] = [];
      while (iterator.hasMoreResults()) pages.push((await iterator.fetchNext()).resources?.length ?? 0);
      return pages.filter((size) => size > 0);
    };
    const ordered = 'SELECT * FROM c ORDER BY c.n';
    expect(await sizes(ordered, {})).toEqual(Array.from({ length: COUNT / 10 }, () => 10));
    expect(await sizes(ordered, { maxItemCount: 25 })).toEqual([25, 25, 10]);
    expect(await sizes(ordered, { maxItemCount: 100 })).toEqual([COUNT]);
    // Served directly, a page is as large as the account makes it.
    expect(await sizes('SELECT * FROM c', {})).toEqual([COUNT]);
  });

  it('a query -> one plan request, and one request per range if merged (trap 17)', async () => {
    const { container } = await readings();
    await use('planned');
    const costs = async (query: string, options: FeedOptions = {}): Promise<Record<string, number>> => {
      const before = await queriesByStatus();
      const seen = watched(container);
      await all(seen.container, query, options);
      const after = await queriesByStatus();
      const refused = (after['400/1004'] ?? 0) - (before['400/1004'] ?? 0);
      const answered = (after['200'] ?? 0) - (before['200'] ?? 0);
      expect(refused + answered).toBe(seen.posts.length);
      const count = (kind: string): number => seen.posts.filter((post) => post === kind).length;
      return { plan: count('plan'), whole: count('whole'), range: count('range'), refused };
    };
    expect(await costs('SELECT VALUE COUNT(1) FROM c')).toEqual({
      plan: 1,
      whole: 1,
      range: 4,
      refused: 1,
    });
    expect(await costs('SELECT * FROM c ORDER BY c.n', { maxItemCount: COUNT })).toEqual({
      plan: 1,
      whole: 1,
      range: 4,
      refused: 1,
    });
    expect(await costs('SELECT * FROM c')).toEqual({ plan: 1, whole: 1, range: 0, refused: 0 });
    expect(await costs('SELECT VALUE COUNT(1) FROM c', { partitionKey: 'k1' })).toEqual({
      plan: 1,
      whole: 1,
      range: 0,
      refused: 0,
    });
    await use('direct');
    expect(await costs('SELECT VALUE COUNT(1) FROM c')).toEqual({
      plan: 1,
      whole: 1,
      range: 0,
      refused: 0,
    });
  });

  it('within one key or range -> answered directly in both modes', async () => {
    const { container, wire } = await readings();
    const ofKey = READINGS.filter(({ pk }) => pk === 'k1')
      .map(({ n }) => n)
      .toSorted((a, b) => a - b);
    const [range] = await wire.ranges();
    for (const mode of ['direct', 'planned'] as const) {
      await use(mode);
      const options = { partitionKey: 'k1' };
      expect(await all(container, 'SELECT VALUE COUNT(1) FROM c', options)).toEqual([ofKey.length]);
      expect(await all(container, 'SELECT VALUE c.n FROM c ORDER BY c.n DESC', options)).toEqual(
        [...ofKey].toReversed(),
      );
      expect(await all(container, 'SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n', options)).toEqual(
        ofKey.slice(0, 2),
      );
      expect(await all(container, 'SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 2', options)).toEqual(
        ofKey.slice(1, 3),
      );
      const reply = await wire.query('SELECT VALUE COUNT(1) FROM c', { rangeId: range?.id });
      expect(reply.status).toBe(200);
      expect(parseJson<{ Documents: number[] }>(reply).Documents).toEqual([expect.any(Number)]);
    }
  });

  it('the whole container -> refused with the plan, even with a single range', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(READINGS.slice(0, 9));
    await use('planned');
    for (const query of [
      'SELECT VALUE COUNT(1) FROM c',
      'SELECT * FROM c ORDER BY c.n',
      'SELECT TOP 1 * FROM c',
      'SELECT * FROM c OFFSET 1 LIMIT 1',
    ]) {
      const reply = await wire.query(query);
      expect(reply.status, query).toBe(400);
      expect(reply.headers['x-ms-substatus'], query).toBe('1004');
      const body = parseJson<{ code: string; message: string; additionalErrorInfo: string }>(reply);
      expect(body).toMatchObject({ code: 'BadRequest', message: expect.any(String) });
      const plan = await wire.query(
        query,
        {},
        { 'x-ms-documentdb-isquery': undefined, 'x-ms-cosmos-is-query-plan-request': 'True' },
      );
      expect(plan.status, query).toBe(200);
      expect(JSON.parse(body.additionalErrorInfo), query).toEqual(parseJson(plan));
    }
    expect((await wire.query('SELECT * FROM c WHERE c.n > 1')).status).toBe(200);
    expect(await all(container, 'SELECT VALUE COUNT(1) FROM c')).toEqual([9]);
  });

  it('documents -> returned as they are stored', async () => {
    const { wire } = await backend.splitContainer(2);
    const text = '{"id":"a","pk":"p","big":9223372036854775807,"price":1.10,"word":"\\u00e9"';
    await wire.create(`${text}}`, ['p']);
    await use('planned');
    const { queryInfo } = parseJson<{ queryInfo: { rewrittenQuery: string } }>(
      await wire.query(
        'SELECT * FROM c ORDER BY c.big',
        {},
        { 'x-ms-documentdb-isquery': undefined, 'x-ms-cosmos-is-query-plan-request': 'True' },
      ),
    );
    const asked = queryInfo.rewrittenQuery.replace('{documentdb-formattableorderbyquery-filter}', 'true');
    const replies = await Promise.all(
      (await wire.ranges()).map(({ id }) => wire.query(asked, { rangeId: id })),
    );
    const texts = replies.map((reply) => reply.text).filter((reply) => reply.includes('_count":1'));
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain(`"orderByItems":[{"item":9223372036854775807}],"payload":${text},`);
  });

  /** A client that is stopped after so many 410/1002, and what it asked for since `calls` was emptied. */
  const patient = (container: Container, goneMax: number): { container: Container; calls: string[] } => {
    const calls: string[] = [];
    let gone = 0;
    const onRequest: RequestPlugin = async (context, next) => {
      if (gone >= goneMax) throw new Error('enough');
      const range = context.headers?.['x-ms-documentdb-partitionkeyrangeid'];
      calls.push(
        range === undefined ? (String(context.path).split('/').at(-1) ?? '') : `range ${String(range)}`,
      );
      try {
        return await next(context);
      } catch (error) {
        const { code, substatus } = error as SdkFailure;
        if (code === 410 && substatus === 1002) gone += 1;
        throw error;
      }
    };
    return { container: backend.lab.through(backend.client({ onRequest }), container), calls };
  };

  it('a split between two pages -> the SDK asks the gone range forever', async () => {
    await use('planned');
    const { container, wire } = await backend.splitContainer(2);
    await wire.seed(READINGS);
    const client = patient(container, 20);
    const ordered = 'SELECT VALUE c.n FROM c ORDER BY c.n';
    const iterator = client.container.items.query<number>(ordered, { maxItemCount: 5 });
    expect((await iterator.fetchNext()).resources).toEqual([0, 1, 2, 3, 4]);
    client.calls.length = 0;
    const ranges = await wire.ranges();
    for (const { id } of ranges) await backend.admin.split(wire.adminPath, { rangeId: id });
    const rest = async (): Promise<void> => {
      while (iterator.hasMoreResults()) await iterator.fetchNext();
    };
    expect((await failure(rest())).message).toBe('enough');
    // Not one look at the new ranges.
    expect(client.calls.every((call) => ranges.some(({ id }) => call === `range ${id}`))).toBe(true);
    expect((await queriesByStatus())['410/1002']).toBeGreaterThanOrEqual(20);
  });

  it('begun after a split -> uses the new ranges, unless the client cached the old ones', async () => {
    await use('planned');
    const { container, wire } = await backend.splitContainer(2);
    await wire.seed(READINGS);
    const client = patient(container, 20);
    // Not COUNT: over remembered ranges of which one is gone, SDK 4.10 would never yield to this test again.
    const ordered = async (through: Container): Promise<number[]> => {
      const iterator = through.items.query<number>('SELECT VALUE c.n FROM c ORDER BY c.n', {
        maxItemCount: 100,
      });
      const seen: number[] = [];
      while (iterator.hasMoreResults()) seen.push(...((await iterator.fetchNext()).resources ?? []));
      return seen;
    };
    const expected = READINGS.map(({ n }) => n).toSorted((a, b) => a - b);
    expect(await ordered(client.container)).toEqual(expected);
    for (const { id } of await wire.ranges()) await backend.admin.split(wire.adminPath, { rangeId: id });
    const again = await ordered(client.container).catch((error: Error) => error.message);
    expect(again).toEqual(backend.generation === '4.9' ? expected : 'enough');
    expect(await ordered(patient(container, 1).container)).toEqual(expected);
  });

  it('tokens of a range that has split -> valid on its children', async () => {
    await use('planned');
    const { wire } = await backend.splitContainer(2);
    await wire.seed(READINGS);
    const [range] = await wire.ranges();
    const asked =
      'SELECT c._rid, [{"item": c.n}] AS orderByItems, c.n AS payload FROM c WHERE (true) ORDER BY c.n';
    interface Page {
      readonly Documents: readonly { readonly payload: number }[];
    }
    const ask = async (
      rangeId: string,
      max: string,
      token?: string,
    ): Promise<{ found: number[]; token: string | undefined }> => {
      const reply = await wire.query(
        asked,
        { rangeId },
        { 'x-ms-max-item-count': max, 'x-ms-continuation': token },
      );
      expect(reply.status).toBe(200);
      const found = parseJson<Page>(reply).Documents.map(({ payload }) => payload);
      return { found, token: reply.headers['x-ms-continuation'] as string | undefined };
    };
    const whole = await ask(range?.id ?? '', '100');
    const first = await ask(range?.id ?? '', '5');
    await backend.admin.split(wire.adminPath, { rangeId: range?.id ?? '' });
    const children = (await wire.ranges()).filter(({ parents }) => parents?.includes(range?.id ?? ''));
    const rest = await Promise.all(children.map(({ id }) => ask(id, '100', first.token)));
    expect(rest).toHaveLength(2);
    const sorted = rest.flatMap(({ found }) => found).toSorted((a, b) => a - b);
    expect([...first.found, ...sorted]).toEqual(whole.found);
  });

  it('an aggregate that cannot be merged -> refused by name', async () => {
    const { container } = await readings();
    await use('planned');
    const error = await failure(all(container, 'SELECT VALUE {"n": COUNT(1)} FROM c'));
    expect(error.code).toBe(400);
    expect(error.message).toMatch(/aggregate/i);
    // The SDK's own limit, which the direct mode does not have.
    await expect(all(container, 'SELECT * FROM c ORDER BY c.score')).rejects.toThrow(/mixed types/);
    await use('direct');
    expect(await all(container, 'SELECT * FROM c ORDER BY c.score')).toHaveLength(COUNT);
  });

  it('the SDK forces a plan -> used in direct mode too', async () => {
    const { container } = await readings();
    await use('direct');
    const options = { forceQueryPlan: true, maxItemCount: 100 };
    expect(await all(container, 'SELECT VALUE COUNT(1) FROM c', options)).toEqual([COUNT]);
    expect(await all(container, 'SELECT * FROM c', options)).toHaveLength(COUNT);
  });
});
