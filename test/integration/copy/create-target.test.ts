/** The target is made like the source, under the new key; at whatever point a crash came, the next call completes it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import { differencesOf, type Described } from '../../../src/cosmos/container/settings.ts';
import { readContainer } from '../../../src/cosmos/container/inspect.ts';
import { createTarget, type TargetPlan } from '../../../src/cosmos/container/create.ts';
import { listScripts } from '../../../src/cosmos/container/scripts.ts';
import { must } from '../../../src/lib/assert.ts';
import { NotReadyError } from '../../../src/lib/errors.ts';
import { Connection } from '../../../src/spec/connection.ts';
import { controlCall } from '../../helpers/emulator/control.ts';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import { failure } from '../../helpers/emulator/failure.ts';
import { hashKey } from '../../helpers/emulator/key-definitions.ts';

const SOURCE = { database: 'shop', container: 'orders' };
const TARGET = { database: 'shop', container: 'orders-by-tenant' };

let emulator: TestEmulator;
let account: Account;
beforeEach(async () => {
  emulator = await startTestEmulator();
  account = new Account({ endpoint: emulator.endpoint, key: emulator.key });
  const { database } = await account.client.databases.create({ id: 'shop' });
  const { container } = await database.containers.create({
    id: 'orders',
    partitionKey: '/pk',
    throughput: 700,
    defaultTtl: 86_400,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }, { paths: ['/a', '/b'] }] },
    indexingPolicy: {
      indexingMode: 'consistent' as const,
      automatic: true,
      includedPaths: [{ path: '/name/?' }],
      excludedPaths: [{ path: '/*' }],
      compositeIndexes: [
        [
          { path: '/name', order: 'ascending' },
          { path: '/at', order: 'descending' },
        ],
      ],
    },
    fullTextPolicy: { defaultLanguage: 'en-US', fullTextPaths: [{ path: '/name', language: 'en-US' }] },
    conflictResolutionPolicy: {
      mode: 'Custom' as const,
      conflictResolutionProcedure: 'dbs/shop/colls/orders/sprocs/resolve',
    },
  });
  const { storedProcedures, triggers, userDefinedFunctions } = container.scripts;
  await storedProcedures.create({ id: 'resolve', body: 'function () {}' });
  await userDefinedFunctions.create({ id: 'tax', body: 'function (n) { return n * 0.19 }' });
  const trigger: unknown = {
    id: 'stamp',
    body: 'function () {}',
    triggerType: 'Pre',
    triggerOperation: 'All',
  };
  await triggers.create(trigger as Parameters<typeof triggers.create>[0]);
});
afterEach(async () => {
  account[Symbol.dispose]();
  await emulator.close();
});

async function described(name: typeof SOURCE): Promise<Described> {
  const facts = must(await readContainer(account, name, controlCall()), 'the container is there');
  return { facts, scripts: await listScripts(account, name, controlCall()) };
}

async function plan(more: Partial<TargetPlan> = {}): Promise<TargetPlan> {
  return {
    name: TARGET,
    keyPaths: ['/tenantId'],
    like: await described(SOURCE),
    creation: { kind: 'as-source' },
    connection: new Connection(emulator.endpoint, emulator.key),
    ...more,
  };
}

async function expectLikeSource(): Promise<void> {
  const [source, target] = [await described(SOURCE), await described(TARGET)];
  expect(differencesOf(source, target)).toEqual([]);
  expect(target.scripts).toHaveLength(3);
  expect(target.facts).toMatchObject({
    keyPaths: ['/tenantId'],
    keyKind: 'hash-v2',
    defaultTtl: 86_400,
    throughput: { kind: 'manual', ru: 700 },
  });
  expect(target.facts.settings).toMatchObject({
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }, { paths: ['/a', '/b'] }] },
    fullTextPolicy: { fullTextPaths: [{ path: '/name' }] },
    indexingPolicy: { includedPaths: [{ path: '/name/?' }, { path: '/tenantId/?' }] },
    conflictResolutionPolicy: {
      mode: 'Custom',
      conflictResolutionProcedure: 'dbs/shop/colls/orders-by-tenant/sprocs/resolve',
    },
  });
}

test('create target: from the source -> its settings, scripts and throughput, with the new key in the index', async () => {
  const made = await createTarget(account, await plan(), controlCall());
  expect(made).toMatchObject({ name: TARGET, keyKind: 'hash-v2' });
  await expectLikeSource();
});

test('create target: a second call -> everything is there, and later changes are kept', async () => {
  const first = await createTarget(account, await plan(), controlCall());
  const script = account.client
    .database('shop')
    .container(TARGET.container)
    .scripts.storedProcedure('resolve');
  await script.replace({ id: 'resolve', body: 'function () { return 1 }' });
  const again = await createTarget(account, await plan(), controlCall());
  expect(again.rid).toBe(first.rid);
  expect((await script.read()).resource?.body).toBe('function () { return 1 }');
});

test.each([
  ['the reply about the container', { op: 'container' as const, after: 1 }],
  ['the reply about a script', { op: 'script' as const, after: 1 }],
  ['the container, for a while', { op: 'container' as const, after: 2, status: 404, substatus: 1003 }],
])('create target: %s is lost in transit -> made all the same', async (_name, { op, after, ...effect }) => {
  const parts = await plan();
  const lost = 'status' in effect ? effect : { reset: 'after' as const };
  await emulator.admin.faults([{ match: { op }, after, times: 1, effect: lost }]);
  const made = await createTarget(account, parts, controlCall());
  expect(made.name).toEqual(TARGET);
  await emulator.admin.clearFaults();
  await expectLikeSource();
});

test('create target: a crash after one script -> the next call makes the others', async () => {
  const whole = await plan();
  await emulator.admin.faults([{ match: { op: 'script' }, after: 1, effect: { status: 400 } }]);
  await failure(createTarget(account, whole, controlCall()));
  await emulator.admin.clearFaults();
  expect(await listScripts(account, TARGET, controlCall())).toHaveLength(1);
  await createTarget(account, whole, controlCall());
  await expectLikeSource();
});

test('create target: several key levels and a throughput -> a hierarchical key, and that throughput', async () => {
  const made = await createTarget(
    account,
    await plan({ keyPaths: ['/tenantId', '/userId'], creation: { kind: 'autoscale', ruMax: 3000 } }),
    controlCall(),
  );
  expect(made).toMatchObject({
    keyPaths: ['/tenantId', '/userId'],
    keyKind: 'multi-hash',
    throughput: { kind: 'autoscale', ruMax: 3000 },
  });
  const manual = await createTarget(
    account,
    await plan({ name: { ...TARGET, container: 'third' }, creation: { kind: 'manual', ru: 900 } }),
    controlCall(),
  );
  expect(manual.throughput).toEqual({ kind: 'manual', ru: 900 });
});

test('create target: an identity of Entra ID, and a target made for it -> used, without scripts', async () => {
  await account.client
    .database('shop')
    .containers.create({ id: TARGET.container, partitionKey: hashKey('/tenantId') });
  const parts = await plan({ connection: new Connection(emulator.endpoint, undefined) });
  expect(await createTarget(account, parts, controlCall())).toMatchObject({ name: TARGET });
  expect(await listScripts(account, TARGET, controlCall())).toEqual([]);
});

describe('create target: refused with a hint', () => {
  const refused = async (parts: Partial<TargetPlan>): Promise<NotReadyError> => {
    const error = await failure(createTarget(account, await plan(parts), controlCall()));
    expect(error).toBeInstanceOf(NotReadyError);
    expect(await readContainer(account, TARGET, controlCall())).toBeUndefined();
    return error as unknown as NotReadyError;
  };

  test('no database -> the command that creates one', async () => {
    const error = await refused({ name: { database: 'new', container: 'orders' } });
    expect(error.hint).toContain('az cosmosdb sql database create --account-name 127');
    expect(error.hint).toContain('--name new');
  });

  test('an identity of Entra ID -> the command to run instead', async () => {
    await account.client
      .database('shop')
      .containers.create({ id: 'plain', partitionKey: '/pk', defaultTtl: 9 });
    const like = await described({ database: 'shop', container: 'plain' });
    const { hint } = await refused({ like, connection: new Connection(emulator.endpoint, undefined) });
    expect(hint).toContain('az cosmosdb sql container create --resource-group GROUP');
    expect(hint).toContain(
      '--name orders-by-tenant --partition-key-path /tenantId --partition-key-version 2',
    );
    expect(hint).toContain('--ttl 9 ');
    expect(hint).toContain('--throughput 400');
  });

  test('shared throughput in the source, none in the target database -> --target-throughput', async () => {
    const { databases } = account.client;
    const { database } = await databases.create({ id: 'paid', throughput: 600 });
    await database.containers.create({ id: 'shared', partitionKey: hashKey() });
    const like = await described({ database: 'paid', container: 'shared' });
    expect((await refused({ like })).hint).toContain('--target-throughput');
  });

  test('another container of that name was made meanwhile -> left as it is', async () => {
    const parts = await plan({ name: { database: 'shop', container: 'theirs' } });
    await account.client.database('shop').containers.create({ id: 'theirs', partitionKey: '/other' });
    const error = await failure(createTarget(account, parts, controlCall()));
    expect(error).toBeInstanceOf(NotReadyError);
    expect(await listScripts(account, parts.name, controlCall())).toEqual([]);
  });

  test('refused by the service -> its own words', async () => {
    const parts = await plan();
    const { facts } = parts.like;
    const definition = { ...facts.definition, defaultTtl: -5 };
    const error = await failure(
      createTarget(
        account,
        { ...parts, like: { ...parts.like, facts: { ...facts, definition } } },
        controlCall(),
      ),
    );
    expect(error.message).toMatch(/^the service answered 400: The defaultTtl -5 is invalid/);
  });
});
