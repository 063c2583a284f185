/**
 * Sends batches and pages of a feed without the SDK: with the headers and the signature of an earlier request that the SDK
 * has sent, but with other bytes or another position. What the SDK does for one request costs more than everything we do
 * for the documents in it (docs/internals/speed.md). Without this module every request goes through the SDK, with the
 * same result. The signature covers the verb, the container and the date (fact SDK-3), so it is valid for the next
 * requests as well.
 *
 * Invariant: except for the headers in `Differing` and the length, the request equals the one that the SDK sent; a
 * signature is used for seconds only; after any answer but success the SDK makes the next request, which finds a new
 * key, token or region.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { PipelineRequest } from '@azure/core-rest-pipeline';
import { Deadline } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { HttpAddress, HttpRequest } from './http-connection.ts';
import type { RawReply } from './raw-reply.ts';

/**
 * How long a signature is used: far less than the 15 minutes for which the service accepts its date. After RENEWED_AFTER_MS
 * one request gets a new one from the SDK, while the others still use the old one: otherwise hundreds of requests would
 * pass through the SDK at once, each with a new connection.
 */
const RENEWED_AFTER_MS = 5000;
const USED_FOR_MS = 10_000;
/**
 * How long the others wait for the first request of their kind, which the SDK signs: longer than a reply usually takes, and
 * short if the reply is lost.
 */
const FIRST_MS = 1000;

/** The headers that differ from request to request of one kind. A header that is undefined is not sent. */
export interface Differing {
  readonly rangeId: string | undefined;
  readonly sessionToken: string | undefined;
  /** The position in a feed. */
  readonly ifNoneMatch?: string | undefined;
  /** The number of documents that a page of a feed should have. */
  readonly itemsMax?: number | undefined;
}

/** The date of a request's signature. */
export const DATE = 'x-ms-date';
const RANGE = 'x-ms-documentdb-partitionkeyrangeid';
const SESSION = 'x-ms-session-token';
const POSITION = 'if-none-match';
const ITEMS_MAX = 'x-ms-max-item-count';
/** Headers that are set for each request, or by the connection. */
const OWN = new Set([
  RANGE,
  SESSION,
  POSITION,
  ITEMS_MAX,
  'content-length',
  'host',
  'connection',
  'accept-encoding',
]);
/** What the value of a header may consist of. A line break would begin another header. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A request that the SDK has signed, and that may be sent again. */
export class SignedRequest {
  readonly #address: HttpAddress;
  readonly #head: string;
  readonly #signedMs: number;
  #isRenewed = false;
  /** The date of the signature, as it is sent. */
  readonly date: string | undefined;

  constructor({ url, method, headers }: PipelineRequest, agent: http.Agent, nowMs: number) {
    const origin = new URL(url);
    this.#address = { origin, tls: agent instanceof https.Agent ? agent.options : {} };
    const start = `${method} ${origin.pathname}${origin.search} HTTP/1.1\r\n${lineOf('host', origin.host)}${lineOf('connection', 'keep-alive')}`;
    const kept = [...headers].filter(([name]) => !OWN.has(name.toLowerCase()));
    this.#head = start + kept.map(([name, value]) => lineOf(name, value)).join('');
    this.#signedMs = nowMs;
    this.date = headers.get(DATE);
  }

  /** Whether a request may use the signature. One request may not as soon as it is due to be renewed, to renew it. */
  mayBeUsed(nowMs: number): boolean {
    const ageMs = nowMs - this.#signedMs;
    const renews = ageMs >= RENEWED_AFTER_MS && !this.#isRenewed;
    this.#isRenewed ||= renews;
    return !renews && ageMs < USED_FOR_MS;
  }

  /** Returns the request with this body and these headers, as it is sent. */
  requestFor(
    body: Buffer | undefined,
    differing: Differing,
  ): HttpRequest & { readonly address: HttpAddress } {
    const { rangeId, sessionToken, ifNoneMatch, itemsMax } = differing;
    const head =
      this.#head +
      lineOf(RANGE, rangeId) +
      lineOf(SESSION, sessionToken) +
      lineOf(POSITION, ifNoneMatch) +
      lineOf(ITEMS_MAX, itemsMax?.toString()) +
      lineOf('content-length', body?.length.toString());
    return { address: this.#address, head: `${head}\r\n`, body };
  }
}

function lineOf(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  assert(VALUE.test(value), 'a header has no line breaks');
  return `${name}: ${value}\r\n`;
}

/** What the SDK has sent in a passage, and the reply. */
interface SentPassage {
  readonly request: PipelineRequest | undefined;
  readonly reply: Pick<RawReply, 'status'> | undefined;
}

/** The newest signed request of each kind. Requests of one kind have the same headers, except for those in `Differing`. */
export class SignedRequests {
  readonly #clock: Clock;
  readonly #kinds = new Map<string, SignedRequest>();
  /** The first request of each kind: resolves when it has its reply; null: no request waits for it any longer. */
  readonly #firsts = new Map<string, Promise<void> | null>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(kind: string): SignedRequest | undefined {
    const known = this.#kinds.get(kind);
    return known?.mayBeUsed(this.#clock.monotonicMs()) === true ? known : undefined;
  }

  /** Whether the SDK is signing the very first request of this kind. Others of the kind should wait for its signature. */
  awaitsFirst(kind: string): boolean {
    return this.#firsts.get(kind) != null;
  }

  /** Waits for the first request, and finds its signature; undefined if there is none. Throws when `signal` is aborted. */
  async findAfterFirst(kind: string, signal: AbortSignal): Promise<SignedRequest | undefined> {
    using limit = new Deadline(FIRST_MS, 'the first request', signal);
    await new Promise<void>((resolve) => {
      limit.onEnd = resolve;
      this.#firsts.get(kind)?.then(resolve, resolve);
    });
    signal.throwIfAborted();
    this.#firsts.set(kind, null);
    return this.find(kind);
  }

  /** Sends a request through the SDK, and keeps its signature if it succeeds. */
  async sendBySdk(kind: string, passage: SentPassage, send: () => Promise<void>): Promise<void> {
    const ended = this.#sendAndKeep(kind, passage, send);
    if (this.#firsts.has(kind)) return ended;
    this.#firsts.set(kind, ended);
    try {
      await ended;
    } finally {
      this.#firsts.set(kind, null);
    }
    return undefined;
  }

  async #sendAndKeep(kind: string, passage: SentPassage, send: () => Promise<void>): Promise<void> {
    await send();
    const { request, reply } = passage;
    if (request !== undefined && (reply?.status === 200 || reply?.status === 304)) this.keep(kind, request);
  }

  keep(kind: string, request: PipelineRequest): void {
    const { agent } = request;
    if (isPlain(agent)) this.#kinds.set(kind, new SignedRequest(request, agent, this.#clock.monotonicMs()));
  }

  forget(): void {
    this.#kinds.clear();
  }
}

/**
 * Whether connections of an agent are ordinary ones. Another kind of agent, perhaps that of a proxy, and one that limits
 * its sockets, are left to the SDK.
 */
function isPlain(agent: PipelineRequest['agent']): agent is http.Agent {
  if (!(agent instanceof http.Agent)) return false;
  const { constructor } = agent;
  return (
    (constructor === http.Agent || constructor === https.Agent) &&
    agent.maxSockets === Infinity &&
    agent.maxTotalSockets === Infinity
  );
}
