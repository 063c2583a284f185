/**
 * Load control of one side: which range may send now, and what is learned from the replies. Invariant: a request that is
 * not admitted gets the reason and when to ask again; a throttled range holds up no other; over any longer time a side
 * spends no more than it may, whatever its requests turn out to cost.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { troubleOf } from '../transport/trouble.ts';
import { FairQueue } from './fair-queue.ts';
import { RangeLimit, type Load } from './range-limit.ts';
import { retrying, type Patience } from './retry.ts';
import { RuBudget } from './ru-budget.ts';

/** Go, or why not. Without a delay, ask again after the next reply of this range. */
export type Admission =
  | 'go'
  | { readonly reason: 'in flight'; readonly delayMs?: undefined }
  | { readonly reason: 'throttled' | 'no budget'; readonly delayMs: number };

export interface GovernorParts {
  readonly clock: Clock;
  readonly random: Random;
  /** What this side may spend; without it, all there is. */
  readonly ruPerSecond?: number | undefined;
}

/** The service's seconds begin at other moments than ours, so spending all of ours would exceed some of its. */
const PACE = 0.995;
/** A range begins with two requests: one that is being answered, and one on the way. */
const AT_ONCE_FIRST = 2;

export class Governor {
  readonly budget: RuBudget;
  /** Operations that were refused with 429. */
  throttled = 0;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits = new Map<string, RangeLimit>();
  readonly #queue: FairQueue;
  /** The RU set aside for the requests in flight. */
  readonly #reserved = new Map<string, Array<readonly [side: number, range: number]>>();

  constructor({ clock, random, ruPerSecond }: GovernorParts) {
    this.#clock = clock;
    this.#random = random;
    this.#queue = new FairQueue(clock);
    this.budget = new RuBudget(clock, ruPerSecond);
  }

  /** The RU/s of the container: each range gets an even share, and no more (fact SVC-28). */
  setCapacity(containerRu: number | undefined, ranges: readonly string[]): void {
    const share = containerRu === undefined ? undefined : (containerRu * PACE) / ranges.length;
    for (const range of ranges) this.#limitOf(range).budget.rate = share;
  }

  /** A range became others: they start with what it has learned. */
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

  /** Whether one more request may go to a range. Every `go` is followed by one `observe`. */
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

  /** How many operations the next request may have, so that it is a small part of what the range has in a second. */
  operationsMax(range: string): number {
    return this.#limitOf(range).operationsMax();
  }

  /** A reply, or the end of waiting for one. */
  observe(range: string, load: Load): void {
    const reserved = this.#reserved.get(range);
    const [ofSide, ofRange] = reserved?.shift() ?? [0, 0];
    if (reserved?.length === 0) this.#reserved.delete(range);
    this.budget.charge(ofSide, load.chargeRu);
    this.throttled += load.throttled;
    // The range may have split since: its children have already taken over what it learned.
    const limit = this.#limits.get(range);
    limit?.budget.charge(ofRange, load.chargeRu);
    limit?.learn(load);
  }

  /**
   * One request at a time to one range: waits until it is admitted, counts what it cost, refusals too, and repeats it
   * while its trouble may pass. A throttled range rests as long as the range limit says, and no longer.
   */
  async repeat<T extends { readonly chargeRu: number }>(
    range: string,
    request: () => Promise<T>,
    { patience, signal }: { readonly patience: Patience; readonly signal: AbortSignal },
  ): Promise<T> {
    const once = async (): Promise<T> => {
      await this.#admitted(range, signal);
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
        this.observe(range, load);
      }
    };
    return retrying(once, { signal, patience, throttledBy: 'range-limit' });
  }

  /** Waits until a range with nothing in flight is admitted; the caller owes an `observe`. */
  async #admitted(range: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const admission = this.admit(range, { inFlight: 0 });
      if (admission === 'go') return;
      assert(admission.delayMs !== undefined, 'a range with nothing in flight has room');
      await this.#clock.sleep(admission.delayMs, signal);
    }
  }

  /** How long until a range has its turn at the budget that all of them share; 0 for now. */
  #turnMs(range: string): number {
    if (this.budget.rate === undefined) return 0;
    const ahead = this.#queue.aheadOf(range);
    const delayMs = this.budget.delayMs(ahead);
    if (ahead === 0 && delayMs === 0) {
      this.#queue.leave(range);
      return 0;
    }
    const waitMs = Math.max(1, delayMs);
    this.#queue.comesAt(range, this.#clock.now() + waitMs);
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
