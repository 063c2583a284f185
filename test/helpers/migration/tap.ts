/**
 * Something between cosmig and the emulator: it sees every request, and a test may hold one, change it, or answer it
 * itself. So a split happens in the middle of a page, and not about then.
 */
import * as http from 'node:http';
import type { TestEmulator } from '../emulator/emulator.ts';

export interface TapRequest {
  readonly method: string;
  readonly what: 'read-feed' | 'batch' | 'pkranges' | 'other';
  readonly mode: 'latest-version' | 'all-versions' | undefined;
  readonly container: string | undefined;
  readonly rangeId: string | undefined;
  /** A test may change it before it is forwarded. */
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export interface TapReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** What becomes of a request; `forward` has the emulator answer it, or another body in its place. */
export type Meddle = (
  request: TapRequest,
  forward: (instead?: Buffer) => Promise<TapReply>,
) => Promise<TapReply>;

export class Tap implements AsyncDisposable {
  /** All that came through, in order. */
  readonly seen: TapRequest[] = [];
  meddle: Meddle = (_request, forward) => forward();
  readonly connectionString: string;
  readonly #server: http.Server;
  readonly #agent: http.Agent;

  private constructor(server: http.Server, agent: http.Agent, connectionString: string) {
    this.#server = server;
    this.#agent = agent;
    this.connectionString = connectionString;
  }

  static async open({ endpoint, key }: TestEmulator): Promise<Tap> {
    const agent = new http.Agent({ keepAlive: true });
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the tap has no port');
    const own = `http://127.0.0.1:${address.port}/`;
    const tap = new Tap(server, agent, `AccountEndpoint=${own};AccountKey=${key};`);
    server.on('request', (incoming, outgoing) => {
      // A client that has left does not see it; a test that fails in here shows by what cosmig makes of a 500.
      tap.#answer(incoming, { outgoing, endpoint }).catch((error: unknown) => {
        if (outgoing.headersSent || outgoing.destroyed) return;
        outgoing.writeHead(500, { 'content-type': 'text/plain' }).end(String(error));
      });
    });
    return tap;
  }

  async #answer(
    incoming: http.IncomingMessage,
    { outgoing, endpoint }: { readonly outgoing: http.ServerResponse; readonly endpoint: string },
  ): Promise<void> {
    const body = await bytesOf(incoming);
    const { method = 'GET', url: path = '/' } = incoming;
    const headers = plain(incoming.headers);
    const request = { ...described(method, path, headers), headers, body };
    this.seen.push({ ...request, headers: { ...headers } });
    const reply = await this.meddle(request, (instead = body) => {
      if (instead.length > 0) headers['content-length'] = String(instead.length);
      return forward({ method, path, endpoint, agent: this.#agent }, { ...request, body: instead });
    });
    if (outgoing.destroyed) return;
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...others } = reply.headers;
    const sized = reply.status === 304 ? {} : { 'content-length': String(reply.body.length) };
    outgoing.writeHead(reply.status, { ...others, ...sized }).end(reply.body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#agent.destroy();
  }
}

function described(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Omit<TapRequest, 'headers' | 'body'> {
  const [, , , , container, last] = path.split('/');
  const mode = headers['a-im']?.toLowerCase();
  const what =
    last === 'pkranges'
      ? 'pkranges'
      : headers['x-ms-cosmos-is-batch-request'] !== undefined
        ? 'batch'
        : method === 'GET' && mode !== undefined
          ? 'read-feed'
          : 'other';
  return {
    method,
    what,
    mode: mode === undefined ? undefined : mode === 'incremental feed' ? 'latest-version' : 'all-versions',
    container: container === undefined ? undefined : decodeURIComponent(container),
    rangeId: headers['x-ms-documentdb-partitionkeyrangeid'],
  };
}

function forward(
  { method, path, endpoint, agent }: { method: string; path: string; endpoint: string; agent: http.Agent },
  { headers, body }: TapRequest,
): Promise<TapReply> {
  const { hostname, port } = new URL(endpoint);
  return new Promise((resolve, reject) => {
    const outgoing = http.request({ method, path, hostname, port, headers, agent });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      bytesOf(incoming).then(
        (bytes) => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: bytes }),
        reject,
      );
    });
    outgoing.end(body);
  });
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function plain(headers: http.IncomingHttpHeaders): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) result[name] = Array.isArray(value) ? value.join(',') : value;
  return result;
}
