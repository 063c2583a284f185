/**
 * A network between cosmig and the account that breaks connections below HTTP: it refuses, resets, cuts, drips, closes one
 * half, swallows and delivers late. It forwards bytes and reads no more of them than where a request ends. Invariant: a
 * request reaches the account whole and once, or not as a whole; a late one reaches it although its client has gone.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Random } from '../../../src/lib/random.ts';

/** What may happen to a connection (`refuse`), or to one request on it. */
export const NETWORK_TROUBLES = [
  /** The new connection is reset, and others are refused for a moment. */
  'refuse',
  'reset-before',
  'reset-after',
  'cut-request',
  'cut-reply',
  'drip-request',
  'drip-reply',
  /** The request goes through, and the reply ends before its first byte. */
  'half-close',
  /** The request is swallowed, and the connection stays open. */
  'stall',
  'late-request',
  'late-reply',
] as const;

export type NetworkTrouble = (typeof NETWORK_TROUBLES)[number];

/** How likely each trouble is for a connection or a request; none without a number. */
export type NetworkPlan = Readonly<Partial<Record<NetworkTrouble, number>>>;

export interface RoughNetworkOptions {
  readonly random: Random;
  /** How late a late request or reply is. */
  readonly lateMs: number;
  /** Whether each trouble of the plan is sure to strike the first connection or request that it can. */
  readonly isSure?: boolean;
}

/** Requests that have a time limit of the migration; others wait as long as the product does for the control plane. */
const TIMED: ReadonlySet<NetworkTrouble> = new Set(['stall', 'late-request', 'late-reply', 'half-close']);
/** How long connections are refused, at most. */
const REFUSED_MAX_MS = 150;
const [DRIP_PIECES, DRIP_MS] = [8, 6];

export class RoughNetwork implements AsyncDisposable {
  plan: NetworkPlan = {};
  /** How many times each trouble has struck. */
  readonly struck: Partial<Record<NetworkTrouble, number>> = {};
  readonly #account: { readonly host: string; readonly port: number };
  readonly #options: RoughNetworkOptions;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #server: Server | undefined;
  #port = 0;
  #closed = false;

  private constructor(endpoint: string, options: RoughNetworkOptions) {
    const { hostname, port } = new URL(endpoint);
    this.#account = { host: hostname, port: Number(port) };
    this.#options = options;
  }

  static async open(endpoint: string, options: RoughNetworkOptions): Promise<RoughNetwork> {
    const network = new RoughNetwork(endpoint, options);
    await network.#listen();
    return network;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** Whether this trouble happens now. */
  strikes(trouble: NetworkTrouble): boolean {
    const chance = this.plan[trouble] ?? 0;
    if (chance === 0) return false;
    const isFirst = this.#options.isSure === true && this.struck[trouble] === undefined;
    if (!isFirst && this.#options.random.next() >= chance) return false;
    this.struck[trouble] = (this.struck[trouble] ?? 0) + 1;
    return true;
  }

  /** A number from 0 to below `count`. */
  below(count: number): number {
    return this.#options.random.below(Math.max(1, count));
  }

  get lateMs(): number {
    return this.#options.lateMs;
  }

  later(delayMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, delayMs);
    this.#timers.add(timer);
  }

  /** A connection to the account. */
  reach(): Socket {
    return this.#watch(connect(this.#account));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    if (server?.listening === true) await new Promise((resolve) => server.close(resolve));
  }

  async #listen(): Promise<void> {
    // A half that the other side has closed stays open for us.
    const server = createServer({ allowHalfOpen: true }, (near) => this.#accept(near));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
  }

  #accept(near: Socket): void {
    this.#watch(near);
    if (!this.strikes('refuse')) {
      new RoughConnection(this, near).open();
      return;
    }
    near.resetAndDestroy();
    if (this.#server?.listening !== true) return;
    this.#server.close();
    this.later(1 + this.below(REFUSED_MAX_MS), () => {
      if (!this.#closed) void this.#listen(); // the port was ours a moment ago
    });
  }

  #watch(socket: Socket): Socket {
    this.#sockets.add(socket);
    // Errors are what this is about: the other side of the connection sees them.
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/** One connection of cosmig, and the one to the account behind it. */
class RoughConnection {
  readonly #network: RoughNetwork;
  readonly #near: Socket;
  #far: Socket;
  /** What has come of a request that is not complete. */
  #partial: Buffer = Buffer.alloc(0);
  #onReply: (bytes: Buffer) => void;
  /** Whether a late request is still to be delivered or answered, although the client may have gone. */
  #owes = false;

  constructor(network: RoughNetwork, near: Socket) {
    this.#network = network;
    this.#near = near;
    this.#onReply = (bytes) => void near.write(bytes);
    this.#far = this.#reach();
  }

  open(): void {
    const near = this.#near;
    near.on('data', (bytes) => this.#collect(bytes));
    near.on('end', () => near.end());
    near.on('close', () => {
      if (!this.#owes) this.#far.destroy();
    });
  }

  #reach(): Socket {
    const far = this.#network.reach();
    far.on('data', (bytes) => {
      if (far === this.#far) this.#onReply(bytes);
    });
    far.on('end', () => this.#near.end());
    far.on('close', () => {
      if (far === this.#far) this.#near.destroy();
    });
    return far;
  }

  #collect(bytes: Buffer): void {
    this.#partial = Buffer.concat([this.#partial, bytes]);
    for (let size = sizeOf(this.#partial); size !== undefined; size = sizeOf(this.#partial)) {
      const request = this.#partial.subarray(0, size);
      this.#partial = this.#partial.subarray(size);
      this.#handle(request);
    }
  }

  #handle(request: Buffer): void {
    const network = this.#network;
    const [near, far] = [this.#near, this.#far];
    const isTimed = hasTimeLimit(request);
    const trouble = NETWORK_TROUBLES.find(
      (one) => one !== 'refuse' && (isTimed || !TIMED.has(one)) && network.strikes(one),
    );
    this.#onReply = (bytes) => void near.write(bytes);
    switch (trouble) {
      case undefined:
      case 'refuse':
        far.write(request);
        return;
      case 'reset-before':
        near.resetAndDestroy();
        return;
      case 'reset-after':
        this.#onReply = () => near.resetAndDestroy();
        far.write(request);
        return;
      case 'cut-request':
        far.write(request.subarray(0, network.below(request.length)), () => {
          far.resetAndDestroy();
          near.resetAndDestroy();
        });
        return;
      case 'cut-reply':
        this.#onReply = (bytes) => {
          near.end(bytes.subarray(0, network.below(bytes.length)));
          far.destroy();
        };
        far.write(request);
        return;
      case 'drip-request':
        this.#drip(request, far);
        return;
      case 'drip-reply':
        this.#onReply = (bytes) => this.#drip(bytes, near);
        far.write(request);
        return;
      case 'half-close':
        this.#onReply = () => {};
        far.write(request, () => near.end());
        return;
      case 'stall':
        return;
      case 'late-request':
        this.#deliverLate(request);
        return;
      case 'late-reply':
        this.#onReply = (bytes) => network.later(network.lateMs, () => near.destroyed || near.write(bytes));
        far.write(request);
        return;
    }
  }

  /** Delivers a request after its time, even if the client has closed its connection by then. */
  #deliverLate(request: Buffer): void {
    const network = this.#network;
    this.#owes = true;
    network.later(network.lateMs, () => {
      if (this.#far.destroyed) this.#far = this.#reach();
      this.#onReply = (bytes) => {
        this.#owes = false;
        if (this.#near.destroyed) this.#far.destroy();
        else this.#near.write(bytes);
      };
      this.#far.write(request);
    });
  }

  /** Each piece sets the timer of the next: late timers of different lengths do not fire in the order of their times. */
  #drip(bytes: Buffer, to: Socket, step = Math.ceil(bytes.length / DRIP_PIECES)): void {
    if (bytes.length === 0 || to.destroyed) return;
    to.write(bytes.subarray(0, step));
    this.#network.later(DRIP_MS, () => this.#drip(bytes.subarray(step), to, step));
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** The size of the first request in these bytes; undefined while it is not complete. */
function sizeOf(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  if (/^transfer-encoding:/im.test(head)) throw new Error('a request of unknown length came');
  const length = Number(/^content-length: *(?<length>\d+)/im.exec(head)?.groups?.['length'] ?? 0);
  const size = end + HEAD_END.length + length;
  return bytes.length < size ? undefined : size;
}

/** Whether this is a batch or a page of a feed. */
function hasTimeLimit(request: Buffer): boolean {
  const head = request.toString('latin1', 0, Math.max(0, request.indexOf(HEAD_END)));
  return /^(?:x-ms-cosmos-is-batch-request|a-im):/im.test(head);
}
