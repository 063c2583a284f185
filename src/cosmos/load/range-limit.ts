/**
 * Learns from the replies of one range how many requests may be in flight to it, and how long it rests after a 429.
 * Invariant: a throttled range rests at least as long as the service asks; the limit changes at most once a window,
 * never falls below one, and depends on no other range.
 *
 *   share of throttled operations in a window   requests in flight
 *   below 0.5 %, and the limit was reached      + 1
 *   up to 1.5 %                                 unchanged
 *   more                                        - 1
 *   above 10 % in two windows in a row          halved
 */
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { RuBudget } from './ru-budget.ts';

/** What one reply shows about the load of its range. */
export interface Load {
  /** Charge in the header of the reply. Refusals cost RU as well. */
  readonly chargeRu: number;
  readonly operations: number;
  /** Number of operations that were throttled. */
  readonly throttled: number;
  /** The longest wait that the service asks for in this reply. */
  readonly retryAfterMs: number | undefined;
  /** Time between the request and its reply. */
  readonly elapsedMs?: number;
}

/** Weight of a new reply in the averages of an operation's cost and of a reply's time. */
const FOLLOW = 0.2;
/** Length of a window. The service limits RU per second. */
const WINDOW_MS = 1000;
/** Operations that a window needs: fewer cannot show a share of 1 %. */
const WINDOW_OPERATIONS = 100;
/**
 * The most requests in flight. More would not help: a range has at most 10,000 RU/s, and would need so many only if it
 * hardly answered.
 */
const AT_ONCE_MAX = 64;
const [QUIET, BEARABLE, SUSTAINED] = [0.005, 0.015, 0.1];
/**
 * Share of a second's RU that one request may cost. A larger request often exceeds what is left of a second, and is
 * refused. Requests of fewer than OPERATIONS_LEAST operations are not worth their overhead.
 */
const REQUEST_SHARE = 0.05;
const [OPERATIONS_LEAST, OPERATIONS_MOST] = [4, 100];
/**
 * How long a range rests when the service throttles it without a hint: twice as long after each rest in which nothing
 * got through. The first rest is short, since a range often refuses only what was too much for one second.
 */
const [REST_FIRST_MS, REST_MAX_MS] = [100, 10_000];
/** Bounds for hints: a shorter one would repeat the request at once, a longer one is taken for a mistake. */
const [HINT_LEAST_MS, HINT_MAX_MS] = [10, 60_000];

export class RangeLimit {
  /** The range's share of the container's RU/s, if it is known. */
  readonly budget: RuBudget;
  /** Number of operations that were refused with 429. */
  throttled = 0;
  readonly #clock: Clock;
  readonly #random: Random;
  #atOnce: number;
  /** Whether the limit was reached in this window. A limit that was not reached does not grow. */
  #reached = false;
  #pausedUntilMs = 0;
  /** Length of the next rest without a hint. */
  #restMs = REST_FIRST_MS;
  #windowSinceMs: number;
  #operations = 0;
  #throttled = 0;
  #throttledShare = 0;
  /** Average cost of an operation that is not refused; 0 until it is known. */
  #operationRu = 0;
  #elapsedMs = 0;

  constructor(parts: { readonly clock: Clock; readonly random: Random; readonly atOnce: number }) {
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#atOnce = parts.atOnce;
    this.budget = new RuBudget(parts.clock);
    this.#windowSinceMs = parts.clock.monotonicMs();
  }

  get atOnce(): number {
    return this.#atOnce;
  }

  /** Whether one more request may be sent while `inFlight` requests are in flight. */
  admits(inFlight: number): boolean {
    if (inFlight + 1 >= this.#atOnce) this.#reached = true;
    return inFlight < this.#atOnce;
  }

  /** Returns how long the range still has to rest. */
  pausedMs(): number {
    return Math.max(0, Math.ceil(this.#pausedUntilMs - this.#clock.monotonicMs()));
  }

  operationsMax(): number {
    const { rate } = this.budget;
    if (rate === undefined || this.#operationRu === 0) return OPERATIONS_MOST;
    const perSecond = rate / this.#operationRu;
    // If replies take long, too few requests are in flight to use up the RU, so each request must be larger.
    const fitting = Math.floor(perSecond * Math.max(REQUEST_SHARE, this.#elapsedMs / 1000 / this.#atOnce));
    return Math.max(OPERATIONS_LEAST, Math.min(OPERATIONS_MOST, fitting));
  }

  learn({ chargeRu, operations, throttled, retryAfterMs, elapsedMs = 0 }: Load): void {
    const done = operations - throttled;
    if (done > 0 && chargeRu > 0) {
      const follow = this.#operationRu === 0 ? 1 : FOLLOW;
      this.#operationRu += (chargeRu / done - this.#operationRu) * follow;
      this.#elapsedMs += (elapsedMs - this.#elapsedMs) * follow;
    }
    this.#operations += operations;
    this.#throttled += throttled;
    this.throttled += throttled;
    const nowMs = this.#clock.monotonicMs();
    if (done > 0) this.#restMs = REST_FIRST_MS;
    if (throttled > 0) {
      const hintMs =
        retryAfterMs === undefined
          ? this.#restOf(nowMs - elapsedMs)
          : Math.max(HINT_LEAST_MS, Math.min(retryAfterMs, HINT_MAX_MS));
      // The service gives all requests the same hint. The random addition keeps them from returning at the same time.
      const askedMs = hintMs * (1 + this.#random.next() / 4);
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + askedMs);
    }
    if (nowMs - this.#windowSinceMs >= WINDOW_MS && this.#operations >= WINDOW_OPERATIONS)
      this.#adjust(nowMs);
  }

  /**
   * Returns how long to rest after a refusal without a hint. Requests that were sent before the last rest ended say
   * nothing about how long the next one must be: many in flight are refused together.
   */
  #restOf(sentMs: number): number {
    if (sentMs < this.#pausedUntilMs) return 0;
    const restMs = this.#restMs;
    this.#restMs = Math.min(REST_MAX_MS, restMs * 2);
    return restMs;
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
