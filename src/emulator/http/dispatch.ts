/**
 * One request from its first byte to the last byte of its answer: read the body, find the route, check the
 * signature, meet the fault rules, let the handler work, answer. Handlers are synchronous, so a request
 * either has happened as a whole or not at all, whatever becomes of its connection.
 */
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { sleep } from '../../lib/abort.ts';
import type { Account } from '../account/account.ts';
import { authorize, type AuthSettings } from './auth.ts';
import { Call, refusalReply, type Reply } from './request.ts';
import { parseKey } from '../account/container-definition.ts';
import { refusalOf, type FaultEffect, type FaultTarget } from './faults.ts';
import * as containers from '../handlers/containers.ts';
import { placeOf } from '../documents/operations.ts';
import { Refusal, statusName } from './refusal.ts';
import { findRoute, signedResource, type Route } from './routes.ts';

/** A 2 MB document and the system properties a client may send back with it. */
const BODY_BYTES_MAX = 2 * 1024 * 1024 + 256 * 1024;
/** What is read and thrown away of a body that is too large, so that its sender gets to read the answer. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const SERVICE_VERSION = 'version=2.14.0.0';
const CONTENT_PATH = 'x-ms-alt-content-path';
const CONTENT_LENGTH_ZERO = { 'content-length': 0 };

type Headers = Readonly<Record<string, string | undefined>>;

/** The account's keys, base64. */
type Keys = Pick<AuthSettings, 'key' | 'readonlyKey'>;

export class Dispatcher {
  endpoint = '';
  readonly #account: Account;
  readonly #keys: Keys;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  /** Answers that have not left yet. */
  readonly #unsent = new Set<ServerResponse>();

  constructor(parts: { account: Account; keys: Keys; signal: AbortSignal }) {
    this.#account = parts.account;
    this.#keys = parts.keys;
    this.#signal = parts.signal;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const work: Promise<void> = this.#answer(request, response)
      .catch(() => {
        response.destroy();
      })
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
    this.#unsent.add(response);
    response.once('close', () => this.#unsent.delete(response));
  }

  /**
   * Answers what is not even HTTP, where the connection still takes an answer. Requests that came whole
   * before it on the same connection get theirs first: else this one would be taken for theirs.
   */
  refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    const before = [...this.#unsent].filter(({ req }) => req.socket === socket && req.complete);
    if (before.length === 0) return refuseMalformed(error, socket);
    let left = before.length;
    for (const response of before) {
      response.once('close', () => {
        left -= 1;
        if (left === 0) refuseMalformed(error, socket);
      });
    }
  }

  /** Resolves when every request has been dealt with. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? 'GET';
    const headers = request.headers as Headers;
    let op = 'unknown';
    let effect: FaultEffect | undefined;
    let reply: Reply;
    try {
      const body = await readBody(request);
      if (body === undefined) return;
      const segments = segmentsOf(request.url ?? '/');
      const route = findRoute(method, segments, headers);
      op = route.op;
      const call = new Call({
        account: this.#account,
        method,
        segments,
        headers,
        body: '',
        endpoint: this.endpoint,
      });
      this.#admit(call, route, request);
      effect = this.#strike(call, route);
      if (!(await this.#troubleBefore(effect, response))) return;
      reply = this.#work(call.withBody(decode(body)), route, effect);
    } catch (error) {
      reply = refusalReply(error instanceof Refusal ? error : unexpected(error));
    }
    this.#account.counts.add(op, reply.status, Number(reply.headers?.['x-ms-substatus'] ?? 0));
    await this.#send(reply, effect, response);
  }

  #admit(call: Call, route: Route, request: IncomingMessage): void {
    if (route.op === 'admin') {
      if (!isLoopback(request.socket.remoteAddress)) {
        throw new Refusal(403, 'The admin routes answer to this machine only.');
      }
      return;
    }
    authorize(
      { method: call.method, headers: call.headers, ...signedResource(call.segments) },
      { ...this.#keys, aad: this.#account.settings.aad, nowMs: this.#account.machineMs() },
    );
  }

  #strike(call: Call, route: Route): FaultEffect | undefined {
    if (!this.#account.faults.active || route.op === 'admin') return undefined;
    return this.#account.faults.strike({ op: route.op, ...targetOf(call) });
  }

  /** Delays, cuts and silences that come before the work; false when there will be no answer. */
  async #troubleBefore(effect: FaultEffect | undefined, response: ServerResponse): Promise<boolean> {
    if (effect === undefined) return true;
    if (effect.delayMs !== undefined && (effect.delayAt ?? 'before') === 'before') {
      await sleep(effect.delayMs, this.#signal);
    }
    if (effect.reset === 'before') response.destroy();
    return effect.reset !== 'before' && effect.hang !== 'before';
  }

  #work(call: Call, route: Route, effect: FaultEffect | undefined): Reply {
    const refusal = refusalOf(effect);
    if (refusal !== undefined) throw refusal;
    if (effect?.pkranges !== undefined && route.op === 'pkranges')
      return containers.ranges(call, effect.pkranges);
    return route.handle(call);
  }

  async #send(reply: Reply, effect: FaultEffect | undefined, response: ServerResponse): Promise<void> {
    if (effect?.delayMs !== undefined && effect.delayAt === 'after')
      await sleep(effect.delayMs, this.#signal);
    if (effect?.reset === 'after') {
      response.destroy();
      return;
    }
    if (effect?.hang === 'after') return;
    const headers: Record<string, string | number> = {
      'content-type': 'application/json',
      date: new Date(this.#account.nowMs()).toUTCString(),
      'x-ms-activity-id': randomUUID(),
      'x-ms-version': '2020-07-15',
      'x-ms-serviceversion': SERVICE_VERSION,
      'x-ms-request-charge': (reply.chargeRu ?? 0).toFixed(2),
      'x-ms-gatewayversion': SERVICE_VERSION,
      ...reply.headers,
    };
    // Names beyond ASCII cannot stand in a header; without it, the SDK goes by the path it asked for.
    if (!/^[\x20-\x7e]*$/.test(String(headers[CONTENT_PATH] ?? ''))) delete headers[CONTENT_PATH];
    for (const name of effect?.dropHeaders ?? []) delete headers[name];
    const body = spoiled(reply, effect, headers);
    response.sendDate = false;
    if (body === undefined) {
      response.writeHead(
        reply.status,
        reply.status === 204 || reply.status === 304 ? headers : { ...headers, ...CONTENT_LENGTH_ZERO },
      );
      response.end();
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    response.writeHead(reply.status, { ...headers, 'content-length': bytes.length });
    if (effect?.body === 'truncated') {
      response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
      return;
    }
    if (effect?.delayMs !== undefined && effect.delayAt === 'reply') {
      response.flushHeaders();
      await sleep(effect.delayMs, this.#signal);
    }
    response.end(bytes);
  }
}

/** The body a fault rule leaves of a reply. */
function spoiled(
  reply: Reply,
  effect: FaultEffect | undefined,
  headers: Record<string, string | number>,
): Reply['body'] {
  if (effect?.body === 'empty') return undefined;
  if (effect?.body === 'html') {
    headers['content-type'] = 'text/html';
    return '<html><body><h1>Our services are not available right now</h1></body></html>';
  }
  return reply.body;
}

function unexpected(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  return new Refusal(500, `The emulator failed: ${message}`);
}

/** The request's body; undefined when its connection ended first. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > DRAIN_BYTES_MAX) request.destroy();
      else if (size <= BODY_BYTES_MAX) chunks.push(chunk);
    }
  } catch {
    return undefined; // the client has left, and with it the one who would read an answer
  }
  if (size > BODY_BYTES_MAX) {
    throw new Refusal(413, `The request has more than ${BODY_BYTES_MAX} bytes.`, { chargeRu: 0 });
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** Bytes to text; what is not UTF-8 is refused, because it could not be given back as it came. */
function decode(body: Buffer): string {
  if (!isUtf8(body)) throw new Refusal(400, 'The request body is not valid UTF-8.');
  return body.toString('utf8');
}

/** The path's steps, decoded; what follows a ? is not part of it. */
function segmentsOf(url: string): string[] {
  const path = url.split('?', 1)[0] ?? '/';
  try {
    return path
      .split('/')
      .filter((step) => step !== '')
      .map((step) => decodeURIComponent(step));
  } catch {
    throw new Refusal(400, 'The path is not a valid URL path.');
  }
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && (/^(::ffff:)?127\./.test(address) || address === '::1');
}

/** What a fault rule can match: the container, and the range where the request names or implies one. */
function targetOf(call: Call): Omit<FaultTarget, 'op'> {
  const [, db, , coll] = call.segments;
  if (db === undefined || coll === undefined) return db === undefined ? {} : { db };
  const container = call.account.databases.get(db)?.containers.get(coll);
  const stated = call.headers['x-ms-documentdb-partitionkeyrangeid'];
  if (stated !== undefined && stated !== '') return { db, coll, rangeId: stated };
  const key = call.headers['x-ms-documentdb-partitionkey'];
  if (container === undefined || key === undefined) return { db, coll };
  try {
    return { db, coll, rangeId: String(placeOf(container, parseKey(container.definition, key)).range.id) };
  } catch {
    return { db, coll }; // the handler will say what is wrong with the key
  }
}

function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const body = JSON.stringify({ code: statusName(status), message: 'The request is not valid HTTP.' });
  socket.end(
    `HTTP/1.1 ${status} ${statusName(status)}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
