/**
 * The SDK's traps (facts SDK-12 to SDK-25): each one that a server can spring is sprung here, and the SDK's documented
 * behaviour asserted. Where these fail after an upgrade, the SDK has changed and our guards want a look.
 */
import type {
  ChangeFeedPullModelIterator,
  Container,
  JSONObject,
  OperationInput,
  RequestContext,
} from '@azure/cosmos';
import * as http from 'node:http';
import { expect, it } from 'vitest';
import { effectiveKey } from '../../src/epk/effective-key.ts';
import type { FaultEffect, FaultOp } from '../helpers/emulator/admin.ts';
import { failure } from '../helpers/emulator/failure.ts';
import type { ClientOptions, RequestPlugin, TestContainer } from '../helpers/emulator/lab.ts';
import { parseJson } from '../helpers/emulator/raw.ts';
import { HANGS_MS, until, within } from '../helpers/wait.ts';
import type { Doc, WireContainer } from '../helpers/emulator/wire-container.ts';
import { type Backend, forEachBackend } from './backend.ts';
import { hashKey, multiHashKey } from '../helpers/emulator/key-definitions.ts';

const SECOND_MS = 1000;
/** Far beyond what any working call sends; a call that gets here would never end. */
const ENDLESS = 120;

class EndlessLoop extends Error {
  override readonly name = 'EndlessLoop';
}

/** Counts requests of a kind, and ends the call that has sent too many. */
function countRequests(of: (context: RequestContext) => boolean): {
  onRequest: RequestPlugin;
  count: () => number;
} {
  let seen = 0;
  return {
    onRequest: (context, next) => {
      if (of(context)) seen += 1;
      if (seen > ENDLESS) throw new EndlessLoop(`more than ${ENDLESS} requests`);
      return next(context);
    },
    count: () => seen,
  };
}

/** The SDK writes header names in whatever case it likes. */
function headerIn(context: RequestContext, name: string): unknown {
  return Object.entries(context.headers ?? {}).find(([key]) => key.toLowerCase() === name)?.[1];
}

const isFeed = (context: RequestContext): boolean => headerIn(context, 'a-im') !== undefined;
const isBatch = (context: RequestContext): boolean =>
  headerIn(context, 'x-ms-cosmos-is-batch-request') !== undefined;

interface Token {
  readonly rid: string;
  readonly Continuation: readonly {
    minInclusive: string;
    maxExclusive: string;
    continuationToken?: string;
  }[];
}

function parseToken(token: string): Token {
  return JSON.parse(token) as Token;
}

function ids(docs: readonly { id: string }[]): string[] {
  return docs.map((doc) => doc.id);
}

/** The key of the first operation of a bulk body, which may be text by then. */
function firstKey(body: unknown): unknown {
  const operations = (typeof body === 'string' ? JSON.parse(body) : body) as { partitionKey?: string }[];
  return operations[0]?.partitionKey;
}

/** Documents of two ranges, sorted by where they live. */
async function spread(wire: WireContainer, prefix: string): Promise<Map<string, string[]>> {
  const names = Array.from({ length: 16 }, (_, n) => `${prefix}${n}`);
  await wire.seed(names.map((id) => ({ id, pk: id })));
  const homes = new Map<string, string[]>();
  for (const range of await wire.ranges()) {
    const { items } = await wire.drain({ rangeId: range.id }, 'beginning');
    homes.set(
      range.id,
      ids(items).filter((id) => id.startsWith(prefix)),
    );
  }
  return homes;
}

forEachBackend('feed traps', (backend) => {
  const { ChangeFeedStartFrom, ChangeFeedMode } = backend.sdk;
  const latest = { changeFeedMode: ChangeFeedMode.LatestVersion };

  const strike = (op: FaultOp, effect: FaultEffect, times?: number): Promise<void> =>
    backend.admin.faults([{ match: { op }, effect, ...(times === undefined ? {} : { times }) }]);

  const beginning = (container: Container, maxItemCount = 2): ChangeFeedPullModelIterator<Doc> =>
    container.items.getChangeFeedIterator<Doc>({
      ...latest,
      maxItemCount,
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    });

  it.skipIf(backend.live).each([1008, 1000, 0])(
    '1: 410/%i -> an empty page, and the position is lost',
    async (substatus) => {
      const { container, wire } = await backend.container();
      await wire.seed(['a', 'b', 'c', 'd'].map((id) => ({ id, pk: id })));
      const iterator = beginning(container);
      expect(ids((await iterator.readNext()).result)).toEqual(['a', 'b']);
      await strike('read-feed', { status: 410, substatus }, 1);
      const lost = await iterator.readNext();
      expect(lost).toMatchObject({ statusCode: 410, count: 0 });
      expect(parseToken(lost.continuationToken).Continuation[0]?.continuationToken).toBeUndefined();
      expect(ids((await iterator.readNext()).result)).toEqual(['a', 'b']);
    },
  );

  it.skipIf(backend.live)('1: a feed from now -> loses earlier changes without an error', async () => {
    const { container, wire } = await backend.container();
    const iterator = container.items.getChangeFeedIterator<Doc>({
      ...latest,
      changeFeedStartFrom: ChangeFeedStartFrom.Now(),
    });
    expect((await iterator.readNext()).statusCode).toBe(304);
    await wire.seed([{ id: 'lost', pk: 'p' }]);
    await strike('read-feed', { status: 410, substatus: 1008 }, 1);
    expect((await iterator.readNext()).statusCode).toBe(410);
    expect((await iterator.readNext()).statusCode).toBe(304);
  });

  it.skipIf(backend.live)('1: a page without an etag -> loses changes without an error', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(['a', 'b', 'c'].map((id) => ({ id, pk: id })));
    const iterator = beginning(container);
    await strike('read-feed', { dropHeaders: ['etag'] }, 1);
    expect(ids((await iterator.readNext()).result)).toEqual(['a', 'b']);
    expect(ids((await iterator.readNext()).result)).toEqual(['a', 'b']);
    expect(ids((await iterator.readNext()).result)).toEqual(['c']);
  });

  it.skipIf(backend.live)(
    '2: two splits under one iterator of several ranges -> an endless loop',
    async () => {
      const { container, wire } = await backend.splitContainer(2);
      const [first, second] = await wire.ranges();
      if (first === undefined || second === undefined) throw new Error('two ranges, please');
      const guard = countRequests(isFeed);
      let armed = false;
      const client = backend.client({
        onRequest: async (context, next) => {
          // The first range has answered, the second is about to be asked: now both split.
          if (
            armed &&
            isFeed(context) &&
            headerIn(context, 'x-ms-documentdb-partitionkeyrangeid') === second.id
          ) {
            armed = false;
            await backend.admin.split(wire.adminPath, { rangeId: first.id });
            await backend.admin.split(wire.adminPath, { rangeId: second.id });
          }
          return guard.onRequest(context, next);
        },
      });
      const iterator = backend.lab.through(client, container).items.getChangeFeedIterator<Doc>({
        ...latest,
        changeFeedStartFrom: ChangeFeedStartFrom.Now(),
      });
      expect((await iterator.readNext()).statusCode).toBe(304);
      armed = true;
      expect((await failure(iterator.readNext())).message).toContain(`${ENDLESS}`);
      expect(guard.count()).toBeGreaterThan(ENDLESS);
    },
  );

  it.skipIf(backend.live)(
    '3: 410/1007 with an unchanged range map -> repeated forever without a pause',
    async () => {
      const { container, wire } = await backend.container();
      await wire.seed([{ id: 'a', pk: 'p' }]);
      const guard = countRequests(isFeed);
      const client = backend.client({ onRequest: guard.onRequest });
      await strike('read-feed', { status: 410, substatus: 1007 });
      const iterator = beginning(backend.lab.through(client, container));
      expect((await failure(iterator.readNext())).message).toContain(`${ENDLESS}`);
    },
  );

  it.skipIf(backend.live)(
    '4: a token taken before every range was read -> the others start at the beginning',
    async () => {
      const { container, wire } = await backend.splitContainer(2);
      const old = await spread(wire, 'old');
      await backend.admin.clock(60 * SECOND_MS);
      await spread(wire, 'new');
      const [first, second] = await wire.ranges();
      const iterator = container.items.getChangeFeedIterator<Doc>({
        ...latest,
        changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date(Date.now() + 30 * SECOND_MS)),
      });
      const page = await iterator.readNext();
      expect(ids(page.result).every((id) => id.startsWith('new'))).toBe(true);
      const token = parseToken(page.continuationToken);
      const positions = new Map(
        token.Continuation.map((each) => [each.minInclusive, each.continuationToken]),
      );
      expect(positions.get(first?.minInclusive ?? '?')).toBeTruthy();
      expect(positions.get(second?.minInclusive ?? '?')).toBe('');

      const resumed = container.items.getChangeFeedIterator<Doc>({
        ...latest,
        changeFeedStartFrom: ChangeFeedStartFrom.Continuation(page.continuationToken),
      });
      const seen: string[] = [];
      for (;;) {
        const next = await resumed.readNext();
        if (next.statusCode === 304) break;
        seen.push(...ids(next.result));
      }
      expect(seen).toEqual(expect.arrayContaining(old.get(second?.id ?? '') ?? ['?']));
    },
  );

  it.skipIf(backend.live)('5: a split of a split -> the token contains a range twice', async () => {
    const { container, wire } = await backend.container();
    const client = backend.client();
    const same = backend.lab.through(client, container);
    const slow = beginning(same);
    const quick = beginning(same);
    await slow.readNext();
    await quick.readNext();
    await backend.admin.split(wire.adminPath);
    // The quick one meets the split and refreshes the map they share.
    await quick.readNext();
    const [child] = await wire.ranges();
    await backend.admin.split(wire.adminPath, child === undefined ? {} : { rangeId: child.id });
    const token = parseToken((await slow.readNext()).continuationToken);
    const bounds = token.Continuation.map((each) => `${each.minInclusive}..${each.maxExclusive}`);
    expect(bounds.length).toBeGreaterThan(new Set(bounds).size);
  });

  it.skipIf(backend.live)('6: a token of all versions -> resumes as latest version', async () => {
    await using lab = await backend.freshLab({ settings: { avad: true } });
    const { container } = await lab.container();
    const sent: { aim: unknown; position: unknown }[] = [];
    const client = lab.client({
      onRequest: (context, next) => {
        if (isFeed(context))
          sent.push({ aim: headerIn(context, 'a-im'), position: headerIn(context, 'if-none-match') });
        return next(context);
      },
    });
    const same = lab.through(client, container);
    const iterator = same.items.getChangeFeedIterator({
      changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
      changeFeedStartFrom: ChangeFeedStartFrom.Now(),
    });
    const { continuationToken } = await iterator.readNext();
    const resumed = same.items.getChangeFeedIterator({
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
    });
    await resumed.readNext().catch(() => undefined);
    expect(sent).toEqual([
      { aim: 'Full-Fidelity Feed', position: '*' },
      {
        aim: 'Incremental Feed',
        position: parseToken(continuationToken).Continuation[0]?.continuationToken,
      },
    ]);
  });

  it('7: the charge of a page -> truncated to an integer', async () => {
    const { container, wire } = await backend.container();
    await wire.seed(['a', 'b', 'c'].map((id) => ({ id, pk: id, fill: 'x'.repeat(2500) })));
    const page = await beginning(container, 10).readNext();
    const stated = Number(page.headers['x-ms-request-charge']);
    expect(page.requestCharge).toBe(Math.trunc(stated));
    // On a live account a page may cost a whole number by chance.
    expect(backend.live || stated > page.requestCharge).toBe(true);
  });

  it.skipIf(backend.live)(
    '8: a feed error -> code and headers, but no substatus and no retry hint',
    async () => {
      const { container } = await backend.container();
      const client = backend.client({ connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } } });
      await strike('read-feed', { status: 429, substatus: 3200, retryAfterMs: 25 });
      const error = await failure(beginning(backend.lab.through(client, container)).readNext());
      expect(error.code).toBe(429);
      expect(error.substatus).toBeUndefined();
      expect(error.retryAfterInMs).toBeUndefined();
      expect(error.headers).toMatchObject({ 'x-ms-substatus': '3200', 'x-ms-retry-after-ms': '25' });
    },
  );

  it.skipIf(backend.live)('8: an error of the range map -> its code is lost', async () => {
    const { container } = await backend.container();
    await strike('pkranges', { status: 403, substatus: 1028 });
    const error = await failure(beginning(container).readNext());
    expect(error.code).toBeUndefined();
    expect(error.message).not.toBe('');
  });

  it.skipIf(backend.live)('16: a feed that times out -> more than a hundred requests', async () => {
    const { container } = await backend.container();
    await container.read();
    const guard = countRequests(isFeed);
    const slow = (discovery: boolean, onRequest: RequestPlugin): ChangeFeedPullModelIterator<Doc> => {
      const connectionPolicy = { requestTimeout: 15, enableEndpointDiscovery: discovery };
      return beginning(backend.lab.through(backend.client({ connectionPolicy, onRequest }), container));
    };
    // Only the feed is slow; what the SDK reads before it is answered from a warm client.
    const patient =
      (plugin: RequestPlugin): RequestPlugin =>
      (context, next) => {
        if (!isFeed(context))
          context.connectionPolicy = { ...context.connectionPolicy, requestTimeout: 10_000 };
        else context.connectionPolicy = { ...context.connectionPolicy, requestTimeout: 15 };
        return plugin(context, next);
      };
    await strike('read-feed', { hang: 'before' });
    await failure(slow(true, patient(guard.onRequest)).readNext());
    expect(guard.count()).toBeGreaterThan(100);

    const once = countRequests(isFeed);
    await failure(slow(false, patient(once.onRequest)).readNext());
    expect(once.count()).toBe(1);
  });
});

forEachBackend('bulk and routing traps', (backend) => {
  const strike = (op: FaultOp, effect: FaultEffect, times?: number): Promise<void> =>
    backend.admin.faults([{ match: { op }, effect, ...(times === undefined ? {} : { times }) }]);
  const createOps = (...names: string[]): OperationInput[] =>
    names.map((id) => ({ operationType: 'Create', resourceBody: { id, pk: 'p' } }));

  it.skipIf(backend.live)('3: bulk with 410/1007 -> repeated forever', async () => {
    const { container } = await backend.container();
    const guard = countRequests(isBatch);
    const client = backend.client({ onRequest: guard.onRequest });
    await strike('batch', { status: 410, substatus: 1007 });
    const error = await failure(backend.lab.through(client, container).items.bulk(createOps('a')));
    expect(error.message).toContain(`${ENDLESS}`);
  });

  it.skipIf(backend.live)('10: a failed bulk request -> no code, and a cause in 4.10 only', async () => {
    const { container } = await backend.container();
    await strike('batch', { status: 429, substatus: 3200, retryAfterMs: 40 });
    const error = await failure(container.items.bulk(createOps('a')));
    expect(error.code).toBeUndefined();
    const { cause } = error;
    const stated = cause === undefined ? undefined : (cause as { code?: number }).code;
    expect(stated).toBe(backend.generation === '4.9' ? undefined : 429);
  });

  it.skipIf(backend.live)(
    '10: a throttled bulk request -> not retried; a throttled batch -> retried',
    async () => {
      const { container } = await backend.container();
      await strike('batch', { status: 429, substatus: 3200, retryAfterMs: 5 }, 1);
      await failure(container.items.bulk(createOps('a')));
      expect((await container.items.bulk(createOps('a')))[0]?.statusCode).toBe(201);
      await strike('batch', { status: 429, substatus: 3200, retryAfterMs: 5 }, 1);
      const { code } = await container.items.batch(createOps('b'), 'p');
      expect(code).toBe(200);
    },
  );

  it.skipIf(backend.live)('10: bulk after a split -> fails while its write is in flight', async () => {
    const { container, wire } = await backend.container();
    await container.items.bulk(createOps('a'));
    const { id } = await wire.onlyRange();
    await backend.admin.split(wire.adminPath, { rangeId: id, durationMs: 0 });
    const epk = effectiveKey('hash-v2', ['p']);
    const home = (await wire.ranges()).find((range) => range.minInclusive <= epk && epk < range.maxExclusive);
    const match = { op: 'batch', rangeId: home?.id ?? '' } as const;
    await backend.admin.faults([{ match, effect: { delayMs: 500, delayAt: 'before' } }]);
    // The other half is asked to do nothing, and refuses that.
    const error = await failure(container.items.bulk(createOps('b')));
    expect(error.message).toContain('Batch request has no operations');
    const isThere = async (): Promise<boolean> => (await wire.read('b', ['p'])).status === 200;
    expect(await isThere()).toBe(false);
    await until(isThere, { what: 'the write without a reader of its reply' });
  });

  it.skipIf(backend.live)('10: 410 without a split -> reported as an unsupported key', async () => {
    const { container } = await backend.container();
    await strike('batch', { status: 410, substatus: 1008 }, 1);
    const error = await failure(container.items.bulk(createOps('a')));
    expect(error.message).toMatch(/unsupported partitionKey/);
  });

  it.skipIf(backend.live)('10: a write without a reply -> not retried, possibly applied', async () => {
    const { container } = await backend.container();
    const guard = countRequests(isBatch);
    const same = backend.lab.through(backend.client({ onRequest: guard.onRequest }), container);
    await strike('batch', { reset: 'after' }, 1);
    await failure(same.items.bulk(createOps('a')));
    expect(guard.count()).toBe(1);
    expect((await container.item('a', 'p').read()).statusCode).toBe(200);
  });

  it('11: an array as a key -> shifts the levels of a hierarchical key', async () => {
    const { container, wire } = await backend.container({
      partitionKey: multiHashKey('/a', '/b'),
    });
    const keys: unknown[] = [];
    const client = backend.client({
      onRequest: (context, next) => {
        if (isBatch(context)) keys.push(firstKey(context.body));
        if (keys.length > ENDLESS) throw new EndlessLoop();
        return next(context);
      },
    });
    const operation: OperationInput = {
      operationType: 'Create',
      resourceBody: { id: 'x', a: ['x'], b: 'y' } as unknown as JSONObject,
    };
    const outcome = await backend.lab
      .through(client, container)
      .items.bulk([operation])
      .then(
        (results) => results[0]?.statusCode,
        () => 'threw',
      );
    expect(keys[0]).toBe('["y"]');
    expect([400, 'threw']).toContain(outcome);
    expect((await wire.query('SELECT VALUE COUNT(1) FROM c')).text).toContain('[0]');
  });

  it.skipIf(backend.live)(
    '14: a failed range map -> breaks 4.9; an incomplete one -> breaks both versions',
    async () => {
      const poisoned = await backend.container();
      const again = async (made: TestContainer): Promise<unknown> => {
        const same = backend.lab.through(client, made.container);
        return same.items.bulk(createOps(`d${Math.random()}`)).then(
          (results) => results[0]?.statusCode,
          () => 'failed',
        );
      };
      const client = backend.client();
      await strike('pkranges', { status: 403 }, 1);
      expect(await again(poisoned)).toBe('failed');
      expect(await again(poisoned)).toBe(backend.generation === '4.9' ? 'failed' : 201);

      const torn = await backend.splitContainer(2);
      await strike('pkranges', { pkranges: 'incomplete' }, 1);
      expect(await again(torn)).toBe('failed');
      expect(await again(torn)).toBe('failed');
    },
  );

  it('15: a container recreated with another key -> written with the old key', async () => {
    const { container } = await backend.container();
    await container.items.create({ id: 'a', pk: 'p' });
    // Another client recreates it, and that client knows the new key.
    const elsewhere = backend.client().database(backend.lab.databaseId);
    await elsewhere.container(container.id).delete();
    await elsewhere.containers.create({ id: container.id, partitionKey: hashKey('/other') });
    const keys: unknown[] = [];
    const client = backend.client({
      onRequest: (context, next) => {
        keys.push(headerIn(context, 'x-ms-documentdb-partitionkey'));
        return next(context);
      },
    });
    // The client that knew the old container keeps its key definition, and is refused.
    const stale = await failure(container.items.create({ id: 'b', pk: 'p', other: 'q' }));
    expect(stale.code).toBe(400);
    const { statusCode } = await backend.lab
      .through(client, container)
      .items.create({ id: 'b', pk: 'p', other: 'q' });
    expect(statusCode).toBe(201);
    expect(keys).toContain('["q"]');
  });

  it.skipIf(backend.live)(
    '21: -0 -> hashed differently from the 0 that is sent, without a wrong range',
    async () => {
      const { container, wire } = await backend.container({ throughput: 24_000 });
      const ranges = await wire.ranges();
      const guard = countRequests(isBatch);
      const same = backend.lab.through(backend.client({ onRequest: guard.onRequest }), container);
      const outcome = await same.items
        .bulk([{ operationType: 'Create', resourceBody: { id: 'z', pk: -0 } }])
        .then(
          (results) => results[0]?.statusCode,
          () => 'threw',
        );
      // Hashed as -0 the key belongs to the last range, as 0 to the second.
      expect(outcome).not.toBe(201);
      expect((await wire.read('z', [0])).status).toBe(404);
      for (const range of ranges)
        expect((await wire.drain({ rangeId: range.id }, 'beginning')).items).toEqual([]);
    },
  );
});

forEachBackend('data traps', (backend) => {
  it.skipIf(backend.live)('12: long integers -> rounded by the SDK, not by the account', async () => {
    const { container, wire } = await backend.container();
    await wire.create('{"id":"a","pk":"p","n":9223372036854775807}', ['p']);
    const { resource } = await container.item('a', 'p').read<Doc>();
    expect(resource?.['n']).toBe(9223372036854776000);
    expect((await wire.read('a', ['p'])).text).toContain('9223372036854775807');
    if (resource === undefined) throw new Error('not there');
    await container.items.upsert(resource);
    expect((await wire.read('a', ['p'])).text).toContain('9223372036854776000');
  });

  it('13: an id with a question mark -> not escaped by the SDK, and reachable', async () => {
    const { container } = await backend.container();
    const [created] = await container.items.bulk([
      { operationType: 'Create', resourceBody: { id: 'a?b', pk: 'p' } },
    ]);
    expect(created?.statusCode).toBe(201);
    const outcome = await container
      .item('a?b', 'p')
      .read()
      .then(
        (reply) => reply.statusCode,
        (error: { code?: number }) => error.code,
      );
    expect(outcome).toBe(200);
    const [read] = await container.items.bulk([{ operationType: 'Read', id: 'a?b', partitionKey: 'p' }]);
    expect(read?.statusCode).toBe(200);
  });

  it('24: __proto__ -> arrives as an ordinary property', async () => {
    const { container, wire } = await backend.container();
    await wire.create('{"id":"a","pk":"p","__proto__":{"x":1}}', ['p']);
    const { resource } = await container.item('a', 'p').read<Doc>();
    expect(Object.hasOwn(resource ?? {}, '__proto__')).toBe(true);
    expect((resource as Record<string, unknown>)['x']).toBeUndefined();
  });
});

forEachBackend('error and transport traps', (backend: Backend) => {
  const strike = (op: FaultOp, effect: FaultEffect): Promise<void> =>
    backend.admin.faults([{ match: { op }, times: 1, effect }]);

  it('17: the smallest query -> two requests, an unused plan and the query', async () => {
    const { container } = await backend.container();
    const posts: boolean[] = [];
    const client = backend.client({
      onRequest: (context, next) => {
        if (context.method === backend.sdk.HTTPMethod.post) {
          posts.push(headerIn(context, 'x-ms-cosmos-is-query-plan-request') !== undefined);
        }
        return next(context);
      },
    });
    await backend.lab.through(client, container).items.query('SELECT * FROM c').fetchAll();
    expect(posts.filter((plan) => !plan)).toHaveLength(1);
    expect(posts.filter((plan) => plan).length).toBeLessThanOrEqual(1);
  });

  it('18: no consistency level given -> no session token is sent', async () => {
    const { container } = await backend.container();
    const tokensSent = async (options: ClientOptions): Promise<unknown[]> => {
      const tokens: unknown[] = [];
      const client = backend.client({
        ...options,
        onRequest: (context, next) => {
          if (String(context.path).includes('/docs/')) tokens.push(headerIn(context, 'x-ms-session-token'));
          return next(context);
        },
      });
      const same = backend.lab.through(client, container);
      await same.items.upsert({ id: 'a', pk: 'p' });
      expect((await same.item('a', 'p').read()).statusCode).toBe(200);
      return tokens;
    };
    expect(await tokensSent({})).toEqual([undefined]);
    const [token] = await tokensSent({ consistencyLevel: 'Session' });
    expect(String(token)).toMatch(/^\d+:-?\d+#\d+/);
  });

  it.skipIf(backend.live)(
    '19: an empty error body -> a TypeError without a status, never retried',
    async () => {
      const { container } = await backend.container();
      await strike('read', { status: 503, body: 'empty' });
      const error = await failure(container.item('a', 'p').read());
      expect(error).toBeInstanceOf(TypeError);
      expect(error.code).toBeUndefined();
    },
  );

  it.skipIf(backend.live)('19: a page of HTML -> a SyntaxError, whatever its status', async () => {
    const { container, wire } = await backend.container();
    await wire.seed([{ id: 'a', pk: 'p' }]);
    await strike('read', { status: 502, body: 'html' });
    expect(await failure(container.item('a', 'p').read())).toBeInstanceOf(SyntaxError);
    await strike('read', { body: 'html' });
    expect(await failure(container.item('a', 'p').read())).toBeInstanceOf(SyntaxError);
  });

  it.skipIf(backend.live)('19: a garbage 200 of a bulk request -> its outcome is lost', async () => {
    const { container } = await backend.container();
    await strike('batch', { body: 'html' });
    const error = await failure(
      container.items.bulk([{ operationType: 'Create', resourceBody: { id: 'a', pk: 'p' } }]),
    );
    expect(error.code).toBeUndefined();
    expect((await container.item('a', 'p').read()).statusCode).toBe(200);
  });

  it.skipIf(backend.live)('19: an empty 200 -> reads as no document', async () => {
    const { container, wire } = await backend.container();
    await wire.seed([{ id: 'a', pk: 'p' }]);
    await strike('read', { body: 'empty' });
    const outcome = await container
      .item('a', 'p')
      .read()
      .then(
        (reply) => reply.resource ?? undefined,
        () => undefined,
      );
    expect(outcome).toBeUndefined();
  });

  it.skipIf(backend.live)(
    'a 410 during a query -> 503 from fetchAll, 410 from fetchNext; not retried, nor is a 449',
    async () => {
      const { container } = await backend.container();
      const guard = countRequests((context) => String(context.path).includes('/docs'));
      const same = backend.lab.through(backend.client({ onRequest: guard.onRequest }), container);
      await backend.admin.faults([{ match: { op: 'query' }, effect: { status: 410, substatus: 1002 } }]);
      expect((await failure(same.items.query('SELECT * FROM c').fetchAll())).code).toBe(503);
      expect((await failure(same.items.query('SELECT * FROM c').fetchNext())).code).toBe(410);
      // Two queries, each with a plan that the test did not request.
      expect(guard.count()).toBeLessThanOrEqual(4);
      await strike('upsert', { status: 449 });
      const before = guard.count();
      expect((await failure(same.items.upsert({ id: 'a', pk: 'p' }))).code).toBe(449);
      expect(guard.count()).toBe(before + 1);
    },
  );

  it.skipIf(backend.live)('20: http with a custom agent or an Entra token -> refused', async () => {
    const agent = new http.Agent();
    const withAgent = backend.client({ agent, connectionPolicy: { enableEndpointDiscovery: false } });
    const error = await failure(withAgent.database(backend.lab.databaseId).read());
    expect(error.message).toMatch(/allowInsecureConnection/);
    agent.destroy();
    const getToken = async () => ({ token: 'a.b.c', expiresOnTimestamp: Date.now() + 60_000 });
    const withToken = backend.client({ aadCredentials: { getToken } });
    const refused = await within(
      failure(withToken.database(backend.lab.databaseId).read()),
      HANGS_MS,
      'the refusal',
    );
    expect(refused.message).toMatch(/non-TLS/);
  });

  it('a container read -> what the SDK needs for feeds, offers and routing', async () => {
    const { wire } = await backend.container();
    const body = parseJson<{ _rid: string; _self: string; partitionKey: object }>(
      await backend.raw.send('GET', wire.path),
    );
    expect(body._rid).not.toBe('');
    expect(body._self).toMatch(/^dbs\/.+\/colls\/.+\/$/);
    expect(body.partitionKey).toMatchObject({ paths: ['/pk'] });
  });
});
