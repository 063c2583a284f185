/** Documents one at a time: identity, conditions, limits, expiry. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import type { PartitionKey, PartitionKeyDefinition, PatchOperation } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { headerOf, parseJson, refusalOf, type Reply, substatusOf } from '../helpers/emulator/raw.ts';
import { type Doc, type Key, NONE, opKey, type WireContainer } from '../helpers/emulator/wire-container.ts';
import { forEachBackend } from './backend.ts';
import { hashKey, multiHashKey } from '../helpers/emulator/key-definitions.ts';

const SECOND_MS = 1000;
const MIB = 1024 * 1024;

/** A document of exactly this many bytes. */
function documentOf(bytes: number, id: string, pk: string): string {
  const empty = JSON.stringify({ id, pk, fill: '' });
  return JSON.stringify({ id, pk, fill: 'x'.repeat(bytes - Buffer.byteLength(empty)) });
}

async function statusOf(work: Promise<{ statusCode?: number }>): Promise<number> {
  try {
    return (await work).statusCode ?? 0;
  } catch (error) {
    return Number((error as { code?: number }).code);
  }
}

forEachBackend('items', (backend) => {
  it('create, read, replace, delete -> each is done', async () => {
    const { container } = await backend.container();
    const created = await container.items.create({ id: 'a', pk: 'p', n: 1 });
    expect(created.statusCode).toBe(201);
    const read = await container.item('a', 'p').read<Doc>();
    expect(read.statusCode).toBe(200);
    expect(read.resource).toMatchObject({ id: 'a', pk: 'p', n: 1 });
    expect(read.resource).toEqual(created.resource);

    const replaced = await container.item('a', 'p').replace({ id: 'a', pk: 'p', n: 2 });
    expect(replaced.statusCode).toBe(200);
    expect(replaced.resource).toMatchObject({ n: 2 });
    expect(replaced.resource?._rid).toBe(created.resource?._rid);
    expect(replaced.resource?._etag).not.toBe(created.resource?._etag);

    expect((await container.item('a', 'p').delete()).statusCode).toBe(204);
    const missing = await container.item('a', 'p').read();
    expect(missing.statusCode).toBe(404);
    expect(missing.resource).toBeUndefined();
  });

  it('replace with another id in the body -> the item is renamed and keeps its _rid', async () => {
    const { container, wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    const created = await container.items.create({ id: 'a', pk: 'p', n: 1 });
    await wire.seed([{ id: 'taken', pk: 'p' }, { id: 'a', pk: 'q' }]); // prettier-ignore
    const renamed = await wire.replace('a', '{"id":"b","pk":"p","n":2}', ['p']);
    expect(renamed.status).toBe(200);
    expect(parseJson<Doc>(renamed)).toMatchObject({ id: 'b', n: 2, _rid: created.resource?._rid });
    expect((await wire.read('a', ['p'])).status).toBe(404);
    expect((await wire.read('a', ['q'])).status).toBe(200);
    expect(parseJson<Doc>(await wire.read('b', ['p']))).toMatchObject({ n: 2 });
    // The feed has one position for the item, with its new id.
    const { items } = await wire.drain({ rangeId }, 'beginning');
    expect(items.map((item) => `${String(item['pk'])}/${item.id}`)).toEqual(['p/taken', 'q/a', 'p/b']);

    expect((await wire.replace('b', '{"id":"taken","pk":"p"}', ['p'])).status).toBe(409);
    expect((await wire.replace('b', '{"id":"b","pk":"q"}', ['p'])).status).toBe(400);
    expect((await wire.replace('a', '{"id":"c","pk":"p"}', ['p'])).status).toBe(404);
    const stale = await wire.replace('b', '{"id":"c","pk":"p"}', ['p'], { 'if-match': '"stale"' });
    expect(stale.status).toBe(412);
    expect(parseJson<Doc>(await wire.read('b', ['p']))).toMatchObject({ n: 2 });
  });

  it('replace with another id in a batch and in a bulk request -> renamed', async () => {
    const { wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    await wire.seed([{ id: 'a', pk: 'p' }]);
    const to = (id: string): Doc => ({ id, pk: 'p' });
    const batch = await wire.batch(
      [
        { operationType: 'Replace', id: 'a', resourceBody: to('b') },
        { operationType: 'Create', resourceBody: to('a') },
      ],
      ['p'],
    );
    expect(parseJson<{ statusCode: number }[]>(batch).map(({ statusCode }) => statusCode)).toEqual([
      200, 201,
    ]);
    const bulk = await wire.bulk(rangeId, [
      { operationType: 'Replace', id: 'b', resourceBody: to('c'), partitionKey: opKey('p') },
      { operationType: 'Replace', id: 'a', resourceBody: to('c'), partitionKey: opKey('p') },
      { operationType: 'Read', id: 'c', partitionKey: opKey('p') },
    ]);
    expect(parseJson<{ statusCode: number }[]>(bulk).map(({ statusCode }) => statusCode)).toEqual([
      200, 409, 200,
    ]);
    const { items } = await wire.drain({ rangeId }, 'beginning');
    expect(items.map(({ id }) => id).toSorted()).toEqual(['a', 'c']);
  });

  it('upsert -> 201 for a new item, 200 for an existing one', async () => {
    const { container } = await backend.container();
    expect((await container.items.upsert({ id: 'a', pk: 'p', n: 1 })).statusCode).toBe(201);
    const again = await container.items.upsert<Doc>({ id: 'a', pk: 'p', m: 2 });
    expect(again.statusCode).toBe(200);
    expect(again.resource).toMatchObject({ m: 2 });
    expect(again.resource).not.toHaveProperty('n');
  });

  it('a second create -> 409; replace, delete and patch of a missing item -> 404', async () => {
    const { container } = await backend.container();
    await container.items.create({ id: 'a', pk: 'p' });
    const twice = await failure(container.items.create({ id: 'a', pk: 'p' }));
    expect(twice.code).toBe(409);
    expect(twice.body).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    const ghost = container.item('ghost', 'p');
    expect((await failure(ghost.replace({ id: 'ghost', pk: 'p' }))).code).toBe(404);
    expect((await failure(ghost.delete())).code).toBe(404);
    expect((await failure(ghost.patch([{ op: 'set', path: '/n', value: 1 }]))).code).toBe(404);
  });

  it('system properties -> the form of the service', async () => {
    const { container } = await backend.container();
    const { resource, headers } = await container.items.create({ id: 'a', pk: 'p' });
    const parent = (await container.read()).resource;
    const bytes = Buffer.from(String(resource?._rid).replaceAll('-', '/'), 'base64');
    const parentBytes = Buffer.from(String(parent?._rid).replaceAll('-', '/'), 'base64');
    expect(bytes).toHaveLength(16);
    expect(bytes.subarray(0, 8)).toEqual(parentBytes);
    expect(resource?._self).toBe(`${parent?._self}docs/${resource?._rid}/`);
    expect(resource?._etag).toMatch(/^".+"$/);
    expect(headers['etag']).toBe(resource?._etag);
    expect(resource).toMatchObject({ _attachments: 'attachments/' });
    expect(Number.isInteger(resource?._ts)).toBe(true);
    const drift = Math.abs(Number(resource?._ts) - Date.now() / 1000);
    expect(drift).toBeLessThan(backend.live ? 300 : 60);
  });

  it('a write or read -> the headers of a session', async () => {
    const { container, wire } = await backend.container();
    const { headers } = await container.items.create({ id: 'a', pk: 'p' });
    const rid = (await container.read()).resource?._rid;
    const range = await wire.onlyRange();
    expect(String(headers['x-ms-session-token'])).toMatch(new RegExp(`^${range.id}:-?\\d+#\\d+`));
    expect(headers['x-ms-alt-content-path']).toBe(`dbs/${backend.lab.databaseId}/colls/${container.id}`);
    expect(Buffer.from(String(headers['x-ms-content-path']).replaceAll('-', '/'), 'base64')).toHaveLength(8);
    expect(headers['x-ms-content-path']).toBe(rid);
    const version = (token: unknown): number => Number(/#(\d+)/.exec(String(token))?.[1]);
    const second = await container.items.create({ id: 'b', pk: 'p' });
    expect(version(second.headers['x-ms-session-token'])).toBeGreaterThan(
      version(headers['x-ms-session-token']),
    );
  });

  it('no id -> added by the SDK; without it on the wire -> 400', async () => {
    const { container, wire } = await backend.container();
    const { resource } = await container.items.create({ pk: 'p' });
    expect(resource?.['id' as never]).toMatch(/^[0-9a-f-]{36}$/);
    expect((await wire.create('{"pk":"p"}', ['p'])).status).toBe(400);
  });

  it('read all, delete by key -> work', async () => {
    const { container, wire } = await backend.container();
    const docs = Array.from({ length: 12 }, (_, n) => ({ id: `d${n}`, pk: n % 2 === 0 ? 'even' : 'odd' }));
    await wire.seed(docs);
    const { resources } = await container.items.readAll<Doc>({ maxItemCount: 5 }).fetchAll();
    expect(resources.map((doc) => doc.id).sort()).toEqual(docs.map((doc) => doc.id).sort());
    // On the service this is a preview that works in the background.
    if (backend.live) return;
    await container.deleteAllItemsForPartitionKey('odd');
    const left = (await container.items.readAll<Doc>().fetchAll()).resources;
    expect(left.map((doc) => doc['pk'])).toEqual(Array.from({ length: 6 }, () => 'even'));
  });
});

const PATCH_BASE = {
  id: 'a',
  pk: 'p',
  n: 5,
  f: 1.5,
  list: [1, 2, 3],
  deep: { x: { y: 'old' } },
  text: 'ten',
};

const PATCHES: readonly { what: string; ops: PatchOperation[]; result: Record<string, unknown> }[] = [
  {
    what: 'set a new property',
    ops: [{ op: 'set', path: '/new', value: { a: 1 } }],
    result: { new: { a: 1 } },
  },
  { what: 'set an old property', ops: [{ op: 'set', path: '/n', value: null }], result: { n: null } },
  {
    what: 'set a nested one',
    ops: [{ op: 'set', path: '/deep/x/y', value: 'new' }],
    result: { deep: { x: { y: 'new' } } },
  },
  {
    what: 'set an array element',
    ops: [{ op: 'set', path: '/list/0', value: 9 }],
    result: { list: [9, 2, 3] },
  },
  {
    what: 'add a property',
    ops: [{ op: 'add', path: '/deep/z', value: 1 }],
    result: { deep: { x: { y: 'old' }, z: 1 } },
  },
  {
    what: 'add into an array',
    ops: [{ op: 'add', path: '/list/1', value: 9 }],
    result: { list: [1, 9, 2, 3] },
  },
  { what: 'add at the end', ops: [{ op: 'add', path: '/list/-', value: 4 }], result: { list: [1, 2, 3, 4] } },
  { what: 'replace', ops: [{ op: 'replace', path: '/text', value: 'eleven' }], result: { text: 'eleven' } },
  { what: 'remove an element', ops: [{ op: 'remove', path: '/list/1' }], result: { list: [1, 3] } },
  { what: 'increment', ops: [{ op: 'incr', path: '/n', value: 2 }], result: { n: 7 } },
  { what: 'increment by a fraction', ops: [{ op: 'incr', path: '/f', value: -0.25 }], result: { f: 1.25 } },
  {
    what: 'increment what is not there',
    ops: [{ op: 'incr', path: '/count', value: 3 }],
    result: { count: 3 },
  },
  {
    what: 'several, in order',
    ops: [
      { op: 'add', path: '/a', value: 1 },
      { op: 'incr', path: '/a', value: 1 },
      { op: 'set', path: '/b', value: 'x' },
    ],
    result: { a: 2, b: 'x' },
  },
];

const BAD_PATCHES: readonly { what: string; ops: PatchOperation[] }[] = [
  { what: 'replace what is not there', ops: [{ op: 'replace', path: '/none', value: 1 }] },
  { what: 'remove what is not there', ops: [{ op: 'remove', path: '/none' }] },
  { what: 'increment text', ops: [{ op: 'incr', path: '/text', value: 1 }] },
  { what: 'increment by text', ops: [{ op: 'incr', path: '/n', value: 'one' }] },
  { what: 'set below a scalar', ops: [{ op: 'set', path: '/n/below', value: 1 }] },
  { what: 'add beyond the end of an array', ops: [{ op: 'add', path: '/list/9', value: 1 }] },
  { what: 'change the partition key', ops: [{ op: 'set', path: '/pk', value: 'q' }] },
  { what: 'change the id', ops: [{ op: 'set', path: '/id', value: 'b' }] },
  { what: 'a path without a slash', ops: [{ op: 'set', path: 'n', value: 1 }] },
  {
    what: 'eleven operations',
    ops: Array.from({ length: 11 }, (_, n) => ({ op: 'set' as const, path: `/p${n}`, value: n })),
  },
  {
    what: 'a good one before a bad one',
    ops: [
      { op: 'set', path: '/n', value: 99 },
      { op: 'remove', path: '/none' },
    ],
  },
];

forEachBackend('patch', (backend) => {
  it('set, add, replace, remove, incr -> applied', async () => {
    const { container } = await backend.container();
    for (const { what, ops, result } of PATCHES) {
      const before = await container.items.upsert(PATCH_BASE);
      const { resource, statusCode } = await container.item('a', 'p').patch<Doc>(ops);
      expect(statusCode, what).toBe(200);
      expect(resource, what).toMatchObject({ ...PATCH_BASE, ...result });
      expect(resource?._etag, what).not.toBe(before.resource?._etag);
    }
    const { resource } = await container.item('a', 'p').patch<Doc>([{ op: 'remove', path: '/deep' }]);
    expect(resource).not.toHaveProperty('deep');
  });

  // The type of the SDK's operations does not have it; other clients send it.
  it('move -> the value is at the new path and not at the old one; impossible ones -> 400', async () => {
    const { container, wire } = await backend.container();
    await container.items.create(PATCH_BASE);
    const moved = (from: string, path: string): Promise<Reply> =>
      wire.patch('a', JSON.stringify({ operations: [{ op: 'move', from, path }] }), ['p']);
    expect((await moved('/text', '/word')).status).toBe(200);
    expect((await moved('/deep/x', '/list/0')).status).toBe(200);
    const after = (await container.item('a', 'p').read<Doc>()).resource;
    expect(after).toMatchObject({ word: PATCH_BASE['text'], deep: {}, list: [{ y: 'old' }, 1, 2, 3] });
    expect(after).not.toHaveProperty('text');
    for (const [from, path] of [
      ['/none', '/x'],
      ['/deep', '/deep/x'],
      ['/id', '/x'],
      ['/n', '/pk'],
    ] as const)
      // prettier-ignore
      expect((await moved(from, path)).status, `${from} to ${path}`).toBe(400);
    expect((await container.item('a', 'p').read<Doc>()).resource?._etag).toBe(after?._etag);
  });

  it('an impossible operation -> 400, nothing changes', async () => {
    const { container } = await backend.container();
    const before = await container.items.create(PATCH_BASE);
    for (const { what, ops } of BAD_PATCHES) {
      expect((await failure(container.item('a', 'p').patch(ops))).code, what).toBe(400);
    }
    const after = await container.item('a', 'p').read<Doc>();
    expect(after.resource?._etag).toBe(before.resource?._etag);
  });

  it('a condition -> applied only if it holds', async () => {
    const { container } = await backend.container();
    await container.items.create(PATCH_BASE);
    const item = container.item('a', 'p');
    const operations: PatchOperation[] = [{ op: 'incr', path: '/n', value: 1 }];
    const held = await item.patch<Doc>({ condition: 'from c where c.n = 5', operations });
    expect(held.resource).toMatchObject({ n: 6 });
    const refused = await failure(item.patch({ condition: 'from c where c.n = 5', operations }));
    expect(refused.code).toBe(412);
    expect((await item.read<Doc>()).resource).toMatchObject({ n: 6 });
  });
});

forEachBackend('etags', (backend) => {
  const match = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } });
  const noneMatch = (condition: string) => ({ accessCondition: { type: 'IfNoneMatch', condition } });

  it('if-match with an old etag -> 412 for every write', async () => {
    const { container } = await backend.container();
    const created = await container.items.create({ id: 'a', pk: 'p' });
    const item = container.item('a', 'p');
    const body = { id: 'a', pk: 'p', n: 1 };
    const stale = match('"00000000-0000-0000-0000-000000000000"');
    expect((await failure(item.replace(body, stale))).code).toBe(412);
    expect((await failure(container.items.upsert(body, stale))).code).toBe(412);
    expect((await failure(item.patch([{ op: 'set', path: '/n', value: 1 }], stale))).code).toBe(412);
    expect((await failure(item.delete(stale))).code).toBe(412);

    const replaced = await item.replace(body, match(created.resource?._etag ?? ''));
    const upserted = await container.items.upsert(body, match(replaced.resource?._etag ?? ''));
    const patched = await item.patch(
      [{ op: 'set', path: '/n', value: 2 }],
      match(upserted.resource?._etag ?? ''),
    );
    const deleted = await item.delete(match(patched.resource?._etag ?? ''));
    expect([replaced, upserted, patched, deleted].map((reply) => reply.statusCode)).toEqual([
      200, 200, 200, 204,
    ]);
  });

  it('a write without a change -> a new version', async () => {
    const { container } = await backend.container();
    const first = await container.items.upsert({ id: 'a', pk: 'p' });
    const second = await container.items.upsert({ id: 'a', pk: 'p' });
    expect(second.resource?._etag).not.toBe(first.resource?._etag);
  });

  it('if-match * -> needs an existing item', async () => {
    const { container } = await backend.container();
    await container.items.create({ id: 'a', pk: 'p' });
    expect((await container.item('a', 'p').replace({ id: 'a', pk: 'p' }, match('*'))).statusCode).toBe(200);
    const ghost = container.item('b', 'p').replace({ id: 'b', pk: 'p' }, match('*'));
    expect([404, 412]).toContain((await failure(ghost)).code);
  });

  it('if-none-match with the present etag -> 304', async () => {
    const { container } = await backend.container();
    const { resource } = await container.items.create({ id: 'a', pk: 'p' });
    const same = await container.item('a', 'p').read(noneMatch(resource?._etag ?? ''));
    expect(same.statusCode).toBe(304);
    const other = await container.item('a', 'p').read(noneMatch('"another"'));
    expect(other.statusCode).toBe(200);
  });

  it('if-none-match on a write -> 412 if it matches', async () => {
    const { container } = await backend.container();
    const { resource } = await container.items.create({ id: 'a', pk: 'p' });
    const item = container.item('a', 'p');
    const current = noneMatch(resource?._etag ?? '');
    expect((await failure(item.replace({ id: 'a', pk: 'p' }, current))).code).toBe(412);
    expect((await failure(item.delete(current))).code).toBe(412);
    expect((await failure(container.items.upsert({ id: 'a', pk: 'p' }, current))).code).toBe(412);
    expect((await failure(container.items.upsert({ id: 'a', pk: 'p' }, noneMatch('*')))).code).toBe(412);
    expect((await container.items.upsert({ id: 'new', pk: 'p' }, noneMatch('*'))).statusCode).toBe(201);
    const twice = await failure(container.items.create({ id: 'a', pk: 'p' }, noneMatch('*')));
    expect([409, 412]).toContain(twice.code);
  });
});

/** Ten different keys for the id "same": undefined and null, numbers and their texts, all kept apart. */
const KEYS: readonly { key: Key; value: PartitionKey; body: Record<string, unknown> }[] = [
  { key: NONE, value: {}, body: {} },
  { key: [null], value: null, body: { pk: null } },
  { key: [''], value: '', body: { pk: '' } },
  { key: ['null'], value: 'null', body: { pk: 'null' } },
  { key: [0], value: 0, body: { pk: 0 } },
  { key: [1], value: 1, body: { pk: 1 } },
  { key: ['1'], value: '1', body: { pk: '1' } },
  { key: [1.5], value: 1.5, body: { pk: 1.5 } },
  { key: [true], value: true, body: { pk: true } },
  { key: [false], value: false, body: { pk: false } },
  { key: ['true'], value: 'true', body: { pk: 'true' } },
  { key: ['é日本'], value: 'é日本', body: { pk: 'é日本' } },
  { key: ['E\u0301日本'], value: 'E\u0301日本', body: { pk: 'E\u0301日本' } },
];

forEachBackend('identity', (backend) => {
  it('an object or an array as key value -> the item of the missing key, whatever is in it', async () => {
    const { container, wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    expect((await wire.create('{"id":"a","pk":{}}', NONE)).status).toBe(201);
    expect((await wire.create('{"id":"a"}', NONE)).status).toBe(409);
    expect((await wire.upsert('{"id":"a","pk":{"x":1}}', NONE)).status).toBe(200);
    expect((await wire.replace('a', '{"id":"a","pk":[1,{}]}', NONE)).status).toBe(200);
    const bulk = await wire.bulk(rangeId, [
      { operationType: 'Upsert', resourceBody: { id: 'a', pk: [[]] }, partitionKey: opKey({}) },
      { operationType: 'Create', resourceBody: { id: 'b', pk: { y: 2 } }, partitionKey: opKey({}) },
    ]);
    expect(parseJson<{ statusCode: number }[]>(bulk).map(({ statusCode }) => statusCode)).toEqual([200, 201]);
    const batch = await wire.batch(
      [{ operationType: 'Replace', id: 'b', resourceBody: { id: 'b', pk: { y: 3 } } }],
      NONE,
    );
    expect(parseJson<{ statusCode: number }[]>(batch).map(({ statusCode }) => statusCode)).toEqual([200]);
    expect((await container.item('a', {}).read<Doc>()).resource).toMatchObject({ pk: [[]] });
    // A request states a key by its values, and the text of an object is none of them.
    expect((await wire.read('a', [{ x: 1 }])).status).toBe(400);
    expect((await wire.create('{"id":"c","pk":{}}', ['{}'])).status).toBe(400);
    expect((await wire.delete('a', NONE)).status).toBe(204);
  });

  it('one id with several keys -> several items', async () => {
    const { container, wire } = await backend.container();
    for (const [n, { key, body }] of KEYS.entries()) {
      const reply = await wire.create(JSON.stringify({ id: 'same', n, ...body }), key);
      expect(reply.status, JSON.stringify(key)).toBe(201);
    }
    for (const [n, { key, value }] of KEYS.entries()) {
      expect(parseJson<Doc>(await wire.read('same', key)), JSON.stringify(key)).toMatchObject({ n });
      const { resource } = await container.item('same', value).read<Doc>();
      expect(resource, JSON.stringify(key)).toMatchObject({ n });
    }
    const { resources } = await container.items.readAll().fetchAll();
    expect(resources).toHaveLength(KEYS.length);
    expect((await wire.delete('same', [1])).status).toBe(204);
    expect((await wire.read('same', ['1'])).status).toBe(200);
    expect((await wire.read('same', [1])).status).toBe(404);
  });

  it('1, 1.0 and 1e0 -> one number; -0 and 0 too', async () => {
    const { wire } = await backend.container();
    expect((await wire.create('{"id":"n","pk":1}', [1])).status).toBe(201);
    expect((await wire.create('{"id":"n","pk":1.0}', [1])).status).toBe(409);
    expect((await wire.create('{"id":"n","pk":1e0}', [1])).status).toBe(409);
    expect((await wire.create('{"id":"z","pk":-0}', [0])).status).toBe(201);
    expect((await wire.read('z', [0])).status).toBe(200);
    expect((await wire.create('{"id":"z","pk":0}', [0])).status).toBe(409);
  });

  it('another key than the one in the body -> refused', async () => {
    const { container, wire } = await backend.container();
    for (const key of [['b'], [1], [null], NONE]) {
      const reply = await wire.create('{"id":"a","pk":"a"}', key);
      expect(reply.status, JSON.stringify(key)).toBe(400);
      expect(substatusOf(reply), JSON.stringify(key)).toBe(1001);
    }
    await container.items.create({ id: 'a', pk: 'a' });
    const moved = await wire.replace('a', '{"id":"a","pk":"b"}', ['a']);
    expect(moved.status).toBe(400);
  });

  it('hierarchical keys that differ in one level -> different items', async () => {
    const { wire } = await backend.container({
      partitionKey: multiHashKey('/a', '/b'),
    });
    const keyOf = (doc: Doc): Key => [doc['a'] ?? {}, 'b' in doc ? doc['b'] : {}];
    const docs: Doc[] = [
      { id: 'same', a: 'x', b: 'y', n: 0 },
      { id: 'same', a: 'y', b: 'x', n: 1 },
      { id: 'same', a: 'x', b: null, n: 2 },
      { id: 'same', a: 'x', n: 3 },
      { id: 'same', a: 'x', b: 1, n: 4 },
    ];
    await wire.seed(docs, keyOf);
    for (const doc of docs) {
      expect(parseJson<Doc>(await wire.read('same', keyOf(doc)))).toMatchObject({ n: doc['n'] });
    }
    // A prefix names many items, never one.
    expect((await wire.read('same', ['x'])).status).toBe(400);
    expect((await wire.create('{"id":"b","a":"x","b":"y"}', ['x'])).status).toBe(400);
  });
});

forEachBackend('limits', (backend) => {
  it.each([
    ['plain', 'a'],
    ['a space inside', 'a b'],
    ['a percent sign', '100%25'],
    ['beyond ASCII', 'é日本😀'],
    ['quotes and braces', `"{'}`],
    ['1023 bytes', 'i'.repeat(1023)],
  ])('id %s -> accepted', async (_what, id) => {
    const { container, wire } = await backend.container();
    expect((await container.items.create({ id, pk: 'p' })).statusCode).toBe(201);
    expect(parseJson<Doc>(await wire.read(id, ['p'])).id).toBe(id);
    expect((await container.item(id, 'p').read<Doc>()).resource?.id).toBe(id);
    expect((await container.item(id, 'p').delete()).statusCode).toBe(204);
  });

  it.each([
    ['empty', '""'],
    ['a slash', '"a/b"'],
    ['a backslash', '"a\\\\b"'],
    ['a number', '7'],
    ['null', 'null'],
    ['1024 bytes', `"${'i'.repeat(1024)}"`],
    ['1024 bytes in 512 characters', `"${'é'.repeat(512)}"`],
  ])('id %s -> refused', async (_what, id) => {
    const { wire } = await backend.container();
    expect((await wire.create(`{"id":${id},"pk":"p"}`, ['p'])).status).toBe(400);
    expect((await wire.upsert(`{"id":${id},"pk":"p"}`, ['p'])).status).toBe(400);
  });

  it('keys of 2048 bytes (version 2) and 101 bytes (version 1) -> accepted', async () => {
    const v2 = await backend.container();
    const v1 = await backend.container({
      partitionKey: hashKey('/pk', 1),
    });
    const status = async (wire: WireContainer, pk: string): Promise<number> =>
      (await wire.create(JSON.stringify({ id: 'k', pk }), [pk])).status;
    expect(await status(v2.wire, 'k'.repeat(2048))).toBe(201);
    expect(await status(v2.wire, 'k'.repeat(2049))).toBe(400);
    expect(await status(v2.wire, 'é'.repeat(1024))).toBe(201);
    expect(await status(v2.wire, 'é'.repeat(1025))).toBe(400);
    expect(await status(v1.wire, 'k'.repeat(101))).toBe(201);
    // Version 1 distinguishes keys by their first 101 bytes; the same id beyond them is a collision.
    const longer = 'k'.repeat(102);
    const collided = await v1.wire.create(JSON.stringify({ id: 'k', pk: longer }), [longer]);
    expect(refusalOf(collided)).toBe('409/3302');
    // And yet they are two keys: what one holds is neither shown nor deleted under the other.
    expect((await v1.wire.read('k', [longer])).status).toBe(404);
    expect((await v1.wire.delete('k', [longer])).status).toBe(404);
    if (!backend.live) await v1.container.deleteAllItemsForPartitionKey(longer);
    expect((await v1.wire.read('k', ['k'.repeat(101)])).status).toBe(200);
  });

  it('a document of almost 2 MB -> accepted, a larger one -> 413', async () => {
    const { wire } = await backend.container();
    expect((await wire.create(documentOf(2 * MIB - 2048, 'fits', 'p'), ['p'])).status).toBe(201);
    const tooBig = await wire.create(documentOf(2 * MIB + 1, 'bursts', 'p'), ['p']);
    expect(tooBig.status).toBe(413);
    expect(parseJson(tooBig)['message']).toEqual(expect.any(String));
    expect((await wire.read('bursts', ['p'])).status).toBe(404);
    const grown = await wire.replace('fits', documentOf(2 * MIB + 1, 'fits', 'p'), ['p']);
    expect(grown.status).toBe(413);
    expect((await wire.read('fits', ['p'])).status).toBe(200);
  });

  it.skipIf(backend.live)(
    'a logical partition is full -> 403/1014, its neighbour accepts writes',
    async () => {
      await using lab = await backend.freshLab({ settings: { logicalPartitionLimitBytes: 20_000 } });
      const { container } = await lab.container();
      const fill = 'x'.repeat(5000);
      const put = (id: string, pk: string): Promise<unknown> => container.items.create({ id, pk, fill });
      await put('1', 'full');
      await put('2', 'full');
      await put('3', 'full');
      const error = await failure(put('4', 'full'));
      expect(error.code).toBe(403);
      expect(error.substatus).toBe(1014);
      await put('4', 'empty');
      await container.item('1', 'full').delete();
      await put('4', 'full');
    },
  );
});

forEachBackend('refusals', (backend) => {
  it('404, 409 and 412 -> have a session token', async () => {
    const { container, wire } = await backend.container();
    await container.items.create({ id: 'a', pk: 'p' });
    const present = await wire.read('a', ['p']);
    const body = JSON.stringify({ id: 'a', pk: 'p' });
    const refused = [
      await wire.read('b', ['p']),
      await wire.delete('b', ['p']),
      await wire.create(body, ['p']),
      await wire.replace('a', body, ['p'], { 'if-match': '"another"' }),
    ];
    expect(refused.map((reply) => reply.status)).toEqual([404, 404, 409, 412]);
    const token = headerOf(present, 'x-ms-session-token');
    expect(refused.map((reply) => headerOf(reply, 'x-ms-session-token'))).toEqual(refused.map(() => token));
  });
});

forEachBackend('unique keys', (backend) => {
  const uniqueKeyPolicy = { uniqueKeys: [{ paths: ['/email'] }, { paths: ['/a', '/b/c'] }] };

  it('a taken value in the same logical partition -> 409 for every kind of write', async () => {
    const { container } = await backend.container({ uniqueKeyPolicy });
    const doc = (id: string, pk: string, email: unknown, a: number) => ({ id, pk, email, a });
    await container.items.create(doc('1', 'p', 'x', 1));
    expect(await statusOf(container.items.create(doc('2', 'p', 'x', 2)))).toBe(409);
    expect(await statusOf(container.items.create(doc('2', 'q', 'x', 2)))).toBe(201);
    expect(await statusOf(container.items.create(doc('2', 'p', 'X', 2)))).toBe(201);
    expect(await statusOf(container.item('2', 'p').replace(doc('2', 'p', 'x', 2)))).toBe(409);
    const patched = container.item('2', 'p').patch([{ op: 'set', path: '/email', value: 'x' }]);
    expect(await statusOf(patched)).toBe(409);
    expect([409, 449]).toContain(await statusOf(container.items.upsert(doc('3', 'p', 'x', 3))));
    // Its own old value never stands in a document's way.
    expect(await statusOf(container.item('1', 'p').replace(doc('1', 'p', 'x', 1)))).toBe(200);
    await container.item('1', 'p').delete();
    expect(await statusOf(container.items.create(doc('3', 'p', 'x', 3)))).toBe(201);
  });

  it('several paths, nested ones too -> compared together', async () => {
    const { container } = await backend.container({ uniqueKeyPolicy });
    const doc = (id: string, a: unknown, c: unknown) => ({ id, pk: 'p', email: id, a, b: { c } });
    expect(await statusOf(container.items.create(doc('1', 1, 1)))).toBe(201);
    expect(await statusOf(container.items.create(doc('2', 1, 2)))).toBe(201);
    expect(await statusOf(container.items.create(doc('3', '1', 1)))).toBe(201);
    expect(await statusOf(container.items.create(doc('4', 1, 1)))).toBe(409);
  });

  it('a missing value -> counts as null, one per partition', async () => {
    const { container } = await backend.container({
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
    });
    expect(await statusOf(container.items.create({ id: '1', pk: 'p' }))).toBe(201);
    expect(await statusOf(container.items.create({ id: '2', pk: 'p' }))).toBe(409);
    expect(await statusOf(container.items.create({ id: '3', pk: 'p', email: null }))).toBe(409);
    expect(await statusOf(container.items.create({ id: '2', pk: 'q' }))).toBe(201);
  });
});

forEachBackend('time to live', (backend) => {
  it.each(['0', 'null', '"10"', '1.5', '-2', '2147483648'])('ttl %s -> refused', async (ttl) => {
    const { wire } = await backend.container({ defaultTtl: -1 });
    expect((await wire.create(`{"id":"a","pk":"p","ttl":${ttl}}`, ['p'])).status).toBe(400);
  });

  it.skipIf(backend.live)('an expired item -> invisible at once, before the purge', async () => {
    const { container, wire } = await backend.container({ defaultTtl: 60 });
    await wire.seed([
      { id: 'default', pk: 'p' },
      { id: 'short', pk: 'p', ttl: 5 },
      { id: 'never', pk: 'p', ttl: -1 },
      { id: 'long', pk: 'p', ttl: 600 },
    ]);
    const visible = async (): Promise<string[]> => {
      const read: string[] = [];
      for (const id of ['default', 'short', 'never', 'long']) {
        if ((await wire.read(id, ['p'])).status === 200) read.push(id);
      }
      const queried = (await container.items.readAll<Doc>().fetchAll()).resources.map((doc) => doc.id);
      const fed = (await wire.drain({ rangeId: (await wire.onlyRange()).id }, 'beginning')).items.map(
        (doc) => doc.id,
      );
      expect([...queried].sort()).toEqual([...read].sort());
      expect([...fed].sort()).toEqual([...read].sort());
      return read;
    };
    expect(await visible()).toEqual(['default', 'short', 'never', 'long']);
    await backend.admin.clock(10 * SECOND_MS);
    expect(await visible()).toEqual(['default', 'never', 'long']);
    await backend.admin.clock(70 * SECOND_MS);
    expect(await visible()).toEqual(['never', 'long']);
    await backend.admin.purgeExpired(wire.adminPath);
    expect(await visible()).toEqual(['never', 'long']);
  });

  it.skipIf(backend.live)('a write to an expired item -> as if it did not exist', async () => {
    const { container } = await backend.container({ defaultTtl: 5 });
    for (const id of ['a', 'b', 'c', 'd']) await container.items.create({ id, pk: 'p' });
    await backend.admin.clock(20 * SECOND_MS);
    expect((await failure(container.item('a', 'p').delete())).code).toBe(404);
    expect((await failure(container.item('b', 'p').replace({ id: 'b', pk: 'p' }))).code).toBe(404);
    expect((await container.items.upsert({ id: 'c', pk: 'p' })).statusCode).toBe(201);
    expect((await container.items.create({ id: 'd', pk: 'p' })).statusCode).toBe(201);
  });

  it.skipIf(backend.live)('an expired item -> its unique values are free before the purge', async () => {
    const { container } = await backend.container({
      defaultTtl: 5,
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
    });
    await container.items.create({ id: 'a', pk: 'p', email: 'x' });
    expect((await failure(container.items.create({ id: 'b', pk: 'p', email: 'x' }))).code).toBe(409);
    await backend.admin.clock(20 * SECOND_MS);
    expect((await container.items.create({ id: 'b', pk: 'p', email: 'x' })).statusCode).toBe(201);
  });

  it.skipIf(backend.live)('a write -> the lifetime starts again', async () => {
    const { container } = await backend.container({ defaultTtl: 30 });
    await container.items.create({ id: 'a', pk: 'p' });
    await backend.admin.clock(20 * SECOND_MS);
    await container.item('a', 'p').patch([{ op: 'set', path: '/n', value: 1 }]);
    await backend.admin.clock(40 * SECOND_MS);
    expect((await container.item('a', 'p').read()).statusCode).toBe(200);
    await backend.admin.clock(60 * SECOND_MS);
    expect((await container.item('a', 'p').read()).statusCode).toBe(404);
  });

  it.skipIf(backend.live)("no TTL on the container -> the item's ttl has no effect", async () => {
    const { container } = await backend.container();
    await container.items.create({ id: 'a', pk: 'p', ttl: 1 });
    await backend.admin.clock(100 * SECOND_MS);
    await backend.admin.purgeExpired(`${backend.lab.databaseId}/${container.id}`);
    expect((await container.item('a', 'p').read()).statusCode).toBe(200);
  });

  it.skipIf(backend.live)('TTL switched off before the purge -> expired items reappear', async () => {
    const { container } = await backend.container({ defaultTtl: 5 });
    await container.items.create({ id: 'a', pk: 'p' });
    await backend.admin.clock(20 * SECOND_MS);
    expect((await container.item('a', 'p').read()).statusCode).toBe(404);
    const { resource } = await container.read();
    const partitionKey = resource?.partitionKey as PartitionKeyDefinition;
    await container.replace({ id: container.id, partitionKey });
    expect((await container.item('a', 'p').read()).statusCode).toBe(200);
  });

  it.skipIf(backend.live)('TTL switched off after the purge -> the item stays deleted', async () => {
    const { container, wire } = await backend.container({ defaultTtl: 5 });
    await container.items.create({ id: 'a', pk: 'p' });
    await backend.admin.clock(20 * SECOND_MS);
    await backend.admin.purgeExpired(wire.adminPath);
    const { resource } = await container.read();
    const partitionKey = resource?.partitionKey as PartitionKeyDefinition;
    await container.replace({ id: container.id, partitionKey });
    expect((await container.item('a', 'p').read()).statusCode).toBe(404);
  });
});

forEachBackend('point reads', (backend) => {
  it('an unknown container or database -> named in the 404', async () => {
    const { raw } = backend;
    const key = { headers: { 'x-ms-documentdb-partitionkey': '["p"]' } };
    const database = `/dbs/${backend.lab.databaseId}`;
    const noContainer = await raw.send('GET', `${database}/colls/nowhere/docs/a`, key);
    const noDatabase = await raw.send('GET', '/dbs/nowhere/colls/c/docs/a', key);
    for (const reply of [noContainer, noDatabase]) {
      expect(reply.status).toBe(404);
      expect(parseJson(reply)['message']).toEqual(expect.any(String));
      expect(headerOf(reply, 'x-ms-activity-id')).not.toBe('');
    }
  });

  it('no key -> 400', async () => {
    const { container, wire } = await backend.container();
    await container.items.create({ id: 'a', pk: 'p' });
    expect((await backend.raw.send('GET', wire.itemPath('a'))).status).toBe(400);
  });
});
