/**
 * Load control of one side: decides which range may send now, and learns from the replies. Invariant: a request that
 * is not admitted gets the reason and when to ask again; a throttled range delays no other range; over any longer
 * time a side spends at most its budget, whatever its requests turn out to cost.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { troubleOf } from '../transport/trouble.ts';
import { Durations } from './durations.ts';
import { FairQueue } from './fair-queue.ts';
import { RangeLimit, type Load } from './range-limit.ts';
import { retrying, type Patience } from './retry.ts';
import { RuBudget } from './ru-budget.ts';

/** `go`, or why the request must wait. Without `delayMs`, the caller asks again after the range's next reply. */
export type Admission =
  | 'go'
  | { readonly reason: 'in flight'; readonly delayMs?: undefined }
  | { readonly reason: 'throttled' | 'no budget'; readonly delayMs: number };

/** What the requests to one range have cost since the run began, or since the range came from a split or merge. */
export interface RangeUse {
  readonly ru: number;
  /** Number of operations that were refused with 429. */
  readonly throttled: number;
  /** Whether the range rests after a 429. */
  readonly isResting: boolean;
}

export interface GovernorParts {
  readonly clock: Clock;
  readonly random: Random;
  /** RU/s that this side may spend; undefined: no limit. */
  readonly ruPerSecond?: number | undefined;
}

/**
 * The share of a range's RU/s that is used. All of it would be too much, because the service's seconds begin at other
 * moments than ours.
 */
const PACE = 0.995;
/** Requests in flight at the start: one that the service answers, and one on the way to it. */
const AT_ONCE_FIRST = 2;

export class Governor {
  readonly budget: RuBudget;
  /** Number of operations that were refused with 429. */
  throttled = 0;
  /** How long the requests took, from sending to the reply. */
  readonly durations = new Durations();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits = new Map<string, RangeLimit>();
  readonly #queue: FairQueue;
  /** RU set aside for the requests in flight of each range, from the budgets of the side and of the range. */
  readonly #reserved = new Map<string, Array<readonly [side: number, range: number]>>();

  constructor({ clock, random, ruPerSecond }: GovernorParts) {
    this.#clock = clock;
    this.#random = random;
    this.#queue = new FairQueue(clock);
    this.budget = new RuBudget(clock, ruPerSecond);
  }

  /** Sets the RU/s of the container. Each range gets an even share, and no more (fact SVC-28). */
  setCapacity(containerRu: number | undefined, ranges: readonly string[]): void {
    const share = containerRu === undefined ? undefined : (containerRu * PACE) / ranges.length;
    for (const range of ranges) this.#limitOf(range).budget.rate = share;
  }

  /** Replaces a range that was split or merged. Its new ranges start with what was learned about it. */
  replace(range: string, children: readonly string[]): void {
    const gone = this.#limits.get(range);
    this.#limits.delete(range);
    this.#queue.leave(range);
    if (gone === undefined) return;
    const { rate } = gone.budget;
    for (const child of children) {
      const limit = this.#limitOf(child, Math.ceil(gone.atOnce / children.length));
      limit.budget.rate = rate === undefined ? undefined : rate / children.length;
    }
  }

  useOf(range: string): RangeUse {
    const limit = this.#limits.get(range);
    if (limit === undefined) return { ru: 0, throttled: 0, isResting: false };
    return { ru: limit.budget.spentRu, throttled: limit.throttled, isResting: limit.pausedMs() > 0 };
  }

  /** Returns whether one more request may go to a range. The caller must call `observe` once for each `go`. */
  admit(range: string, { inFlight }: { readonly inFlight: number }): Admission {
    const limit = this.#limitOf(range);
    if (!limit.admits(inFlight)) return { reason: 'in flight' };
    const pausedMs = limit.pausedMs();
    if (pausedMs > 0) return { reason: 'throttled', delayMs: pausedMs };
    const budgetMs = limit.budget.delayMs() || this.#turnMs(range);
    if (budgetMs > 0) return { reason: 'no budget', delayMs: budgetMs };
    const reserved = this.#reserved.get(range) ?? [];
    reserved.push([this.budget.reserve(), limit.budget.reserve()]);
    this.#reserved.set(range, reserved);
    return 'go';
  }

  /** Returns how many operations the next request may have, so that it needs only a small share of the range's RU/s. */
  operationsMax(range: string): number {
    return this.#limitOf(range).operationsMax();
  }

  /** Learns from a reply, or from a request that got none. */
  observe(range: string, load: Load): void {
    const reserved = this.#reserved.get(range);
    const [ofSide, ofRange] = reserved?.shift() ?? [0, 0];
    if (reserved?.length === 0) this.#reserved.delete(range);
    this.budget.charge(ofSide, load.chargeRu);
    this.throttled += load.throttled;
    if (load.elapsedMs !== undefined) this.durations.add(load.elapsedMs);
    // The range may have split since the request was sent. Its new ranges have already inherited what was learned.
    const limit = this.#limits.get(range);
    limit?.budget.charge(ofRange, load.chargeRu);
    limit?.learn(load);
  }

  /**
   * Sends one request at a time to a range: waits until the request is admitted, counts its charge even if it is
   * refused, and repeats it while its trouble may pass. A throttled range rests as long as the range limit says, and no
   * longer.
   */
  async repeat<T extends { readonly chargeRu: number }>(
    range: string,
    request: () => Promise<T>,
    { patience, signal }: { readonly patience: Patience; readonly signal: AbortSignal },
  ): Promise<T> {
    const once = async (): Promise<T> => {
      await this.#admitted(range, signal);
      const sentMs = this.#clock.monotonicMs();
      let load: Load = { chargeRu: 0, operations: 1, throttled: 0, retryAfterMs: undefined };
      try {
        const result = await request();
        load = { ...load, chargeRu: result.chargeRu };
        return result;
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble !== undefined) {
          const { kind, chargeRu, retryAfterMs } = trouble;
          load = { ...load, chargeRu, retryAfterMs, throttled: kind === 'throttled' ? 1 : 0 };
        }
        throw error;
      } finally {
        // `load` has no time: the averages of the range are about batches.
        this.durations.add(this.#clock.monotonicMs() - sentMs);
        this.observe(range, load);
      }
    };
    return retrying(once, { signal, patience, throttledBy: 'range-limit' });
  }

  /** Waits until a range with nothing in flight is admitted. The caller must then call `observe`. */
  async #admitted(range: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const admission = this.admit(range, { inFlight: 0 });
      if (admission === 'go') return;
      assert(admission.delayMs !== undefined, 'a range with nothing in flight has room');
      await this.#clock.sleep(admission.delayMs, signal);
    }
  }

  /** Returns how long until a range has its turn at the side's budget, which all ranges share; 0: now. */
  #turnMs(range: string): number {
    if (this.budget.rate === undefined) return 0;
    const ahead = this.#queue.aheadOf(range);
    const delayMs = this.budget.delayMs(ahead);
    if (ahead === 0 && delayMs === 0) {
      this.#queue.leave(range);
      return 0;
    }
    const waitMs = Math.max(1, delayMs);
    this.#queue.comesAt(range, this.#clock.monotonicMs() + waitMs);
    return waitMs;
  }

  #limitOf(range: string, atOnce = AT_ONCE_FIRST): RangeLimit {
    let limit = this.#limits.get(range);
    if (limit === undefined) {
      limit = new RangeLimit({ clock: this.#clock, random: this.#random, atOnce });
      this.#limits.set(range, limit);
    }
    return limit;
  }
}
