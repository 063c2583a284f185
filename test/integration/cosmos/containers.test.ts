/** What is read of a container and its account, by key and by Entra ID, and what a server in trouble makes of it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import { TroubleError } from '../../../src/cosmos/transport/trouble.ts';
import { readContainer, readDatabase } from '../../../src/cosmos/container/inspect.ts';
import { controlCall } from '../../helpers/emulator/control.ts';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import { failure } from '../../helpers/emulator/failure.ts';
import { hashKey, multiHashKey } from '../../helpers/emulator/key-definitions.ts';

const NAME = { database: 'shop', container: 'orders' };

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

test('readContainer: a container -> everything a migration needs to know', async () => {
  const { container } = await account.client.database('shop').containers.create({
    id: 'orders',
    partitionKey: multiHashKey('/tenantId', '/userId'),
    defaultTtl: 3600,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
    throughput: 1200,
  });
  for (let n = 0; n < 7; n += 1)
    await container.items.create({ id: `d${n}`, tenantId: 'a', userId: 'b', email: n });
  const facts = await readContainer(account, NAME, controlCall());
  const { resource } = await container.read();
  expect(facts).toMatchObject({
    name: NAME,
    account: { id: 'cosmig-emulator', multiWrite: false },
    rid: resource?._rid,
    etag: resource?._etag,
    keyPaths: ['/tenantId', '/userId'],
    keyKind: 'multi-hash',
    hasSystemKey: false,
    defaultTtl: 3600,
    analyticalTtl: null,
    changeFeedPolicy: null,
    dataMaskingPolicy: null,
    throughput: { kind: 'manual', ru: 1200 },
    documentCount: 7,
  });
  expect(facts?.settings).toMatchObject({
    indexingPolicy: { indexingMode: 'consistent' },
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
    computedProperties: null,
  });
  expect(facts?.sizeBytes).toBeGreaterThan(0);
});

test.each([
  ['no version given', '/pk', 'hash-v1'],
  ['version 2', hashKey('/pk'), 'hash-v2'],
] as const)('a new container: %s, %j -> %s', async (_name, partitionKey, keyKind) => {
  await account.client.database('shop').containers.create({ id: 'orders', partitionKey });
  expect(await readContainer(account, NAME, controlCall())).toMatchObject({ keyKind });
});

test('readContainer: throughput of its own, autoscale, shared -> each is distinguished', async () => {
  const { databases } = account.client;
  const { database: paid } = await databases.create({ id: 'paid', throughput: 600 });
  await paid.containers.create({ id: 'shared', partitionKey: hashKey() });
  await paid.containers.create({ id: 'own', partitionKey: hashKey(), maxThroughput: 4000 });
  const of = async (container: string): Promise<unknown> =>
    (await readContainer(account, { database: 'paid', container }, controlCall()))?.throughput;
  expect(await of('shared')).toEqual({ kind: 'shared' });
  expect(await of('own')).toEqual({ kind: 'autoscale', ruMax: 4000 });
  expect(await readDatabase(account, 'paid', controlCall())).toEqual({ shared: { kind: 'manual', ru: 600 } });
  expect(await readDatabase(account, 'shop', controlCall())).toEqual({ shared: undefined });
});

test('readContainer: a missing container or database -> undefined', async () => {
  expect(await readContainer(account, NAME, controlCall())).toBeUndefined();
  expect(await readContainer(account, { ...NAME, database: 'none' }, controlCall())).toBeUndefined();
  expect(await readDatabase(account, 'none', controlCall())).toBeUndefined();
});

test('readContainer: passing trouble or an unreadable reply -> tried again', async () => {
  await account.client.database('shop').containers.create({ id: 'orders', partitionKey: hashKey() });
  await emulator.admin.faults([
    { match: { op: 'container' }, times: 1, effect: { status: 429, substatus: 3200, retryAfterMs: 5 } },
    { match: { op: 'container' }, times: 1, effect: { status: 404, substatus: 1013 } },
    { match: { op: 'container' }, times: 1, effect: { status: 410, substatus: 1000 } },
    { match: { op: 'container' }, times: 1, effect: { status: 503, body: 'html' } },
    { match: { op: 'container' }, times: 1, effect: { body: 'html' } },
    { match: { op: 'container' }, times: 1, effect: { body: 'truncated' } },
    { match: { op: 'container' }, times: 2, effect: { reset: 'before' } },
    { match: { op: 'account' }, times: 1, effect: { reset: 'after' } },
    { match: { op: 'offer' }, times: 1, effect: { status: 449 } },
  ]);
  expect(await readContainer(account, NAME, controlCall())).toMatchObject({ name: NAME });
});

test('an account and a throughput that the caller may not read -> unknown', async () => {
  await account.client.database('shop').containers.create({ id: 'orders', partitionKey: hashKey() });
  await emulator.admin.faults([
    { match: { op: 'account' }, effect: { status: 403, substatus: 5300 } },
    { match: { op: 'offer' }, effect: { status: 403, substatus: 5300 } },
  ]);
  expect(await readContainer(account, NAME, controlCall())).toMatchObject({
    account: { id: null, multiWrite: null },
    throughput: { kind: 'unknown' },
  });
});

test('a serverless account -> serverless throughput', async () => {
  await account.client.database('shop').containers.create({ id: 'orders', partitionKey: hashKey() });
  // "Reading or replacing offers is not supported for serverless accounts."
  await emulator.admin.faults([{ match: { op: 'offer' }, effect: { status: 400 } }]);
  expect(await readContainer(account, NAME, controlCall())).toMatchObject({
    throughput: { kind: 'serverless' },
  });
});

test('a wrong key -> reported at once as a wrong key', async () => {
  const key = Buffer.from('another key').toString('base64');
  using stranger = new Account({ endpoint: emulator.endpoint, key });
  const error = await failure(readContainer(stranger, NAME, controlCall()));
  expect(error).toBeInstanceOf(TroubleError);
  expect(error).toMatchObject({ exitCode: 6, trouble: { kind: 'denied', status: 401 } });
});
