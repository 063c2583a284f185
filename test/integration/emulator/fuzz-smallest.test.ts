/** The smallest forms of bad input that once ended in a 500, in a cut connection or in another state. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import { parseJson, RawAccount, type Headers, type Reply } from '../../helpers/emulator/raw.ts';

const DOCS = '/dbs/shop/colls/play/docs';

let emulator: TestEmulator;
let raw: RawAccount;

beforeAll(async () => {
  emulator = await startTestEmulator();
  raw = new RawAccount(emulator);
  await mustSend('POST', '/dbs', { id: 'shop' });
  await mustSend('POST', '/dbs/shop/colls', { id: 'play', partitionKey: { paths: ['/pk'] } });
});

afterAll(async () => {
  raw.close();
  await emulator.close();
});

async function mustSend(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
  const reply = await raw.send(method, path, {
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return reply;
}

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

test.each([
  ['a name that every object has', '"constructor"'],
  ['the name of the prototype', '"__proto__"'],
  ['an object that cannot become a text', '{"toString":1,"valueOf":1}'],
  ['a list nested beyond every stack', DEEP],
])('an operation type that is %s -> 400 for that operation', async (_what, type) => {
  const ranges = parseJson<{ PartitionKeyRanges: { id: string }[] }>(
    await mustSend('GET', '/dbs/shop/colls/play/pkranges'),
  ).PartitionKeyRanges;
  const reply = await raw.send('POST', DOCS, {
    body: `[{"operationType":${type},"partitionKey":"[1]"}]`,
    headers: {
      'x-ms-cosmos-is-batch-request': 'true',
      'x-ms-documentdb-partitionkeyrangeid': ranges[0]?.id,
    },
  });
  expect(reply.status).toBe(207);
  expect(parseJson<{ statusCode: number }[]>(reply)[0]?.statusCode).toBe(400);
});

test.each([
  ['POST', '/dbs', `{"id":"deep","more":${DEEP}}`],
  ['POST', '/dbs/shop/colls', `{"id":"deep","partitionKey":{"paths":[${DEEP}]}}`],
  ['POST', '/dbs/shop/colls/play/sprocs', `{"id":"deep","body":${DEEP}}`],
  ['PUT', '/dbs/shop/colls/play', `{"id":"play","partitionKey":${DEEP}}`],
  ['POST', DOCS, `{"id":"deep","pk":1,"body":${DEEP}}`],
])('%s %s with a body nested 100,000 deep -> 400', async (method, path, body) => {
  const reply = await raw.send(method, path, { body, headers: { 'x-ms-documentdb-partitionkey': '[1]' } });
  expect([reply.status, parseJson(reply)['code']]).toEqual([400, 'BadRequest']);
});

test.each([[[DEEP, '1']], [['{"toString":1}', '1']], [['"x"', '"-1"']]])(
  'a merge of ranges whose ids are not texts -> refused',
  async (ids) => {
    const reply = await emulator.admin.send(
      'POST',
      'containers/shop/play/merge',
      `{"rangeIds":[${ids.join(',')}]}`,
    );
    expect(reply.status === 400 || reply.status === 404).toBe(true);
  },
);

test.each(['日本語', 'ünï', 'a\nb', 'tab\t', '\u0000', '🙂'])(
  'a database and a container named %j -> served by name',
  async (id) => {
    await mustSend('POST', '/dbs', { id });
    const colls = `/dbs/${encodeURIComponent(id)}/colls`;
    await mustSend('POST', colls, { id, partitionKey: { paths: ['/pk'] } });
    const headers = { 'x-ms-documentdb-partitionkey': '["a"]' };
    await mustSend('POST', `${colls}/${encodeURIComponent(id)}/docs`, { id: 'x', pk: 'a' }, headers);
    const read = await mustSend('GET', `${colls}/${encodeURIComponent(id)}/docs/x`, undefined, headers);
    expect(parseJson(read)['pk']).toBe('a');
    expect(parseJson(await mustSend('GET', `/dbs/${encodeURIComponent(id)}`))['id']).toBe(id);
    await mustSend('DELETE', `/dbs/${encodeURIComponent(id)}`);
  },
);

test('a restart after a merge -> the merged range stays, whatever the throughput', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-merge-'));
  const data = join(folder, 'account.db');
  const rangesAfter = async (work: (own: TestEmulator, client: RawAccount) => Promise<unknown>) => {
    const own = await startTestEmulator({ data });
    const client = new RawAccount(own);
    await work(own, client);
    const reply = await client.send('GET', '/dbs/d/colls/c/pkranges');
    client.close();
    await own.close();
    return parseJson<{ _count: number }>(reply)._count;
  };
  try {
    const merged = await rangesAfter(async (own, client) => {
      await client.send('POST', '/dbs', { body: '{"id":"d"}' });
      await client.send('POST', '/dbs/d/colls', {
        body: '{"id":"c","partitionKey":{"paths":["/pk"]}}',
        headers: { 'x-ms-offer-throughput': '12000' },
      });
      await own.admin.merge('d/c', ['0', '1']);
    });
    // Several ticks of the background work, which is what would split it again.
    const restarted = await rangesAfter(() => delay(350));
    expect([merged, restarted]).toEqual([1, 1]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
