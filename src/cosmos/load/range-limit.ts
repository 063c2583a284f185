/**
 * How many requests may be in flight to one range, and how long the range rests after a 429; both are learned from its
 * replies. Invariant: a throttled range rests at least as long as the service asks; the limit changes once a window
 * and by one step, never falls below one, and depends on no other range.
 *
 *   throttled operations in a window      requests in flight
 *   fewer than 0.5 %, and it was reached   + 1
 *   up to 1.5 %                            stays
 *   more                                   - 1
 *   more than 10 %, two windows in a row   half
 */
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { RuBudget } from './ru-budget.ts';

/** What one reply says about load. */
export interface Load {
  /** From the header. Refusals cost as well. */
  readonly chargeRu: number;
  readonly operations: number;
  /** How many of them were throttled. */
  readonly throttled: number;
  /** The longest hint of the reply: how long the service asks us to wait. */
  readonly retryAfterMs: number | undefined;
  /** How long the reply took. */
  readonly elapsedMs?: number;
}

/** How quickly the averages follow: of what an operation costs, and of how long a reply takes. */
const FOLLOW = 0.2;
/** The service counts RU by the second. */
const WINDOW_MS = 1000;
/** Fewer operations say nothing about a share of 1 %. */
const WINDOW_OPERATIONS = 100;
/** More would not help: a range of 10,000 RU/s that needs so many is not answering. */
const AT_ONCE_MAX = 64;
const [QUIET, BEARABLE, SUSTAINED] = [0.005, 0.015, 0.1];
/**
 * A request may cost this share of a second's RU: a larger one often does not fit into what is left of a second, and is
 * refused. Requests of fewer operations than OPERATIONS_LEAST are not worth their overhead.
 */
const REQUEST_SHARE = 0.05;
const [OPERATIONS_LEAST, OPERATIONS_MOST] = [4, 100];
/** The rest when the service throttles without a hint. */
const HINT_MS = 100;
/** Shorter hints would have the request sent again in the same instant; longer ones are taken for a mistake. */
const [HINT_LEAST_MS, HINT_MAX_MS] = [10, 60_000];

export class RangeLimit {
  /** The RU/s of the range itself, where they are known: its share of the container. */
  readonly budget: RuBudget;
  readonly #clock: Clock;
  readonly #random: Random;
  #atOnce: number;
  /** Whether the limit was reached in this window: one that is not reached does not grow. */
  #reached = false;
  #pausedUntilMs = 0;
  #windowSinceMs: number;
  #operations = 0;
  #throttled = 0;
  #throttledShare = 0;
  /** What an operation costs that is not refused; 0 while it is not known. */
  #operationRu = 0;
  #elapsedMs = 0;

  constructor(parts: { readonly clock: Clock; readonly random: Random; readonly atOnce: number }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#atOnce = parts.atOnce;
    this.budget = new RuBudget(parts.clock);
    this.#windowSinceMs = parts.clock.now();
  }

  get atOnce(): number {
    return this.#atOnce;
  }

  /** Whether one more request may be in flight. */
  admits(inFlight: number): boolean {
    if (inFlight + 1 >= this.#atOnce) this.#reached = true;
    return inFlight < this.#atOnce;
  }

  /** How long the range still rests. */
  pausedMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntilMs - this.#clock.now()));
  }

  operationsMax(): number {
    const { rate } = this.budget;
    if (rate === undefined || this.#operationRu === 0) return OPERATIONS_MOST;
    const perSecond = rate / this.#operationRu;
    // Where replies take long, requests must be large: too few of them are in flight to use up the RU otherwise.
    const fitting = Math.floor(perSecond * Math.max(REQUEST_SHARE, this.#elapsedMs / 1000 / this.#atOnce));
    return Math.max(OPERATIONS_LEAST, Math.min(OPERATIONS_MOST, fitting));
  }

  learn({ chargeRu, operations, throttled, retryAfterMs = HINT_MS, elapsedMs = 0 }: Load): void {
    const done = operations - throttled;
    if (done > 0 && chargeRu > 0) {
      const follow = this.#operationRu === 0 ? 1 : FOLLOW;
      this.#operationRu += (chargeRu / done - this.#operationRu) * follow;
      this.#elapsedMs += (elapsedMs - this.#elapsedMs) * follow;
    }
    this.#operations += operations;
    this.#throttled += throttled;
    const nowMs = this.#clock.now();
    if (throttled > 0) {
      // All requests got the same hint; the spread keeps them from coming back at once.
      const hintMs = Math.max(HINT_LEAST_MS, Math.min(retryAfterMs, HINT_MAX_MS));
      const askedMs = hintMs * (1 + this.#random.next() / 4);
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + askedMs);
    }
    if (nowMs - this.#windowSinceMs >= WINDOW_MS && this.#operations >= WINDOW_OPERATIONS)
      this.#adjust(nowMs);
  }

  #adjust(nowMs: number): void {
    const before = this.#throttledShare;
    const share = this.#throttled / this.#operations;
    if (share > SUSTAINED && before > SUSTAINED) this.#atOnce = Math.max(1, Math.floor(this.#atOnce / 2));
    else if (share > BEARABLE) this.#atOnce = Math.max(1, this.#atOnce - 1);
    else if (share < QUIET && this.#reached) this.#atOnce = Math.min(AT_ONCE_MAX, this.#atOnce + 1);
    this.#throttledShare = share;
    [this.#windowSinceMs, this.#operations, this.#throttled, this.#reached] = [nowMs, 0, 0, false];
  }
}
