/**
 * Load control of one side: who may send now, and what is learned from the replies. What always holds: whoever may
 * not go is told why and when to ask again; a range that is throttled keeps nobody else; and over any longer time a
 * side spends no more than it may, whatever its requests turn out to cost.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { troubleOf } from '../transport/trouble.ts';
import { Turns } from './fair-queue.ts';
import { RangeGate, type Load } from './range-limit.ts';
import { retrying, type Patience } from './retry.ts';
import { RuBudget } from './ru-budget.ts';

/** Go, or why not; without a delay it is the next reply of this range that is waited for. */
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

/** Its seconds are not ours: what is spent to the last unit in ours spills over in one of its, and is refused. */
const PACE = 0.995;
/** A range is given two at first: one that is being answered, one on its way. */
const LIMIT_FIRST = 2;

export class Governor {
  readonly budget: RuBudget;
  /** Operations that were refused for want of RU. */
  throttled = 0;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #gates = new Map<string, RangeGate>();
  readonly #turns: Turns;
  /** What was set aside for those on their way. */
  readonly #reserved = new Map<string, Array<readonly [side: number, range: number]>>();

  constructor({ clock, random, ruPerSecond }: GovernorParts) {
    this.#clock = clock;
    this.#random = random;
    this.#turns = new Turns(clock);
    this.budget = new RuBudget(clock, ruPerSecond);
  }

  /** What the container has, and in how many ranges: each has its even share, and no more (fact SVC-28). */
  setCapacity(containerRu: number | undefined, ranges: readonly string[]): void {
    const share = containerRu === undefined ? undefined : (containerRu * PACE) / ranges.length;
    for (const range of ranges) this.#gate(range).budget.rate = share;
  }

  /** A range became others: they go on with what it has learned. */
  replace(range: string, children: readonly string[]): void {
    const gone = this.#gates.get(range);
    this.#gates.delete(range);
    this.#turns.leave(range);
    if (gone === undefined) return;
    const { rate } = gone.budget;
    for (const child of children) {
      const gate = this.#gate(child, Math.ceil(gone.limit / children.length));
      gate.budget.rate = rate === undefined ? undefined : rate / children.length;
    }
  }

  /** Whether one more request may go to a range. Every `go` is followed by one `observe`. */
  admit(range: string, { inFlight }: { readonly inFlight: number }): Admission {
    const gate = this.#gate(range);
    if (!gate.hasRoom(inFlight)) return { reason: 'in flight' };
    const pausedMs = gate.pausedMs();
    if (pausedMs > 0) return { reason: 'throttled', delayMs: pausedMs };
    const brokeMs = gate.budget.delayMs() || this.#turnMs(range);
    if (brokeMs > 0) return { reason: 'no budget', delayMs: brokeMs };
    const under = this.#reserved.get(range) ?? [];
    under.push([this.budget.reserve(), gate.budget.reserve()]);
    this.#reserved.set(range, under);
    return 'go';
  }

  /** How many operations the next request may have, so that it is a small part of what the range has in a second. */
  operationsMax(range: string): number {
    return this.#gate(range).operationsMax();
  }

  /** A reply, or the end of waiting for one. */
  observe(range: string, load: Load): void {
    const under = this.#reserved.get(range);
    const [side, ofRange] = under?.shift() ?? [0, 0];
    if (under?.length === 0) this.#reserved.delete(range);
    this.budget.settle(side, load.chargeRu);
    this.throttled += load.throttled;
    // A range that has split meanwhile answers once more; its successors have learned from it already.
    const gate = this.#gates.get(range);
    gate?.budget.settle(ofRange, load.chargeRu);
    gate?.learn(load);
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
    const place = this.#turns.placeOf(range);
    const delayMs = this.budget.delayMs(place);
    if (place === 0 && delayMs === 0) {
      this.#turns.leave(range);
      return 0;
    }
    const waitMs = Math.max(1, delayMs);
    this.#turns.comesAt(range, this.#clock.now() + waitMs);
    return waitMs;
  }

  #gate(range: string, limit = LIMIT_FIRST): RangeGate {
    let gate = this.#gates.get(range);
    if (gate === undefined) {
      gate = new RangeGate({ clock: this.#clock, random: this.#random, limit });
      this.#gates.set(range, gate);
    }
    return gate;
  }
}
