/** Our own connections against servers that behave in every way a server may, and in some that it must not. */
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpAddress } from '../../../src/cosmos/transport/http-connection.ts';
import { HttpSockets } from '../../../src/cosmos/transport/http-sockets.ts';
import { CutShort, type RawReply } from '../../../src/cosmos/transport/raw-reply.ts';
import { MalformedReply } from '../../../src/cosmos/transport/reply-head.ts';
import { selfSignedCertificate } from '../../../src/emulator/http/certificate.ts';
import { Deadline } from '../../../src/lib/abort.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { failure } from '../../helpers/emulator/failure.ts';
import { until as untilOf } from '../../helpers/wait.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const REQUEST = {
  head: 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n',
  body: Buffer.from('body'),
};

/** A server that answers by hand, and what it has seen. */
interface Scene {
  readonly sockets: HttpSockets;
  readonly address: HttpAddress;
  readonly connections: Socket[];
  readonly received: string[];
  send(signal?: AbortSignal): Promise<RawReply>;
}

/** Sends a request, and waits at most as long as a test may take. */
async function sendWith(
  sockets: HttpSockets,
  address: HttpAddress,
  signal = new AbortController().signal,
): Promise<RawReply> {
  using deadline = new Deadline(60_000, 'a request', signal);
  return await sockets.send({ ...REQUEST, address, onSend: () => {}, deadline });
}

const opened: { readonly server: Server; readonly scene: Scene }[] = [];

afterEach(async () => {
  for (const { server, scene } of opened.splice(0)) {
    scene.sockets.close();
    for (const socket of scene.connections) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function begin(
  answer: (socket: Socket, request: number) => void,
  {
    secure,
    tls = {},
  }: { readonly secure?: { readonly key: string; readonly cert: string }; readonly tls?: object } = {},
): Promise<Scene> {
  const connections: Socket[] = [];
  const received: string[] = [];
  let requests = 0;
  const take = (socket: Socket): void => {
    connections.push(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      received.push(chunk.toString('latin1'));
      for (let end = text.indexOf('body'); end >= 0; end = text.indexOf('body')) {
        text = text.slice(end + 4);
        requests += 1;
        answer(socket, requests);
      }
    });
  };
  const server = secure === undefined ? createServer(take) : createSecureServer(secure, take);
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = new URL(`${secure === undefined ? 'http' : 'https'}://127.0.0.1:${port}/`);
  const sockets = new HttpSockets(systemClock);
  const address = { origin, tls };
  const scene: Scene = {
    sockets,
    address,
    connections,
    received,
    send: async (signal) => sendWith(sockets, address, signal),
  };
  opened.push({ server, scene });
  return scene;
}

const until = async (check: () => boolean): Promise<boolean> =>
  untilOf(check, { what: 'the other side of the connection' });

const textOf = (reply: RawReply): string => `${reply.status} ${reply.body.toString()}`;

test('requests one after the other -> one connection, each request whole and in order', async () => {
  const scene = await begin((socket, n) => socket.write(OK.replace('ok', `${n}.`)));
  for (let n = 1; n <= 5; n += 1) expect(textOf(await scene.send())).toBe(`200 ${n}.`);
  expect(scene.connections.length).toBe(1);
  expect(scene.received.join('')).toBe((REQUEST.head + 'body').repeat(5));
});

test('requests at the same time -> a connection for each, used again afterwards', async () => {
  const scene = await begin((socket) => socket.write(OK));
  await Promise.all(Array.from({ length: 4 }, async () => scene.send()));
  await Promise.all(Array.from({ length: 4 }, async () => scene.send()));
  expect(scene.connections.length).toBe(4);
});

test('a reply that drips byte by byte, after interim replies -> whole', async () => {
  const scene = await begin((socket) => {
    socket.setNoDelay(true);
    const drip = async (): Promise<void> => {
      for (const byte of `HTTP/1.1 100 Continue\r\n\r\n${OK}`) {
        socket.write(byte);
        await delay(1);
      }
    };
    void drip();
  });
  expect(textOf(await scene.send())).toBe('200 ok');
});

test('a reply in chunks -> whole; the connection is used again', async () => {
  const scene = await begin((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n');
    setTimeout(() => socket.write('1\r\nk\r\n0\r\n\r\n'), 5);
  });
  expect(textOf(await scene.send())).toBe('200 ok');
  expect(textOf(await scene.send())).toBe('200 ok');
  expect(scene.connections.length).toBe(1);
});

test('a reply without a length -> ends with the connection; the next request has another', async () => {
  const scene = await begin((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nok'));
  expect(textOf(await scene.send())).toBe('200 ok');
  expect(textOf(await scene.send())).toBe('200 ok');
  expect(scene.connections.length).toBe(2);
});

describe('trouble -> the request fails, and its connection is not used again', () => {
  test.each([
    ['closed before the reply', (socket: Socket) => socket.end(), CutShort],
    [
      'half-open: the service sends its end and waits',
      (socket: Socket) => socket.end(OK.slice(0, 10)),
      CutShort,
    ],
    ['closed within the body', (socket: Socket) => socket.end(OK.slice(0, -1)), CutShort],
    ['reset', (socket: Socket) => socket.resetAndDestroy(), Error],
    ['not HTTP', (socket: Socket) => socket.write('SSH-2.0-x\r\n\r\n'), MalformedReply],
  ])('%s', async (_what, act, kind) => {
    const scene = await begin((socket, n) => (n === 1 ? act(socket) : socket.write(OK)));
    expect(await failure(scene.send())).toBeInstanceOf(kind);
    expect(textOf(await scene.send())).toBe('200 ok');
    expect(scene.connections.length).toBe(2);
  });

  test('a refusal that is cut short -> counts, without its body', async () => {
    const scene = await begin((socket) => socket.end('HTTP/1.1 429 X\r\ncontent-length: 9\r\n\r\n<html'));
    expect(textOf(await scene.send())).toBe('429 ');
  });

  test('no reply -> ends when it is aborted, with the reason', async () => {
    const scene = await begin((socket, n) => n > 1 && socket.write(OK));
    const abort = new AbortController();
    const sent = failure(scene.send(abort.signal));
    await until(() => scene.received.length > 0);
    abort.abort(new Error('enough'));
    expect(await sent).toMatchObject({ message: 'enough' });
    expect(textOf(await scene.send())).toBe('200 ok');
    expect(scene.connections.length).toBe(2);
  });

  test('aborted before it begins -> nothing is sent', async () => {
    const scene = await begin((socket) => socket.write(OK));
    const abort = new AbortController();
    abort.abort(new Error('enough'));
    expect(await failure(scene.send(abort.signal))).toMatchObject({ message: 'enough' });
    expect(scene.received).toEqual([]);
  });
});

describe('a connection that is not what it should be -> the reply counts, the next request has another', () => {
  test.each([
    ['bytes after the reply', (socket: Socket) => socket.write(`${OK}HTTP/1.1 200 OK\r\n`)],
    ['a second reply', (socket: Socket) => socket.write(OK + OK)],
    ['connection: close', (socket: Socket) => socket.write(OK.replace('\r\n', '\r\nconnection: close\r\n'))],
    ['closed while it is idle', (socket: Socket) => socket.write(OK, () => socket.end())],
  ])('%s', async (_what, act) => {
    const scene = await begin((socket, n) => (n === 1 ? act(socket) : socket.write(OK)));
    expect(textOf(await scene.send())).toBe('200 ok');
    await until(
      () => scene.connections[0]?.destroyed === true || scene.connections[0]?.readableEnded === true,
    );
    expect(textOf(await scene.send())).toBe('200 ok');
    expect(scene.connections.length).toBe(2);
  });

  test('an answer before the request was read -> it counts, and the rest of the request is not sent', async () => {
    const scene = await begin(() => {});
    using deadline = new Deadline(60_000, 'a request', new AbortController().signal);
    const sent = scene.sockets.send({
      head: REQUEST.head.replace('4', '50000000'),
      body: Buffer.alloc(50_000_000, 'x'),
      address: scene.address,
      onSend: () => {},
      deadline,
    });
    await until(() => scene.received.length > 0);
    const [socket] = scene.connections;
    socket?.pause();
    socket?.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno');
    expect(textOf(await sent)).toBe('413 no');
    socket?.resume();
    await until(() => socket?.destroyed === true);
    expect(scene.received.join('').length).toBeLessThan(50_000_000);
  });
});

describe('TLS', () => {
  const made = (hosts: readonly string[]): { key: string; cert: string } =>
    selfSignedCertificate(hosts, systemClock.now());

  test('a certificate that is trusted -> requests pass', async () => {
    const secure = made(['127.0.0.1']);
    const scene = await begin((socket) => socket.write(OK), { secure, tls: { ca: secure.cert } });
    for (let n = 0; n < 3; n += 1) expect(textOf(await scene.send())).toBe('200 ok');
    expect(scene.connections.length).toBe(1);
  });

  test('replies of several connections come in pieces, in turn -> each connection gets its own', async () => {
    const secure = made(['127.0.0.1']);
    const waiting: [socket: Socket, reply: string][] = [];
    const answer = (socket: Socket, n: number): void => {
      const body = `${n}`.repeat(40_000);
      socket.setNoDelay(true);
      waiting.push([socket, `HTTP/1.1 200 OK\r\nx-n: ${n}\r\ncontent-length: ${body.length}\r\n\r\n${body}`]);
    };
    const scene = await begin(answer, { secure, tls: { ca: secure.cert } });
    const sent = Promise.allSettled(Array.from({ length: 4 }, async () => scene.send()));
    await until(() => waiting.length === 4);
    // The first piece ends behind the first header, in which the replies differ. All connections read into the same memory.
    for (const piece of [26, 20, 10_000, 20_000]) {
      for (const [at, [socket, rest]] of waiting.entries()) {
        socket.write(rest.slice(0, piece));
        waiting[at] = [socket, rest.slice(piece)];
      }
      await delay(20);
    }
    for (const [socket, rest] of waiting) socket.write(rest);
    const answers = (await sent).map((one) => {
      if (one.status === 'rejected') return String(one.reason);
      const n = one.value.header('x-n');
      return one.value.body.toString() === `${n}`.repeat(40_000) ? n : `not the body of ${n}`;
    });
    expect(new Set(answers)).toEqual(new Set(['1', '2', '3', '4']));
  });

  test.each([
    ['Node does not trust', ['127.0.0.1'], false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['is for another host', ['other.example'], true, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])(
    'a certificate that %s -> refused before a byte of the request',
    async (_what, hosts, isTrusted, code) => {
      const secure = made(hosts);
      const scene = await begin((socket) => socket.write(OK), {
        secure,
        tls: isTrusted ? { ca: secure.cert } : {},
      });
      expect(await failure(scene.send())).toMatchObject({ code });
      expect(scene.received).toEqual([]);
    },
  );

  test('a server that does not speak TLS -> refused before a byte of the request', async () => {
    const scene = await begin((socket) => socket.write(OK));
    const address = {
      ...scene.address,
      origin: new URL(scene.address.origin.href.replace('http:', 'https:')),
    };
    const sent = sendWith(scene.sockets, address);
    await until(() => scene.received.length > 0);
    scene.connections[0]?.write(OK);
    expect(await failure(sent)).toHaveProperty('code');
    expect(scene.received.join('')).not.toContain('POST');
  });
});

test('plain http to another machine -> refused', async () => {
  const sockets = new HttpSockets(systemClock);
  const address = { origin: new URL('http://acme.documents.azure.com/'), tls: {} };
  await expect(sendWith(sockets, address)).rejects.toThrow('loopback');
});

test('idle for long -> the next request has another connection', async () => {
  let nowMs = 0;
  const scene = await begin((socket) => socket.write(OK));
  const sockets = new HttpSockets({ ...systemClock, monotonicMs: () => nowMs });
  const send = async (): Promise<RawReply> => sendWith(sockets, scene.address);
  await send();
  nowMs += 3999;
  await send();
  expect(scene.connections.length).toBe(1);
  nowMs += 4000;
  await send();
  expect(scene.connections.length).toBe(2);
  await until(() => scene.connections[0]?.destroyed === true);
  sockets.close();
});
