/**
 * Owns the writes between the mover and the target. A request lands once or never; its client may have
 * given up or died before it does. What a reply says, and whether it arrives, is the scheduler's choice.
 */
import type { Receiver, Status, Write } from './target.ts';

export interface Reply {
  readonly status: Status | 'throttled' | 'ambiguous';
  /** The target's LSN, on every reply that arrives, refusals too. */
  readonly token: number | null;
  /** The etag of what was written. */
  readonly etag: number | null;
}

export interface Request {
  readonly write: Write;
  reply: Reply | null;
  /** Its sender no longer waits, and it may still land. */
  abandoned: boolean;
}

/** What a client knows whose reply has not arrived. */
export const LOST: Reply = { status: 'ambiguous', token: null, etag: null };

export type Fate = 'ok' | 'reply-lost' | 'timed-out' | 'throttled';

export class Network {
  requests: Request[] = [];
  readonly #target: Receiver;
  readonly #watch: (write: Write) => void;

  /** `watch` sees each write just before it lands. */
  constructor(target: Receiver, watch: (write: Write) => void) {
    this.#target = target;
    this.#watch = watch;
  }

  send(write: Write): Request {
    const request = { write, reply: null, abandoned: false };
    this.requests.push(request);
    return request;
  }

  holds(request: Request): boolean {
    return this.requests.includes(request);
  }

  get waiting(): Request[] {
    return this.requests.filter(({ abandoned }) => !abandoned);
  }

  get abandoned(): Request[] {
    return this.requests.filter(({ abandoned }) => abandoned);
  }

  meet(request: Request, fate: Fate): void {
    switch (fate) {
      case 'ok':
        request.reply = {
          status: this.#land(request),
          token: this.#target.lsn,
          etag: this.#target.now.get(request.write.slot)?.etag ?? null,
        };
        break;
      case 'reply-lost':
        this.#land(request);
        request.reply = LOST;
        break;
      case 'timed-out':
        request.reply = LOST;
        request.abandoned = true;
        break;
      case 'throttled':
        this.#forget(request);
        request.reply = { status: 'throttled', token: null, etag: null };
        break;
    }
  }

  /** A request whose client has gone: it lands late, or never. */
  settle(request: Request, fate: 'lands' | 'never'): void {
    if (fate === 'lands') this.#land(request);
    else this.#forget(request);
  }

  abandonAll(): void {
    for (const request of this.requests) request.abandoned = true;
  }

  #land(request: Request): Status {
    this.#watch(request.write);
    this.#forget(request);
    return this.#target.apply(request.write);
  }

  #forget(request: Request): void {
    this.requests = this.requests.filter((one) => one !== request);
  }
}
