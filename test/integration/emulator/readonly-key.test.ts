import { randomBytes } from 'node:crypto';
import { CosmosClient } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { PUBLISHED_KEY, startEmulator } from '../../../src/emulator/http/server.ts';
import { failure } from '../../helpers/emulator/failure.ts';

test('a read-only key -> reads and queries, every write is refused', async () => {
  const readonlyKey = randomBytes(64).toString('base64');
  const emulator = await startEmulator({
    host: '127.0.0.1',
    port: 0,
    https: false,
    data: ':memory:',
    key: PUBLISHED_KEY,
    readonlyKey,
  });
  const { endpoint } = emulator;
  const owner = new CosmosClient({ endpoint, key: PUBLISHED_KEY });
  const reader = new CosmosClient({ endpoint, key: readonlyKey });
  try {
    const { database } = await owner.databases.create({ id: 'shop' });
    const { container } = await database.containers.create({ id: 'orders', partitionKey: '/pk' });
    await container.items.create({ id: 'a', pk: 'p' });
    const seen = reader.database('shop').container('orders');
    expect((await seen.item('a', 'p').read()).resource).toMatchObject({ id: 'a' });
    expect((await seen.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources).toEqual(['a']);
    expect((await failure(seen.items.create({ id: 'b', pk: 'p' }))).code).toBe(403);
    expect((await failure(seen.item('a', 'p').delete())).code).toBe(403);
    expect((await failure(seen.delete())).code).toBe(403);
    expect((await container.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources).toEqual(['a']);
  } finally {
    reader.dispose();
    owner.dispose();
    await emulator.close();
  }
});
