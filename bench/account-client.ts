/**
 * A client that does as little as possible: node:http, connections that are kept open, one signature per resource and
 * second, and no JSON for each request. A benchmark with this client measures the server.
 */
import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

/** What the signature of a request covers (fact SDK-3): the resource type, and the link of the resource. */
export interface Signed {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly type: 'dbs' | 'colls' | 'pkranges' | 'docs';
  readonly link: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: readonly Buffer[];
  readonly sizeBytes: number;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** The timeout of a request. A local reply takes milliseconds, so a server that takes a minute is stuck. */
const TIMEOUT_MS = 60_000;

export class AccountClient {
  readonly #endpoint: URL;
  readonly #key: Buffer;
  readonly #agent: Agent;
  /** The signatures of the current second, by what they cover. */
  readonly #signatures = new Map<string, string>();
  #date = '';

  constructor(endpoint: string, key: string, connections: number) {
    this.#endpoint = new URL(endpoint);
    this.#key = Buffer.from(key, 'base64');
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Sends a signed request. Throws unless the status of the reply is one of `expected`. */
  async call(signed: Signed, call: Omit<Call, 'method'>, expected: readonly number[]): Promise<Reply> {
    const authorization = this.#sign(signed);
    const headers = {
      'x-ms-version': '2020-07-15',
      'x-ms-date': this.#date,
      authorization,
      accept: 'application/json',
      'cache-control': 'no-cache',
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    };
    const reply = await this.send({ ...call, method: signed.verb, headers });
    if (expected.includes(reply.status)) return reply;
    throw new Error(`${signed.verb} ${call.path}: ${reply.status} ${textOf(reply).slice(0, 300)}`);
  }

  /** Sends a request without a signature, which the admin routes do not need. */
  async send({ method, path, headers, body }: Call): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#endpoint;
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const outgoing = request(
        { agent: this.#agent, hostname, port, method, path, headers: { ...headers, ...length } },
        (incoming) => {
          const chunks: Buffer[] = [];
          let sizeBytes = 0;
          incoming.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
            sizeBytes += chunk.length;
          });
          incoming.on('error', reject);
          incoming.on('end', () => {
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, chunks, sizeBytes });
          });
        },
      );
      outgoing.setTimeout(TIMEOUT_MS, () => outgoing.destroy(new Error(`${method} ${path}: no reply`)));
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  #sign({ verb, type, link }: Signed): string {
    const date = new Date().toUTCString();
    if (date !== this.#date) {
      this.#date = date;
      this.#signatures.clear();
    }
    const text = `${verb.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`;
    const known = this.#signatures.get(text);
    if (known !== undefined) return known;
    const signature = createHmac('sha256', this.#key).update(text).digest('base64');
    const authorization = encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
    this.#signatures.set(text, authorization);
    return authorization;
  }
}

export function textOf(reply: Reply): string {
  return Buffer.concat(reply.chunks).toString();
}
