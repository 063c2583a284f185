/** Every refusal and every warning of the preflight, against an account that has cause for it; and that it writes nothing. */
import { randomBytes } from 'node:crypto';
import { createDefaultHttpClient, createHttpHeaders, type HttpClient } from '@azure/core-rest-pipeline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import { PUBLISHED_KEY, startEmulator } from '../../../src/emulator/http/server.ts';
import { inspect, refuseWarnings, makeTarget, type Inspection } from '../../../src/preflight/inspect.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { CosmigError } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { Connection, type Connections } from '../../../src/spec/connection.ts';
import { bulkLoad } from '../../helpers/emulator/bulk-load.ts';
import type { AccountSettings } from '../../helpers/emulator/admin.ts';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import { failure } from '../../helpers/emulator/failure.ts';
import { hashKey, multiHashKey } from '../../helpers/emulator/key-definitions.ts';
import { load, type Flags } from '../../unit/spec/loading.ts';

const SILENT = createLog({ level: 'error', format: 'text', clock: systemClock, write: () => undefined });

const { signal } = new AbortController();
type Body = Record<string, unknown>;
const REGION = { name: 'A', databaseAccountEndpoint: 'https://a.example/' };

let emulator: TestEmulator;
let account: Account;
beforeEach(async () => {
  emulator = await startTestEmulator();
  account = new Account({ endpoint: emulator.endpoint, key: emulator.key });
  await account.client.databases.create({ id: 'shop' });
});
afterEach(async () => {
  account[Symbol.dispose]();
  await emulator.close();
});

const settings = (changes: AccountSettings): Promise<void> => emulator.admin.account(changes);

async function container(id: string, body: Body = {}): Promise<void> {
  const request: unknown = { id, partitionKey: hashKey(), ...body };
  const { containers } = account.client.database('shop');
  await containers.create(request as Parameters<typeof containers.create>[0]);
}

async function fill(id: string, documents: readonly Body[]): Promise<void> {
  await bulkLoad(account.client.database('shop').container(id), documents);
}

/** Source documents with ids of their own and a tenant each, unless it is said otherwise. */
const many = (count: number, more: (n: number) => Body = () => ({})): Body[] =>
  Array.from({ length: count }, (_, n) => ({ id: `d${n}`, pk: `p${n % 7}`, tenantId: `t${n}`, ...more(n) }));

async function orders(documents: readonly Body[] = many(20), body: Body = {}): Promise<void> {
  await container('orders', body);
  await fill('orders', documents);
}

interface Asked {
  readonly flags?: Flags;
  readonly accounts?: { readonly source?: Account; readonly target?: Account };
  readonly connections?: Partial<Connections>;
  readonly sampleMax?: number;
}

async function inspected({
  flags = {},
  accounts = {},
  connections = {},
  sampleMax,
}: Asked = {}): Promise<Inspection> {
  const env = { COSMIG_SOURCE_KEY: emulator.key, COSMIG_TARGET_KEY: emulator.key };
  const given = { source: 'shop/orders', target: 'shop/by-tenant', partitionKey: '/tenantId', ...flags };
  const loaded = load({ flags: { sourceEndpoint: emulator.endpoint, ...given }, env });
  const parts = {
    spec: loaded.spec,
    connections: { ...loaded.connections, ...connections },
    accounts: { source: account, target: account, ...accounts },
    clock: systemClock,
    random: seededRandom(3),
    signal,
    log: SILENT,
    ...(sampleMax === undefined ? {} : { sampleMax }),
  };
  const before = await emulator.admin.state();
  try {
    const inspection = await inspect(parts);
    refuseWarnings(inspection, loaded.spec);
    return inspection;
  } finally {
    expect(withoutRu(await emulator.admin.state()), 'a preflight writes nothing').toEqual(withoutRu(before));
  }
}

/** What is stored, without what was asked and spent. */
function withoutRu(state: Record<string, unknown>): unknown {
  const { containers } = state as { containers: Array<{ id: string; ranges: Body[] }> };
  return containers.map(({ id, ranges }) => [
    id,
    ranges.map(({ id: range, documents, bytes, lsn }) => ({ range, documents, bytes, lsn })),
  ]);
}

async function refused(asked: Asked = {}): Promise<CosmigError> {
  const error = await failure(inspected(asked));
  if (!(error instanceof CosmigError)) throw error;
  expect(error.hint).toBeTruthy();
  return error;
}

/** The kinds of the warnings. Each is reported as a refusal, and accepted with --yes. */
async function warned(asked: Asked = {}): Promise<string[]> {
  const { warnings } = await inspected({ ...asked, flags: { ...asked.flags, yes: 'true' } });
  const refusal: unknown = await inspected(asked).then(
    () => undefined,
    (error: unknown) => error,
  );
  const reported = refusal instanceof CosmigError ? refusal : undefined;
  const problems = reported?.problems.length === 0 ? [reported] : (reported?.problems ?? []);
  expect(problems.map(({ message }) => message)).toEqual(warnings.map(({ message }) => message));
  expect(reported?.exitCode ?? 3).toBe(3);
  expect(reported?.hint ?? '--yes').toContain('--yes');
  return warnings.map(({ kind }) => kind);
}

describe('preflight: accepted', () => {
  test('an empty target -> no warning', async () => {
    await orders(many(30));
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    const { source, target, throughput, deletes, warnings, differences, sample, estimate } =
      await inspected();
    expect(source).toMatchObject({ keyPaths: ['/pk'], documentCount: 30 });
    expect(target).toMatchObject({ keyPaths: ['/tenantId'] });
    expect({ throughput, deletes, warnings, differences }).toEqual({
      throughput: null,
      deletes: 'reconcile',
      warnings: [],
      differences: [],
    });
    expect(sample).toMatchObject({ documents: 30, isWhole: true, missing: 0, distinct: 30, collisions: 0 });
    expect(estimate).toMatchObject({ documents: 30, limitedBy: 'target' });
    expect(estimate.hours).toBeGreaterThan(0);
  });

  test('a target to be created -> created', async () => {
    await orders(many(30), { defaultTtl: -1, throughput: 800 });
    const flags = { createTarget: 'true' };
    const { target, throughput, like } = await inspected({ flags });
    expect({ target, throughput }).toEqual({ target: null, throughput: { kind: 'manual', ru: 800 } });
    const { spec, connections } = load({
      flags: {
        ...flags,
        source: 'shop/orders',
        target: 'shop/by-tenant',
        partitionKey: '/tenantId',
        sourceEndpoint: emulator.endpoint,
      },
      env: { COSMIG_SOURCE_KEY: emulator.key },
    });
    const accounts = { source: account, target: account };
    const common = { clock: systemClock, random: seededRandom(1), log: SILENT, signal };
    const parts = { spec, connections, accounts, ...common };
    expect(await makeTarget(parts, { like })).toMatchObject({ defaultTtl: -1, keyPaths: ['/tenantId'] });
    expect(await inspected({ flags })).toMatchObject({ target: { defaultTtl: -1 }, throughput: null });
  });

  test('a hierarchical key, an empty source, a key of version 1 -> no warning', async () => {
    await orders([], { partitionKey: '/pk' });
    await container('by-tenant', { partitionKey: multiHashKey('/tenantId', '/userId') });
    const { sample, rekey, estimate } = await inspected({
      flags: { partitionKey: ['/tenantId', '/userId'] },
    });
    expect(rekey).toMatchObject({ kind: 'multi-hash', ttl: { mode: 'restart' } });
    expect(sample).toMatchObject({ documents: 0, isWhole: true, averageBytes: 0 });
    expect(estimate).toMatchObject({ documents: 0, sourceRu: 0, targetRu: 0, hours: 0, ledgerBytes: 0 });
  });

  test('two accounts that look alike -> not the same container', async () => {
    await orders();
    await using other = await startTestEmulator();
    using target = new Account({ endpoint: other.endpoint, key: other.key });
    const { database } = await target.client.databases.create({ id: 'shop' });
    await database.containers.create({ id: 'orders', partitionKey: hashKey('/tenantId') });
    const connections = { target: new Connection(other.endpoint, other.key) };
    const seen = await inspected({
      flags: { target: 'shop/orders', targetEndpoint: other.endpoint },
      accounts: { target },
      connections,
    });
    expect(seen).toMatchObject({ source: { keyPaths: ['/pk'] }, target: { keyPaths: ['/tenantId'] } });
    expect(seen.source.rid).toBe(seen.target?.rid);
  });
});

describe('preflight: refused', () => {
  test('the source does not exist -> refused', async () => {
    expect(await refused()).toMatchObject({
      exitCode: 3,
      message: 'there is no source container shop/orders',
    });
  });

  test('the target does not exist -> refused without --create-target', async () => {
    await orders();
    const error = await refused();
    expect(error).toMatchObject({ exitCode: 3, message: 'there is no target container shop/by-tenant' });
    expect(error.hint).toContain('--create-target');
  });

  test('--create-target in a database that does not exist -> refused', async () => {
    await orders();
    const error = await refused({ flags: { target: 'warehouse/x', createTarget: 'true' } });
    expect(error).toMatchObject({ exitCode: 3, message: 'there is no database warehouse for the target' });
  });

  test('the same container behind another endpoint -> refused', async () => {
    await orders();
    const endpoint = emulator.endpoint.replace('127.0.0.1', 'localhost');
    using target = new Account({ endpoint, key: emulator.key });
    const flags = { target: 'shop/orders', targetEndpoint: endpoint };
    const error = await refused({ flags, accounts: { target } });
    expect(error).toMatchObject({
      exitCode: 2,
      message: 'source and target are the same container, shop/orders',
    });
  });

  test.each([
    ['another path', hashKey('/tenant')],
    ['more levels', multiHashKey('/tenantId', '/userId')],
  ])('the target has another key, %s -> refused', async (_name, partitionKey) => {
    await orders();
    await container('by-tenant', { partitionKey });
    const error = await refused();
    expect(error).toMatchObject({ exitCode: 3 });
    expect(error.message).toMatch(/^the target shop\/by-tenant has the partition key .*, not \/tenantId$/);
  });

  test('the key of the target in another spelling -> accepted', async () => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/"tenantId"') });
    expect(await inspected()).toMatchObject({ target: { keyPaths: ['/"tenantId"'] } });
  });

  test('a key rule that would erase the identity -> refused', async () => {
    await orders();
    await container('by-tenant');
    const error = await refused({ flags: { partitionKey: [], derive: '/pk={tenantId}-x' } });
    expect(error.exitCode).toBe(2);
    expect(error.hint).toContain('--keep-source-key-as');
  });

  test.each(['sourceRu', 'targetRu'])(
    'a budget in percent without a throughput, %s -> refused',
    async (name) => {
      await account.client.databases.create({ id: 'paid', throughput: 600 });
      const { containers } = account.client.database('paid');
      await containers.create({ id: 'orders', partitionKey: hashKey() });
      await containers.create({ id: 'by-tenant', partitionKey: hashKey('/tenantId') });
      const flags = { source: 'paid/orders', target: 'paid/by-tenant', [name]: '50%' };
      expect((await refused({ flags })).exitCode).toBe(2);
    },
  );

  test('a budget in percent of a throughput that may not be read -> refused', async () => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    await emulator.admin.faults([{ match: { op: 'offer' }, effect: { status: 403, substatus: 5300 } }]);
    const error = await refused({ flags: { sourceRu: '50%' } });
    expect(error).toMatchObject({
      exitCode: 2,
      message: '--source-ru 50% is not valid',
      why: 'this identity may not read the throughput of the source',
    });
    expect(await inspected()).toMatchObject({ source: { throughput: { kind: 'unknown' } } });
  });

  test('a target in use -> refused', async () => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    // One with no source document, one where it would not go, one that no source document could be.
    await fill('by-tenant', [
      { id: 'd0', pk: 'somewhere else', tenantId: 't0' },
      { id: 'd1', pk: 'p1', tenantId: 'not its tenant' },
      { id: 'alien', tenantId: 't0' },
      { id: 'd2', pk: { no: 'key' }, tenantId: 't2' },
    ]);
    const error = await refused();
    expect(error).toMatchObject({ exitCode: 3, details: { seen: 4, ours: 0 } });
    expect(error.message).toBe('the target shop/by-tenant is not empty');
  });

  test.each([
    ['a plain key', {}, (n: number): Body => ({ id: `d${n}`, pk: `p${n % 7}`, tenantId: `t${n}` })],
    [
      'a derived key',
      { partitionKey: [], derive: '/key={tenantId}-{pk}' },
      (n: number): Body => ({ id: `d${n}`, pk: `p${n % 7}`, tenantId: `t${n}`, key: `t${n}-p${n % 7}` }),
    ],
    [
      'a key that took the place of the old one',
      { partitionKey: [], derive: '/pk={tenantId}', keepSourceKeyAs: '/old' },
      (n: number): Body => ({ id: `d${n}`, pk: `t${n}`, tenantId: `t${n}`, old: `p${n % 7}` }),
    ],
  ])('a partly filled target without its ledger, %s -> refused', async (_name, flags, copy) => {
    await orders();
    const [path] = 'derive' in flags ? flags.derive.split('=') : ['/tenantId'];
    await container('by-tenant', { partitionKey: hashKey(path) });
    await emulator.admin.split('shop/orders');
    await emulator.admin.split('shop/by-tenant');
    await fill('by-tenant', [copy(3), copy(4), { ...copy(5), id: 'gone' }]);
    const error = await refused({ flags });
    expect(error).toMatchObject({ exitCode: 7, details: { seen: 3, ours: 2 } });
    expect(error.hint).toContain('--ledger');
  });

  test('a lagging replica shows the target as empty -> refused all the same', async () => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    await emulator.admin.split('shop/by-tenant');
    await settings({ replicaLagMs: 600_000 });
    await fill('by-tenant', [{ id: 'd3', pk: 'p3', tenantId: 't3' }]);
    expect(await refused()).toMatchObject({ exitCode: 7, details: { seen: 1, ours: 1 } });
  });

  test('--deletes avad without that feed -> refused; auto uses it where it exists', async () => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    const flags = { deletes: 'avad' };
    const error = await refused({ flags });
    expect(error).toMatchObject({ exitCode: 3 });
    expect(error.hint).toContain('--deletes reconcile');
    expect(await inspected()).toMatchObject({ deletes: 'reconcile' });
    expect(await inspected({ flags: { deletes: 'marker:/gone' } })).toMatchObject({ deletes: 'marker' });
    await settings({ avad: true });
    expect(await inspected({ flags })).toMatchObject({ deletes: 'avad' });
    expect(await inspected()).toMatchObject({ deletes: 'avad' });
    expect(await inspected({ flags: { deletes: 'reconcile' } })).toMatchObject({ deletes: 'reconcile' });
  });

  test.each([
    ['as it says', { enableMultipleWriteLocations: true }],
    ['as it shows', { writableLocations: [REGION, { ...REGION, name: 'B' }] }],
  ])('--deletes avad with several write regions, %s -> refused', async (_name, account) => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    await settings({ avad: true });
    using source = new Account(
      { endpoint: emulator.endpoint, key: emulator.key },
      { httpClient: describing(account) },
    );
    const accounts = { source };
    const error = await refused({ flags: { deletes: 'avad' }, accounts });
    expect(error).toMatchObject({ exitCode: 3 });
    expect(error.message).toContain('several write regions');
    expect(await inspected({ accounts })).toMatchObject({ deletes: 'reconcile' });
  });
});

/** The account says this of itself; everything else is the emulator's. */
function describing(account: Body): HttpClient {
  const inner = createDefaultHttpClient();
  return {
    async sendRequest(request) {
      if (new URL(request.url).pathname !== '/') return inner.sendRequest(request);
      const regions = { writableLocations: [REGION], readableLocations: [REGION] };
      const policy = { userConsistencyPolicy: { defaultConsistencyLevel: 'Session' } };
      const body = { id: 'cosmig-emulator', ...regions, ...policy, ...account };
      return { status: 200, headers: createHttpHeaders(), request, bodyAsText: JSON.stringify(body) };
    },
  };
}

/** Batches end like this, the last one for ever; everything else is the emulator's. */
function answeringBatches(...replies: ReadonlyArray<readonly number[]>): HttpClient {
  const inner = createDefaultHttpClient();
  let answered = 0;
  return {
    async sendRequest(request) {
      if (request.headers.get('x-ms-cosmos-is-batch-request') === undefined)
        return inner.sendRequest(request);
      const statuses = replies[Math.min(answered, replies.length - 1)] ?? [];
      answered += 1;
      const bodyAsText = JSON.stringify(statuses.map((statusCode) => ({ statusCode, requestCharge: 1 })));
      return { status: 207, headers: createHttpHeaders(), request, bodyAsText };
    },
  };
}

describe('preflight: permissions', () => {
  test('a read-only key on either side -> refused at once', async () => {
    const readonlyKey = randomBytes(64).toString('base64');
    const guarded = await startEmulator({
      host: '127.0.0.1',
      port: 0,
      https: false,
      data: ':memory:',
      key: PUBLISHED_KEY,
      readonlyKey,
    });
    const { endpoint } = guarded;
    try {
      using owner = new Account({ endpoint, key: PUBLISHED_KEY });
      using reader = new Account({ endpoint, key: readonlyKey });
      const { database } = await owner.client.databases.create({ id: 'shop' });
      await database.containers.create({ id: 'orders', partitionKey: hashKey() });
      await database.containers.create({ id: 'by-tenant', partitionKey: hashKey('/tenantId') });
      for (const [source, target, side] of [
        [reader, owner, 'source'],
        [owner, reader, 'target'],
      ] as const) {
        const error = await refused({ accounts: { source, target } });
        expect(error).toMatchObject({ exitCode: 6 });
        expect(error.message).toMatch(
          new RegExp(`^missing permissions on ${side} shop/(orders|by-tenant): read`),
        );
        expect(error.hint).toContain('read-write key');
      }
    } finally {
      await guarded.close();
    }
  });

  test.each([
    ['the feed, which is refused to those who see masked data', 'read-feed', 'orders', 'source'],
    ['the feed of the target', 'read-feed', 'by-tenant', 'target'],
    ['documents', 'batch', 'orders', 'source'],
    ['writes', 'batch', 'by-tenant', 'target'],
  ] as const)('an identity without a right to %s', async (_name, op, coll, side) => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    await emulator.admin.faults([{ match: { op, coll }, effect: { status: 403, substatus: 5301 } }]);
    const identity = new Connection(emulator.endpoint, undefined);
    const error = await refused({ connections: { source: identity, target: identity } });
    expect(error).toMatchObject({ exitCode: 6 });
    expect(error.message).toMatch(new RegExp(`^missing permissions on ${side} shop/${coll}: `));
    expect(error.hint).toContain('items/unmask');
  });

  test.each([
    [
      'an operation that a role does not have',
      [[404, 403, 404, 403]],
      6,
      'missing permissions on target shop/by-tenant: create, delete',
    ],
    [
      'an operation that was throttled first',
      [
        [404, 429, 449, 404],
        [404, 400, 404, 403],
      ],
      6,
      'missing permissions on target shop/by-tenant: delete',
    ],
    [
      'a server that carries out an operation that must fail',
      [[404, 201, 404, 404]],
      70,
      'an operation that must fail fails',
    ],
  ])('%s -> refused with that', async (_name, statuses, exitCode, message) => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    const { endpoint, key } = emulator;
    using target = new Account({ endpoint, key }, { httpClient: answeringBatches(...statuses) });
    const error = await failure(inspected({ accounts: { target } }));
    expect(error).toMatchObject({ exitCode, message });
  });

  test('preflight: a wrong key -> refused as a wrong key', async () => {
    await orders();
    using source = new Account({ endpoint: emulator.endpoint, key: randomBytes(64).toString('base64') });
    expect(await refused({ accounts: { source } })).toMatchObject({
      exitCode: 6,
      details: { kind: 'denied', status: 401 },
    });
  });
});

describe('preflight: warnings', () => {
  const target = (body: Body = {}): Promise<void> =>
    container('by-tenant', { partitionKey: hashKey('/tenantId'), ...body });

  test('no document has the key -> a warning', async () => {
    await orders(many(12));
    await container('by-tenant', { partitionKey: hashKey('/tenantid') });
    expect(await warned({ flags: { partitionKey: '/tenantid' } })).toEqual(['no-key']);
  });

  test.each(['keep', 'dead-letter', 'fail'])(
    'most documents lack the key, %s -> a warning',
    async (missingKey) => {
      await orders(many(20, (n) => (n < 11 ? { tenantId: undefined } : {})));
      await target();
      expect(await warned({ flags: { missingKey } })).toEqual(['most-lack-key']);
    },
  );

  test('most documents cannot be moved -> a warning', async () => {
    await orders(many(20, (n) => (n < 11 ? { tenantId: `${n}${'x'.repeat(3000)}` } : {})));
    await target();
    expect(await warned()).toEqual(['most-refused']);
  });

  test('few key values -> a warning', async () => {
    await orders(many(200, (n) => ({ tenantId: `t${n % 3}` })));
    await target();
    expect(await warned()).toEqual(['few-values']);
  });

  test('collisions across ranges -> a warning', async () => {
    await orders(many(40, (n) => ({ id: `d${n % 39}`, tenantId: `t${n % 39}`, pk: `p${n}` })));
    await target();
    await emulator.admin.split('shop/orders');
    expect(await warned()).toEqual(['collisions']);
  });

  test.each<[string, Body, Body, string[]]>([
    ['TTL off in the target', { defaultTtl: 60 }, {}, ['ttl']],
    ['a shorter TTL in the target', { defaultTtl: 60 }, { defaultTtl: 50 }, ['ttl']],
    ['a TTL that only the target has', {}, { defaultTtl: 60 }, ['ttl']],
    ['a longer one is fine', { defaultTtl: 60 }, { defaultTtl: 70 }, []],
    ['ttl that means nothing in the source', {}, { defaultTtl: -1 }, ['ttl']],
    ['unique keys', {}, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/n'] }] } }, ['unique-keys']],
    ['an index is a note only', {}, { indexingPolicy: { indexingMode: 'none', automatic: false } }, []],
  ])('%s -> this kind of warning, or none', async (_name, source, other, kinds) => {
    await orders(
      many(12, (n) => (source['defaultTtl'] === undefined && n === 0 ? { ttl: 5 } : {})),
      source,
    );
    await target(other);
    expect(await warned()).toEqual(kinds);
  });

  test('several warnings -> each is listed', async () => {
    await orders(many(40, (n) => ({ id: `d${n % 39}`, tenantId: `t${n % 39}`, pk: `p${n}` })));
    await target({ defaultTtl: 60 });
    const error = await refused();
    expect(error.message).toBe('the preflight has 2 warnings');
    expect(error.problems.map(({ from }) => from)).toEqual(['collisions', 'ttl']);
  });
});

test('preflight: settings differ -> noted, except those that --create-target will complete', async () => {
  await orders();
  const { scripts } = account.client.database('shop').container('orders');
  await scripts.storedProcedures.create({ id: 'sum', body: 'function () {}' });
  const indexingPolicy = { indexingMode: 'none', automatic: false };
  await container('by-tenant', { partitionKey: hashKey('/tenantId'), indexingPolicy, maxThroughput: 1000 });
  const settingsTold = async (flags: Flags): Promise<string[]> =>
    (await inspected({ flags })).differences.map(({ setting }) => setting);
  expect(await settingsTold({})).toEqual(['indexing', 'scripts', 'throughput']);
  expect(await settingsTold({ createTarget: 'true' })).toEqual(['indexing']);
});

describe('preflight: the sample', () => {
  test('a large source -> bounded, spread over all ranges, and marked as a part', async () => {
    await orders(many(300));
    for (let n = 0; n < 3; n += 1) await emulator.admin.split('shop/orders');
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    const { sample, notes, estimate } = await inspected({ sampleMax: 40 });
    expect(sample.documents).toBeGreaterThan(20);
    expect(sample.documents).toBeLessThanOrEqual(40);
    expect(sample.isWhole).toBe(false);
    expect(notes).toContain(
      `only ${sample.documents} documents were sampled, those that have not changed for longest; newer ones may lack the key or be larger, and what cannot be moved becomes a dead letter`,
    );
    expect(estimate.documents).toBe(300);
  });

  test('documents that cannot be moved -> counted by reason, size and lifetime', async () => {
    await orders(
      [
        ...many(20),
        { id: 'long', pk: 'p', tenantId: 'x'.repeat(3000) },
        { id: 'object', pk: 'p', tenantId: [] },
        { id: 'mortal', pk: 'p', tenantId: 'm', ttl: 1000 },
        { id: 'without', pk: 'p' },
      ],
      { defaultTtl: -1 },
    );
    await container('by-tenant', { partitionKey: hashKey('/tenantId'), defaultTtl: -1 });
    const { sample } = await inspected({ flags: { ttl: 'remaining' } });
    expect(sample).toMatchObject({
      documents: 24,
      missing: 2,
      withTtl: 1,
      expired: 0,
      refused: { 'key-too-long': 1, 'invalid-key': 0, 'too-large': 0 },
      distinct: 22,
    });
    expect(sample.averageBytes).toBeGreaterThan(100);
    expect(sample.readRu).toBeGreaterThanOrEqual(1);
  });

  test('the service reports no number of documents -> the sample counts them', async () => {
    await orders();
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    const effect = { dropHeaders: ['x-ms-resource-usage'] };
    await emulator.admin.faults([{ match: { op: 'container' }, effect }]);
    expect(await inspected()).toMatchObject({ source: { documentCount: null }, estimate: { documents: 20 } });
    expect(await inspected({ sampleMax: 5 })).toMatchObject({ estimate: { documents: null, hours: null } });
  });

  test('trouble and a split -> the sample is complete', async () => {
    await orders(many(600));
    await container('by-tenant', { partitionKey: hashKey('/tenantId') });
    await emulator.admin.faults([
      {
        match: { op: 'read-feed', coll: 'orders' },
        after: 2,
        times: 1,
        effect: { status: 410, substatus: 1002 },
      },
      { match: { op: 'read-feed' }, times: 2, effect: { status: 429, substatus: 3200, retryAfterMs: 2 } },
      { match: { op: 'batch' }, times: 1, effect: { reset: 'after' } },
      { match: { op: 'read-feed', coll: 'orders' }, after: 5, times: 1, effect: { body: 'truncated' } },
      { match: { op: 'container' }, times: 1, effect: { status: 503 } },
    ]);
    expect((await inspected()).sample).toMatchObject({ documents: 600, distinct: 600, isWhole: true });
  });
});
