import { expect, test } from 'vitest';
import { creationCommand } from '../../../../src/cosmos/container/create-command.ts';

const name = { database: 'shop', container: 'orders-by-tenant' };
const key = (...paths: string[]): object => ({
  paths,
  kind: paths.length > 1 ? 'MultiHash' : 'Hash',
  version: 2,
});

test('one key path -> az cosmosdb with settings as flags, quoted for a shell', () => {
  const definition = {
    id: 'orders-by-tenant',
    partitionKey: key('/tenantId'),
    defaultTtl: -1,
    indexingPolicy: { includedPaths: [{ path: "/it's/?" }] },
    geospatialConfig: { type: 'Geography' },
  };
  expect(creationCommand({ account: 'acc', name, definition, throughput: { kind: 'manual', ru: 400 } })).toBe(
    'az cosmosdb sql container create --resource-group GROUP --account-name acc --database-name shop ' +
      '--name orders-by-tenant --partition-key-path /tenantId --partition-key-version 2 --ttl -1 ' +
      String.raw`--idx '{"includedPaths":[{"path":"/it'\''s/?"}]}' --throughput 400`,
  );
});

test.each([
  ['several levels', { id: 'x', partitionKey: key('/a', '/b') }],
  ['a setting without a flag', { id: 'x', partitionKey: key('/a'), computedProperties: [{ name: 'n' }] }],
])('%s -> az rest', (_name, definition) => {
  const command = creationCommand({
    account: 'acc',
    name,
    definition,
    throughput: { kind: 'autoscale', ruMax: 1000 },
  });
  expect(command).toMatch(
    /^az rest --method put --url '\/subscriptions\/\{subscriptionId\}\/resourceGroups\/GROUP\//,
  );
  expect(command).toContain(
    '/databaseAccounts/acc/sqlDatabases/shop/containers/orders-by-tenant?api-version=',
  );
  const body: unknown = JSON.parse(/--body '(.*)'$/.exec(command)?.[1] ?? '');
  expect(body).toEqual({
    properties: { resource: definition, options: { autoscaleSettings: { maxThroughput: 1000 } } },
  });
});
