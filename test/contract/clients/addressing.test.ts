/** How clients in other languages than JavaScript ask: requests and replies that the JavaScript SDK never needs. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { expect, it } from 'vitest';
import { parseJson, refusalOf, type Headers, type Reply } from '../../helpers/emulator/raw.ts';
import type { WireContainer } from '../../helpers/emulator/wire-container.ts';
import { forEachBackend } from '../backend.ts';

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
