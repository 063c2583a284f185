/**
 * Carries one request from its first byte to the last byte of its answer: reads the body, finds the route, checks the
 * signature, applies the fault rules, calls the handler and sends the answer.
 *
 * Invariant: handlers are synchronous, so a request takes effect as a whole or not at all, whatever happens to its
 * connection.
 */
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { sleep } from '../../lib/abort.ts';
import type { LocalAccount } from '../account/account.ts';
import { CONSISTENCY_LEVELS, type Settings } from '../account/settings.ts';
import { addressOf } from './address.ts';
import { authorize, type AuthSettings } from './auth.ts';
import { refuseOtherMachines, refuseWebPages, type ServerNames } from './callers.ts';
import { GatewayRequest, refusalReply, type GatewayReply, type Headers } from './request.ts';
import { parseKey } from '../account/container-definition.ts';
import { refusalFromFault, type FaultEffect, type FaultTarget } from './faults.ts';
import * as containers from '../handlers/containers.ts';
import { locate } from '../documents/operations.ts';
import { sessionTokensFor } from '../partitions/sessions.ts';
import { badRequest, Refusal, statusName, tooLarge } from './refusal.ts';
import { findRoute, type Route, type SignedResource } from './routes.ts';

/** The largest body that is accepted: a document of 2 MB, and the system properties that clients may send with it. */
const BODY_BYTES_MAX = 2 * 1024 * 1024 + 256 * 1024;
/**
 * How many bytes of a body that is too large are read and discarded, so that the client can read the answer. Beyond
 * this the connection is cut.
 */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const SERVICE_VERSION = 'version=2.14.0.0';
const SCHEMA_VERSION = '1.16';
const CONTENT_PATH = 'x-ms-alt-content-path';
const CONSISTENCY = 'x-ms-consistency-level';
const SESSION_TOKEN = 'x-ms-session-token';

/** The account's keys, base64. */
type Keys = Pick<AuthSettings, 'key' | 'readonlyKey'>;

export class Dispatcher {
  endpoint = '';
  readonly #account: LocalAccount;
  readonly #keys: Keys;
  readonly #names: ServerNames;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  /** Answers that are not completely sent yet. */
  readonly #unsent = new Set<ServerResponse>();

  constructor(parts: { account: LocalAccount; keys: Keys; names: ServerNames; signal: AbortSignal }) {
    this.#account = parts.account;
    this.#names = parts.names;
    this.#keys = parts.keys;
    this.#signal = parts.signal;
  }

  handle(incoming: IncomingMessage, response: ServerResponse): void {
    const work: Promise<void> = this.#answer(incoming, response)
      .catch(() => {
        response.destroy();
      })
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
    this.#unsent.add(response);
    response.once('close', () => this.#unsent.delete(response));
  }

  /**
   * Answers input that is not HTTP, if the connection still accepts an answer. First waits until earlier complete
   * requests on the same connection have been answered, because a client matches answers to requests by their order.
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

  /** Resolves when every request has been answered or dropped. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET' } = incoming;
    const headers = incoming.headers as Headers;
    let op = 'unknown';
    let effect: FaultEffect | undefined;
    let reply: GatewayReply;
    try {
      const body = await readBody(incoming);
      if (body === undefined) return;
      refuseWebPages(headers, this.#names);
      const { segments, signed } = addressOf(this.#account, incoming.url ?? '/');
      const route = findRoute(method, segments, headers);
      op = route.op;
      const request = new GatewayRequest({
        account: this.#account,
        method,
        segments,
        headers,
        endpoint: this.#endpointFor(headers),
      });
      if (route.op === 'admin') refuseOtherMachines(incoming.socket.remoteAddress);
      else this.#authorize(request, signed);
      refuseStronger(headers[CONSISTENCY], this.#account.settings.consistency);
      effect = this.#strike(request, route);
      if (!(await this.#troubleBefore(effect, response))) return;
      request.body = decode(body);
      reply = this.#work(request, route, effect);
    } catch (error) {
      reply = refusalReply(error instanceof Refusal ? error : unexpected(error));
    }
    this.#account.counts.add(op, reply.status, Number(reply.headers?.['x-ms-substatus'] ?? 0));
    await this.#send(reply, effect, response);
  }

  #authorize({ method, headers }: GatewayRequest, signed: SignedResource): void {
    const account = this.#account;
    const ageMaxMs = account.deviates('signatures-expire') ? 3000 : undefined;
    const settings = { ...this.#keys, aad: account.settings.aad, nowMs: account.machineMs(), ageMaxMs };
    authorize({ method, headers, ...signed }, settings);
  }

  /**
   * Returns the account's URL with the name by which the client has reached this server. Any other name might not lead
   * here from the client's machine.
   */
  #endpointFor({ host }: Headers): string {
    return host === undefined ? this.endpoint : `${new URL(this.endpoint).protocol}//${host}/`;
  }

  #strike(request: GatewayRequest, route: Route): FaultEffect | undefined {
    if (!this.#account.faults.active || route.op === 'admin') return undefined;
    return this.#account.faults.strike({ op: route.op, ...targetOf(request) });
  }

  /** Applies the delays, cuts and hangs that come before the operation. Returns false if the request gets no answer. */
  async #troubleBefore(effect: FaultEffect | undefined, response: ServerResponse): Promise<boolean> {
    if (effect === undefined) return true;
    if (effect.delayMs !== undefined && (effect.delayAt ?? 'before') === 'before') {
      await sleep(effect.delayMs, this.#signal);
    }
    if (effect.reset === 'before') response.destroy();
    return effect.reset !== 'before' && effect.hang !== 'before';
  }

  #work(request: GatewayRequest, route: Route, effect: FaultEffect | undefined): GatewayReply {
    const refusal = refusalFromFault(effect);
    if (refusal !== undefined) throw refusal;
    if (effect?.pkranges !== undefined && route.op === 'pkranges')
      return containers.ranges(request, effect.pkranges);
    return route.handle(request);
  }

  async #send(reply: GatewayReply, effect: FaultEffect | undefined, response: ServerResponse): Promise<void> {
    if (effect?.delayMs !== undefined && effect.delayAt === 'after')
      await sleep(effect.delayMs, this.#signal);
    if (effect?.reset === 'after') {
      response.destroy();
      return;
    }
    if (effect?.hang === 'after') return;
    const headers: Record<string, string | number> = {
      'content-type': 'application/json',
      date: new Date(this.#account.nowMs() + (effect?.dateOffMs ?? 0)).toUTCString(),
      'x-ms-activity-id': randomUUID(),
      'x-ms-version': '2020-07-15',
      'x-ms-serviceversion': SERVICE_VERSION,
      'x-ms-request-charge': (reply.chargeRu ?? 0).toFixed(2),
      'x-ms-gatewayversion': SERVICE_VERSION,
      'x-ms-schemaversion': SCHEMA_VERSION,
      ...reply.headers,
    };
    const tokens = headers[SESSION_TOKEN];
    if (tokens !== undefined) {
      const version = response.req.headers['x-ms-version'];
      headers[SESSION_TOKEN] = sessionTokensFor(version?.toString(), String(tokens));
    }
    // This header names the container, and a header cannot contain characters beyond ASCII. Without the header, the SDK
    // uses the path of its own request.
    if (!/^[\x20-\x7e]*$/.test(String(headers[CONTENT_PATH] ?? ''))) delete headers[CONTENT_PATH];
    for (const name of effect?.dropHeaders ?? []) delete headers[name];
    const body = spoiled(reply, effect, headers);
    response.sendDate = false;
    if (body === undefined) {
      if (reply.status !== 204 && reply.status !== 304) headers['content-length'] = 0;
      response.writeHead(reply.status, headers).end();
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

/** Returns the body of a reply after a fault rule has replaced or removed it. */
function spoiled(
  reply: GatewayReply,
  effect: FaultEffect | undefined,
  headers: Record<string, string | number>,
): GatewayReply['body'] {
  if (effect?.body === 'empty') return undefined;
  if (effect?.body === 'html') {
    headers['content-type'] = 'text/html';
    return '<html><body><h1>Our services are not available right now</h1></body></html>';
  }
  return reply.body;
}

/** Refuses a request for a stronger consistency than the account's default. */
function refuseStronger(asked: string | undefined, level: Settings['consistency']): void {
  const levels: readonly string[] = CONSISTENCY_LEVELS;
  if (asked === undefined || levels.indexOf(asked) >= levels.indexOf(level)) return;
  throw badRequest(
    `ConsistencyLevel ${asked} is stronger than the default consistency level of the account, ${level}.`,
  );
}

function unexpected(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  return new Refusal(500, `The emulator failed: ${message}`);
}

/** Reads the body of a request; undefined when the connection ended before the body did. */
async function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > DRAIN_BYTES_MAX) incoming.destroy();
      else if (size <= BODY_BYTES_MAX) chunks.push(chunk);
    }
  } catch {
    return undefined; // the client has disconnected and cannot receive an answer
  }
  if (size > BODY_BYTES_MAX) {
    throw tooLarge(BODY_BYTES_MAX);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** Decodes a body as UTF-8. Invalid UTF-8 is refused, because a document must be returned byte for byte. */
function decode(body: Buffer): string {
  if (!isUtf8(body)) throw badRequest('The request body is not valid UTF-8.');
  return body.toString('utf8');
}

/** Returns what a fault rule can match: the container, and the range if the request names a range or a key. */
function targetOf(request: GatewayRequest): Omit<FaultTarget, 'op'> {
  const [, db, , coll] = request.segments;
  if (db === undefined || coll === undefined) return db === undefined ? {} : { db };
  const container = request.account.databases.get(db)?.containers.get(coll);
  const stated = request.headers['x-ms-documentdb-partitionkeyrangeid'];
  if (stated !== undefined && stated !== '') return { db, coll, rangeId: stated };
  const key = request.headers['x-ms-documentdb-partitionkey'];
  if (container === undefined || key === undefined) return { db, coll };
  try {
    return { db, coll, rangeId: String(locate(container, parseKey(container.definition, key)).range.id) };
  } catch {
    return { db, coll }; // the key is invalid: the handler refuses it and says why
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
