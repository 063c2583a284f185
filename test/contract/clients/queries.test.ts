/** What clients send and expect along with a query: leave to cross partitions, continuation tokens, and metrics. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { expect, it } from 'vitest';
import { failure } from '../../helpers/emulator/failure.ts';
import { headerOf, parseJson, refusalOf, type Headers, type Reply } from '../../helpers/emulator/raw.ts';
import type { WireContainer } from '../../helpers/emulator/wire-container.ts';
import { multiHashKey } from '../../helpers/emulator/key-definitions.ts';
import { forEachBackend, forEachEmulator } from '../backend.ts';

const DOCS = Array.from({ length: 12 }, (_, n) => ({ id: `d${n}`, pk: `k${n % 3}`, n }));

interface Page {
  readonly Documents: readonly unknown[];
}

function documentsOf(reply: Reply): readonly unknown[] {
  expect(reply.status).toBe(200);
  return parseJson<Page>(reply).Documents;
}

forEachBackend('a query across partitions', (backend) => {
  /** A query as a client sends it that does not say whether the query may cross partitions. */
  function ask(wire: WireContainer, query: string, headers: Headers = {}): Promise<Reply> {
    const { account, path } = wire;
    const body = JSON.stringify({ query });
    return account.send('POST', `${path}/docs`, {
      body,
      headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', ...headers },
    });
  }

  it.each([
    ['no key, no range and no leave', {}],
    ['a refusal of leave', { 'x-ms-documentdb-query-enablecrosspartition': 'False' }],
    ['an empty key', { 'x-ms-documentdb-partitionkey': '[]' }],
  ])('%s -> 400 that names the header', async (_what, headers) => {
    const { wire } = await backend.container();
    const reply = await ask(wire, 'SELECT * FROM c', headers);
    expect(refusalOf(reply)).toBe('400/0');
    expect(reply.text).toContain('Cross partition query is required but disabled');
    expect(reply.text).toContain('x-ms-documentdb-query-enablecrosspartition');
  });

  it.each([
    ['the key', { 'x-ms-documentdb-partitionkey': '["k1"]' }],
    ['leave', { 'x-ms-documentdb-query-enablecrosspartition': 'True' }],
    ['the range', { 'x-ms-documentdb-partitionkeyrangeid': '0' }],
  ])('with %s -> answered', async (_what, headers) => {
    const { wire } = await backend.container();
    await wire.seed(DOCS.slice(0, 3));
    expect(documentsOf(await ask(wire, 'SELECT VALUE c.n FROM c WHERE c.n = 1', headers))).toEqual([1]);
  });

  it('a filter that requires one key -> answered; other filters -> refused', async () => {
    const { wire } = await backend.container();
    await wire.seed(DOCS.slice(0, 3));
    expect(documentsOf(await ask(wire, "SELECT VALUE c.n FROM c WHERE c.pk = 'k1' AND c.n >= 0"))).toEqual([
      1,
    ]);
    for (const where of ["c.pk = 'k1' OR c.n = 0", "c.pk > 'k1'", 'c.n = 1', "c.pk.x = 'k1'"]) {
      expect(refusalOf(await ask(wire, `SELECT * FROM c WHERE ${where}`)), where).toBe('400/0');
    }
  });

  it('of a hierarchical key a part -> refused; the whole key -> answered', async () => {
    const { wire } = await backend.container({ partitionKey: multiHashKey('/a', '/b') });
    await wire.create('{"id":"1","a":"x","b":"y"}', ['x', 'y']);
    const headers = { 'x-ms-documentdb-partitionkey': '[]' };
    expect(refusalOf(await ask(wire, 'SELECT * FROM c', headers))).toBe('400/0');
    expect(refusalOf(await ask(wire, "SELECT * FROM c WHERE c.a = 'x'"))).toBe('400/0');
    const whole = "SELECT VALUE c.id FROM c WHERE c.b = 'y' AND c.a = 'x'";
    expect(documentsOf(await ask(wire, whole))).toEqual(['1']);
  });
});

forEachBackend('continuation tokens of queries', (backend) => {
  const small = { 'x-ms-max-item-count': '5' };

  it('a query across partitions -> a token in the form of the gateway, alone or in a list', async () => {
    const { wire } = await backend.container();
    await wire.seed(DOCS);
    const query = 'SELECT VALUE c.n FROM c';
    const first = await wire.query(query, {}, small);
    const token = headerOf(first, 'x-ms-continuation');
    const parsed = JSON.parse(token) as unknown;
    const [entry] = Array.isArray(parsed) ? (parsed as unknown[]) : [parsed];
    expect(entry).toEqual({ token: expect.any(String), range: { min: '', max: 'FF' } });
    for (const continuation of [token, JSON.stringify([entry])]) {
      const second = await wire.query(query, {}, { ...small, 'x-ms-continuation': continuation });
      expect(documentsOf(second)).toEqual([5, 6, 7, 8, 9]);
    }
  });

  it('a token that is none -> 400', async () => {
    const { wire } = await backend.container();
    for (const continuation of ['{}', '[]', '[{"token":1}]', '{"token":"x"}', 'nonsense']) {
      const reply = await wire.query('SELECT * FROM c', {}, { 'x-ms-continuation': continuation });
      expect(refusalOf(reply), continuation).toBe('400/0');
    }
  });

  it('a page that is just full -> a token, and an empty last page', async () => {
    const { wire } = await backend.container();
    await wire.seed(DOCS.slice(0, 5));
    const first = await wire.query('SELECT * FROM c', {}, small);
    expect(documentsOf(first)).toHaveLength(5);
    const continuation = headerOf(first, 'x-ms-continuation');
    const last = await wire.query('SELECT * FROM c', {}, { ...small, 'x-ms-continuation': continuation });
    expect(documentsOf(last)).toEqual([]);
    expect(last.headers['x-ms-continuation']).toBeUndefined();
  });

  it('a page of one key that is just full -> no token: the end of a key is known', async () => {
    const { wire } = await backend.container();
    await wire.seed(DOCS);
    const key = ['k1'];
    const first = await wire.query('SELECT VALUE c.n FROM c', { key }, { 'x-ms-max-item-count': '2' });
    expect(documentsOf(first)).toEqual([1, 4]);
    const headers = {
      'x-ms-max-item-count': '2',
      'x-ms-continuation': headerOf(first, 'x-ms-continuation'),
    };
    const last = await wire.query('SELECT VALUE c.n FROM c', { key }, headers);
    expect(documentsOf(last)).toEqual([7, 10]);
    expect(last.headers['x-ms-continuation']).toBeUndefined();
  });

  it('an ordered query with a narrower filter -> continues after the value', async () => {
    const { wire } = await backend.container();
    await wire.seed(DOCS);
    const asked = (where: string): string => `SELECT VALUE c.n FROM c WHERE ${where} ORDER BY c.n ASC`;
    const first = await wire.query(asked('(true)'), { rangeId: '0' }, small);
    expect(documentsOf(first)).toEqual([0, 1, 2, 3, 4]);
    const headers = { ...small, 'x-ms-continuation': headerOf(first, 'x-ms-continuation') };
    expect(documentsOf(await wire.query(asked('((c.n >= 4))'), { rangeId: '0' }, headers))).toEqual([
      5, 6, 7, 8, 9,
    ]);
    const other = 'SELECT VALUE c.n FROM c ORDER BY c.n DESC';
    expect(refusalOf(await wire.query(other, { rangeId: '0' }, headers))).toBe('400/0');
  });
});

forEachEmulator('a query that changes between clients and modes', (backend) => {
  it('an ordered query resumed by another client, in both modes -> continues', async () => {
    const { container, wire } = await backend.splitContainer(3);
    await wire.seed(DOCS);
    const query = 'SELECT VALUE c.n FROM c ORDER BY c.n';
    for (const queries of ['direct', 'planned'] as const) {
      await backend.admin.account({ queries });
      const seen: number[] = [];
      let continuationToken: string | undefined;
      for (let pages = 0; pages < 20; pages += 1) {
        const resumed = backend.lab.through(backend.client(), container);
        const options = {
          maxItemCount: 2,
          enableQueryControl: true,
          ...(continuationToken && { continuationToken }),
        };
        const page = await resumed.items.query<number>(query, options).fetchNext();
        seen.push(...(page.resources ?? []));
        continuationToken = page.continuationToken;
        if (!continuationToken) break;
      }
      expect(seen, queries).toEqual(DOCS.map(({ n }) => n));
    }
    await backend.admin.account({ queries: 'direct' });
  });
});

forEachBackend('metrics of a query', (backend) => {
  it('asked for -> counts and sizes of this page', async () => {
    const { wire } = await backend.container();
    await wire.seed(DOCS);
    const headers = { 'x-ms-documentdb-populatequerymetrics': 'True' };
    const reply = await wire.query('SELECT VALUE c.n FROM c WHERE c.n >= 10', {}, headers);
    const metrics = new Map(
      headerOf(reply, 'x-ms-documentdb-query-metrics')
        .split(';')
        .map((field): [string, number] => [field.split('=')[0] ?? '', Number(field.split('=')[1])]),
    );
    expect(metrics.get('outputDocumentCount')).toBe(2);
    expect(metrics.get('retrievedDocumentCount')).toBeGreaterThanOrEqual(2);
    expect(metrics.get('retrievedDocumentSize')).toBeGreaterThan(0);
    for (const [name, value] of metrics) expect(value, name).toBeGreaterThanOrEqual(0);
    expect(metrics.has('totalExecutionTimeInMs')).toBe(true);
    const without = await wire.query('SELECT * FROM c');
    expect(without.headers['x-ms-documentdb-query-metrics']).toBeUndefined();
    expect(without.headers['x-ms-cosmos-index-utilization']).toBeUndefined();
  });

  it('through the SDK -> its own objects', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(DOCS);
    const options = { populateQueryMetrics: true, populateIndexMetrics: true };
    const page = await container.items.query('SELECT * FROM c WHERE c.n < 3', options).fetchNext();
    const [metrics] = Object.values(
      page.queryMetrics as unknown as Record<string, { outputDocumentCount: number }>,
    );
    expect(metrics?.outputDocumentCount).toBe(3);
    expect(JSON.parse(page.indexMetrics)).toMatchObject({ UtilizedIndexes: expect.any(Object) });
  });

  it('the use of indexes as Python, Go and Java ask for it -> base64', async () => {
    const { wire } = await backend.container();
    const headers = { 'x-ms-cosmos-populateindexmetrics': 'True' };
    const reply = await wire.query('SELECT * FROM c', {}, headers);
    const text = Buffer.from(headerOf(reply, 'x-ms-cosmos-index-utilization'), 'base64').toString();
    expect(JSON.parse(text)).toMatchObject({
      UtilizedSingleIndexes: expect.any(Array),
      PotentialSingleIndexes: expect.any(Array),
      UtilizedCompositeIndexes: expect.any(Array),
      PotentialCompositeIndexes: expect.any(Array),
    });
  });
});

forEachBackend('a key header that names nothing', (backend) => {
  it('a point read with an empty key -> 400, not another key', async () => {
    const { container, wire } = await backend.container();
    await wire.create('{"id":"1"}', [{}]);
    expect((await wire.read('1', [])).status).toBe(400);
    expect((await container.item('1', undefined).read()).resource).toMatchObject({ id: '1' });
    expect((await failure(container.item('2', 'p').replace({ id: '2', pk: 'p' }))).code).toBe(404);
  });
});
