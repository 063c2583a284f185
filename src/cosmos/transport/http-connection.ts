/**
 * One connection to the service, on which one request at a time is sent and its reply read.
 *
 *   open: connected, certificate checked -> idle -> exchange -> idle -> ... -> closed
 *
 * Invariant: no byte of a request is sent before Node has accepted the certificate; a connection that has seen anything
 * but whole replies, one for each request, is closed and never used again.
 */
import type { AgentOptions } from 'node:https';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure, createSecureContext, type SecureContext } from 'node:tls';
import type { Deadline } from '../../lib/abort.ts';
import { assert } from '../../lib/assert.ts';
import { isLoopback } from '../../spec/connection.ts';
import { CutShort, type RawReply } from './raw-reply.ts';
import { ReplyReader, type ReplyMemory } from './reply-reader.ts';

/** The memory into which a connection reads. A record of TLS has at most as many bytes. */
const READ_BYTES = 16 * 1024;
/**
 * All connections with TLS read into the same memory: Node decrypts into it and calls us at once, and what arrives is copied
 * before the call returns. Without TLS the system may fill the memory of several connections at the same time.
 */
const decrypted = Buffer.allocUnsafeSlow(READ_BYTES);

/** Where requests go, and how connections are secured. */
export interface HttpAddress {
  readonly origin: URL;
  /** Options of TLS: certificates to trust, and such. */
  readonly tls: AgentOptions;
}

/** A request as bytes: its head with the empty line, and its body. */
export interface HttpRequest {
  readonly head: string;
  readonly body: Buffer | undefined;
}

/** A caller that waits. */
interface Waiting {
  readonly deadline: Deadline;
  /** Undefined while the caller waits for the connection. */
  readonly resolve: ((reply: RawReply) => void) | undefined;
  readonly reject: (error: unknown) => void;
}

/** Certificates to trust and such, as OpenSSL has them, by the options from which they were made. */
const contexts = new WeakMap<AgentOptions, SecureContext>();

/** Connections with the same options share them: making them takes time and memory, and a copy has hundreds of connections. */
function contextOf(tls: AgentOptions): SecureContext {
  let context = contexts.get(tls);
  if (context === undefined) {
    context = createSecureContext(tls);
    contexts.set(tls, context);
  }
  return context;
}

/** What a connection needs of its owner. */
interface Owner {
  readonly memory: ReplyMemory;
  /** Called after a request, when the connection may be given another one. */
  readonly onFree: (connection: HttpConnection) => void;
}

export class HttpConnection {
  /** When the connection became idle, by the clock of its owner. */
  idleSinceMs = 0;
  readonly #socket: Socket;
  readonly #reader: ReplyReader;
  readonly #onFree: Owner['onFree'];
  /** Set while a caller waits: for the connection, or for a reply. */
  #waiting: Waiting | undefined;
  #isUsable = true;

  private constructor({ origin, tls }: HttpAddress, { memory, onFree }: Owner) {
    const { protocol, hostname, port } = origin;
    const isSecure = protocol === 'https:';
    assert(isSecure || isLoopback(hostname), 'plain http is for loopback addresses only');
    this.#reader = new ReplyReader(memory);
    this.#onFree = onFree;
    const buffer = isSecure ? decrypted : Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (sizeBytes: number): boolean => {
      this.#take(buffer.subarray(0, sizeBytes));
      return true;
    };
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const to = {
      host,
      port: Number(port === '' ? (isSecure ? 443 : 80) : port),
      noDelay: true,
      keepAlive: true,
      onread: { buffer, callback },
    };
    const named = isIP(host) === 0 ? { servername: host } : {};
    this.#socket = isSecure
      ? connectSecure({
          ...tls,
          ...to,
          ...named,
          secureContext: contextOf(tls),
          ALPNProtocols: ['http/1.1'],
        })
      : connectPlain(to);
    this.#socket
      .on('error', (error) => this.#close(error))
      .on('end', () => this.#end())
      .on('close', () => this.#close(new CutShort()));
  }

  /** Connects; resolves when requests may be sent. Rejects with Node's own error, which has a code. */
  static async open(address: HttpAddress, owner: Owner, deadline: Deadline): Promise<HttpConnection> {
    const connection = new HttpConnection(address, owner);
    const opened = address.origin.protocol === 'https:' ? 'secureConnect' : 'connect';
    return new Promise((resolve, reject) => {
      connection.#wait({ deadline, resolve: undefined, reject });
      connection.#socket.once(opened, () => {
        connection.#endWait();
        resolve(connection);
      });
    });
  }

  /** Whether another request may be sent. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Sends a request and returns its whole reply. Precondition: the connection is usable, and no request is in flight. */
  async exchange({ head, body }: HttpRequest, deadline: Deadline): Promise<RawReply> {
    assert(this.#isUsable && this.#waiting === undefined, 'a connection has one request at a time');
    return new Promise((resolve, reject) => {
      if (!this.#wait({ deadline, resolve, reject })) return;
      this.#reader.begin();
      const socket = this.#socket;
      socket.ref();
      // Head and body leave together: in one record of TLS if they fit, and in one call of the system.
      socket.cork();
      socket.write(head, 'latin1');
      if (body !== undefined) socket.write(body);
      socket.uncork();
    });
  }

  /** Closes the connection. A request in flight fails. */
  close(): void {
    this.#close(new CutShort());
  }

  /** Lets a caller wait, who fails when the connection is closed or the deadline ends. Returns false if it has ended. */
  #wait(waiting: Waiting): boolean {
    const { deadline } = waiting;
    this.#waiting = waiting;
    deadline.onEnd = () => this.#close(deadline.reason);
    if (deadline.reason === undefined) return true;
    deadline.onEnd();
    return false;
  }

  /** Ends the wait of a caller, and returns it; undefined if no caller waits. */
  #endWait(): Waiting | undefined {
    const waiting = this.#waiting;
    if (waiting === undefined) return undefined;
    this.#waiting = undefined;
    waiting.deadline.onEnd = () => {};
    return waiting;
  }

  #take(bytes: Buffer): void {
    // Nothing was asked, so these bytes are not a reply.
    if (this.#waiting?.resolve === undefined) return this.#close(new CutShort());
    let reply: RawReply | undefined;
    try {
      reply = this.#reader.take(bytes);
    } catch (error) {
      return this.#close(error);
    }
    if (reply === undefined) return undefined;
    const waiting = this.#endWait();
    if (!this.#reader.keepsOpen) this.#shut();
    else if (this.#isWritten) this.#free();
    // Node learns in its next turn that the system has taken a request. A reply may be faster than that.
    else setImmediate(() => (this.#isWritten ? this.#free() : this.#shut()));
    return waiting?.resolve?.(reply);
  }

  /** Whether the whole request has been sent. The service may answer before it has read all of it. */
  get #isWritten(): boolean {
    return this.#socket.writableLength === 0;
  }

  #free(): void {
    if (!this.#isUsable) return;
    this.#socket.unref();
    this.#onFree(this);
  }

  #end(): void {
    if (this.#waiting?.resolve === undefined) return this.close();
    let reply: RawReply;
    try {
      reply = this.#reader.end();
    } catch (error) {
      return this.#close(error);
    }
    this.#shut();
    return this.#endWait()?.resolve?.(reply);
  }

  #close(error: unknown): void {
    this.#shut();
    const refusal = this.#reader.refusal();
    this.#reader.drop();
    const waiting = this.#endWait();
    if (refusal === undefined) waiting?.reject(error);
    else waiting?.resolve?.(refusal);
  }

  #shut(): void {
    this.#isUsable = false;
    this.#socket.destroy();
  }
}
