/**
 * Batches that the SDK has signed, sent again with other bytes. What the SDK does for a request costs more than all that
 * we do for the documents in it, and the signature covers the verb, the container and the date (fact SDK-3), so
 * one is good for the next batches too.
 *
 * What always holds: but for the range, the session and the length, what is sent is what the SDK has sent; a signature
 * is used for seconds; and any answer but success makes the SDK ask afresh, which finds another key, token or region.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { PipelineRequest } from '@azure/core-rest-pipeline';
import type { Clock } from '../../lib/clock.ts';

/** Far below the quarter of an hour for which the service takes a date. */
const USED_FOR_MS = 5000;

/** What differs from batch to batch. */
export interface Differing {
  readonly rangeId: string;
  readonly sessionToken: string | undefined;
}

const RANGE = 'x-ms-documentdb-partitionkeyrangeid';
const SESSION = 'x-ms-session-token';
/** Told anew for each; the others are the connection's. */
const OWN = new Set([RANGE, SESSION, 'content-length', 'host', 'connection', 'accept-encoding']);

/** A request that may be sent again. */
export class SignedRequest {
  readonly #url: URL;
  /** The SDK's own, so that there is one set of sockets. */
  readonly #agent: http.Agent;
  readonly #headers: readonly string[];
  readonly #signedMs: number;

  constructor({ url, headers }: PipelineRequest, agent: http.Agent, nowMs: number) {
    this.#url = new URL(url);
    this.#agent = agent;
    this.#headers = [...headers].flatMap(([name, value]) =>
      OWN.has(name.toLowerCase()) ? [] : [name, value],
    );
    this.#signedMs = nowMs;
  }

  isFresh(nowMs: number): boolean {
    return nowMs >= this.#signedMs && nowMs < this.#signedMs + USED_FOR_MS;
  }

  /** Sends it with these bytes; gives the reply with its body still to come. */
  async send(
    body: Buffer,
    { rangeId, sessionToken }: Differing,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    const { protocol, hostname, port, pathname } = this.#url;
    const headers = [...this.#headers, 'host', this.#url.host, RANGE, rangeId];
    if (sessionToken !== undefined) headers.push(SESSION, sessionToken);
    headers.push('content-length', String(body.length));
    // Node takes a list as well, which is written as it is; its types know of it since version 24.
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

/** The newest of each kind; a kind has the same headers. */
export class SignedRequests {
  readonly #clock: Clock;
  readonly #kinds = new Map<string, SignedRequest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(kind: string): SignedRequest | undefined {
    const known = this.#kinds.get(kind);
    return known?.isFresh(this.#clock.now()) === true ? known : undefined;
  }

  keep(kind: string, request: PipelineRequest): void {
    const { agent } = request;
    // Through sockets of another make, a proxy's perhaps, only the SDK is sure to go.
    if (!(agent instanceof http.Agent)) return;
    this.#kinds.set(kind, new SignedRequest(request, agent, this.#clock.now()));
  }

  forget(): void {
    this.#kinds.clear();
  }
}
