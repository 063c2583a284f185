/**
 * Owns the writes between the mover and the target. A request lands once or never; its client may have
 * given up or died before it does. What a reply says, and whether it arrives, is the scheduler's choice.
 */
import type { Status, Target, Write } from './target.ts';

export interface Reply {
  readonly status: Status | 'throttled' | 'ambiguous';
  /** The target's LSN, on every reply that arrives, refusals too. */
  readonly token: number | null;
}

export interface Request {
  readonly write: Write;
  reply: Reply | null;
  /** Its sender no longer waits, and it may still land. */
  abandoned: boolean;
}

export type Fate = 'ok' | 'reply-lost' | 'timed-out' | 'throttled';

export class Network {
  requests: Request[] = [];
  readonly #target: Target;
  readonly #watch: (write: Write, target: Target) => void;

  /** `watch` sees each write just before it lands. */
  constructor(target: Target, watch: (write: Write, target: Target) => void) {
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
        request.reply = { status: this.#land(request), token: this.#target.lsn };
        break;
      case 'reply-lost':
        this.#land(request);
        request.reply = { status: 'ambiguous', token: null };
        break;
      case 'timed-out':
        request.reply = { status: 'ambiguous', token: null };
        request.abandoned = true;
        break;
      case 'throttled':
        this.#forget(request);
        request.reply = { status: 'throttled', token: null };
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
    this.#watch(request.write, this.#target);
    this.#forget(request);
    return this.#target.apply(request.write);
  }

  #forget(request: Request): void {
    this.requests = this.requests.filter((one) => one !== request);
  }
}
