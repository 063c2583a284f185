/**
 * Requests by hand: the bytes that travel are the test's own, nothing is parsed or rebuilt on the way.
 * Signed here rather than by the SDK, because a test must be able to sign the wrong thing or an old date.
 */
import { createHmac } from 'node:crypto';
import * as http from 'node:http';
import * as https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

export type Headers = Readonly<Record<string, string | undefined>>;

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  readonly reusedSocket: boolean;
}

export interface Exchange {
  readonly method: string;
  readonly endpoint: string;
  /** Sent as it is: no normalisation, no escaping. */
  readonly path: string;
  readonly headers?: Headers;
  readonly body?: string | Buffer | undefined;
  readonly agent?: http.Agent | https.Agent | undefined;
  readonly ca?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One HTTP exchange. Without an agent the connection is closed afterwards. */
export function exchange(request: Exchange): Promise<Reply> {
  const url = new URL(request.endpoint);
  const secure = url.protocol === 'https:';
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value !== undefined) headers[name] = value;
  }
  if (request.body !== undefined) headers['content-length'] = String(Buffer.byteLength(request.body));
  const options: https.RequestOptions = {
    method: request.method,
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : url.port,
    path: request.path,
    headers,
    agent: request.agent ?? false,
    ...(request.ca === undefined ? {} : { ca: request.ca }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = secure ? https.request(options) : http.request(options);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: Buffer.concat(chunks).toString('utf8'),
          reusedSocket: outgoing.reusedSocket,
        }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(request.body);
  });
}

/** The error body every Cosmos SDK needs. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
}

// What a reply is expected to hold is the caller's claim; the assertions that follow check it.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function parseJson<T = Record<string, unknown>>(reply: Pick<Reply, 'text'>): T {
  return JSON.parse(reply.text) as T;
}

export function headerOf(reply: Pick<Reply, 'headers'>, name: string): string {
  const value = reply.headers[name];
  if (typeof value !== 'string') throw new Error(`the reply has no ${name} header`);
  return value;
}

/** Status and substatus of a refusal as `410/1002`; the refusal must carry the JSON body every SDK needs. */
export function refusalOf(reply: Reply): string {
  const type = reply.headers['content-type'] ?? 'none';
  if (!type.includes('application/json')) throw new Error(`${reply.status} with content type ${type}`);
  const { code, message } = parseJson<Partial<ErrorBody>>(reply);
  if (typeof code !== 'string' || typeof message !== 'string' || message === '') {
    throw new Error(`${reply.status} without code and message: ${reply.text.slice(0, 200)}`);
  }
  return `${reply.status}/${substatusOf(reply)}`;
}

export function chargeOf(reply: Pick<Reply, 'headers'>): number {
  return Number(headerOf(reply, 'x-ms-request-charge'));
}

export function substatusOf(reply: Pick<Reply, 'headers'>): number {
  return Number(reply.headers['x-ms-substatus'] ?? 0);
}

/** A JSON header value: every code unit from U+007F up is escaped, as the SDK does. */
export function asHeaderJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007F-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

interface SignedTarget {
  readonly type: string;
  readonly link: string;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Resource type and link as fact SDK-3 has them, derived from an unescaped path. */
function signedTarget(path: string): SignedTarget {
  const parts = path.split('?')[0]?.split('/').filter(Boolean).map(decoded) ?? [];
  const [first, second] = parts;
  if (first === 'offers') return { type: 'offers', link: second === undefined ? '' : second.toLowerCase() };
  if (parts.length % 2 === 1) {
    return { type: parts.at(-1) ?? '', link: parts.length === 1 ? '' : parts.slice(0, -1).join('/') };
  }
  return { type: parts.at(-2) ?? '', link: parts.join('/') };
}

export interface AccountAccess {
  readonly endpoint: string;
  readonly key: string;
  readonly ca?: string | undefined;
  /** Waits out 429s as the SDK does: for accounts whose budget is not the test's subject. */
  readonly patient?: boolean;
}

/** A throttled request of a patient account is sent at most this often. */
const ATTEMPTS_MAX = 30;

export interface SignedRequest {
  readonly headers?: Headers;
  readonly body?: string | Buffer;
  /** What is signed, where it must differ from what is asked. */
  readonly signAs?: { readonly method?: string; readonly type?: string; readonly link?: string };
  readonly key?: string;
  readonly date?: Date;
  readonly signal?: AbortSignal;
}

/** Signed requests to one account over its own kept-alive sockets. */
export class RawAccount {
  readonly access: AccountAccess;
  readonly #agent: http.Agent | https.Agent;

  constructor(access: AccountAccess) {
    this.access = access;
    const secure = access.endpoint.startsWith('https:');
    this.#agent = secure
      ? new https.Agent({ keepAlive: true, ca: access.ca })
      : new http.Agent({ keepAlive: true });
  }

  async send(method: string, path: string, request: SignedRequest = {}): Promise<Reply> {
    for (let attempt = 1; ; attempt += 1) {
      const reply = await this.#sendOnce(method, path, request);
      const wait = reply.status === 429 && this.access.patient === true && attempt < ATTEMPTS_MAX;
      if (!wait) return reply;
      await delay(Number(reply.headers['x-ms-retry-after-ms'] ?? 100));
    }
  }

  #sendOnce(method: string, path: string, request: SignedRequest): Promise<Reply> {
    return exchange({
      method,
      path,
      headers: { ...this.#sign(method, path, request), ...request.headers },
      endpoint: this.access.endpoint,
      ca: this.access.ca,
      agent: this.#agent,
      body: request.body,
      signal: request.signal,
    });
  }

  #sign(method: string, path: string, request: SignedRequest): Record<string, string> {
    const { type, link } = { ...signedTarget(path), ...request.signAs };
    const verb = (request.signAs?.method ?? method).toLowerCase();
    const date = (request.date ?? new Date()).toUTCString();
    const signature = createHmac('sha256', Buffer.from(request.key ?? this.access.key, 'base64'))
      .update(`${verb}\n${type.toLowerCase()}\n${link}\n${date.toLowerCase()}\n\n`)
      .digest('base64');
    return {
      accept: 'application/json',
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
      'x-ms-date': date,
      'x-ms-version': '2020-07-15',
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    };
  }

  close(): void {
    this.#agent.destroy();
  }
}
