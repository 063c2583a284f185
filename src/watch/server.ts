/**
 * The server of the live page. Invariants: it answers only requests that reach it by a name of this machine and that no
 * page of another site has sent; it answers GET only and changes nothing; the page and its events need the random token
 * of the URL. `/metrics` needs no token, because its address must not change, and has figures only.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ChildSignal } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { NotReadyError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import { METRICS_TYPES, metricsFormatFor, type MetricsFormat } from './accept.ts';
import { Viewers, type Parts } from './viewers.ts';

/** What the server shows. Each method reads the state again. */
export interface Shown {
  /** The whole page, which is complete without its script. */
  page(): string;
  parts(): Parts;
  /** The figures, for Prometheus. */
  metrics(format: MetricsFormat): string;
  /** The `Content-Security-Policy` of the page. */
  readonly policy: string;
}

export interface WatchOptions {
  /** 0: any free port. */
  readonly port: number;
  /** The secret in the URL. */
  readonly token: string;
  readonly shown: Shown;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface RunningWatch {
  readonly url: string;
  /** Resolves when the page is open in a browser for the first time; never rejects. */
  readonly viewed: Promise<void>;
  /** Ends with the server; rejects if the state can no longer be shown. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** How often the page gets the newest state while it is open in a browser. */
const SHOW_EVERY_MS = 1000;
/** The address that the server listens on: only this machine reaches it. */
const HOST = '127.0.0.1';
/** A request without a body has few headers, so a client that takes longer than this is not a browser. */
const HEADERS_TIMEOUT_MS = 10_000;

export async function startWatch(options: WatchOptions): Promise<RunningWatch> {
  const { port, token, shown, clock, signal } = options;
  const viewers = new Viewers();
  const server = createServer({ headersTimeout: HEADERS_TIMEOUT_MS }, (request, response) =>
    answer(request, response, { token, shown, viewers }),
  );
  const stopping = new ChildSignal(signal);
  const listening = await listen(server, port);
  const ended = group(stopping.signal, async (members) => {
    while (!members.signal.aborted) {
      await clock.sleep(SHOW_EVERY_MS, members.signal);
      if (viewers.size > 0) viewers.send(shown.parts());
    }
  }).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  // The caller may look at it later, or never.
  ended.catch(() => {});
  return {
    url: `http://${HOST}:${listening}/${token}/`,
    viewed: viewers.first,
    ended,
    close: async () => {
      stopping.abort(new Error('the page is closed'));
      await ended.catch(() => {});
      if (viewers.size > 0) viewers.end(shown.parts());
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      // A viewer that does not read would keep its connection open.
      setImmediate(() => server.closeAllConnections());
      await closed;
      stopping[Symbol.dispose]();
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') return reject(error);
      const [what, why] =
        error.code === 'EACCES'
          ? ['may not be used', 'the system reserves low ports']
          : ['is taken', 'another program listens on it'];
      const hint = 'use another port; --port 0 takes any free one';
      reject(new NotReadyError(`port ${port} ${what}`, { why, hint, cause: error }));
    });
    server.listen(port, HOST, resolve);
  });
  return (server.address() as AddressInfo).port;
}

interface Answering {
  readonly token: string;
  readonly shown: Shown;
  readonly viewers: Viewers;
}

function answer(request: IncomingMessage, response: ServerResponse, answering: Answering): void {
  const { token, shown, viewers } = answering;
  for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value);
  if (!isOurs(request)) return refuse(response, 403, 'this page answers to this machine only');
  if (request.method !== 'GET') return refuse(response, 405, 'this page is read-only', { allow: 'GET' });
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  if (path === '/metrics') {
    const format = metricsFormatFor(request.headers.accept);
    return send(response, METRICS_TYPES[format], () => shown.metrics(format));
  }
  const [, given = '', rest, ...deeper] = path.split('/');
  const isKnown = isSame(given, token) && deeper.length === 0;
  if (isKnown && rest === '') {
    response.setHeader('content-security-policy', shown.policy);
    return send(response, 'text/html; charset=utf-8', () => shown.page());
  }
  if (isKnown && rest === 'events') return watching(response, () => viewers.add(response, shown.parts()));
  refuse(response, 404, 'there is nothing here; open the whole URL that cosmig has printed');
}

/** Headers of every reply. */
const SAFE_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/**
 * Whether a request reaches the server by a name of the loopback interface, and no page of another site has sent it. A
 * page can make a name of its own lead to this machine (DNS rebinding), but cannot change `host` and `origin`.
 */
function isOurs({ headers: { host = '', origin }, socket: { localPort } }: IncomingMessage): boolean {
  const names = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${localPort}`);
  return (
    names.includes(host.toLowerCase()) &&
    (origin === undefined || names.some((name) => origin === `http://${name}`))
  );
}

function isSame(given: string, token: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}

function send(response: ServerResponse, type: string, make: () => string): void {
  watching(response, () => {
    const body = make();
    response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
}

/** Answers, or says why the state cannot be shown. The page then tries again. */
function watching(response: ServerResponse, body: () => void): void {
  try {
    body();
  } catch (error) {
    refuse(response, 503, error instanceof Error ? error.message : String(error));
  }
}

function refuse(
  response: ServerResponse,
  status: number,
  why: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...headers, 'content-type': 'text/plain; charset=utf-8' });
  response.end(`cosmig: ${why}\n`);
}
