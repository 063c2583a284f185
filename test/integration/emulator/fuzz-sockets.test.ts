/**
 * What arrives on a socket need not be HTTP, nor be complete, nor be honest about its length. The emulator
 * answers with a JSON error where an answer can still be read, lets go of the connection where it cannot,
 * applies nothing of a request that did not arrive whole, and serves everybody else meanwhile.
 */
import { once } from 'node:events';
import * as net from 'node:net';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startTestEmulator, type TestEmulator } from '../../helpers/emulator/emulator.ts';
import { signed } from '../../helpers/emulator/fuzz-requests.ts';
import { parseJson, RawAccount } from '../../helpers/emulator/raw.ts';
import { until, within } from '../../helpers/wait.ts';
import '../../helpers/seed.ts';

const DOCS = '/dbs/d/colls/c/docs';
/** Nothing here takes this long, except a server that waits for what will not come: it does so for 60 s. */
const ANSWER_WITHIN_MS = 30_000;

let emulator: TestEmulator;
let raw: RawAccount;
const open = new Set<net.Socket>();

beforeAll(async () => {
  emulator = await startTestEmulator();
  raw = new RawAccount(emulator);
  await raw.send('POST', '/dbs', { body: '{"id":"d"}' });
  const container = await raw.send('POST', '/dbs/d/colls', {
    body: '{"id":"c","partitionKey":{"paths":["/pk"]}}',
  });
  if (container.status !== 201) throw new Error(`no container: ${container.status} ${container.text}`);
});

afterEach(async () => {
  for (const socket of open) socket.destroy();
  open.clear();
  const alive = await raw.send('GET', '/');
  if (alive.status !== 200) throw new Error(`the emulator answers ${alive.status} to a good request`);
});

afterAll(async () => {
  raw.close();
  await emulator.close();
});

/** A connection and everything that comes back on it. */
interface Line {
  readonly socket: net.Socket;
  received(): string;
  /** All that came until the server ended the connection. */
  whole(): Promise<string>;
}

async function connect(): Promise<Line> {
  const { hostname, port } = new URL(emulator.endpoint);
  const socket = net.connect(Number(port), hostname);
  open.add(socket);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The server may cut the connection while we write: that is what some tests are about.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const received = (): string => Buffer.concat(chunks).toString('latin1');
  const whole = async (): Promise<string> => {
    await until(() => socket.closed, {
      what: 'the end of the connection',
      timeoutMs: ANSWER_WITHIN_MS,
      everyMs: 2,
    });
    return received();
  };
  return { socket, received, whole };
}

/** The head of a signed request, ready for its body. */
function head(method: string, path: string, headers: Readonly<Record<string, string>> = {}): string {
  const signature = signed(
    { method, path, headers: {}, body: undefined, auth: 'good' },
    emulator.key,
    new Date(),
  );
  const lines = Object.entries({ host: 'localhost', ...signature, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

const KEY = { 'x-ms-documentdb-partitionkey': '["a"]' };

function create(id: string, headers: Readonly<Record<string, string>> = {}): { head: string; body: string } {
  const body = JSON.stringify({ id, pk: 'a', text: 'x'.repeat(200) });
  return { head: head('POST', DOCS, { ...KEY, 'content-length': String(body.length), ...headers }), body };
}

async function isStored(id: string): Promise<boolean> {
  const reply = await raw.send('GET', `${DOCS}/${id}`, { headers: KEY });
  return reply.status === 200;
}

/** The status and the body of the one answer in a text. */
function parseAnswer(text: string): { status: number; body: { code: string; message: string } } {
  const [top = '', body = ''] = text.split('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(top)?.[1]),
    body: JSON.parse(body) as { code: string; message: string },
  };
}

test('bytes that are not HTTP -> a JSON 400 or nothing, and the connection ends', async () => {
  const noise = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes));
  const almost = fc
    .tuple(
      fc.constantFrom('GET', 'POST', 'get', 'G\u0000T', ''),
      fc.string({ maxLength: 20 }),
      fc.constantFrom('HTTP/1.1', 'HTTP/9.9', 'HTTX', ''),
    )
    .map(([method, path, version]) => Buffer.from(`${method} ${path} ${version}\r\na b: c\r\n\r\n`));
  await fc.assert(
    fc.asyncProperty(fc.oneof(noise, almost), async (bytes) => {
      const line = await connect();
      line.socket.end(bytes);
      const text = await line.whole();
      if (text === '') return;
      const { status, body } = parseAnswer(text);
      expect(status).toBe(400);
      expect(body.code).toBe('BadRequest');
      expect(body.message).toMatch(/./);
    }),
    { numRuns: 150 },
  );
});

test.each<[string, string, number]>([
  ['a header without a colon', 'GET / HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n', 400],
  ['an unknown method', 'FROB / HTTP/1.1\r\nhost: localhost\r\n\r\n', 400],
  ['a version from the future', 'GET / HTTP/7.3\r\nhost: localhost\r\n\r\n', 400],
  ['a TLS greeting', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', 400],
  ['headers of 64 KB', `GET / HTTP/1.1\r\nhost: localhost\r\nbig: ${'x'.repeat(65_536)}\r\n\r\n`, 431],
  ['a path of 64 KB', `GET /${'x'.repeat(65_536)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 431],
  ['two lengths', 'POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 400],
  ['a negative length', 'POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n', 400],
  ['a length beyond all numbers', `POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${'9'.repeat(40)}\r\n\r\n`, 400],
  ['a length and chunks', 'POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 400],
  ['a chunk of no size', 'POST /dbs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n', 400],
])('%s -> refused with a JSON error', async (_what, text, status) => {
  const line = await connect();
  line.socket.write(text, 'latin1');
  const answer = parseAnswer(await line.whole());
  expect(answer.status).toBe(status);
  expect(Object.keys(answer.body)).toEqual(['code', 'message']);
}); // prettier-ignore

test('a request without a host -> a reply in JSON', async () => {
  const line = await connect();
  line.socket.end('GET /dbs HTTP/1.1\r\nconnection: close\r\n\r\n');
  const answer = parseAnswer(await line.whole());
  expect([400, 401]).toContain(answer.status);
  expect(answer.body.message).toMatch(/./);
});

test('an unknown expectation -> a reply in JSON', async () => {
  const line = await connect();
  line.socket.end('GET /dbs HTTP/1.1\r\nhost: localhost\r\nexpect: miracles\r\nconnection: close\r\n\r\n');
  const answer = parseAnswer(await line.whole());
  expect([400, 401]).toContain(answer.status);
  expect(answer.body.message).toMatch(/./);
});

test.each([
  'CONNECT x:1 HTTP/1.1\r\nhost: localhost\r\n\r\n',
  'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
])('%j -> the request ends, and the emulator serves on', async (text) => {
  const line = await connect();
  line.socket.end(text);
  expect(await line.whole()).toMatch(/^(?:$|HTTP\/1\.1 [24])/);
});

test('half-open requests -> others are served, and the emulator closes', async () => {
  const own = await startTestEmulator();
  const { hostname, port } = new URL(own.endpoint);
  const halves = [
    '',
    'G',
    'GET / HT',
    'POST /dbs HTTP/1.1\r\nhost: localhost\r\n',
    'POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{"id"',
  ];
  const sockets = Array.from({ length: 100 }, (_, index) => {
    const socket = net.connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(halves[index % halves.length] ?? '');
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const client = new RawAccount(own);
  expect((await client.send('GET', '/')).status).toBe(200);
  client.close();
  const closed = sockets.map((socket) => once(socket, 'close'));
  await own.close();
  await within(Promise.all(closed), ANSWER_WITHIN_MS, 'the end of the half-open connections');
});

test('a body that ends too early -> not applied', async () => {
  const { head: top, body } = create('early');
  const line = await connect();
  line.socket.end(top + body.slice(0, -5));
  await line.whole();
  expect(await isStored('early')).toBe(false);
});

test('a body longer than content-length -> cut there, and the rest is not a request', async () => {
  const { body } = create('long');
  const line = await connect();
  line.socket.write(
    head('POST', DOCS, { ...KEY, 'content-length': String(body.length) }) + body + '{"id":"rest"}\r\n\r\n',
  );
  const text = await line.whole();
  expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1])).toEqual(['201', '400']);
  expect(await isStored('long')).toBe(true);
});

test.each([0, 1, 100])('a client leaves %i bytes into the body -> nothing is written', async (sent) => {
  const { head: top, body } = create(`left-${sent}`);
  const line = await connect();
  line.socket.write(top + body.slice(0, sent));
  await until(() => line.socket.bytesWritten > top.length - 1, { what: 'the bytes to leave' });
  line.socket.resetAndDestroy();
  expect((await raw.send('GET', '/')).status).toBe(200);
  expect(await isStored(`left-${sent}`)).toBe(false);
});

test('clients leave before the answer -> their write is applied as a whole or not at all', async () => {
  for (let number = 0; number < 30; number += 1) {
    const { head: top, body } = create(`gone-${number}`);
    const line = await connect();
    line.socket.write(top + body, () => line.socket.resetAndDestroy());
    await line.whole();
  }
  const reply = await raw.send('GET', DOCS, { headers: KEY });
  const { Documents } = parseJson<{ Documents: { id: string; text: string }[] }>(reply);
  for (const document of Documents) expect(document.text).toBe('x'.repeat(200));
});

test('a slow body -> others are served, and it is applied when complete', async () => {
  const { head: top, body } = create('slow');
  const line = await connect();
  line.socket.write(top);
  for (let at = 0; at < body.length; at += 20) {
    line.socket.write(body.slice(at, at + 20));
    expect((await raw.send('GET', '/')).status).toBe(200);
  }
  await until(() => line.received().startsWith('HTTP/1.1 201'), { what: 'the answer to the slow request' });
  expect(await isStored('slow')).toBe(true);
});

test('pipelined requests -> answered in order, valid and invalid', async () => {
  const line = await connect();
  const good = head('GET', '/');
  const missing = head('GET', '/dbs/nowhere');
  const unsigned = 'GET /dbs HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const { head: top, body } = create('piped');
  line.socket.end([good, missing, top + body, unsigned, good, 'nonsense\r\n\r\n'].join(''));
  const text = await line.whole();
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1]);
  expect(statuses.slice(0, 5)).toEqual(['200', '404', '201', '401', '200']);
  expect(statuses.slice(5)).toEqual(['400']);
});

test('a body of 3 MB -> 413, and the connection stays open', async () => {
  const line = await connect();
  const size = 3 * 1024 * 1024;
  line.socket.write(head('POST', DOCS, { ...KEY, 'content-length': String(size) }));
  line.socket.write('x'.repeat(size));
  await until(() => line.received().startsWith('HTTP/1.1 413'), { what: 'the 413' });
  line.socket.write(head('GET', '/'));
  await until(() => line.received().includes('HTTP/1.1 200'), { what: 'the next answer' });
  expect(line.socket.destroyed).toBe(false);
});

test('an endless body -> the connection is closed', async () => {
  const line = await connect();
  const size = 200 * 1024 * 1024;
  line.socket.write(head('POST', DOCS, { ...KEY, 'content-length': String(size) }));
  const piece = Buffer.alloc(4 * 1024 * 1024, 'x');
  for (let sent = 0; sent < size && !line.socket.destroyed; sent += piece.length) {
    if (line.socket.write(piece)) continue;
    await until(() => line.socket.destroyed || line.socket.writableLength === 0, {
      what: 'room for more',
      everyMs: 1,
    });
  }
  await line.whole();
  expect(line.socket.bytesWritten).toBeLessThan(size);
});
