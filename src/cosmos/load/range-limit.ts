/**
 * How much is under way to one range, learned from how it answers. What always holds: the limit changes once a window
 * and by one step, it never falls below one, and nothing that another range does is seen here.
 *
 *   throttled operations in a window      limit
 *   fewer than 0.5 %, and it was reached   + 1
 *   up to 1.5 %                            stays
 *   more                                   - 1
 *   more than 10 %, two windows in a row   half
 */
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { RuBudget } from './ru-budget.ts';

/** What became of a request, as far as load is concerned. */
export interface Load {
  /** From the header; refusals cost as well. */
  readonly chargeRu: number;
  readonly operations: number;
  /** How many of them were throttled. */
  readonly throttled: number;
  /** The longest hint that came with it. */
  readonly retryAfterMs: number | undefined;
  /** How long the reply took. */
  readonly elapsedMs?: number;
}

/** How quickly the guesses follow of what an operation costs, and how long a reply takes. */
const FOLLOW = 0.2;
/** The service counts RU by the second. */
const WINDOW_MS = 1000;
/** Fewer operations say nothing about one per cent. */
const WINDOW_OPERATIONS = 100;
/** Beyond this a range of 10,000 RU/s is not slow, it is dead. */
const LIMIT_MAX = 64;
const [QUIET, BEARABLE, SUSTAINED] = [0.005, 0.015, 0.1];
/**
 * A request may cost this share of a second's RU: larger ones do not fit into the rest of a second, and what does not fit
 * is refused. Fewer operations than these are not worth a request.
 */
const REQUEST_SHARE = 0.05;
const [OPERATIONS_LEAST, OPERATIONS_MOST] = [4, 100];
/** When the service throttles without a hint. */
const HINT_MS = 100;
const HINT_MAX_MS = 60_000;

export class RangeGate {
  /** What the range itself has, when that is known: a range gets no more than its share of the container. */
  readonly budget: RuBudget;
  readonly #clock: Clock;
  readonly #random: Random;
  #limit: number;
  /** Whether as many were on their way as may be: a limit that nobody reaches does not grow. */
  #reached = false;
  #pausedUntilMs = 0;
  #windowSinceMs: number;
  #operations = 0;
  #throttled = 0;
  #throttledShare = 0;
  /** What an operation costs that is not refused; 0 while nobody knows. */
  #operationRu = 0;
  #elapsedMs = 0;

  constructor(parts: { readonly clock: Clock; readonly random: Random; readonly limit: number }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#limit = parts.limit;
    this.budget = new RuBudget(parts.clock);
    this.#windowSinceMs = parts.clock.now();
  }

  get limit(): number {
    return this.#limit;
  }

  /** Whether one more may be on its way. */
  hasRoom(inFlight: number): boolean {
    if (inFlight + 1 >= this.#limit) this.#reached = true;
    return inFlight < this.#limit;
  }

  /** How long the service wants to be left alone here. */
  pausedMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntilMs - this.#clock.now()));
  }

  operationsMax(): number {
    const { rate } = this.budget;
    if (rate === undefined || this.#operationRu === 0) return OPERATIONS_MOST;
    const perSecond = rate / this.#operationRu;
    // Where replies take long, requests must be large, or too few of them are on their way to use up the RU.
    const fitting = Math.floor(perSecond * Math.max(REQUEST_SHARE, this.#elapsedMs / 1000 / this.#limit));
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
      // Everybody got the same hint; a little later is not all at once.
      const askedMs = Math.min(retryAfterMs, HINT_MAX_MS) * (1 + this.#random.next() / 4);
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + askedMs);
    }
    if (nowMs - this.#windowSinceMs >= WINDOW_MS && this.#operations >= WINDOW_OPERATIONS) this.#judge(nowMs);
  }

  #judge(nowMs: number): void {
    const before = this.#throttledShare;
    const share = this.#throttled / this.#operations;
    if (share > SUSTAINED && before > SUSTAINED) this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    else if (share > BEARABLE) this.#limit = Math.max(1, this.#limit - 1);
    else if (share < QUIET && this.#reached) this.#limit = Math.min(LIMIT_MAX, this.#limit + 1);
    this.#throttledShare = share;
    [this.#windowSinceMs, this.#operations, this.#throttled, this.#reached] = [nowMs, 0, 0, false];
  }
}
