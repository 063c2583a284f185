/** Databases, containers with all their settings, throughput, scripts: what is set up before data flows. */
import type { ContainerDefinition, OfferDefinition, PartitionKeyDefinition } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { parseJson, substatusOf } from '../helpers/emulator/raw.ts';
import { until } from '../helpers/wait.ts';
import { hashKey, multiHashKey } from '../helpers/emulator/key-definitions.ts';
import { type Backend, forEachBackend } from './backend.ts';

/** A resource id decodes to this many bytes: database, then container, then document. */
function ridBytes(rid: unknown): number {
  return Buffer.from(String(rid).replaceAll('-', '/'), 'base64').length;
}

/** The SDK's types demand more of an offer than the service returns or takes. */
function content(throughput: number, autoscaleMax?: number): NonNullable<OfferDefinition['content']> {
  const base: unknown =
    autoscaleMax === undefined
      ? { offerThroughput: throughput }
      : { offerThroughput: throughput, offerAutopilotSettings: { maxThroughput: autoscaleMax } };
  return base as NonNullable<OfferDefinition['content']>;
}

forEachBackend('databases', (backend) => {
  it('create, read, list, delete -> work', async () => {
    const client = backend.client();
    const id = `${backend.lab.databaseId}-second`;
    const created = await client.databases.create({ id });
    expect(created.statusCode).toBe(201);
    expect(created.resource).toMatchObject({ id, _ts: expect.any(Number), _etag: expect.any(String) });
    expect(ridBytes(created.resource?._rid)).toBe(4);
    expect(created.resource?._self).toBe(`dbs/${created.resource?._rid}/`);

    const read = await client.database(id).read();
    expect(read.resource?._rid).toBe(created.resource?._rid);
    const { resources } = await client.databases.readAll().fetchAll();
    expect(resources.map((database) => database.id)).toContain(id);

    expect((await failure(client.databases.create({ id }))).code).toBe(409);
    expect((await client.database(id).delete()).statusCode).toBe(204);
    expect((await failure(client.database(id).read())).code).toBe(404);
    expect((await failure(client.database(id).delete())).code).toBe(404);
  });

  it('createIfNotExists of an existing one -> returns it', async () => {
    const client = backend.client();
    const id = `${backend.lab.databaseId}-maybe`;
    expect((await client.databases.createIfNotExists({ id })).statusCode).toBe(201);
    expect((await client.databases.createIfNotExists({ id })).statusCode).toBe(200);
    await client.database(id).delete();
  });

  it('deleted and recreated -> no containers, another resource id', async () => {
    const client = backend.client();
    const id = `${backend.lab.databaseId}-gone`;
    const first = await client.databases.create({ id });
    await first.database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    await first.database.delete();
    const second = await client.databases.create({ id });
    expect(second.resource?._rid).not.toBe(first.resource?._rid);
    expect((await second.database.containers.readAll().fetchAll()).resources).toEqual([]);
    await second.database.delete();
  });

  it.each(['a/b', 'a\\b', 'a?b', 'a#b', ''])('id %j -> refused', async (id) => {
    const body = JSON.stringify({ id });
    const reply = await backend.raw.send('POST', '/dbs', { body });
    expect(reply.status).toBe(400);
    expect(parseJson(reply)).toMatchObject({ code: expect.any(String), message: expect.any(String) });
  });

  it.skipIf(backend.live)('throughput on the database -> its containers have none', async () => {
    const client = backend.client();
    const { database } = await client.databases.create({ id: 'shared', throughput: 600 });
    const offer = await database.readOffer();
    expect(offer.resource?.content?.offerThroughput).toBe(600);
    const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    const own = await container.readOffer();
    expect(own.resource).toBeUndefined();
    await container.items.create({ id: 'a', pk: 'a' });
    await database.delete();
  });
});

/** Every setting of fact SDK-26, and an unknown one. */
const FULL_DEFINITION = {
  partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
  indexingPolicy: {
    indexingMode: 'consistent',
    automatic: true,
    includedPaths: [{ path: '/*' }, { path: '/name/?' }],
    excludedPaths: [{ path: '/"_etag"/?' }, { path: '/blob/*' }],
    compositeIndexes: [
      [
        { path: '/a', order: 'ascending' },
        { path: '/b', order: 'descending' },
      ],
    ],
    spatialIndexes: [{ path: '/location/*', types: ['Point', 'Polygon'] }],
  },
  defaultTtl: 3600,
  uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }, { paths: ['/a', '/b/c'] }] },
  conflictResolutionPolicy: { mode: 'LastWriterWins', conflictResolutionPath: '/version' },
  geospatialConfig: { type: 'Geography' },
};

/** Settings that the emulator refuses, because it does not have the feature. */
const LIVE_DEFINITION = {
  computedProperties: [{ name: 'lowerName', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
};

/** Settings an account needs a feature for: the emulator stores them, a live account may refuse. */
const FEATURE_DEFINITION = {
  analyticalStorageTtl: -1,
  changeFeedPolicy: { retentionDuration: 10 },
  vectorEmbeddingPolicy: {
    vectorEmbeddings: [{ path: '/vector', dataType: 'float32', dimensions: 8, distanceFunction: 'cosine' }],
  },
  fullTextPolicy: {
    defaultLanguage: 'en-US',
    fullTextPaths: [{ path: '/text', language: 'en-US' }],
  },
  clientEncryptionPolicy: { policyFormatVersion: 1, includedPaths: [] },
  somethingNew: { nested: [1, { deep: null }], text: 'é "quoted"' },
};

function definitionFor(backend: Backend): Record<string, unknown> {
  return { ...FULL_DEFINITION, ...(backend.live ? LIVE_DEFINITION : FEATURE_DEFINITION) };
}

forEachBackend('containers', (backend) => {
  it('every setting -> kept', async () => {
    const definition = definitionFor(backend);
    const { database } = backend.lab;
    const created = await database.containers.create({
      ...structuredClone(definition),
      id: 'full',
    });
    expect(created.statusCode).toBe(201);
    const { resource } = await created.container.read();
    expect(resource).toMatchObject(definition);
    const { resources } = await database.containers.readAll().fetchAll();
    expect(resources.find((container) => container.id === 'full')).toMatchObject(definition);
    await created.container.delete();
  });

  it('settings left out -> the defaults of the service', async () => {
    const { container } = await backend.container();
    const { resource } = await container.read();
    expect(resource?.indexingPolicy).toMatchObject({
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
    });
    expect(resource?.conflictResolutionPolicy).toMatchObject({
      mode: 'LastWriterWins',
      conflictResolutionPath: '/_ts',
    });
    expect(resource?.defaultTtl ?? undefined).toBeUndefined();
  });

  it('system properties -> the form of the service', async () => {
    const { container } = await backend.container();
    const { resource, headers } = await container.read();
    const database = (await backend.lab.database.read()).resource;
    expect(ridBytes(resource?._rid)).toBe(8);
    expect(resource?._rid.startsWith(database?._rid.replace(/=+$/, '').slice(0, 4) ?? '?')).toBe(true);
    expect(resource).toMatchObject({
      _self: `dbs/${database?._rid}/colls/${resource?._rid}/`,
      _ts: expect.any(Number),
      _etag: expect.stringMatching(/^".+"$/),
      _docs: 'docs/',
      _sprocs: 'sprocs/',
      _triggers: 'triggers/',
      _udfs: 'udfs/',
      _conflicts: 'conflicts/',
    });
    expect(headers['etag']).toBe(resource?._etag);
  });

  it('createIfNotExists with other settings -> returns the existing one', async () => {
    const { containers } = backend.lab.database;
    const body = { id: 'once', partitionKey: { paths: ['/pk'] } };
    const first = await containers.createIfNotExists(body);
    expect(first.statusCode).toBe(201);
    const second = await containers.createIfNotExists({ id: 'once', partitionKey: { paths: ['/other'] } });
    expect(second.statusCode).toBe(200);
    expect(second.resource?.partitionKey?.paths).toEqual(['/pk']);
    expect((await failure(containers.create(body))).code).toBe(409);
    await first.container.delete();
    expect((await failure(first.container.read())).code).toBe(404);
  });

  it('a replace -> indexing and TTL change, the rest stays', async () => {
    const { container } = await backend.container({ defaultTtl: 100 });
    const before = (await container.read()).resource;
    if (before?.indexingPolicy === undefined) throw new Error('no indexing policy');
    const { resource: after, statusCode } = await container.replace({
      id: container.id,
      partitionKey: before.partitionKey as PartitionKeyDefinition,
      defaultTtl: -1,
      indexingPolicy: {
        ...before.indexingPolicy,
        excludedPaths: [{ path: '/skip/*' }, { path: '/"_etag"/?' }],
      },
    });
    expect(statusCode).toBe(200);
    expect(after?.defaultTtl).toBe(-1);
    expect(after?.indexingPolicy?.excludedPaths).toContainEqual({ path: '/skip/*' });
    expect(after?._rid).toBe(before._rid);
    expect(after?._etag).not.toBe(before._etag);
    const { resource: without } = await container.replace({
      id: container.id,
      partitionKey: before.partitionKey as PartitionKeyDefinition,
      indexingPolicy: before.indexingPolicy,
    });
    expect(without?.defaultTtl ?? undefined).toBeUndefined();
  });

  it('a replace with an old etag -> 412', async () => {
    const { container } = await backend.container();
    const { resource } = await container.read();
    const body = {
      id: container.id,
      partitionKey: resource?.partitionKey as PartitionKeyDefinition,
      defaultTtl: 5,
    };
    const stale = { accessCondition: { type: 'IfMatch', condition: '"stale"' } };
    expect((await failure(container.replace(body, stale))).code).toBe(412);
    const fresh = { accessCondition: { type: 'IfMatch', condition: resource?._etag ?? '' } };
    expect((await container.replace(body, fresh)).statusCode).toBe(200);
  });

  it('a replace with another key or other unique keys -> refused', async () => {
    const { container } = await backend.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/u'] }] } });
    const { resource } = await container.read();
    if (resource === undefined) throw new Error('no container');
    const otherKey = { ...resource, partitionKey: { ...resource.partitionKey, paths: ['/other'] } };
    expect((await failure(container.replace(otherKey as ContainerDefinition))).code).toBe(400);
    const otherUnique = { ...resource, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/v'] }] } };
    expect((await failure(container.replace(otherUnique as ContainerDefinition))).code).toBe(400);
  });

  const key = { paths: ['/pk'], kind: 'Hash', version: 2 };
  it.each([
    ['no partition key', {}],
    ['a partition key without paths', { partitionKey: { paths: [], kind: 'Hash' } }],
    ['a path without a slash', { partitionKey: { paths: ['pk'], kind: 'Hash' } }],
    ['two paths under Hash', { partitionKey: { paths: ['/a', '/b'], kind: 'Hash', version: 2 } }],
    ['four levels', { partitionKey: { paths: ['/a', '/b', '/c', '/d'], kind: 'MultiHash', version: 2 } }],
    ['an unknown kind', { partitionKey: { paths: ['/pk'], kind: 'Range' } }],
    ['a TTL of zero', { partitionKey: key, defaultTtl: 0 }],
    ['a TTL below -1', { partitionKey: key, defaultTtl: -2 }],
    ['a TTL that is text', { partitionKey: key, defaultTtl: '10' }],
    [
      'eleven unique keys',
      {
        partitionKey: key,
        uniqueKeyPolicy: { uniqueKeys: Array.from({ length: 11 }, (_, i) => ({ paths: [`/u${i}`] })) },
      },
    ],
    [
      'seventeen unique key paths',
      {
        partitionKey: key,
        uniqueKeyPolicy: { uniqueKeys: [{ paths: Array.from({ length: 17 }, (_, i) => `/u${i}`) }] },
      },
    ],
  ])('%s -> 400', async (_what, body) => {
    const reply = await backend.raw.send('POST', `/dbs/${backend.lab.databaseId}/colls`, {
      body: JSON.stringify({ id: 'refused', ...body }),
    });
    expect(reply.status).toBe(400);
    expect(parseJson(reply)['message']).toEqual(expect.any(String));
  });

  it('an unknown database -> 404', async () => {
    const create = backend
      .client()
      .database('nowhere')
      .containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
    expect((await failure(create)).code).toBe(404);
  });

  it.skipIf(backend.live)('a feed retention while avad is on -> refused', async () => {
    await using lab = await backend.freshLab({ settings: { avad: true } });
    const minutes = backend.sdk.ChangeFeedRetentionTimeSpan.fromMinutes(10);
    const create = lab.container({ changeFeedPolicy: new backend.sdk.ChangeFeedPolicy(minutes) });
    expect((await failure(create)).code).toBe(400);
  });

  it('quota info requested -> counts and sizes', async () => {
    const { container, wire } = await backend.container();
    await wire.seed([1, 2, 3].map((n) => ({ id: `d${n}`, pk: 'a' })));
    const { headers } = await container.read({ populateQuotaInfo: true });
    expect(headers['x-ms-resource-usage']).toMatch(/documentsCount=-?\d+;/);
    expect(headers['x-ms-resource-quota']).toMatch(/collectionSize=\d+;/);
    // On the service the number lags, and may be missing.
    const exact = backend.live ? /documentsCount=/ : /documentsCount=3;/;
    expect(headers['x-ms-resource-usage']).toMatch(exact);
  });

  it.skipIf(backend.live)('partition statistics requested -> sizes by range and key', async () => {
    const { container, wire } = await backend.container();
    await wire.seed([1, 2, 3].map((n) => ({ id: `d${n}`, pk: 'a' })));
    const initialHeaders = { 'x-ms-documentdb-populatepartitionstatistics': 'true' };
    const { resource } = await container.read({ initialHeaders });
    const { statistics } = resource as unknown as { statistics: { id: string; documentCount: number }[] };
    const [range] = await wire.ranges();
    expect(statistics).toMatchObject([{ id: range?.id, documentCount: 3, sizeInKB: expect.any(Number) }]);
  });
});

forEachBackend('partition keys', (backend) => {
  it.each([
    { what: 'version 1', definition: hashKey('/pk', 1), body: { pk: 'x' }, value: 'x' },
    { what: 'version 2', definition: hashKey(), body: { pk: 'x' }, value: 'x' },
    { what: 'nested', definition: hashKey('/a/b/c'), body: { a: { b: { c: 7 } } }, value: 7 },
    {
      what: 'quoted',
      definition: hashKey('/m/"a/b"'),
      body: { m: { 'a/b': 'slash' } },
      value: 'slash',
    },
    {
      what: 'two levels',
      definition: multiHashKey('/tenant', '/user/id'),
      body: { tenant: 't', user: { id: 3 } },
      value: ['t', 3],
    },
    {
      what: 'three levels',
      definition: multiHashKey('/a', '/b', '/c'),
      body: { a: 'x', b: true, c: null },
      value: ['x', true, null],
    },
  ])('$what -> stored as given and found by it', async ({ definition, body, value }) => {
    const { container } = await backend.container({ partitionKey: structuredClone(definition) });
    expect((await container.read()).resource?.partitionKey).toEqual(definition);
    const created = await container.items.create({ id: 'one', ...body });
    expect(created.statusCode).toBe(201);
    const read = await container.item('one', value).read();
    expect(read.resource).toMatchObject({ id: 'one', ...body });
    const bulk = await container.items.bulk([
      { operationType: 'Read', id: 'one', partitionKey: value },
      { operationType: 'Upsert', resourceBody: { id: 'two', ...body } },
    ]);
    expect(bulk.map((result) => result.statusCode)).toEqual([200, 201]);
    expect((await container.item('two', value).delete()).statusCode).toBe(204);
  });

  it('paths without a version -> version 1', async () => {
    const { resource } = await backend.lab.database.containers.create({ id: 'bare', partitionKey: '/pk' });
    expect(resource?.partitionKey?.paths).toEqual(['/pk']);
    expect(resource?.partitionKey?.version ?? 1).toBe(1);
    const container = backend.lab.database.container('bare');
    await container.items.create({ id: 'a', pk: 'x' });
    const [result] = await container.items.bulk([{ operationType: 'Read', id: 'a', partitionKey: 'x' }]);
    expect(result?.statusCode).toBe(200);
    await container.delete();
  });
});

forEachBackend('throughput', (backend) => {
  it('manual -> created, read, replaced', async () => {
    const { container } = await backend.container({ throughput: 500 });
    const { resource, offer } = await container.readOffer();
    expect(resource).toMatchObject({
      id: expect.any(String),
      offerVersion: 'V2',
      resource: (await container.read()).resource?._self,
      offerResourceId: (await container.read()).resource?._rid,
      content: { offerThroughput: 500 },
    });
    expect(resource?.content?.offerAutopilotSettings ?? undefined).toBeUndefined();
    if (resource === undefined || offer === undefined) throw new Error('no offer');
    const replaced = await offer.replace({ ...resource, content: content(800) });
    expect(replaced.statusCode).toBe(200);
    expect((await container.readOffer()).resource?.content?.offerThroughput).toBe(800);
    const { resources } = await backend.client().offers.readAll().fetchAll();
    expect(resources.map((each) => each.id)).toContain(resource.id);
  });

  // Live, the database of the suite owns the throughput.
  it.skipIf(backend.live)('a container without throughput -> 400 RU/s', async () => {
    const { container } = await backend.container();
    expect((await container.readOffer()).resource?.content?.offerThroughput).toBe(400);
  });

  it('autoscale -> created, read, replaced', async () => {
    const { container } = await backend.container({ maxThroughput: 1000 });
    const { resource, offer } = await container.readOffer();
    expect(resource?.content?.offerAutopilotSettings?.maxThroughput).toBe(1000);
    // What is served at the moment lies between a tenth of the maximum and the maximum.
    expect(resource?.content?.offerThroughput).toBeGreaterThanOrEqual(100);
    expect(resource?.content?.offerThroughput).toBeLessThanOrEqual(1000);
    if (resource === undefined || offer === undefined) throw new Error('no offer');
    await offer.replace({ ...resource, content: content(100, 2000) });
    expect((await container.readOffer()).resource?.content?.offerAutopilotSettings?.maxThroughput).toBe(2000);
  });

  it.each([
    ['below 400', 'x-ms-offer-throughput', '300'],
    ['between steps of 100', 'x-ms-offer-throughput', '450'],
    ['no number', 'x-ms-offer-throughput', 'much'],
    ['autoscale below 1000', 'x-ms-cosmos-offer-autopilot-settings', '{"maxThroughput":500}'],
    ['autoscale between steps of 1000', 'x-ms-cosmos-offer-autopilot-settings', '{"maxThroughput":1500}'],
    ['autoscale that is not JSON', 'x-ms-cosmos-offer-autopilot-settings', '{'],
  ])('%s -> refused', async (_what, header, value) => {
    const reply = await backend.raw.send('POST', `/dbs/${backend.lab.databaseId}/colls`, {
      body: JSON.stringify({ id: 'refused', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } }),
      headers: { [header]: value },
    });
    expect(reply.status).toBe(400);
    const missing = await failure(backend.lab.database.container('refused').read());
    expect(missing.code).toBe(404);
  });

  it.skipIf(backend.live)('below a hundredth of its peak, or a tenth with autoscale -> refused', async () => {
    const manual = await backend.container({ throughput: 60_000 });
    const byHand = await manual.container.readOffer();
    if (byHand.resource === undefined || byHand.offer === undefined) throw new Error('no offer');
    expect(byHand.resource.content?.offerMinimumThroughputParameters).toMatchObject({
      maxThroughputEverProvisioned: 60_000,
    });
    await byHand.offer.replace({ ...byHand.resource, content: content(600) });
    const tooLow = byHand.offer.replace({ ...byHand.resource, content: content(500) });
    expect((await failure(tooLow)).code).toBe(400);

    const scaled = await backend.container({ maxThroughput: 20_000 });
    const auto = await scaled.container.readOffer();
    if (auto.resource === undefined || auto.offer === undefined) throw new Error('no offer');
    const tooLowAuto = auto.offer.replace({ ...auto.resource, content: content(100, 1000) });
    expect((await failure(tooLowAuto)).code).toBe(400);
    await auto.offer.replace({ ...auto.resource, content: content(200, 2000) });
  });

  it.skipIf(backend.live).each([
    { body: { throughput: 400 }, ranges: 1 },
    { body: { throughput: 6000 }, ranges: 1 },
    { body: { throughput: 12_000 }, ranges: 2 },
    { body: { throughput: 24_000 }, ranges: 4 },
    { body: { maxThroughput: 10_000 }, ranges: 1 },
    { body: { maxThroughput: 30_000 }, ranges: 3 },
  ])('created with $body -> $ranges ranges', async ({ body, ranges }) => {
    const { wire } = await backend.container(body);
    expect(await wire.ranges()).toHaveLength(ranges);
  });

  it.skipIf(backend.live)('raised beyond what the ranges can serve -> they split', async () => {
    const { container, wire } = await backend.container({ throughput: 400 });
    const { resource, offer } = await container.readOffer();
    if (resource === undefined || offer === undefined) throw new Error('no offer');
    await offer.replace({ ...resource, content: content(10_000) });
    expect(await wire.ranges()).toHaveLength(1);
    await offer.replace({ ...resource, content: content(20_000) });
    await until(async () => (await wire.ranges()).length >= 2, { what: 'the split after scaling up' });
    expect((await container.readOffer()).resource?.content?.offerThroughput).toBe(20_000);
  });

  it.skipIf(backend.live)('raised beyond what the ranges can serve -> pending for scaleUpMs', async () => {
    await using lab = await backend.freshLab({ settings: { scaleUpMs: 600_000 } });
    const { container, wire } = await lab.container({ throughput: 400 });
    const { resource, offer } = await container.readOffer();
    if (resource === undefined || offer === undefined) throw new Error('no offer');
    const replaced = await offer.replace({ ...resource, content: content(20_000) });
    expect([200, 202]).toContain(replaced.statusCode);
    expect(replaced.headers['x-ms-offer-replace-pending']).toBe('true');
    expect(await wire.ranges()).toHaveLength(1);
  });

  it.skipIf(backend.live)('a change while another is pending -> refused', async () => {
    await using lab = await backend.freshLab({ settings: { scaleUpMs: 600_000 } });
    const { container } = await lab.container({ throughput: 400 });
    const { resource, offer } = await container.readOffer();
    if (resource === undefined || offer === undefined) throw new Error('no offer');
    await offer.replace({ ...resource, content: content(20_000) });
    const error = await failure(offer.replace({ ...resource, content: content(30_000) }));
    expect([error.code, error.substatus]).toEqual([400, 3205]);
  });
});

forEachBackend('scripts', (backend) => {
  const BODY = 'function () { getContext().getResponse().setBody("é \\u0041"); }';

  it('any text -> stored, listed, replaced and deleted', async () => {
    const { container } = await backend.container();
    const { scripts } = container;
    const { TriggerType, TriggerOperation } = backend.sdk;
    await scripts.storedProcedures.create({ id: 'proc', body: BODY });
    await scripts.triggers.create({
      id: 'trig',
      body: BODY,
      triggerType: TriggerType.Pre,
      triggerOperation: TriggerOperation.All,
    });
    const udf = await scripts.userDefinedFunctions.create({ id: 'udf', body: BODY });

    expect((await scripts.storedProcedures.readAll().fetchAll()).resources).toMatchObject([
      { id: 'proc', body: BODY, _rid: expect.any(String), _etag: expect.any(String) },
    ]);
    expect((await scripts.triggers.readAll().fetchAll()).resources).toMatchObject([
      { id: 'trig', body: BODY, triggerType: TriggerType.Pre, triggerOperation: TriggerOperation.All },
    ]);
    expect((await scripts.userDefinedFunctions.readAll().fetchAll()).resources).toMatchObject([
      { id: 'udf', body: BODY },
    ]);
    expect((await scripts.storedProcedure('proc').read()).resource?.body).toBe(BODY);

    await scripts.storedProcedure('proc').replace({ id: 'proc', body: 'function () {}' });
    expect((await scripts.storedProcedure('proc').read()).resource?.body).toBe('function () {}');
    const twice = scripts.storedProcedures.create({ id: 'proc', body: BODY });
    expect((await failure(twice)).code).toBe(409);

    expect((await scripts.storedProcedure('proc').delete()).statusCode).toBe(204);
    expect((await scripts.trigger('trig').delete()).statusCode).toBe(204);
    expect((await scripts.userDefinedFunction('udf').delete()).statusCode).toBe(204);
    expect((await scripts.storedProcedures.readAll().fetchAll()).resources).toEqual([]);
    // The last number given out is free now, and still not given out again.
    const again = await scripts.userDefinedFunctions.create({ id: 'udf', body: BODY });
    expect(again.resource?._rid).not.toBe(udf.resource?._rid);
    expect((await failure(scripts.trigger('trig').read())).code).toBe(404);
  });

  it.skipIf(backend.live)('execute -> 501', async () => {
    const { container } = await backend.container();
    await container.scripts.storedProcedures.create({ id: 'proc', body: BODY });
    const error = await failure(container.scripts.storedProcedure('proc').execute('a', []));
    expect(error.code).toBe(501);
    expect(error.message).toMatch(/stored procedure/i);
    const missing = container.scripts.storedProcedure('unknown').execute('a', []);
    expect([404, 501]).toContain((await failure(missing)).code);
  });

  it.skipIf(backend.live)('a write that names a trigger -> 501', async () => {
    const { container } = await backend.container();
    const { TriggerType, TriggerOperation } = backend.sdk;
    await container.scripts.triggers.create({
      id: 'trig',
      body: BODY,
      triggerType: TriggerType.Pre,
      triggerOperation: TriggerOperation.All,
    });
    for (const options of [{ preTriggerInclude: ['trig'] }, { postTriggerInclude: ['trig'] }]) {
      const error = await failure(container.items.create({ id: 'a', pk: 'a' }, options));
      expect(error.code).toBe(501);
    }
    expect((await container.item('a', 'a').read()).statusCode).toBe(404);
  });

  it('the conflicts feed -> empty', async () => {
    const { container } = await backend.container();
    const { resources } = await container.conflicts.readAll().fetchAll();
    expect(resources).toEqual([]);
  });

  it('an unknown container -> 404', async () => {
    const reply = await backend.raw.send('GET', `/dbs/${backend.lab.databaseId}/colls/nowhere/sprocs`);
    expect(reply.status).toBe(404);
    expect(substatusOf(reply)).toBeTypeOf('number');
  });
});
