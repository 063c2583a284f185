/**
 * The notifications that one receiver has not taken yet, and their delivery. Invariants: adding one never waits, there
 * are at most QUEUE_MAX of them, each is tried a bounded number of times, they arrive in their order, and a receiver
 * that fails is reported once and ends nothing.
 */
import { ChildSignal, orAborted } from '../lib/abort.ts';
import { Countdown, type Clock } from '../lib/clock.ts';
import { deferred } from '../lib/deferred.ts';
import type { Random } from '../lib/random.ts';
import type { Notification } from '../report/json/notification.ts';
import { RefusedByReceiver, type Receiver } from './delivery.ts';

/** More than a cutover sends, few enough to be of use when they arrive late. */
export const QUEUE_MAX = 100;
/** How often a notification is tried, and the wait after the first attempt. Each further wait is twice as long. */
const ATTEMPTS_MAX = 5;
const RETRY_AFTER_MS = 1000;
/** How long one attempt may take. Receivers of webhooks answer within a second or two. */
const ATTEMPT_MAX_MS = 10_000;
/** After this time a notification is not tried again, since newer ones wait. */
const RETRY_WITHIN_MS = 60_000;

export interface OutboxParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Reports that a notification could not be delivered. Called once. */
  readonly warn: (text: string) => void;
}

export class Outbox {
  readonly #receiver: Receiver;
  readonly #parts: OutboxParts;
  #queue: Notification[] = [];
  #isDelivering = false;
  #dropped = 0;
  #hasWarned = false;
  #added = deferred();
  #idle = deferred();

  constructor(receiver: Receiver, parts: OutboxParts) {
    this.#receiver = receiver;
    this.#parts = parts;
    this.#idle.resolve();
  }

  add(notification: Notification): void {
    if (this.#queue.length >= QUEUE_MAX) this.#dropOne(notification);
    this.#queue.push(notification);
    if (this.#queue.length === 1 && !this.#isDelivering) this.#idle = deferred();
    this.#added.resolve();
  }

  /** Delivers until `signal` is aborted; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#queue.shift();
      if (next === undefined) {
        this.#idle.resolve();
        this.#added = deferred();
        await untilAborted(this.#added.promise, signal);
        continue;
      }
      this.#isDelivering = true;
      await this.#deliver(next, signal);
      this.#isDelivering = false;
    }
  }

  /** Resolves when everything was delivered or given up, or when `signal` is aborted; never rejects. */
  async whenIdle(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#idle.promise, signal);
    const left = this.#queue.length + (this.#isDelivering ? 1 : 0);
    if (left > 0) this.#warn('it was too slow at the end of the run');
  }

  /** Makes room: the oldest of the same kind says the least that is new. */
  #dropOne({ event }: Notification): void {
    const same = this.#queue.findIndex((other) => other.event === event);
    this.#queue.splice(Math.max(0, same), 1);
    this.#dropped += 1;
  }

  async #deliver(notification: Notification, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#parts;
    const over = new Countdown(clock, RETRY_WITHIN_MS);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt({ ...notification, dropped: this.#dropped }, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof RefusedByReceiver || attempt === ATTEMPTS_MAX || over.isOver()) {
          this.#dropped += 1;
          return this.#warn(error instanceof Error ? error.message : String(error));
        }
      }
      try {
        // Between half and all of the delay, so that the receivers of many runs do not get them all at once.
        const delayMs = RETRY_AFTER_MS * 2 ** (attempt - 1);
        await clock.sleep(delayMs * (0.5 + random.next() / 2), signal);
      } catch {
        return; // The run is over.
      }
    }
  }

  /** Tries once, for a limited time. */
  async #attempt(notification: Notification, signal: AbortSignal): Promise<void> {
    using limited = new ChildSignal(signal);
    using ended = new ChildSignal(signal);
    const late = new Error(`it did not answer within ${ATTEMPT_MAX_MS / 1000} s`);
    const watch = this.#parts.clock.sleep(ATTEMPT_MAX_MS, ended.signal).then(
      () => limited.abort(late),
      () => {},
    );
    try {
      await this.#receiver.deliver(notification, limited.signal);
    } finally {
      ended.abort(new Error('the attempt has ended'));
      await watch;
    }
  }

  #warn(why: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#parts.warn(
      `a notification was not delivered to ${this.#receiver.name}: ${why}; the run does not need it`,
    );
  }
}

/** Resolves with `promise` or when `signal` is aborted. */
async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await orAborted(promise, signal);
  } catch {
    // Aborted: the caller looks at the signal.
  }
}
