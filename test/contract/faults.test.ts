/** Faults on request: each rule has exactly its effect, as often as it says, on the requests that it matches. */
// A second argument names the case of a table that has failed.
// oxlint-disable vitest/valid-expect
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { FaultEffect, FaultOp, FaultRule } from '../helpers/emulator/admin.ts';
import { failure } from '../helpers/emulator/failure.ts';
import { type ErrorBody, headerOf, parseJson, type Reply, substatusOf } from '../helpers/emulator/raw.ts';
import { until, within } from '../helpers/wait.ts';
import {
  type Doc,
  type Operation,
  type OperationResult,
  opKey,
  type WireContainer,
} from '../helpers/emulator/wire-container.ts';
import { forEachEmulator } from './backend.ts';

function rule(op: FaultOp, effect: FaultEffect, more: Partial<FaultRule> = {}): FaultRule {
  return { match: { op }, effect, ...more };
}

const BODY = '{"id":"a","pk":"p"}';
const AT = ['p'];

forEachEmulator('faults', (backend) => {
  const strike = (...rules: FaultRule[]): Promise<void> => backend.admin.faults(rules);

  it('a rule for one operation -> applies to that operation only', async () => {
    const { container, wire } = await backend.container();
    await wire.seed([{ id: 'a', pk: 'p' }]);
    const { id: rangeId } = await wire.onlyRange();
    const { raw } = backend;
    const upsertOp: Operation = {
      operationType: 'Upsert',
      resourceBody: { id: 'u', pk: 'p' },
      partitionKey: opKey('p'),
    };
    const operations: [FaultOp, () => Promise<Reply>][] = [
      ['account', () => raw.send('GET', '/')],
      ['container', () => raw.send('GET', wire.path)],
      ['pkranges', () => raw.send('GET', `${wire.path}/pkranges`)],
      ['read', () => wire.read('a', AT)],
      ['query', () => wire.query('SELECT * FROM c')],
      ['read-feed', () => wire.readFeed({ rangeId }, 'beginning')],
      ['upsert', () => wire.upsert(BODY, AT)],
      ['replace', () => wire.replace('a', BODY, AT)],
      ['patch', () => wire.patch('a', '[{"op":"set","path":"/n","value":1}]', AT)],
      ['batch', () => wire.bulk(rangeId, [upsertOp])],
      ['delete', () => wire.delete('a', AT)],
      ['create', () => wire.create(BODY, AT)],
    ];
    for (const [op, work] of operations) {
      await strike(rule(op, { status: 503, substatus: 21001, message: 'no luck today' }));
      const reply = await work();
      expect(reply.status, op).toBe(503);
      expect(substatusOf(reply), op).toBe(21001);
      expect(parseJson<ErrorBody>(reply).message, op).toContain('no luck today');
      // Another kind is left alone.
      const other = op === 'account' ? raw.send('GET', '/dbs') : raw.send('GET', '/');
      expect((await other).status, op).toBe(200);
      await backend.admin.clearFaults();
      expect((await work()).status, op).toBeLessThan(300);
    }
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(2);
  });

  it.each([
    [400, 0],
    [403, 3],
    [403, 1008],
    [404, 1002],
    [408, 0],
    [410, 1000],
    [410, 1002],
    [410, 1007],
    [410, 1008],
    [412, 0],
    [429, 3200],
    [449, 0],
    [500, 0],
    [503, 21001],
  ])('status %i/%i -> the reply, and an unchanged document', async (status, substatus) => {
    const { wire } = await backend.container();
    await strike(rule('create', { status, substatus, retryAfterMs: 17 }, { times: 1 }));
    const reply = await wire.create(BODY, AT);
    expect(reply.status).toBe(status);
    expect(substatusOf(reply)).toBe(substatus);
    expect(headerOf(reply, 'x-ms-retry-after-ms')).toBe('17');
    expect(parseJson(reply)).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    expect((await wire.read('a', AT)).status).toBe(404);
    expect((await wire.create(BODY, AT)).status).toBe(201);
  });

  const outcomes = async (wire: WireContainer, count: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n += 1) statuses.push((await wire.read('none', AT)).status);
    return statuses;
  };

  it('times, every, probability -> the rule applies that often', async () => {
    const { wire } = await backend.container();
    await strike(rule('read', { status: 500 }, { times: 2 }));
    expect(await outcomes(wire, 4)).toEqual([500, 500, 404, 404]);
    await strike(rule('read', { status: 500 }, { every: 3 }));
    const regular = await outcomes(wire, 9);
    expect(regular.filter((status) => status === 500)).toHaveLength(3);
    const hits = regular.flatMap((status, n) => (status === 500 ? [n] : []));
    expect(hits.map((hit) => hit - (hits[0] ?? 0))).toEqual([0, 3, 6]);

    const chance = async (seed: number): Promise<number[]> => {
      await backend.admin.faults([rule('read', { status: 500 }, { probability: 0.5 })], seed);
      return outcomes(wire, 40);
    };
    const once = await chance(7);
    expect(await chance(7)).toEqual(once);
    expect(await chance(8)).not.toEqual(once);
    const struck = once.filter((status) => status === 500).length;
    expect(struck).toBeGreaterThan(5);
    expect(struck).toBeLessThan(35);
  });

  it('a rule for one container or range -> the others are not affected', async () => {
    const here = await backend.splitContainer(2);
    const there = await backend.container();
    const [bad, good] = await here.wire.ranges();
    const down = {
      match: { op: 'read-feed', coll: here.wire.id, rangeId: bad?.id ?? '' },
      effect: { status: 503 },
    } as const;
    await strike(down);
    expect((await here.wire.readFeed({ rangeId: bad?.id }, 'beginning')).status).toBe(503);
    expect((await here.wire.readFeed({ rangeId: good?.id }, 'beginning')).status).toBe(304);
    await strike({
      match: { op: 'read', db: backend.lab.databaseId, coll: here.wire.id },
      effect: { status: 500 },
    });
    expect((await here.wire.read('x', AT)).status).toBe(500);
    expect((await there.wire.read('x', AT)).status).toBe(404);
    await strike({ match: { op: 'read', db: 'elsewhere' }, effect: { status: 500 } });
    expect((await here.wire.read('x', AT)).status).toBe(404);
  });

  it('a rule for one range -> refuses every kind of write there', async () => {
    const { wire } = await backend.splitContainer(2);
    const names = Array.from({ length: 12 }, (_, n) => `k${n}`);
    await wire.seed(names.map((id) => ({ id, pk: id })));
    const [bad] = await wire.ranges();
    const badKeys = (await wire.drain({ rangeId: bad?.id }, 'beginning')).items.map((doc) => doc.id);
    await strike({ match: { op: 'upsert', rangeId: bad?.id ?? '' }, effect: { status: 503 } });
    for (const name of names) {
      const { status } = await wire.upsert(JSON.stringify({ id: name, pk: name }), [name]);
      expect(status, name).toBe(badKeys.includes(name) ? 503 : 200);
    }
  });

  it('reset before or after -> the write is lost or applied', async () => {
    const { wire } = await backend.container();
    await strike(rule('create', { reset: 'before' }, { times: 1 }));
    expect((await failure(wire.create(BODY, AT))).code).toMatch(/ECONNRESET|UND_ERR_SOCKET|EPIPE/);
    expect((await wire.read('a', AT)).status).toBe(404);
    await strike(rule('create', { reset: 'after' }, { times: 1 }));
    expect((await failure(wire.create(BODY, AT))).code).toMatch(/ECONNRESET|UND_ERR_SOCKET|EPIPE/);
    expect((await wire.read('a', AT)).status).toBe(200);
    const { items } = await wire.drain({ rangeId: (await wire.onlyRange()).id }, 'beginning');
    expect(items).toHaveLength(1);
  });

  it('delayAt after -> the write is applied before its reply', async () => {
    const { wire } = await backend.container();
    await strike(rule('create', { delayMs: 400, delayAt: 'after' }, { times: 1 }));
    let answered = false;
    const answer = wire.create(BODY, AT).finally(() => {
      answered = true;
    });
    await until(async () => (await wire.read('a', AT)).status === 200, { what: 'the write' });
    expect(answered).toBe(false);
    expect((await answer).status).toBe(201);
  });

  it('delayAt before -> the write is applied although its client has left', async () => {
    const { wire } = await backend.container();
    await strike(rule('create', { delayMs: 800, delayAt: 'before' }, { times: 1 }));
    const stop = new AbortController();
    const abandoned = backend.raw.send('POST', `${wire.path}/docs`, {
      body: BODY,
      headers: { 'x-ms-documentdb-partitionkey': '["p"]' },
      signal: stop.signal,
    });
    const outcome = failure(abandoned);
    // Late enough for the request to have arrived, early enough for it not to be applied.
    await delay(150);
    expect((await wire.read('a', AT)).status).toBe(404);
    stop.abort();
    expect((await outcome).name).toBe('AbortError');
    await until(async () => (await wire.read('a', AT)).status === 200, { what: 'the late write' });
  });

  it('hang before or after -> no reply, the write is lost or applied', async () => {
    const { wire } = await backend.container();
    for (const [hang, status] of [
      ['before', 404],
      ['after', 200],
    ] as const) {
      await strike(rule('create', { hang }, { times: 1 }));
      const error = await failure(
        backend.raw.send('POST', `${wire.path}/docs`, {
          body: BODY,
          headers: { 'x-ms-documentdb-partitionkey': '["p"]' },
          signal: AbortSignal.timeout(300),
        }),
      );
      expect(error.name, hang).toMatch(/TimeoutError|AbortError/);
      expect((await wire.read('a', AT)).status, hang).toBe(status);
    }
  });

  it('requests hang -> the emulator closes', async () => {
    const lab = await backend.freshLab();
    const { wire } = await lab.container();
    await lab.admin.faults([
      rule('read', { hang: 'before' }),
      rule('create', { delayMs: 60_000, delayAt: 'before' }),
    ]);
    const hanging = [failure(wire.read('a', AT)), failure(wire.create(BODY, AT))];
    await delay(100);
    await within(lab[Symbol.asyncDispose](), 30_000, 'closing with hanging requests');
    expect(await Promise.all(hanging)).toHaveLength(2);
  });

  it('body -> the reply is empty, HTML or truncated', async () => {
    const { wire } = await backend.container();
    await wire.seed([{ id: 'a', pk: 'p', fill: 'x'.repeat(200) }]);
    await strike(rule('read', { status: 503, body: 'empty' }, { times: 1 }));
    const empty = await wire.read('a', AT);
    expect([empty.status, empty.text]).toEqual([503, '']);
    await strike(rule('read', { status: 502, body: 'html' }, { times: 1 }));
    const html = await wire.read('a', AT);
    expect(html.status).toBe(502);
    expect(html.text).toMatch(/<html/i);
    await strike(rule('read', { body: 'html' }, { times: 1 }));
    const fine = await wire.read('a', AT);
    expect(fine.status).toBe(200);
    expect(fine.text).toMatch(/<html/i);
    await strike(rule('read', { body: 'truncated' }, { times: 1 }));
    const cut = await wire.read('a', AT).then(
      (reply) => reply.text,
      () => '{',
    );
    expect(() => {
      JSON.parse(cut);
    }).toThrow();
    // A write with a spoiled answer is applied all the same.
    await strike(rule('upsert', { body: 'empty' }, { times: 1 }));
    await wire.upsert('{"id":"b","pk":"p"}', AT);
    expect((await wire.read('b', AT)).status).toBe(200);
  });

  it('dateOffMs -> the date of the reply is off by that much', async () => {
    const { wire } = await backend.container();
    const scope = { rangeId: (await wire.onlyRange()).id };
    const offMs = 86_400_000;
    await strike(rule('read-feed', { dateOffMs: offMs }, { times: 1 }));
    const [wrong, right] = [await wire.readFeed(scope, 'now'), await wire.readFeed(scope, 'now')].map(
      ({ headers }) => Date.parse(headers['date'] ?? ''),
    );
    expect(Math.abs((wrong ?? 0) - (right ?? 0) - offMs)).toBeLessThan(60_000);
  });

  it('dropHeaders -> the reply lacks them', async () => {
    const { wire } = await backend.container();
    const scope = { rangeId: (await wire.onlyRange()).id };
    await strike(rule('read-feed', { dropHeaders: ['etag'] }, { times: 1 }));
    const bare = await wire.readFeed(scope, 'beginning');
    expect(bare.status).toBe(304);
    expect(bare.headers.etag).toBeUndefined();
    expect((await wire.readFeed(scope, 'beginning')).headers.etag).toBeDefined();
  });

  it('pkranges -> an incomplete or stale list of ranges', async () => {
    const { wire } = await backend.container();
    const before = await wire.ranges();
    await backend.admin.split(wire.adminPath);
    const after = await wire.ranges();
    await strike(rule('pkranges', { pkranges: 'stale' }, { times: 1 }));
    expect((await wire.ranges()).map((range) => range.id)).toEqual(before.map((range) => range.id));
    await strike(rule('pkranges', { pkranges: 'incomplete' }, { times: 1 }));
    expect((await wire.ranges()).length).toBeLessThan(after.length);
    expect(await wire.ranges()).toEqual(after);
  });

  it('a bulk request -> the rule applies to single operations', async () => {
    const { container, wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    await wire.seed([{ id: 'old', pk: 'p' }]);
    const at = { partitionKey: opKey('p') };
    const ops: Operation[] = [
      { operationType: 'Create', resourceBody: { id: 'c1', pk: 'p' }, ...at },
      { operationType: 'Upsert', resourceBody: { id: 'u1', pk: 'p' }, ...at },
      { operationType: 'Create', resourceBody: { id: 'c2', pk: 'p' }, ...at },
      { operationType: 'Replace', id: 'old', resourceBody: { id: 'old', pk: 'p' }, ...at },
      { operationType: 'Read', id: 'old', ...at },
    ];
    await strike(rule('create', { status: 429, substatus: 3200, retryAfterMs: 33 }, { times: 1 }));
    const reply = await wire.bulk(rangeId, ops);
    expect(reply.status).toBe(207);
    const results = parseJson<OperationResult[]>(reply);
    expect(results.map((result) => result.statusCode)).toEqual([429, 201, 201, 200, 200]);
    expect(results[0]).toMatchObject({ subStatusCode: 3200, retryAfterMilliseconds: 33 });
    expect((await container.item('c1', 'p').read()).statusCode).toBe(404);

    await strike(rule('replace', { status: 449 }), rule('read', { status: 410, substatus: 1002 }));
    const again = parseJson<OperationResult[]>(await wire.bulk(rangeId, ops.slice(1)));
    expect(again.map((result) => result.statusCode)).toEqual([200, 409, 449, 410]);
    expect(again[3]?.subStatusCode).toBe(1002);

    await strike(rule('delete', { status: 503 }), rule('patch', { status: 408 }));
    const last = await wire.bulk(rangeId, [
      {
        operationType: 'Patch',
        id: 'old',
        resourceBody: { operations: [{ op: 'set', path: '/n', value: 1 }] },
        ...at,
      },
      { operationType: 'Delete', id: 'old', ...at },
    ]);
    expect(parseJson<OperationResult[]>(last).map((result) => result.statusCode)).toEqual([408, 503]);
    expect((await container.item('old', 'p').read<Doc>()).resource).not.toHaveProperty('n');
  });

  it('a transactional batch -> refused as a whole, nothing is written', async () => {
    const { wire } = await backend.container();
    const { id: rangeId } = await wire.onlyRange();
    const op: Operation = {
      operationType: 'Create',
      resourceBody: { id: 'a', pk: 'p' },
      partitionKey: opKey('p'),
    };
    await strike(rule('batch', { status: 429, substatus: 3200, retryAfterMs: 12 }));
    const bulk = await wire.bulk(rangeId, [op]);
    const batch = await wire.batch([{ operationType: 'Create', resourceBody: { id: 'a', pk: 'p' } }], AT);
    for (const reply of [bulk, batch]) {
      expect(reply.status).toBe(429);
      expect(headerOf(reply, 'x-ms-retry-after-ms')).toBe('12');
    }
    expect((await wire.read('a', AT)).status).toBe(404);
    await strike(rule('batch', { reset: 'after' }, { times: 1 }));
    await failure(wire.bulk(rangeId, [op]));
    expect((await wire.read('a', AT)).status).toBe(200);
  });

  it('an invalid plan -> 400, and the old rules stay', async () => {
    const { wire } = await backend.container();
    await strike(rule('read', { status: 500 }));
    for (const body of [
      '{',
      '[]',
      { rules: 7 },
      { seed: 1, rules: [{ match: { op: 'juggle' }, effect: { status: 500 } }] },
      { seed: 1, rules: [{ match: { op: 'read' } }] },
      { seed: 1, rules: [{ match: { op: 'read' }, effect: { status: 'bad' } }] },
      { seed: 1, rules: [{ match: { op: 'read' }, effect: { reset: 'maybe' } }] },
      { seed: 1, rules: [{ match: { op: 'read' }, probability: 2, effect: { status: 500 } }] },
    ]) {
      const reply = await backend.admin.send('PUT', 'faults', body);
      expect(reply.status, JSON.stringify(body)).toBe(400);
      expect(parseJson<ErrorBody>(reply).message, JSON.stringify(body)).toEqual(expect.any(String));
    }
    expect((await wire.read('a', AT)).status).toBe(500);
  });
});
