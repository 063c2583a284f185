/** Many operations in one request: all or nothing within a key, each for itself within a range. */
import type { OperationInput } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { failure } from '../helpers/emulator/failure.ts';
import { chargeOf, parseJson, type Reply, substatusOf } from '../helpers/emulator/raw.ts';
import { type Doc, type Operation, type OperationResult, opKey } from '../helpers/emulator/wire-container.ts';
import { forEachBackend } from './backend.ts';
import { multiHashKey } from '../helpers/emulator/key-definitions.ts';

const MIB = 1024 * 1024;

function resultsOf(reply: Reply): OperationResult[] {
  return parseJson<OperationResult[]>(reply);
}

function statuses(results: readonly { statusCode: number }[]): number[] {
  return results.map((result) => result.statusCode);
}

forEachBackend('transactional batch', (backend) => {
  it('several operations -> done in order, each sees the ones before', async () => {
    const { container } = await backend.container();
    await container.items.create({ id: 'old', pk: 'p', n: 1 });
    await container.items.create({ id: 'doomed', pk: 'p' });
    const { code, result } = await container.items.batch(
      [
        { operationType: 'Create', resourceBody: { id: 'new', pk: 'p', n: 1 } },
        { operationType: 'Upsert', resourceBody: { id: 'old', pk: 'p', n: 2 } },
        { operationType: 'Upsert', resourceBody: { id: 'ups', pk: 'p' } },
        { operationType: 'Replace', id: 'new', resourceBody: { id: 'new', pk: 'p', n: 2 } },
        {
          operationType: 'Patch',
          id: 'old',
          resourceBody: { operations: [{ op: 'incr', path: '/n', value: 5 }] },
        },
        { operationType: 'Read', id: 'old' },
        { operationType: 'Delete', id: 'doomed' },
      ],
      'p',
    );
    expect(code).toBe(200);
    expect(statuses(result ?? [])).toEqual([201, 200, 201, 200, 200, 200, 204]);
    expect(result?.[5]?.resourceBody).toMatchObject({ id: 'old', n: 7 });
    for (const each of result ?? []) expect(each.requestCharge).toBeGreaterThan(0);
    expect(result?.[0]?.eTag).toMatch(/^".+"$/);
    expect((await container.item('new', 'p').read<Doc>()).resource).toMatchObject({ n: 2 });
    expect((await container.item('doomed', 'p').read()).statusCode).toBe(404);
  });

  it('one operation fails -> nothing is written, its own status, 424 for the others', async () => {
    const { container } = await backend.container();
    await container.items.create({ id: 'there', pk: 'p', n: 1 });
    const { code, result } = await container.items.batch(
      [
        { operationType: 'Create', resourceBody: { id: 'new', pk: 'p' } },
        { operationType: 'Upsert', resourceBody: { id: 'there', pk: 'p', n: 2 } },
        { operationType: 'Create', resourceBody: { id: 'there', pk: 'p' } },
        { operationType: 'Delete', id: 'there' },
      ],
      'p',
    );
    expect(code).toBe(207);
    expect(statuses(result ?? [])).toEqual([424, 424, 409, 424]);
    expect((await container.item('new', 'p').read()).statusCode).toBe(404);
    expect((await container.item('there', 'p').read<Doc>()).resource).toMatchObject({ n: 1 });
  });

  it.each([
    {
      what: 'a missing item',
      op: { operationType: 'Replace', id: 'ghost', resourceBody: { id: 'ghost', pk: 'p' } },
      status: 404,
    },
    { what: 'a missing read', op: { operationType: 'Read', id: 'ghost' }, status: 404 },
    {
      what: 'a stale etag',
      op: {
        operationType: 'Replace',
        id: 'there',
        resourceBody: { id: 'there', pk: 'p' },
        ifMatch: '"stale"',
      },
      status: 412,
    },
    { what: 'a bad id', op: { operationType: 'Create', resourceBody: { id: '', pk: 'p' } }, status: 400 },
    {
      what: 'a body of another key',
      op: { operationType: 'Create', resourceBody: { id: 'x', pk: 'q' } },
      status: 400,
    },
  ] as { what: string; op: Operation; status: number }[])('is stopped by $what', async ({ op, status }) => {
    const { wire } = await backend.container();
    await wire.seed([{ id: 'there', pk: 'p' }]);
    const reply = await wire.batch(
      [{ operationType: 'Create', resourceBody: { id: 'first', pk: 'p' } }, op],
      ['p'],
    );
    // What is wrong with the request as such may be refused as a whole.
    const outcome = reply.status === 207 ? statuses(resultsOf(reply)) : [424, reply.status];
    expect(outcome).toEqual([424, status]);
    expect((await wire.read('first', ['p'])).status).toBe(404);
  });

  it('read from the feed -> one transaction', async () => {
    const { container, wire } = await backend.container();
    await container.items.batch(
      [1, 2, 3, 4].map((n) => ({ operationType: 'Create' as const, resourceBody: { id: `d${n}`, pk: 'p' } })),
      'p',
    );
    const { items } = await wire.drain({ rangeId: (await wire.onlyRange()).id }, 'beginning');
    expect(items).toHaveLength(4);
    expect(new Set(items.map((doc) => doc._lsn)).size).toBe(1);
    expect(new Set(items.map((doc) => doc._ts)).size).toBe(1);
  });

  it('100 operations -> accepted, 101 -> refused', async () => {
    const { wire } = await backend.container();
    const ops = (count: number): Operation[] =>
      Array.from({ length: count }, (_, n) => ({
        operationType: 'Upsert',
        resourceBody: { id: `d${n}`, pk: 'p' },
      }));
    expect((await wire.batch(ops(101), ['p'])).status).toBe(400);
    const reply = await wire.batch(ops(100), ['p']);
    expect(reply.status).toBe(200);
    expect(resultsOf(reply)).toHaveLength(100);
  });

  it('2 MB -> accepted, more -> refused', async () => {
    const { wire } = await backend.container();
    const fill = 'x'.repeat(MIB);
    const ops = [1, 2].map((n) => ({
      operationType: 'Create' as const,
      resourceBody: { id: `d${n}`, pk: 'p', fill },
    }));
    const reply = await wire.batch(ops, ['p']);
    expect(reply.status).toBe(413);
    expect(parseJson(reply)['message']).toEqual(expect.any(String));
    expect((await wire.read('d1', ['p'])).status).toBe(404);
  });

  it('prefer minimal -> no bodies in the reply', async () => {
    const { container } = await backend.container();
    const { code, result } = await container.items.batch(
      [
        { operationType: 'Create', resourceBody: { id: 'a', pk: 'p' } },
        { operationType: 'Upsert', resourceBody: { id: 'b', pk: 'p' } },
      ],
      'p',
      { contentResponseOnWriteEnabled: false },
    );
    expect(code).toBe(200);
    for (const each of result ?? []) {
      expect(each.resourceBody ?? undefined).toBeUndefined();
      expect(each.eTag).toMatch(/^".+"$/);
    }
  });

  it('missing, null and hierarchical keys -> accepted', async () => {
    const { container, wire } = await backend.container();
    const create = (body: Record<string, unknown>): Operation => ({
      operationType: 'Create',
      resourceBody: body,
    });
    expect((await wire.batch([create({ id: 'a' }), create({ id: 'b' })], [{}])).status).toBe(200);
    expect((await wire.batch([create({ id: 'a', pk: null })], [null])).status).toBe(200);
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(3);
    const levels = await backend.container({
      partitionKey: multiHashKey('/a', '/b'),
    });
    const { code } = await levels.container.items.batch(
      [{ operationType: 'Create', resourceBody: { id: 'a', a: 'x', b: 1 } }],
      ['x', 1],
    );
    expect(code).toBe(200);
  });
});

forEachBackend('bulk', (backend) => {
  it('several operations -> one result each, in order', async () => {
    const { container, wire } = await backend.container();
    const there = (await container.items.create({ id: 'there', pk: 'p', n: 1 })).resource;
    await container.items.create({ id: 'doomed', pk: 'p' });
    const { id: rangeId } = await wire.onlyRange();
    const at = { partitionKey: opKey('p') };
    const ops: [Operation, number][] = [
      [{ operationType: 'Create', resourceBody: { id: 'new', pk: 'p' }, ...at }, 201],
      [{ operationType: 'Create', resourceBody: { id: 'there', pk: 'p' }, ...at }, 409],
      [{ operationType: 'Upsert', resourceBody: { id: 'new', pk: 'p', n: 2 }, ...at }, 200],
      [{ operationType: 'Upsert', resourceBody: { id: 'new2', pk: 'p' }, ...at }, 201],
      [{ operationType: 'Replace', id: 'ghost', resourceBody: { id: 'ghost', pk: 'p' }, ...at }, 404],
      [
        {
          operationType: 'Replace',
          id: 'there',
          resourceBody: { id: 'there', pk: 'p' },
          ifMatch: '"stale"',
          ...at,
        },
        412,
      ],
      [{ operationType: 'Delete', id: 'doomed', ifMatch: '"stale"', ...at }, 412],
      [{ operationType: 'Delete', id: 'doomed', ...at }, 204],
      [{ operationType: 'Delete', id: 'doomed', ...at }, 404],
      [{ operationType: 'Read', id: 'there', ...at }, 200],
      [{ operationType: 'Read', id: 'ghost', ...at }, 404],
      [{ operationType: 'Read', id: 'there', ifNoneMatch: there?._etag ?? '', ...at }, 304],
      [
        {
          operationType: 'Patch',
          id: 'there',
          resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] },
          ...at,
        },
        200,
      ],
      [{ operationType: 'Patch', id: 'there', resourceBody: [{ op: 'remove', path: '/none' }], ...at }, 400],
      [{ operationType: 'Create', resourceBody: { id: '', pk: 'p' }, ...at }, 400],
      [{ operationType: 'Create', resourceBody: { id: 'other', pk: 'q' }, ...at }, 400],
    ];
    const reply = await wire.bulk(
      rangeId,
      ops.map(([op]) => op),
    );
    expect(reply.status).toBe(207);
    const results = resultsOf(reply);
    expect(statuses(results)).toEqual(ops.map(([, status]) => status));
    expect(results[0]?.eTag).toMatch(/^".+"$/);
    expect(results[0]?.resourceBody).toMatchObject({ id: 'new', pk: 'p', _etag: results[0]?.eTag });
    expect(results[9]?.resourceBody).toMatchObject({ id: 'there', n: 1 });
    for (const result of results) expect(result.requestCharge).toBeTypeOf('number');
    const sum = results.reduce((total, result) => total + result.requestCharge, 0);
    expect(Math.abs(sum - chargeOf(reply))).toBeLessThan(1);
  });

  it('all operations succeed -> 200', async () => {
    const { wire } = await backend.container();
    const op: Operation = {
      operationType: 'Upsert',
      resourceBody: { id: 'a', pk: 'p' },
      partitionKey: opKey('p'),
    };
    const reply = await wire.bulk((await wire.onlyRange()).id, [op, op, op]);
    expect(reply.status).toBe(200);
    expect(statuses(resultsOf(reply))).toEqual([201, 200, 200]);
  });

  it('the SDK over several ranges -> results in the order of the input', async () => {
    const { container, wire } = backend.live ? await backend.container() : await backend.splitContainer(3);
    const operations: OperationInput[] = Array.from({ length: 90 }, (_, n) => ({
      operationType: 'Create',
      resourceBody: { id: `d${n}`, pk: `k${n}` },
    }));
    const results = await container.items.bulk(operations);
    expect(results.map((result) => result.resourceBody?.['id'])).toEqual(
      Array.from({ length: 90 }, (_, n) => `d${n}`),
    );
    for (const range of backend.live ? [] : await wire.ranges()) {
      const { items } = await wire.drain({ rangeId: range.id }, 'beginning');
      expect(items.length).toBeGreaterThan(0);
    }
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(90);
  });

  it('continue-on-error is off -> stops at the first failure, 424 for the rest', async () => {
    const { container, wire } = await backend.container();
    await container.items.create({ id: 'there', pk: 'p' });
    const create = (id: string): Operation => ({
      operationType: 'Create',
      resourceBody: { id, pk: 'p' },
      partitionKey: opKey('p'),
    });
    const reply = await wire.bulk(
      (await wire.onlyRange()).id,
      [create('a'), create('there'), create('b'), create('c')],
      {
        'x-ms-cosmos-batch-continue-on-error': 'false',
      },
    );
    expect(reply.status).toBe(207);
    expect(statuses(resultsOf(reply))).toEqual([201, 409, 424, 424]);
    expect((await container.item('a', 'p').read()).statusCode).toBe(200);
    expect((await container.item('b', 'p').read()).statusCode).toBe(404);
  });

  it('prefer minimal -> no bodies except those of reads', async () => {
    const { wire } = await backend.container();
    const at = { partitionKey: opKey('p') };
    const reply = await wire.bulk(
      (await wire.onlyRange()).id,
      [
        { operationType: 'Create', resourceBody: { id: 'a', pk: 'p' }, ...at },
        { operationType: 'Upsert', resourceBody: { id: 'a', pk: 'p' }, ...at },
        { operationType: 'Read', id: 'a', ...at },
      ],
      { prefer: 'return=minimal' },
    );
    const [created, upserted, read] = resultsOf(reply);
    expect(created?.resourceBody ?? undefined).toBeUndefined();
    expect(upserted?.resourceBody ?? undefined).toBeUndefined();
    expect(created?.eTag).toMatch(/^".+"$/);
    expect(read?.resourceBody).toMatchObject({ id: 'a' });
  });

  it('keys of every kind -> accepted', async () => {
    const { container } = await backend.container();
    const bodies: Record<string, unknown>[] = [
      { id: 'a' },
      { id: 'a', pk: null },
      { id: 'a', pk: 0 },
      { id: 'a', pk: '' },
      { id: 'a', pk: false },
      { id: 'a', pk: '0' },
    ];
    const operations = bodies.map(
      (resourceBody) => ({ operationType: 'Create', resourceBody }) as OperationInput,
    );
    expect(statuses(await container.items.bulk(operations))).toEqual(bodies.map(() => 201));
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(bodies.length);
  });

  it('ids that no URL can contain -> reachable', async () => {
    const { wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    const ids = ['a?b', 'a#b', 'a%2Fb', ' lead', 'ünï😀', '..', '.'];
    const at = { partitionKey: opKey('p') };
    const created = await wire.bulk(
      rangeId,
      ids.map((id) => ({ operationType: 'Create', resourceBody: { id, pk: 'p' }, ...at })),
    );
    expect(statuses(resultsOf(created))).toEqual(ids.map(() => 201));
    const read = await wire.bulk(
      rangeId,
      ids.map((id) => ({ operationType: 'Read', id, ...at })),
    );
    expect(resultsOf(read).map((result) => result.resourceBody?.id)).toEqual(ids);
    const deleted = await wire.bulk(
      rangeId,
      ids.map((id) => ({ operationType: 'Delete', id, ...at })),
    );
    expect(statuses(resultsOf(deleted))).toEqual(ids.map(() => 204));
  });

  it('one request -> one LSN', async () => {
    const { wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    const ops = [1, 2, 3].map((n): Operation => ({
      operationType: 'Create',
      resourceBody: { id: `d${n}`, pk: `k${n}` },
      partitionKey: opKey(`k${n}`),
    }));
    await wire.bulk(rangeId, ops);
    const { items } = await wire.drain({ rangeId }, 'beginning');
    expect(items).toHaveLength(3);
    expect(new Set(items.map((doc) => doc._lsn)).size).toBe(1);
  });

  it('more than 2 MB -> refused as a whole', async () => {
    const { container, wire } = await backend.container();
    const fill = 'x'.repeat(700_000);
    const ops = [1, 2, 3, 4].map((n): Operation => ({
      operationType: 'Create',
      resourceBody: { id: `d${n}`, pk: 'p', fill },
      partitionKey: opKey('p'),
    }));
    const reply = await wire.bulk((await wire.onlyRange()).id, ops);
    expect(reply.status).toBe(413);
    expect((await container.items.readAll().fetchAll()).resources).toEqual([]);
  });

  it('a read that does not fit into the reply -> 413/3402', async () => {
    const { wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    const fill = 'x'.repeat(1_800_000);
    const ids = ['a', 'b', 'c'];
    await wire.seed(ids.map((id) => ({ id, pk: 'p', fill })));
    const reply = await wire.bulk(
      rangeId,
      ids.map((id) => ({ operationType: 'Read', id, partitionKey: opKey('p') })),
    );
    const results = resultsOf(reply);
    expect(results[0]?.statusCode).toBe(200);
    expect(results.at(-1)).toMatchObject({ statusCode: 413, subStatusCode: 3402 });
  });

  it('an unknown range -> 410/1002', async () => {
    const { wire } = await backend.container();
    const op: Operation = {
      operationType: 'Create',
      resourceBody: { id: 'a', pk: 'p' },
      partitionKey: opKey('p'),
    };
    const reply = await wire.bulk('12345', [op]);
    expect(reply.status).toBe(410);
    expect(substatusOf(reply)).toBe(1002);
    expect(parseJson(reply)['message']).toEqual(expect.any(String));
  });

  it.skipIf(backend.live)('a key of another range -> not stored', async () => {
    const { container, wire } = await backend.splitContainer(2);
    const ranges = await wire.ranges();
    const op: Operation = {
      operationType: 'Create',
      resourceBody: { id: 'a', pk: 'p' },
      partitionKey: opKey('p'),
    };
    const replies = await Promise.all(ranges.map((range) => wire.bulk(range.id, [op])));
    const succeeded = replies.filter((reply) => reply.status === 200);
    expect(succeeded).toHaveLength(1);
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(1);
    expect((await container.item('a', 'p').read()).statusCode).toBe(200);
  });

  it.each([
    ['no array', '{"operationType":"Create"}'],
    ['no JSON', '[{"operationType":'],
    ['an empty array', '[]'],
  ])('%s -> 400', async (_what, body) => {
    const { wire } = await backend.container();
    const reply = await wire.bulk((await wire.onlyRange()).id, body);
    expect(reply.status).toBe(400);
    expect(parseJson(reply)['message']).toEqual(expect.any(String));
  });

  it.each([
    ['an unknown verb', '{"operationType":"Explode","id":"a","partitionKey":"[\\"p\\"]"}'],
    ['a null', 'null'],
    ['no body', '{"operationType":"Create","partitionKey":"[\\"p\\"]"}'],
    ['a body that is text', '{"operationType":"Create","resourceBody":"x","partitionKey":"[\\"p\\"]"}'],
    ['no key', '{"operationType":"Read","id":"a"}'],
    ['a key that is not JSON', '{"operationType":"Read","id":"a","partitionKey":"p"}'],
    ['a key of an object', '{"operationType":"Read","id":"a","partitionKey":"[{\\"x\\":1}]"}'],
    ['no id', '{"operationType":"Delete","partitionKey":"[\\"p\\"]"}'],
  ])('%s -> 400 for the request or for that operation', async (_what, op) => {
    const { container, wire } = await backend.container();
    const good =
      '{"operationType":"Create","resourceBody":{"id":"good","pk":"p"},"partitionKey":"[\\"p\\"]"}';
    const reply = await wire.bulk((await wire.onlyRange()).id, `[${op},${good}]`);
    const status = reply.status === 207 ? resultsOf(reply)[0]?.statusCode : reply.status;
    expect(status).toBe(400);
    expect((await container.item('good', 'p').read()).statusCode).toBe(reply.status === 207 ? 200 : 404);
  });

  it('the SDK with more than 100 operations of one range -> throws', async () => {
    const { container } = await backend.container();
    const operations: OperationInput[] = Array.from({ length: 101 }, (_, n) => ({
      operationType: 'Create',
      resourceBody: { id: `d${n}`, pk: 'p' },
    }));
    expect((await failure(container.items.bulk(operations))).message).toContain('100');
  });
});
