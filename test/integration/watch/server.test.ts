/** The server of the live page, attacked: who is answered, what is sent, and what a viewer that does not read costs. */
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../helpers/clock.ts';
import { startWatch, type RunningWatch, type Shown } from '../../../src/watch/server.ts';
import { usedBytes } from '../../helpers/process/used-bytes.ts';
import { until } from '../../helpers/wait.ts';

const TOKEN = 'dG9rZW4tb2YtdGhlLXBhZ2U';

class Facts implements Shown {
  readonly policy = "default-src 'none'";
  /** How often the state was looked at. */
  looks = 0;
  now: Record<string, string> = { now: '<h1>copying</h1>', work: '1' };
  page = (): string => `<p>${this.now['work']}</p>`;
  metrics = (format: string): string => `# ${format}\n`;
  parts = (): Record<string, string> => {
    this.looks += 1;
    return { ...this.now };
  };
}

let running: RunningWatch | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(
  shown: Shown = new Facts(),
): Promise<{ readonly clock: VirtualClock; readonly url: URL }> {
  const clock = new VirtualClock();
  running = await startWatch({ port: 0, token: TOKEN, shown, clock, signal: new AbortController().signal });
  return { clock, url: new URL(running.url) };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function ask(
  url: URL,
  {
    path = url.pathname,
    method = 'GET',
    headers = {},
  }: { path?: string; method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ host: url.hostname, port: url.port, path, method, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    })
      .on('error', reject)
      .end();
  });
}

/** A viewer: the events that it has received. */
async function view(url: URL): Promise<{ readonly events: string[]; close(): void }> {
  const events: string[] = [];
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: url.hostname, port: url.port, path: `${url.pathname}events` },
      (response) => {
        let rest = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          const parts = (rest + text).split('\n\n');
          rest = parts.pop() ?? '';
          events.push(...parts.filter((part) => part.startsWith('event: ')));
        });
        resolve({ events, close: () => sent.destroy() });
      },
    );
    sent.on('error', reject).end();
  });
}

/** Lets a second pass, until the server waits for the next one. */
async function second(clock: VirtualClock): Promise<void> {
  clock.advance(1000);
  do await nextTurn();
  while (clock.sleepers === 0);
}

const dataOf = (event: string | undefined): unknown =>
  JSON.parse(/^data: (.*)$/m.exec(event ?? '')?.[1] ?? 'null');

describe('who is answered', () => {
  test('the whole URL -> the page, which may load nothing and which no other page may frame', async () => {
    const { url } = await start();
    const { status, headers, body } = await ask(url);
    expect([status, body]).toEqual([200, '<p>1</p>']);
    expect(headers).toMatchObject({
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
  });

  test.each([
    ['no token', '/'],
    ['another token', '/dG9rZW4tb2YtdGhlLXBhZ2E/'],
    ['the start of the token', `/${TOKEN.slice(0, -1)}/`],
    ['the token and more', `/${TOKEN}x/`],
    ['an empty token', '//'],
    ['the token without its slash', `/${TOKEN}`],
    ['another path below the token', `/${TOKEN}/events/x`],
    ['the token in the query', `/?${TOKEN}`],
    ['events without the token', '/events'],
    ['a path upwards', `/${TOKEN}/../../etc/passwd`],
  ])('%s -> 404', async (_what, path) => {
    const { url } = await start();
    const { status, body } = await ask(url, { path });
    expect(status).toBe(404);
    expect(body).not.toContain(TOKEN);
  });

  test.each([
    ['a name of another site that leads here', { host: 'evil.example' }],
    ['that name with our port', { host: 'evil.example:PORT' }],
    ['a name that ends like ours', { host: 'x.localhost:PORT' }],
    ['another port', { host: '127.0.0.1:1' }],
    ['a page of another site', { host: '127.0.0.1:PORT', origin: 'http://evil.example' }],
    ['a page of another port', { host: '127.0.0.1:PORT', origin: 'http://127.0.0.1:1' }],
    ['a page of another scheme', { host: '127.0.0.1:PORT', origin: 'abcd://127.0.0.1:PORT' }],
    ['a page of no site', { host: '127.0.0.1:PORT', origin: 'null' }],
  ])('%s -> 403 for the page, its events and the metrics', async (_what, headers) => {
    const { url } = await start();
    const ours = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', url.port)]),
    );
    const paths = [url.pathname, `${url.pathname}events`, '/metrics'];
    const answers = await Promise.all(paths.map(async (path) => ask(url, { path, headers: ours })));
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  });

  test.each(['localhost', '127.0.0.1', '[::1]', 'LOCALHOST'])('the name %s -> answered', async (name) => {
    const { url } = await start();
    expect((await ask(url, { headers: { host: `${name}:${url.port}` } })).status).toBe(200);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'])('%s -> 405', async (method) => {
    const { url } = await start();
    const { status, headers } = await ask(url, { method });
    expect([status, headers['allow'], headers['access-control-allow-origin']]).toEqual([
      405,
      'GET',
      undefined,
    ]);
  });

  test.each([
    ['that takes OpenMetrics', 'application/openmetrics-text;version=1.0.0', 'openmetrics', 'version=1.0.0'],
    ['that takes anything', '*/*', 'prometheus', 'version=0.0.4'],
  ])('metrics to a client %s -> without the token, in its format', async (_who, accept, format, version) => {
    const { url } = await start();
    const { status, headers, body } = await ask(url, { path: '/metrics', headers: { accept } });
    expect([status, body]).toEqual([200, `# ${format}\n`]);
    expect(headers['content-type']).toContain(version);
  });

  test('garbage instead of a request -> the others are still answered', async () => {
    const { url } = await start();
    await new Promise<void>((resolve) => {
      const socket = connect(Number(url.port), url.hostname, () =>
        socket.end('\u0000\u0001 no request\r\n\r\n'),
      );
      socket.on('close', () => resolve()).resume();
    });
    expect((await ask(url)).status).toBe(200);
  });

  test('the state cannot be read -> 503 that says why, and the next request is answered', async () => {
    const shown = new Facts();
    const { url } = await start(shown);
    const { page } = shown;
    shown.page = () => {
      throw new Error('the disk is gone');
    };
    expect(await ask(url)).toMatchObject({ status: 503, body: 'cosmig: the disk is gone\n' });
    shown.page = page;
    expect((await ask(url)).status).toBe(200);
  });

  test('a port that is taken -> a refusal that names it', async () => {
    const { url } = await start();
    const again = startWatch({
      port: Number(url.port),
      token: TOKEN,
      shown: new Facts(),
      clock: new VirtualClock(),
      signal: new AbortController().signal,
    });
    await expect(again).rejects.toThrow(`port ${url.port} is taken`);
  });
});

describe('what viewers receive', () => {
  test('everything first, then only what has changed', async () => {
    const shown = new Facts();
    const { clock, url } = await start(shown);
    const viewer = await view(url);
    await until(() => viewer.events.length === 1, { what: 'the first event' });
    expect(dataOf(viewer.events[0])).toEqual({ now: '<h1>copying</h1>', work: '1' });
    shown.now = { ...shown.now, work: '2' };
    await second(clock);
    await until(() => viewer.events.length === 2, { what: 'the change' });
    expect(dataOf(viewer.events[1])).toEqual({ work: '2' });
    await second(clock);
    await until(() => viewer.events.length === 3, { what: 'a sign of life' });
    expect(dataOf(viewer.events[2])).toEqual({});
    viewer.close();
  });

  test('a state that is too large for one write -> sent once', async () => {
    const shown = new Facts();
    shown.now = { now: 'x'.repeat(300_000) };
    const { clock, url } = await start(shown);
    const viewer = await view(url);
    await until(() => viewer.events.length === 1, { what: 'the first event' });
    for (let turns = 0; turns < 50; turns += 1) await nextTurn();
    expect(viewer.events).toHaveLength(1);
    await second(clock);
    await until(() => viewer.events.length === 2, { what: 'the next second' });
    expect(dataOf(viewer.events[1])).toEqual({});
    viewer.close();
  });

  test('the server ends -> the last state, and that it was the last', async () => {
    const shown = new Facts();
    const { url } = await start(shown);
    const viewer = await view(url);
    await until(() => viewer.events.length === 1, { what: 'the first event' });
    shown.now = { ...shown.now, work: 'last' };
    await running?.close();
    await until(() => viewer.events.length === 3, { what: 'the end' });
    expect(dataOf(viewer.events[1])).toEqual({ work: 'last' });
    expect(viewer.events[2]).toMatch(/^event: end\n/);
  });

  test('fifty viewers -> the state is looked at once a second; none -> never', async () => {
    const shown = new Facts();
    const { clock, url } = await start(shown);
    for (let seconds = 0; seconds < 5; seconds += 1) await second(clock);
    expect(shown.looks).toBe(0);
    const viewers = await Promise.all(Array.from({ length: 50 }, () => view(url)));
    await until(() => viewers.every(({ events }) => events.length === 1), { what: 'the first events' });
    const before = shown.looks;
    for (let seconds = 1; seconds <= 3; seconds += 1) {
      shown.now = { ...shown.now, work: String(seconds) };
      await second(clock);
      await until(() => viewers.every(({ events }) => events.length === seconds + 1), { what: 'the change' });
    }
    expect(shown.looks - before).toBe(3);
    for (const viewer of viewers) viewer.close();
  });

  test('a viewer that does not read -> nothing piles up; it gets the newest state when it reads again', async () => {
    const shown = new Facts();
    const { clock, url } = await start(shown);
    const socket = connect(Number(url.port), url.hostname);
    socket.write(`GET ${url.pathname}events HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    const beforeBytes = await usedBytes();
    // A page that changes completely every second: 240 MB if all of it were kept.
    for (let seconds = 0; seconds < 1200; seconds += 1) {
      shown.now = { work: `${seconds} ${'x'.repeat(200_000)}` };
      await second(clock);
    }
    const enough = beforeBytes + 80_000_000;
    expect(await usedBytes(enough)).toBeLessThanOrEqual(enough);
    let received = '';
    socket.on('data', (bytes) => (received = (received + bytes.toString()).slice(-500_000))).resume();
    await until(() => received.includes('1199 xxx'), { what: 'the newest state' });
    socket.destroy();
  });
});
