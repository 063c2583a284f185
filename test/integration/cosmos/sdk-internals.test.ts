/**
 * What container-requests.ts uses of the SDK below its public interface. If this fails after an upgrade of the SDK, check
 * that file first.
 */
import { Agent, createServer, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { PriorityLevel } from '@azure/cosmos';
import { describe, expect, test } from 'vitest';
import { Account } from '../../../src/cosmos/account/client.ts';
import { ContainerRequests } from '../../../src/cosmos/transport/container-requests.ts';
import { ChangeFeed } from '../../../src/cosmos/feed/feed.ts';
import { readRanges, wholeOf } from '../../../src/cosmos/feed/ranges.ts';
import { must } from '../../../src/lib/assert.ts';
import { startTestEmulator } from '../../helpers/emulator/emulator.ts';
import { VirtualClock } from '../../helpers/clock.ts';

const signal = new AbortController().signal;
const RANGE = { id: '7', parents: [], min: '', max: 'FF' };
/** Differ from run to run, or belong to Node. */
const NOT_OURS = ['authorization', 'x-ms-date', 'user-agent', 'x-ms-useragent', 'host', 'connection'];

interface Seen {
  readonly line: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** What one call sends; it is answered with an empty page. */
async function sentBy(call: (requests: ContainerRequests) => Promise<unknown>): Promise<Seen> {
  const seen: Seen[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    const headers = Object.entries(request.headers).filter(([name]) => !NOT_OURS.includes(name));
    seen.push({ line: `${request.method} ${request.url}`, headers: Object.fromEntries(headers) });
    request.resume();
    request.on('end', () => response.writeHead(200, { etag: '"1"' }).end('{"Documents":[]}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    using account = new Account({ endpoint: `http://127.0.0.1:${port}/`, key: 'a2V5' });
    await call(new ContainerRequests(account, { database: 'my shop', container: 'órders' }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
  expect(seen).toHaveLength(1);
  return must(seen[0], 'one request was sent');
}

const ALWAYS = {
  accept: 'application/json',
  'cache-control': 'no-cache',
  'x-ms-cosmos-allow-tentative-writes': 'true',
  'x-ms-cosmos-sdk-supportedcapabilities': '1',
  'x-ms-documentdb-query-enablecrosspartition': 'true',
  'x-ms-documentdb-responsecontinuationtokenlimitinkb': '1',
  'x-ms-version': '2020-07-15',
};

test('the SDK -> the version that was examined', () => {
  const { version } = createRequire(import.meta.url)('@azure/cosmos/package.json') as { version: string };
  expect(version).toBe('4.9.3');
});

test("a page of the latest versions -> the SDK's own request", async () => {
  const seen = await sentBy((requests) =>
    new ChangeFeed(requests, { mode: 'latest-version', range: wholeOf(RANGE) }).read('beginning', { signal }),
  );
  expect(seen.line).toBe('GET /dbs/my%20shop/colls/%C3%B3rders/docs');
  expect(seen.headers).toEqual({
    ...ALWAYS,
    'a-im': 'Incremental Feed',
    'x-ms-cosmos-priority-level': 'Low',
    'x-ms-documentdb-partitionkeyrangeid': '7',
    'x-ms-max-item-count': '1000',
  });
});

test("a page of all versions of a part of a range, from a position, in a session -> the SDK's own request", async () => {
  const range = { range: RANGE, min: '', max: '80' };
  const seen = await sentBy((requests) =>
    new ChangeFeed(requests, { mode: 'all-versions', range, pageSize: 5, priority: 'High' }).read(
      { mode: 'all-versions', etag: '"12"' },
      { signal, sessionToken: '7:-1#12' },
    ),
  );
  expect(seen.headers).toEqual({
    ...ALWAYS,
    'a-im': 'Full-Fidelity Feed',
    'if-none-match': '"12"',
    'x-ms-consistency-level': 'Session',
    'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15',
    'x-ms-cosmos-priority-level': 'High',
    'x-ms-documentdb-partitionkeyrangeid': '7',
    'x-ms-end-epk': '80',
    'x-ms-max-item-count': '5',
    'x-ms-read-key-type': 'EffectivePartitionKeyRange',
    'x-ms-session-token': '7:-1#12',
    'x-ms-start-epk': '',
  });
});

test("a page from now -> the SDK's own request", async () => {
  const seen = await sentBy((requests) =>
    new ChangeFeed(requests, { mode: 'all-versions', range: wholeOf(RANGE) }).read('now', { signal }),
  );
  expect(seen.headers).toMatchObject({ 'if-none-match': '*' });
});

test("a batch -> the SDK's own request", async () => {
  const body = Buffer.from('[{"operationType":"Delete"}]');
  const seen = await sentBy((requests) =>
    requests.batch({ signal, rangeId: '7', body, sessionToken: '7:-1#3', minimalReply: true }),
  );
  expect(seen.line).toBe('POST /dbs/my%20shop/colls/%C3%B3rders/docs');
  expect(seen.headers).toEqual({
    ...ALWAYS,
    'content-length': String(body.length),
    'content-type': 'application/json',
    prefer: 'return=minimal',
    'x-ms-consistency-level': 'Session',
    'x-ms-cosmos-batch-atomic': 'false',
    'x-ms-cosmos-batch-continue-on-error': 'true',
    'x-ms-cosmos-is-batch-request': 'true',
    'x-ms-documentdb-partitionkeyrangeid': '7',
    'x-ms-session-token': '7:-1#3',
  });
});

describe('a request that is sent with the signature of another', () => {
  const given = { signal, minimalReply: true } as const;
  const body = (text: string): Buffer => Buffer.from(`["${text}"]`);

  /** A server that keeps what it is sent, and answers with `status`. */
  async function listening(status: () => number): Promise<{
    readonly seen: Array<Seen & { readonly body: string }>;
    readonly endpoint: string;
    readonly close: () => void;
  }> {
    const seen: Array<Seen & { readonly body: string }> = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { headers } = request;
        seen.push({
          line: `${request.method} ${request.url}`,
          headers,
          body: Buffer.concat(chunks).toString(),
        });
        response.writeHead(status(), { 'x-ms-request-charge': '1' }).end('[]');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const close = (): void => {
      server.closeAllConnections();
      server.close();
    };
    return { seen, endpoint: `http://127.0.0.1:${port}/`, close };
  }

  test("sent within seconds -> differs from the SDK's request in range, session, length and body only", async () => {
    const { seen, endpoint, close } = await listening(() => 200);
    try {
      const name = { database: 'my shop', container: 'órders' };
      const clock = new VirtualClock();
      // Another clock says when; a client of its own for each is what the SDK sends.
      using account = new Account({ endpoint, key: 'a2V5' }, { clock });
      const requests = new ContainerRequests(account, name);
      const calls = [
        { ...given, rangeId: '7', body: body('a'), sessionToken: '7:-1#3' },
        { ...given, rangeId: '18', body: body('bcd'), sessionToken: '18:-1#4' },
        { ...given, rangeId: '7', body: body('e') },
        { ...given, rangeId: '18', body: body('fg') },
        { signal, rangeId: '7', body: body('h'), priority: 'Low' },
        { signal, rangeId: '8', body: body('ij'), priority: 'Low' },
      ] as const;
      for (const call of calls) expect(await requests.batch(call)).toMatchObject({ ok: true });
      const sent = seen.splice(0);
      for (const call of calls) {
        using fresh = new Account({ endpoint, key: 'a2V5' });
        await new ContainerRequests(fresh, name).batch(call);
      }
      const changing = (headers: Seen['headers']): Seen['headers'] => ({
        ...headers,
        authorization: typeof headers['authorization'],
        'x-ms-date': typeof headers['x-ms-date'],
      });
      expect(sent.map((one) => ({ ...one, headers: changing(one.headers) }))).toEqual(
        seen.map((one) => ({ ...one, headers: changing(one.headers) })),
      );
      expect(sent.map((one) => one.body)).toEqual(calls.map((call) => call.body.toString()));
    } finally {
      close();
    }
  });

  test("pages of a feed -> differ from the SDK's request in range, session, position and size only", async () => {
    const { seen, endpoint, close } = await listening(() => 200);
    try {
      const name = { database: 'my shop', container: 'órders' };
      const latest = { useLatestVersionFeed: true, priorityLevel: PriorityLevel.Low };
      const all = { useAllVersionsAndDeletesFeed: true };
      const at = (condition: string) => ({ accessCondition: { type: 'IfNoneMatch', condition } }) as const;
      const inSession = (sessionToken: string) => ({ sessionToken, consistencyLevel: 'Session' }) as const;
      const part = { min: '', max: '3F' };
      const feed = { signal, what: 'docs' } as const;
      const calls = [
        { ...feed, rangeId: '7', options: { ...latest, maxItemCount: 1000 } },
        { ...feed, rangeId: '8', options: { ...latest, maxItemCount: 77 } },
        { ...feed, rangeId: '7', options: { ...latest, ...at('"1"'), maxItemCount: 1000 } },
        { ...feed, rangeId: '18', options: { ...latest, ...at('"22"'), maxItemCount: 1000 } },
        { ...feed, rangeId: '7', options: { ...latest, ...at('"1"'), ...inSession('7:-1#3') } },
        { ...feed, rangeId: '8', options: { ...latest, ...at('*'), ...inSession('8:-1#44') } },
        { ...feed, rangeId: '7', part, options: { ...all, ...at('"1"') } },
        { ...feed, rangeId: '7', part, options: { ...all, ...at('"2"') } },
        { ...feed, rangeId: '7', part: { min: '3F', max: 'FF' }, options: { ...all, ...at('"2"') } },
        { ...feed, rangeId: '7', options: { ...all, ...at('"2"') } },
      ];
      using account = new Account({ endpoint, key: 'a2V5' });
      let signed = 0;
      const open = account.transport.sendRequest.bind(account.transport);
      account.transport.sendRequest = async (request) => {
        signed += 1;
        return open(request);
      };
      const requests = new ContainerRequests(account, name);
      for (const call of calls) expect(await requests.feed(call)).toMatchObject({ ok: true });
      expect(signed).toBe(6);
      const sent = seen.splice(0);
      for (const call of calls) {
        using fresh = new Account({ endpoint, key: 'a2V5' });
        await new ContainerRequests(fresh, name).feed(call);
      }
      const changing = (one: Seen): unknown => ({
        ...one,
        headers: { ...one.headers, authorization: 'signed', 'x-ms-date': 'now' },
      });
      expect(sent.map(changing)).toEqual(seen.map(changing));
    } finally {
      close();
    }
  });

  test.each([
    ['of a subclass, as those of proxies', new (class extends Agent {})({ keepAlive: true })],
    ['with a limit', new Agent({ keepAlive: true, maxSockets: 1 })],
  ])('sockets %s -> sent by the SDK', async (_what, agent) => {
    const { endpoint, close } = await listening(() => 200);
    try {
      using account = new Account({ endpoint, key: 'a2V5' }, { agent });
      let signed = 0;
      const open = account.transport.sendRequest.bind(account.transport);
      account.transport.sendRequest = async (request) => {
        signed += 1;
        return open(request);
      };
      const requests = new ContainerRequests(account, { database: 'd', container: 'c' });
      for (const text of ['a', 'b', 'c'])
        expect(await requests.batch({ ...given, rangeId: '7', body: body(text) })).toMatchObject({
          ok: true,
        });
      expect(signed).toBe(3);
    } finally {
      agent.destroy();
      close();
    }
  });

  test("sockets that are not Node's -> sent by the SDK", async () => {
    const { seen, endpoint, close } = await listening(() => 200);
    const sockets = new Agent({ keepAlive: true });
    let sent = 0;
    // As proxies are made that are older than Node's class.
    const addRequest = (...request: unknown[]): unknown => {
      sent += 1;
      return Reflect.apply(Reflect.get(sockets, 'addRequest') as () => unknown, sockets, request);
    };
    try {
      const agent = { addRequest, protocol: 'http:' } as unknown as Agent;
      using account = new Account({ endpoint, key: 'a2V5' }, { agent });
      const requests = new ContainerRequests(account, { database: 'd', container: 'c' });
      for (const text of ['a', 'b', 'c'])
        expect(await requests.batch({ ...given, rangeId: '7', body: body(text) })).toMatchObject({
          ok: true,
        });
      expect(seen.map((one) => one.body)).toEqual(['["a"]', '["b"]', '["c"]']);
      expect(sent).toBe(3);
    } finally {
      sockets.destroy();
      close();
    }
  });

  test('seconds later, or after a failed reply -> signed again', async () => {
    let status = 200;
    const { seen, endpoint, close } = await listening(() => status);
    try {
      // The server's replies have the time of this machine.
      const clock = new VirtualClock(Date.now());
      using account = new Account({ endpoint, key: 'a2V5' }, { clock });
      const requests = new ContainerRequests(account, { database: 'd', container: 'c' });
      let signed = 0;
      const open = account.transport.sendRequest.bind(account.transport);
      account.transport.sendRequest = async (request) => {
        signed += 1;
        return open(request);
      };
      const send = async (): Promise<void> =>
        void (await requests.batch({ ...given, rangeId: '7', body: body('a') }));
      await send();
      await send();
      clock.advance(4999);
      await send();
      expect(signed).toBe(1);
      clock.advance(1);
      await send();
      expect(signed).toBe(2);
      // A signature that was accepted before and is refused now is replaced at once. No other refusal concerns it.
      for (const [bad, requests] of [
        [401, 2],
        [403, 1],
        [410, 1],
        [429, 1],
        [503, 1],
      ] as const) {
        status = bad;
        const before = { signed, seen: seen.length };
        await send();
        expect(seen.length, `requests that ${bad} answered`).toBe(before.seen + requests);
        expect(signed, `signatures that ${bad} answered`).toBe(before.signed + requests - 1);
        status = 200;
        await send();
        expect(signed, `after ${bad}`).toBe(before.signed + requests);
      }
      expect(seen).toHaveLength(15);
    } finally {
      close();
    }
  });
});

test('names that a URL escapes -> signed unescaped', async () => {
  await using emulator = await startTestEmulator();
  using account = new Account({ endpoint: emulator.endpoint, key: emulator.key });
  const { database } = await account.client.databases.create({ id: 'my shop' });
  await database.containers.create({ id: 'órders', partitionKey: '/pk' });
  const requests = new ContainerRequests(account, { database: 'my shop', container: 'órders' });
  const [range] = await readRanges(requests, { signal });
  expect(range).toMatchObject({ min: '', max: 'FF' });
  const feed = new ChangeFeed(requests, {
    mode: 'latest-version',
    range: wholeOf(must(range, 'a container has a range')),
  });
  expect(await feed.read('beginning', { signal })).toMatchObject({ status: 304 });
});
