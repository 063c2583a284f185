/**
 * RU per second, spent as they come. What always holds: over any longer time no more is spent than was given, since
 * what a reply cost beyond what was expected is owed, and paid by waiting.
 */
import { assert, unreachable } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import type { Budget } from '../../spec/migration-spec.ts';

/** The RU/s a side may spend; undefined: no limit of ours, the ranges' own is found by trying. */
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

/** So much may be saved up: enough to bridge a late timer, too little to be seen as a burst. */
const SAVED_S = 0.1;
/** How quickly the guess of what a request costs follows; a handful of requests. */
const FOLLOW = 0.2;

export class RuBudget {
  readonly #clock: Clock;
  #ruPerSecond: number | undefined;
  #level = 0;
  #atMs: number;
  #spentRu = 0;
  #guessRu = 0;

  /** Without a number there is no limit. */
  constructor(clock: Clock, ruPerSecond?: number) {
    this.#clock = clock;
    this.#atMs = clock.now();
    this.rate = ruPerSecond;
  }

  get rate(): number | undefined {
    return this.#ruPerSecond;
  }

  /** Another rate from now on; what is owed stays owed. */
  set rate(ruPerSecond: number | undefined) {
    assert(ruPerSecond === undefined || ruPerSecond > 0, 'a budget of nothing would wait for ever');
    this.#refill();
    this.#ruPerSecond = ruPerSecond;
  }

  /** All that replies have cost. */
  get spentRu(): number {
    return this.#spentRu;
  }

  /** How long until a request may go when so many others go first; 0 for now. */
  delayMs(others = 0): number {
    if (this.#ruPerSecond === undefined) return 0;
    this.#refill();
    const lacking = others * this.#guessRu - this.#level;
    return lacking <= 0 ? 0 : Math.ceil((lacking / this.#ruPerSecond) * 1000);
  }

  /** Sets aside what a request will probably cost; gives that guess, for `settle`. */
  reserve(): number {
    this.#refill();
    this.#level -= this.#guessRu;
    return this.#guessRu;
  }

  /** The reply is there: what it cost takes the place of what was set aside for it. */
  settle(reservedRu: number, chargeRu: number): void {
    this.#refill();
    this.#level += reservedRu - chargeRu;
    this.#spentRu += chargeRu;
    if (chargeRu > 0)
      this.#guessRu = this.#guessRu === 0 ? chargeRu : this.#guessRu + (chargeRu - this.#guessRu) * FOLLOW;
  }

  #refill(): void {
    const nowMs = this.#clock.now();
    // A clock that was set back gives nothing and takes nothing.
    const passedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs = nowMs;
    if (this.#ruPerSecond === undefined) {
      this.#level = 0;
      return;
    }
    const savedMax = this.#ruPerSecond * SAVED_S;
    this.#level = Math.min(savedMax, this.#level + (this.#ruPerSecond * passedMs) / 1000);
  }
}
