/**
 * A budget of RU per second. Invariant: over any longer time no more is spent than the budget allows, because the
 * excess of a reply's cost over its estimate is a debt, which is paid by waiting.
 */
import { assert, unreachable } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import type { Budget } from '../../spec/migration-spec.ts';

/**
 * Returns the RU/s that a side may spend; undefined: cosmig sets no limit, and finds out by trying how much each range
 * takes.
 */
export function allowedRu(
  side: 'source' | 'target',
  budget: Budget,
  containerRu: number | undefined,
): number | undefined {
  switch (budget.kind) {
    case 'automatic':
      return undefined;
    case 'ru':
      return budget.ru;
    case 'percent':
      if (containerRu !== undefined) return (containerRu * budget.percent) / 100;
      throw new UsageError(`--${side}-ru ${budget.percent}% is not valid`, {
        why: 'a serverless container, or one that shares the throughput of its database, has no RU/s of its own',
        hint: `give RU/s instead of a share, as in --${side}-ru 4000`,
      });
    default:
      return unreachable(budget);
  }
}

/** Seconds of the budget that can be saved up: enough to bridge a late timer, too little for a burst. */
const SAVED_S = 0.1;
/** Weight of a new reply in the estimate of a request's cost, which adapts within a handful of requests. */
const FOLLOW = 0.2;

export class RuBudget {
  readonly #clock: Clock;
  #ruPerSecond: number | undefined;
  #level = 0;
  #atMs: number;
  #spentRu = 0;
  #estimateRu = 0;

  /** Without `ruPerSecond` there is no limit. */
  constructor(clock: Clock, ruPerSecond?: number) {
    this.#clock = clock;
    this.#atMs = clock.monotonicMs();
    this.rate = ruPerSecond;
  }

  get rate(): number | undefined {
    return this.#ruPerSecond;
  }

  /** Changes the rate. A debt remains. */
  set rate(ruPerSecond: number | undefined) {
    assert(ruPerSecond === undefined || ruPerSecond > 0, 'a budget of 0 RU/s would wait for ever');
    this.#refill();
    this.#ruPerSecond = ruPerSecond;
  }

  /** RU that all replies have cost. */
  get spentRu(): number {
    return this.#spentRu;
  }

  /** Returns how long until a request may leave, if `others` requests leave before it; 0: now. */
  delayMs(others = 0): number {
    if (this.#ruPerSecond === undefined) return 0;
    this.#refill();
    const missingRu = others * this.#estimateRu - this.#level;
    return missingRu <= 0 ? 0 : Math.ceil((missingRu / this.#ruPerSecond) * 1000);
  }

  /** Sets aside the estimated cost of a request, and returns it for `charge`. */
  reserve(): number {
    this.#refill();
    this.#level -= this.#estimateRu;
    return this.#estimateRu;
  }

  /** Replaces the RU set aside for a request by what its reply cost. */
  charge(reservedRu: number, chargeRu: number): void {
    this.#refill();
    this.#level += reservedRu - chargeRu;
    this.#spentRu += chargeRu;
    if (chargeRu > 0)
      this.#estimateRu =
        this.#estimateRu === 0 ? chargeRu : this.#estimateRu + (chargeRu - this.#estimateRu) * FOLLOW;
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs();
    const passedMs = nowMs - this.#atMs;
    this.#atMs = nowMs;
    if (this.#ruPerSecond === undefined) {
      this.#level = 0;
      return;
    }
    const savedMax = this.#ruPerSecond * SAVED_S;
    this.#level = Math.min(savedMax, this.#level + (this.#ruPerSecond * passedMs) / 1000);
  }
}
