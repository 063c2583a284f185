/** What the service says about definitions of containers and offers: what it completes, keeps and refuses. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import type { ContainerRequest, IndexingPolicy } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { failure, type SdkFailure } from '../../helpers/emulator/failure.ts';
import { parseJson, refusalOf, type Headers, type Reply } from '../../helpers/emulator/raw.ts';
import { until } from '../../helpers/wait.ts';
import { forEachBackend, type Backend, forEachEmulator } from '../backend.ts';

const PARTITION_KEY = { paths: ['/pk'] };

function create(backend: Backend, body: Record<string, unknown>, headers: Headers = {}): Promise<Reply> {
  const definition = { partitionKey: PARTITION_KEY, id: 'defined', ...body };
  const text = JSON.stringify(definition);
  return backend.raw.send('POST', `/dbs/${backend.lab.databaseId}/colls`, { body: text, headers });
}

async function refusedBy(backend: Backend, body: object): Promise<SdkFailure> {
  const request = { partitionKey: PARTITION_KEY, id: 'refused', ...body } as unknown as ContainerRequest;
  return failure(backend.lab.database.containers.create(request));
}

forEachBackend('indexing policies', (backend) => {
  const ETAG = { path: '/"_etag"/?' };

  it.each<[string, unknown, object]>([
    [
      'nothing but included paths',
      { includedPaths: [{ path: '/*' }] },
      { indexingMode: 'consistent', automatic: true, includedPaths: [{ path: '/*' }], excludedPaths: [ETAG] },
    ],
    [
      'an excluded path',
      { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/big/*' }] },
      { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/big/*' }, ETAG] },
    ],
    [
      'everything excluded',
      { includedPaths: [], excludedPaths: [{ path: '/*' }] },
      { automatic: true, includedPaths: [], excludedPaths: [{ path: '/*' }, ETAG] },
    ],
    ['an empty policy', {}, { includedPaths: [{ path: '/*' }], excludedPaths: [ETAG] }],
    [
      'the mode none',
      { indexingMode: 'none' },
      { indexingMode: 'none', automatic: false, includedPaths: [], excludedPaths: [] },
    ],
    ['the mode in capitals', { indexingMode: 'Consistent' }, { indexingMode: 'consistent' }],
  ])('%s -> completed', async (_what, indexingPolicy, expected) => {
    const { container } = await backend.container({ indexingPolicy: indexingPolicy as IndexingPolicy });
    expect((await container.read()).resource?.indexingPolicy).toMatchObject(expected);
    await container.delete();
  });

  it('completed and sent back -> unchanged', async () => {
    const { container } = await backend.container({ indexingPolicy: { includedPaths: [{ path: '/a/?' }] } });
    const { resource } = await container.read();
    if (resource === undefined) throw new Error('the container is gone');
    const replaced = await container.replace(resource);
    expect(replaced.resource?.indexingPolicy).toEqual(resource.indexingPolicy);
  });

  it('sent back without what is empty, as the client for Go does -> the same definition', async () => {
    const reply = await create(backend, { id: 'short', partitionKey: { paths: ['/pk'] } });
    expect(parseJson(reply)).toMatchObject({ partitionKey: { paths: ['/pk'], kind: 'Hash' } });
    const read = await backend.lab.database.container('short').read();
    const conflictResolutionPolicy = { mode: 'LastWriterWins', conflictResolutionPath: '/_ts' };
    const body = { ...read.resource, partitionKey: { paths: ['/pk'] }, conflictResolutionPolicy };
    const replaced = await backend.lab.database.container('short').replace(body as never);
    expect(replaced.resource?.conflictResolutionPolicy).toEqual(read.resource?.conflictResolutionPolicy);
    await backend.lab.database.container('short').delete();
  });
});

const vector = { path: '/v', dataType: 'float32', dimensions: 8, distanceFunction: 'cosine' };

forEachBackend('definitions that the service refuses or accepts', (backend) => {
  const spatial = { path: '/place/?', types: ['Point'] };
  const bounded = { ...spatial, boundingBox: { xmin: 0, ymin: 0, xmax: 9, ymax: 9 } };

  it.each<[string, object]>([
    ['a key path with a blank', { partitionKey: { paths: ['/id ds'] } }],
    [
      'a spatial index of a geometry without a bounding box',
      { geospatialConfig: { type: 'Geometry' }, indexingPolicy: { spatialIndexes: [spatial] } },
    ],
    ['a spatial index of a geography with one', { indexingPolicy: { spatialIndexes: [bounded] } }],
    [
      'a vector index without its policy',
      { indexingPolicy: { vectorIndexes: [{ path: '/v', type: 'flat' }] } },
    ],
    [
      'a vector of an unknown type',
      { vectorEmbeddingPolicy: { vectorEmbeddings: [{ ...vector, dataType: 'text' }] } },
    ],
    [
      'a full-text index without its policy',
      {
        indexingPolicy: { fullTextIndexes: [{ path: '/other' }] },
        fullTextPolicy: { defaultLanguage: 'en-US', fullTextPaths: [{ path: '/text', language: 'en-US' }] },
      },
    ],
    [
      'a full-text path without a path',
      { fullTextPolicy: { defaultLanguage: 'en-US', fullTextPaths: [{ language: 'en-US' }] } },
    ],
  ])('%s -> 400', async (_what, body) => {
    const error = await refusedBy(backend, body);
    expect(error.code, error.message).toBe(400);
  });

  it.each<[string, object]>([
    ['a quoted key path with a blank', { partitionKey: { paths: ['/"id ds"'] } }],
    [
      'a geometry with a bounding box',
      { geospatialConfig: { type: 'Geometry' }, indexingPolicy: { spatialIndexes: [bounded] } },
    ],
  ])('%s -> accepted', async (_what, body) => {
    expect((await create(backend, { id: 'accepted', ...body })).status).toBe(201);
    await backend.lab.database.container('accepted').delete();
  });

  it('an empty list of computed properties -> accepted', async () => {
    expect((await create(backend, { id: 'none', computedProperties: [] })).status).toBe(201);
    await backend.lab.database.container('none').delete();
  });

  it('an invalid definition under a name that is taken -> 400, not 409', async () => {
    const { container } = await backend.container();
    const paths = ['/a', '/b', '/c', '/d'];
    const body = { id: container.id, partitionKey: { paths, kind: 'MultiHash', version: 2 } };
    expect(refusalOf(await create(backend, body))).toBe('400/0');
  });
});

// An account of the service refuses vectors until its owner switches them on.
forEachEmulator('vectors', (backend) => {
  it('a vector index with its policy -> accepted', async () => {
    const body = {
      indexingPolicy: { vectorIndexes: [{ path: '/v', type: 'flat' }] },
      vectorEmbeddingPolicy: { vectorEmbeddings: [vector] },
    };
    expect((await create(backend, { id: 'accepted', ...body })).status).toBe(201);
    await backend.lab.database.container('accepted').delete();
  });
});

forEachEmulator('features that the emulator does not have', (backend) => {
  it.each<[string, object, RegExp]>([
    [
      'computed properties',
      { computedProperties: [{ name: 'low', query: 'SELECT VALUE LOWER(c.n) FROM c' }] },
      /computed properties/i,
    ],
    [
      'client encryption',
      { clientEncryptionPolicy: { policyFormatVersion: 1, includedPaths: [{ path: '/secret' }] } },
      /client encryption/i,
    ],
    ['data masking', { dataMaskingPolicy: { includedPaths: [{ path: '/' }] } }, /data masking/i],
    [
      'a materialized view',
      { materializedViewDefinition: { sourceCollectionId: 'x', definition: 'SELECT * FROM c' } },
      /materialized view/i,
    ],
  ])('%s in a definition -> 501 that names it, on create and replace', async (_what, body, named) => {
    const error = await refusedBy(backend, body);
    expect(error.code).toBe(501);
    expect(error.body?.message ?? error.message).toMatch(named);
    const { container } = await backend.container();
    const { resource } = await container.read();
    const replaced = await failure(container.replace({ ...resource, ...body }));
    expect(replaced.code).toBe(501);
    expect((await container.read()).resource).toEqual(resource);
  });

  it('a container without a key -> 400 that names it', async () => {
    const reply = await create(backend, { partitionKey: undefined });
    expect(refusalOf(reply)).toBe('400/0');
    expect(reply.text).toMatch(/no partition key/);
  });

  it('requests for other resources -> 501 that names them', async () => {
    const { wire } = await backend.container();
    const database = `/dbs/${backend.lab.databaseId}`;
    const ABSENT: readonly (readonly [string, string, RegExp])[] = [
      ['POST', `${database}/users`, /users/i],
      ['GET', `${database}/users/u/permissions`, /permissions/i],
      ['POST', `${database}/clientencryptionkeys`, /encryption keys/i],
      ['GET', `${database}/clientencryptionkeys/k`, /encryption keys/i],
      ['GET', `${database}/udts`, /user-defined types/i],
      ['GET', `${wire.path}/docs/1/attachments`, /attachments/i],
      ['GET', '/media/m', /attachments/i],
      ['GET', `${wire.path}/schemas`, /schemas/i],
    ];
    for (const [method, path, named] of ABSENT) {
      const reply = await backend.raw.send(method, path, method === 'POST' ? { body: '{"id":"x"}' } : {});
      expect(refusalOf(reply), path).toBe('501/0');
      expect(reply.text, path).toMatch(named);
    }
  });

  it('a document that is excluded from the index -> 501, nothing is written', async () => {
    const { wire } = await backend.container();
    const headers = { 'x-ms-indexing-directive': 'Exclude' };
    const reply = await wire.create('{"id":"1","pk":"p"}', ['p'], headers);
    expect(refusalOf(reply)).toBe('501/0');
    expect(reply.text).toMatch(/index/i);
    expect((await wire.read('1', ['p'])).status).toBe(404);
    const included = { 'x-ms-indexing-directive': 'Include' };
    expect((await wire.create('{"id":"1","pk":"p"}', ['p'], included)).status).toBe(201);
  });

  it('a resource token -> 401 that names it', async () => {
    const authorization = encodeURIComponent('type=resource&ver=1.0&sig=AAAA');
    const reply = await backend.raw.send('GET', '/dbs', { headers: { authorization } });
    expect(refusalOf(reply)).toBe('401/0');
    expect(reply.text).toMatch(/type=resource/);
  });
});

forEachEmulator('offers that take time to scale', (backend) => {
  it('a scale-up that takes time -> the body says so until it is done', async () => {
    await using lab = await backend.freshLab({ settings: { scaleUpMs: 500 } });
    const { container } = await lab.container({ throughput: 400 });
    const pending = async (): Promise<unknown> =>
      Object(((await container.readOffer()).resource ?? {}).content)['isOfferReplacePending'];
    expect(await pending()).toBe(false);
    const { resource } = await container.readOffer();
    if (resource?.content === undefined) throw new Error('the container has no offer');
    const content = { ...resource.content, offerThroughput: 15_000 };
    const replaced = await lab
      .client()
      .offer(resource.id)
      .replace({ ...resource, content });
    expect(Object(replaced.resource?.content)['isOfferReplacePending']).toBe(true);
    await until(async () => (await pending()) === false, { what: 'the scale-up to end' });
  });
});

forEachBackend('offers', (backend) => {
  const settings = (value: object): Headers => ({
    'x-ms-cosmos-offer-autopilot-settings': JSON.stringify(value),
  });
  const autoUpgradePolicy = { throughputPolicy: { incrementPercent: 2 } };

  it('autoscale with a policy of upgrades -> kept', async () => {
    const id = 'upgraded';
    await create(backend, { id }, settings({ maxThroughput: 5000, autoUpgradePolicy }));
    const container = backend.lab.database.container(id);
    const { resource } = await container.readOffer();
    expect(resource?.content).toMatchObject({
      offerAutopilotSettings: { maxThroughput: 5000, autoUpgradePolicy },
    });
    await container.delete();
  });

  it('the offer of a deleted container -> its id is never used again', async () => {
    const seen = new Set<string>();
    for (let count = 0; count < 3; count += 1) {
      const { container } = await backend.container({ throughput: 400 });
      seen.add((await container.readOffer()).resource?.id ?? '');
      await container.delete();
    }
    expect(seen.size).toBe(3);
  });

  it('an address that is not of an offer -> 400', async () => {
    const signAs = { type: 'offers', link: '1000' };
    const reply = await backend.raw.send('PUT', '/offers/offers/1000/', { body: '{}', signAs });
    expect([400, 401]).toContain(reply.status);
  });
});

forEachBackend('headers of replies', (backend) => {
  it('items, feeds and queries of one range -> the range, and how far its log has got', async () => {
    const { wire } = await backend.container();
    await wire.create('{"id":"1","pk":"p"}', ['p']);
    const replies: Record<string, Reply> = {
      item: await wire.read('1', ['p']),
      feed: await wire.readFeed({ rangeId: '0' }, 'beginning'),
      query: await wire.query('SELECT * FROM c', { key: ['p'] }),
      batch: await wire.batch([{ operationType: 'Read', id: '1' }], ['p']),
    };
    for (const [what, { headers }] of Object.entries(replies)) {
      expect(headers['x-ms-documentdb-partitionkeyrangeid'], what).toBe('0');
      expect(headers['x-ms-global-committed-lsn'], what).toMatch(/^\d+$/);
      expect(headers['lsn'], what).toMatch(/^\d+$/);
      expect(headers['x-ms-schemaversion'], what).toMatch(/^\d+\.\d+$/);
    }
  });

  it('a container with its quota -> the progress of its index', async () => {
    const { container } = await backend.container();
    const { headers } = await container.read({ populateQuotaInfo: true });
    expect(headers['x-ms-documentdb-collection-index-transformation-progress']).toBe('100');
  });

  it('a client of an old protocol version -> session tokens without a vector, which it may send back', async () => {
    const { wire } = await backend.container();
    const old = { 'x-ms-version': '2016-07-11' };
    const written = await wire.create('{"id":"1","pk":"p"}', ['p'], old);
    expect(written.status).toBe(201);
    const token = String(written.headers['x-ms-session-token']);
    expect(token).toMatch(/^0:\d+$/);
    const read = await wire.read('1', ['p'], { ...old, 'x-ms-session-token': token });
    expect(read.status).toBe(200);
    const ahead = { ...old, 'x-ms-session-token': '0:999999' };
    expect(refusalOf(await wire.read('1', ['p'], ahead))).toBe('404/1002');
    expect((await wire.read('1', ['p'])).headers['x-ms-session-token']).toMatch(/^0:-1#\d+$/);
  });
});

forEachBackend('texts that clients look for', (backend) => {
  it('refusals -> contain the words of the service', async () => {
    const { wire } = await backend.container();
    const database = `/dbs/${backend.lab.databaseId}`;
    const tooLarge = JSON.stringify([
      { operationType: 'Create', resourceBody: { id: '1', x: 'x'.repeat(2_300_000) } },
    ]);
    const replies: readonly (readonly [Reply, string])[] = [
      [await wire.bulk('0', tooLarge), 'Request size is too large'],
      [await wire.readFeed({ rangeId: '0' }, { etag: 'x' }), 'Invalid Continuation Token'],
      [await wire.query('SELECT * FROM c', {}, { 'x-ms-continuation': 'x' }), 'Invalid Continuation Token'],
      [await create(backend, { partitionKey: { paths: ['/id ds'] } }), 'could not be accepted'],
      [await wire.batch([], ['p']), 'Batch request has no operations.'],
      [
        await backend.raw.send('POST', `${database}/colls`, { body: '{"id":""}' }),
        "Ensure to provide a unique non-empty string less than '255' characters.",
      ],
      [
        await wire.create('{"id":"1","pk":"p"}', ['q']),
        "Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key field values specified in the document.",
      ],
    ];
    for (const [reply, words] of replies) {
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(parseJson<{ message: string }>(reply).message).toContain(words);
    }
  });
});

forEachEmulator('words of the service on the feed', (backend) => {
  it('all versions from the beginning -> the retention period', async () => {
    await using lab = await backend.freshLab({ settings: { avad: true } });
    const { wire } = await lab.container();
    const reply = await wire.readFeed({ rangeId: '0' }, 'beginning', { mode: 'avad' });
    expect(reply.text).toContain('You must read the change feed from within the retention period.');
  });
});
