/**
 * The door through which requests leave that are not sent by the SDK: keeps connections open and gives each request one
 * of its own. Invariant: a connection carries one request at a time; an idle connection keeps no process alive, and is
 * not used when it has been idle for so long that the service may be about to close it.
 */
import type { Deadline } from '../../lib/abort.ts';
import { BufferPool } from '../../lib/buffers.ts';
import type { Clock } from '../../lib/clock.ts';
import { HttpConnection, type HttpAddress, type HttpRequest } from './http-connection.ts';
import type { RawReply } from './raw-reply.ts';
import { SHORT_BYTES_MAX, type ReplyMemory } from './reply-reader.ts';

/** How long a connection may be idle. Servers close them after some seconds (Node's) to minutes (gateways). */
const IDLE_MS = 4000;

/** A request that waits for a connection, or has one. */
interface Sending extends HttpRequest {
  readonly address: HttpAddress;
  /** Called right before the first byte is sent. */
  readonly onSend: () => void;
  readonly deadline: Deadline;
}

export class HttpSockets {
  readonly #clock: Clock;
  /** Idle connections by origin, the one that was used last at the end. */
  readonly #idle = new Map<string, HttpConnection[]>();
  /**
   * Memory of replies: for pages of all ranges that are read at once, and for the replies to batches. The garbage
   * collector frees what exceeds it.
   */
  readonly #memory: ReplyMemory = {
    short: new BufferPool({ stepBytes: SHORT_BYTES_MAX / 4, idleBytesMax: 16 * SHORT_BYTES_MAX }),
    long: new BufferPool({ stepBytes: 256 * 1024, idleBytesMax: 24 * 1024 * 1024 }),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends a request and returns its whole reply. */
  async send({ address, onSend, deadline, ...request }: Sending): Promise<RawReply> {
    const { origin } = address.origin;
    const connection = this.#takeIdle(origin) ?? (await this.#open(address, deadline));
    onSend();
    return connection.exchange(request, deadline);
  }

  /** Closes the idle connections. Those in use are closed by the deadlines of their requests. */
  close(): void {
    for (const idle of this.#idle.values()) for (const connection of idle) connection.close();
    this.#idle.clear();
  }

  #takeIdle(origin: string): HttpConnection | undefined {
    const idle = this.#idle.get(origin);
    const usedAfterMs = this.#clock.monotonicMs() - IDLE_MS;
    for (let connection = idle?.pop(); connection !== undefined; connection = idle?.pop()) {
      if (connection.isUsable && connection.idleSinceMs > usedAfterMs) return connection;
      connection.close();
    }
    return undefined;
  }

  async #open(address: HttpAddress, deadline: Deadline): Promise<HttpConnection> {
    const onFree = (connection: HttpConnection): void => this.#keep(address.origin.origin, connection);
    return HttpConnection.open(address, { memory: this.#memory, onFree }, deadline);
  }

  #keep(origin: string, connection: HttpConnection): void {
    connection.idleSinceMs = this.#clock.monotonicMs();
    const idle = this.#idle.get(origin);
    if (idle === undefined) {
      this.#idle.set(origin, [connection]);
      return;
    }
    // The oldest is at the front. Closing one with each that is kept keeps few more than are in use.
    const [oldest] = idle;
    if (
      oldest !== undefined &&
      (!oldest.isUsable || oldest.idleSinceMs <= connection.idleSinceMs - IDLE_MS)
    ) {
      idle.shift();
      oldest.close();
    }
    idle.push(connection);
  }
}
