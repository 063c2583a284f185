/**
 * Sends batches without the SDK: with the headers and the signature of an earlier batch that the SDK has sent, but with
 * other bytes. What the SDK does for one request costs more than everything we do for the documents in it: this saves
 * 10 % of the CPU for a copied document (8.15 -> 7.36 us, measured in commit b323a8f). Without this module every batch
 * goes through the SDK, with the same result. The signature covers the verb, the container and the date (fact SDK-3),
 * so it is valid for the next batches as well.
 *
 * Invariant: except for the range, the session and the length, the request equals the one that the SDK sent; a
 * signature is used for seconds only; after any answer but success the SDK makes the next request, which finds a new
 * key, token or region.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { PipelineRequest } from '@azure/core-rest-pipeline';
import type { Clock } from '../../lib/clock.ts';

/** How long a signature is used: far less than the 15 minutes for which the service accepts its date. */
const USED_FOR_MS = 5000;

/** The headers that differ from batch to batch. */
export interface Differing {
  readonly rangeId: string;
  readonly sessionToken: string | undefined;
}

/** The date of a request's signature. */
export const DATE = 'x-ms-date';
const RANGE = 'x-ms-documentdb-partitionkeyrangeid';
const SESSION = 'x-ms-session-token';
/** Headers that are set for each batch, or by the connection. */
const OWN = new Set([RANGE, SESSION, 'content-length', 'host', 'connection', 'accept-encoding']);

/** A request that the SDK has signed, and that may be sent again. */
export class SignedRequest {
  readonly #url: URL;
  /** The SDK's own agent, so that both share one set of sockets. */
  readonly #agent: http.Agent;
  readonly #headers: readonly string[];
  readonly #signedMs: number;
  /** The date of the signature, as it is sent. */
  readonly date: string | undefined;

  constructor({ url, headers }: PipelineRequest, agent: http.Agent, nowMs: number) {
    this.#url = new URL(url);
    this.#agent = agent;
    this.#headers = [...headers].flatMap(([name, value]) =>
      OWN.has(name.toLowerCase()) ? [] : [name, value],
    );
    this.#signedMs = nowMs;
    this.date = headers.get(DATE);
  }

  isFresh(nowMs: number): boolean {
    return nowMs < this.#signedMs + USED_FOR_MS;
  }

  /** Sends the request with this body; resolves when the headers of the reply have arrived. */
  async send(
    body: Buffer,
    { rangeId, sessionToken }: Differing,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    const { protocol, hostname, port, pathname } = this.#url;
    const headers = [...this.#headers, 'host', this.#url.host, RANGE, rangeId];
    if (sessionToken !== undefined) headers.push(SESSION, sessionToken);
    headers.push('content-length', String(body.length));
    // Node also accepts a list, which it writes unchanged. Its types allow that only since version 24.
    const listed = headers as unknown as http.OutgoingHttpHeaders;
    const request: typeof http.request = protocol === 'http:' ? http.request : https.request;
    const to = { method: 'POST', hostname, port, path: pathname, agent: this.#agent };
    return new Promise((resolve, reject) => {
      request({ ...to, headers: listed, signal }, resolve)
        .on('error', reject)
        .end(body);
    });
  }
}

/** The newest signed request of each kind. Requests of one kind have the same headers. */
export class SignedRequests {
  readonly #clock: Clock;
  readonly #kinds = new Map<string, SignedRequest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(kind: string): SignedRequest | undefined {
    const known = this.#kinds.get(kind);
    return known?.isFresh(this.#clock.monotonicMs()) === true ? known : undefined;
  }

  keep(kind: string, request: PipelineRequest): void {
    const { agent } = request;
    // Another kind of agent, perhaps that of a proxy, is left to the SDK, which is sure to use it correctly.
    if (!(agent instanceof http.Agent)) return;
    this.#kinds.set(kind, new SignedRequest(request, agent, this.#clock.monotonicMs()));
  }

  forget(): void {
    this.#kinds.clear();
  }
}
