/**
 * A client that only moves the bytes of a copy: pages in, batches out, one request at a time on each connection. It
 * parses nothing but the heads of replies and keeps no byte of their bodies, so no client can be cheaper. Its cost is
 * the floor with which the benchmark of the copy compares cosmig. Certificates are checked, as in every client.
 */
import { createHmac } from 'node:crypto';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';

/** How long a signature is used, as in src/cosmos/transport/signed-requests.ts. */
const USED_FOR_MS = 5000;
/** The memory into which a connection reads. A record of TLS has at most 16 KB. */
const READ_BYTES = 64 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');

/** One kind of request: its method, and the link of its container. */
export interface FloorRequest {
  readonly verb: 'GET' | 'POST';
  readonly link: string;
  /** Further lines of the head, each with its line break. */
  readonly lines: string;
  readonly body?: Buffer;
}

export interface FloorReply {
  readonly status: number;
  readonly etag: string;
}

/** Signs requests. A signature covers the verb, the container and the date (fact SDK-3). */
export class FloorSigner {
  readonly #key: Buffer;
  readonly #host: string;
  readonly #known = new Map<string, { readonly lines: string; readonly untilMs: number }>();

  constructor(endpoint: string, key: string) {
    this.#key = Buffer.from(key, 'base64');
    this.#host = new URL(endpoint).host;
  }

  /** Returns the request line and the lines of the head that every request has. */
  linesOf({ verb, link }: FloorRequest): string {
    const nowMs = performance.now();
    const known = this.#known.get(`${verb} ${link}`);
    if (known !== undefined && nowMs < known.untilMs) return known.lines;
    const date = new Date().toUTCString();
    const text = `${verb.toLowerCase()}\ndocs\n${link}\n${date.toLowerCase()}\n\n`;
    const signature = createHmac('sha256', this.#key).update(text).digest('base64');
    const authorization = encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
    const lines = `${verb} /${link}/docs HTTP/1.1\r\nhost: ${this.#host}\r\nx-ms-version: 2020-07-15\r\nx-ms-date: ${date}\r\nauthorization: ${authorization}\r\n`;
    this.#known.set(`${verb} ${link}`, { lines, untilMs: nowMs + USED_FOR_MS });
    return lines;
  }
}

export class FloorConnection {
  readonly #signer: FloorSigner;
  readonly #socket: Socket;
  #settle:
    | { readonly resolve: (reply: FloorReply) => void; readonly reject: (error: Error) => void }
    | undefined;
  /** The beginning of a head whose end has not arrived. */
  #head: Buffer = Buffer.alloc(0);
  #reply: FloorReply | undefined;
  /** How many bytes of the body are missing. */
  #missing = 0;

  constructor(endpoint: string, signer: FloorSigner) {
    const { protocol, hostname, port } = new URL(endpoint);
    const onread = {
      buffer: Buffer.alloc(READ_BYTES),
      callback: (sizeBytes: number, buffer: Uint8Array): boolean => {
        this.#take(Buffer.from(buffer.buffer, buffer.byteOffset, sizeBytes));
        return true;
      },
    };
    const to = { host: hostname, port: Number(port), onread };
    this.#signer = signer;
    this.#socket = protocol === 'https:' ? connectSecure(to) : connectPlain(to);
    this.#socket.setNoDelay(true);
    const fail = (error: Error): void => this.#settle?.reject(error);
    this.#socket.on('error', fail).on('close', () => fail(new Error('the service closed a connection')));
  }

  /** Sends a request. Precondition: the reply to the request before it has arrived. */
  async send(request: FloorRequest): Promise<FloorReply> {
    const { lines, body } = request;
    const length = body === undefined ? '' : `content-length: ${body.length}\r\n`;
    const head = `${this.#signer.linesOf(request)}${lines}${length}\r\n`;
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      if (body === undefined) return this.#socket.write(head, 'latin1');
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(body);
      return this.#socket.uncork();
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (this.#reply === undefined) {
      const whole = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
      const end = whole.indexOf(HEAD_END);
      if (end < 0) {
        this.#head = Buffer.from(whole);
        return;
      }
      this.#head = Buffer.alloc(0);
      const text = whole.toString('latin1', 0, end);
      this.#missing = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0) - (whole.length - end - 4);
      this.#reply = { status: Number(text.slice(9, 12)), etag: /\r\netag: ([^\r]+)/i.exec(text)?.[1] ?? '' };
    } else this.#missing -= bytes.length;
    if (this.#missing > 0) return;
    if (this.#missing < 0) return void this.#socket.destroy(new Error('a reply is longer than announced'));
    const { resolve } = this.#settle ?? {};
    const reply = this.#reply;
    this.#reply = undefined;
    resolve?.(reply);
  }
}
