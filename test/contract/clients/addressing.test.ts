/** How clients in other languages than JavaScript ask: requests and replies that the JavaScript SDK never needs. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { expect, it } from 'vitest';
import { headerOf, parseJson, refusalOf, type Headers, type Reply } from '../../helpers/emulator/raw.ts';
import type { PkRange, WireContainer } from '../../helpers/emulator/wire-container.ts';
import { forEachBackend, forEachEmulator } from '../backend.ts';

const KEY = { 'x-ms-documentdb-partitionkey': '["p"]' };

async function ridOf(wire: WireContainer): Promise<string> {
  return parseJson<{ _rid: string }>(await wire.account.send('GET', wire.path))._rid;
}

forEachBackend('intended container', (backend) => {
  const intending = (rid: string): Headers => ({ ...KEY, 'x-ms-cosmos-intended-collection-rid': rid });

  it('the resource id of the container -> answered', async () => {
    const { wire } = await backend.container();
    await wire.create('{"id":"1","pk":"p"}', ['p']);
    const headers = intending(await ridOf(wire));
    expect((await wire.read('1', ['p'], headers)).status).toBe(200);
    expect((await wire.query('SELECT * FROM c', {}, headers)).status).toBe(200);
  });

  it('recreated under the same name -> 400/1024 for every kind of request, and nothing is written', async () => {
    const { database } = backend.lab;
    const id = 'recreated';
    const definition = { id, partitionKey: { paths: ['/pk'] } };
    const first = await database.containers.create(definition);
    const wire = backend.lab.wire(id);
    const headers = intending(await ridOf(wire));
    await first.container.delete();
    const second = await database.containers.create(definition);
    const { account, path } = wire;
    const replies: Record<string, Reply> = {
      create: await wire.create('{"id":"1","pk":"p"}', ['p'], headers),
      read: await wire.read('1', ['p'], headers),
      query: await wire.query('SELECT * FROM c', {}, headers),
      feed: await wire.readFeed({}, 'beginning', { headers }),
      ranges: await account.send('GET', `${path}/pkranges`, { headers }),
      batch: await wire.batch(
        [{ operationType: 'Create', resourceBody: { id: '2', pk: 'p' } }],
        ['p'],
        headers,
      ),
    };
    for (const [what, reply] of Object.entries(replies)) expect(refusalOf(reply), what).toBe('400/1024');
    expect((await second.container.items.readAll().fetchAll()).resources).toEqual([]);
    await second.container.delete();
  });
});

forEachBackend('a session token of the container of the same name before', (backend) => {
  it('without the resource id -> 404/1002; with it -> 400/1024, so that the client learns why', async () => {
    const body = { id: 'short-lived', partitionKey: { paths: ['/pk'] } };
    const first = await backend.lab.database.containers.create(body);
    const wire = backend.lab.wire(body.id);
    const rid = await ridOf(wire);
    for (const id of ['1', '2', '3']) await wire.create(`{"id":"${id}","pk":"p"}`, ['p']);
    const token = headerOf(await wire.read('3', ['p']), 'x-ms-session-token');
    await first.container.delete();
    const second = await backend.lab.database.containers.create(body);
    const old = { 'x-ms-session-token': token };
    expect(refusalOf(await wire.read('3', ['p'], old))).toBe('404/1002');
    const intended = { ...old, 'x-ms-cosmos-intended-collection-rid': rid };
    expect(refusalOf(await wire.read('3', ['p'], intended))).toBe('400/1024');
    await second.container.delete();
  });
});

function readRanges(wire: WireContainer, etag?: string): Promise<Reply> {
  const headers = { 'a-im': 'Incremental Feed', 'if-none-match': etag };
  return wire.account.send('GET', `${wire.path}/pkranges`, { headers });
}

forEachEmulator('ranges as a feed, split and merged', (backend) => {
  it('a split, then a merge -> the new ranges once, then 304 again', async () => {
    const { wire } = await backend.container();
    let etag = headerOf(await readRanges(wire), 'etag');
    const next = async (): Promise<readonly PkRange[]> => {
      const page = await readRanges(wire, etag);
      expect(page.status).toBe(200);
      expect(headerOf(page, 'etag')).not.toBe(etag);
      etag = headerOf(page, 'etag');
      expect((await readRanges(wire, etag)).status).toBe(304);
      return parseJson<{ PartitionKeyRanges: PkRange[] }>(page).PartitionKeyRanges;
    };
    await backend.admin.split(wire.adminPath);
    const halves = await next();
    expect(halves.map(({ parents }) => parents)).toEqual([['0'], ['0']]);
    await backend.admin.merge(wire.adminPath, [halves[0]?.id ?? '', halves[1]?.id ?? '']);
    expect((await next()).map(({ minInclusive, maxExclusive }) => [minInclusive, maxExclusive])).toEqual([
      ['', 'FF'],
    ]);
  });
});

forEachBackend('ranges as a feed', (backend) => {
  it('drained as .NET, Java, Go and Python do -> 304 after one page', async () => {
    const { wire } = await backend.container();
    const first = await readRanges(wire);
    expect(first.status).toBe(200);
    const second = await readRanges(wire, headerOf(first, 'etag'));
    expect(second.status).toBe(304);
    expect(second.text).toBe('');
    expect(headerOf(second, 'etag')).toBe(headerOf(first, 'etag'));
  });

  it('the etag of the container of the same name before -> the new list', async () => {
    const body = { id: 'again', partitionKey: { paths: ['/pk'] } };
    const first = await backend.lab.database.containers.create(body);
    const etag = headerOf(await readRanges(backend.lab.wire('again')), 'etag');
    await first.container.delete();
    const second = await backend.lab.database.containers.create(body);
    expect((await readRanges(backend.lab.wire('again'), etag)).status).toBe(200);
    await second.container.delete();
  });
});

forEachBackend('queries without the usual header', (backend) => {
  const body = JSON.stringify({ query: 'SELECT VALUE c.id FROM c', parameters: [] });
  const crossing = { 'x-ms-documentdb-query-enablecrosspartition': 'True' };

  it.each([
    ['the content type alone', { 'content-type': 'application/query+json' }],
    ['the content type with a parameter', { 'content-type': 'application/query+json; charset=utf-8' }],
    ['the header of Go', { 'content-type': 'application/query+json', 'x-ms-documentdb-query': 'True' }],
    ['the header of JavaScript', { 'content-type': 'application/json', 'x-ms-documentdb-isquery': 'True' }],
  ])('%s -> the documents', async (_what, headers) => {
    const { wire } = await backend.container();
    await wire.create('{"id":"1","pk":"p"}', ['p']);
    const reply = await wire.account.send('POST', `${wire.path}/docs`, {
      body,
      headers: { ...crossing, ...headers },
    });
    expect(reply.status).toBe(200);
    expect(parseJson<{ Documents: string[] }>(reply).Documents).toEqual(['1']);
  });

  it('offers as Go asks for them -> the offer of the container', async () => {
    const { wire } = await backend.container({ throughput: 400 });
    const query = `SELECT * FROM c WHERE c.offerResourceId = '${await ridOf(wire)}'`;
    const reply = await wire.account.send('POST', '/offers', {
      body: JSON.stringify({ query }),
      headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-query': 'True' },
    });
    expect(reply.status).toBe(200);
    const { Offers: offers } = parseJson<{ Offers: { content: { offerThroughput: number } }[] }>(reply);
    expect(offers.map(({ content }) => content.offerThroughput)).toEqual([400]);
  });
});

forEachBackend('addresses by resource id', (backend) => {
  interface Resource {
    readonly id: string;
    readonly _self: string;
    readonly _rid: string;
  }

  /** Asks as an SDK does that was given a `_self` link: only the last resource id is signed, in lower case. */
  function ask(
    method: string,
    self: string,
    more: { body?: string; headers?: Headers } = {},
  ): Promise<Reply> {
    const steps = self.split('/').filter((step) => step !== '');
    const isFeed = steps.length % 2 === 1;
    const [type, rid] = isFeed ? [steps.at(-1), steps.at(-2)] : [steps.at(-2), steps.at(-1)];
    const signAs = { type: type ?? '', link: (rid ?? '').toLowerCase() };
    return backend.raw.send(method, `/${self}`, { ...more, signAs });
  }

  async function made(): Promise<{ wire: WireContainer; self: string }> {
    const { wire } = await backend.container();
    return { wire, self: parseJson<Resource>(await backend.raw.send('GET', wire.path))._self };
  }

  it('a database, a container, a document and a script by _self -> answered', async () => {
    const { wire, self } = await made();
    const document = parseJson<Resource>(await wire.create('{"id":"a?b","pk":"p"}', ['p']));
    const script = { body: '{"id":"s","body":"function () {}"}' };
    const sproc = parseJson<Resource>(await backend.raw.send('POST', `${wire.path}/sprocs`, script));
    const read = async (link: string): Promise<Resource> => {
      const reply = await ask('GET', link, { headers: KEY });
      expect(reply.status, link).toBe(200);
      return parseJson<Resource>(reply);
    };
    expect((await read(self)).id).toBe(wire.id);
    expect((await read(self.split('/').slice(0, 2).join('/'))).id).toBe(backend.lab.databaseId);
    expect((await read(document._self)).id).toBe('a?b');
    expect((await read(sproc._self)).id).toBe('s');
  });

  it('writes, queries, lists and ranges below a _self -> the same container', async () => {
    const { wire, self } = await made();
    const created = await ask('POST', `${self}docs/`, { body: '{"id":"1","pk":"p"}', headers: KEY });
    expect(created.status).toBe(201);
    const { _self: document } = parseJson<Resource>(created);
    const replaced = await ask('PUT', document, { body: '{"id":"1","pk":"p","n":1}', headers: KEY });
    expect(parseJson(replaced)).toMatchObject({ id: '1', n: 1 });
    const query = { body: '{"query":"SELECT VALUE c.n FROM c"}' };
    const headers = { ...KEY, 'content-type': 'application/query+json' };
    const found = await ask('POST', `${self}docs/`, { ...query, headers });
    expect(parseJson(found)).toMatchObject({ Documents: [1] });
    expect(parseJson(await ask('GET', `${self}pkranges/`))).toMatchObject({ _count: 1 });
    expect((await ask('DELETE', document, { headers: KEY })).status).toBe(204);
    expect((await wire.read('1', ['p'])).status).toBe(404);
  });

  it('signed with names, or another resource id -> 401', async () => {
    const { wire, self } = await made();
    const { raw } = backend;
    expect(refusalOf(await raw.send('GET', `/${self}`, { signAs: { link: wire.path.slice(1) } }))).toBe(
      '401/0',
    );
    expect(refusalOf(await raw.send('GET', `/${self}`, { signAs: { link: 'wgaaaq==' } }))).toBe('401/0');
    expect(refusalOf(await raw.send('GET', `/${self}`))).toBe('401/0');
  });

  it('a resource that was deleted -> 404, even if its name is taken again', async () => {
    const { wire, self } = await made();
    const document = parseJson<Resource>(await wire.create('{"id":"1","pk":"p"}', ['p']));
    await wire.delete('1', ['p']);
    await wire.create('{"id":"1","pk":"p"}', ['p']);
    expect(refusalOf(await ask('GET', document._self, { headers: KEY }))).toBe('404/0');
    const other = self.replace(/colls\/[^/]+/, (coll) => coll.replace(/.{3}=$/, 'zz8='));
    expect((await ask('GET', other)).status).toBe(404);
  });
});

forEachBackend('the id of a document in a path', (backend) => {
  it('with a question mark, escaped or not -> the document', async () => {
    const { container, wire } = await backend.container();
    await container.items.create({ id: 'a?b', pk: 'p' });
    expect((await container.item('a?b', 'p').read()).resource).toMatchObject({ id: 'a?b' });
    for (const id of ['a?b', 'a%3Fb']) {
      const signAs = { link: `${wire.path.slice(1)}/docs/a?b` };
      const reply = await backend.raw.send('GET', `${wire.path}/docs/${id}`, { headers: KEY, signAs });
      expect(reply.status, id).toBe(200);
    }
    await container.item('a?b', 'p').replace({ id: 'a?b', pk: 'p', n: 1 });
    expect((await container.item('a?b', 'p').delete()).statusCode).toBe(204);
  });
});
