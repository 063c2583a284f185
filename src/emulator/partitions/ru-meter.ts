/**
 * Throughput budgets, one bucket per physical range. The rules, after facts SVC-32 and SVC-29:
 *
 * - At every whole second a bucket is refilled, never beyond one second's budget: unused units expire.
 * - A request that starts while units are left runs to its end, even beyond them. What is missing then is a debt, which
 *   the refills of later seconds pay; until it is paid, every request is refused.
 * - When units are scarce, requests of priority Low are refused first. They must not use what High wanted in the second
 *   before (what it used, plus what was refused, at the average price of its requests), less what High has used in this
 *   second. While High is idle, its claim is halved each second.
 *
 * A budget of Infinity means "not metered": use is counted, no request is refused and no debt arises.
 */
export type Priority = 'high' | 'low';

interface Bucket {
  budgetRu: number;
  /** Units left in this second; below zero it is a debt. */
  leftRu: number;
  /** What Low must leave to High in this second. */
  reserveRu: number;
  second: number;
  highRu: number;
  /** High's requests of this second: charged, and turned away. */
  highCharged: number;
  highRefused: number;
  /** The average price of High's requests in the last second that had any. */
  highPriceRu: number;
  thisSecondRu: number;
  lastSecondRu: number;
  totalRu: number;
  throttled: number;
}

const SECOND_MS = 1000;
/** Charges are hundredths; anything smaller is a rounding error of binary sums. */
const DUST_RU = 0.001;
/** An idle claim below this is dropped: no request costs less. */
const CLAIM_MIN_RU = 0.1;

export class RuMeter {
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** `nowMs` must never go back. */
  constructor(options: { readonly nowMs: () => number }) {
    this.#nowMs = options.nowMs;
  }

  /** undefined = admitted; else the milliseconds to wait (429/3200). A changed budget applies from this call on. */
  admit(bucket: string, budgetRuPerSecond: number, priority: Priority): number | undefined {
    const nowMs = this.#nowMs();
    const state = this.#at(bucket, nowMs);
    setBudget(state, budgetRuPerSecond);
    const claimRu = priority === 'low' ? Math.max(0, state.reserveRu - state.highRu) : 0;
    if (state.leftRu - claimRu > DUST_RU) return undefined;
    state.throttled += 1;
    if (priority === 'high') state.highRefused += 1;
    return waitMs(state, nowMs);
  }

  /** Debits what a request has cost. */
  charge(bucket: string, ru: number, priority: Priority): void {
    const state = this.#at(bucket, this.#nowMs());
    state.leftRu -= ru;
    state.thisSecondRu += ru;
    state.totalRu += ru;
    if (priority === 'low') return;
    state.highRu += ru;
    state.highCharged += 1;
  }

  /** For a range that is gone. */
  forget(bucket: string): void {
    this.#buckets.delete(bucket);
  }

  /** `lastSecondRu` is the use of the last whole second. */
  spent(bucket: string): { totalRu: number; throttled: number; lastSecondRu: number } {
    if (!this.#buckets.has(bucket)) return { totalRu: 0, throttled: 0, lastSecondRu: 0 };
    const { totalRu, throttled, lastSecondRu } = this.#at(bucket, this.#nowMs());
    return { totalRu, throttled, lastSecondRu };
  }

  /** The bucket, advanced to the second of `nowMs`. */
  #at(name: string, nowMs: number): Bucket {
    const second = Math.floor(nowMs / SECOND_MS);
    const known = this.#buckets.get(name);
    if (known !== undefined) {
      if (second > known.second) turn(known, second);
      return known;
    }
    const fresh: Bucket = {
      budgetRu: Number.POSITIVE_INFINITY,
      leftRu: Number.POSITIVE_INFINITY,
      reserveRu: 0,
      second,
      highRu: 0,
      highCharged: 0,
      highRefused: 0,
      highPriceRu: 1,
      thisSecondRu: 0,
      lastSecondRu: 0,
      totalRu: 0,
      throttled: 0,
    };
    this.#buckets.set(name, fresh);
    return fresh;
  }
}

/** Closes the seconds since the bucket was last used; all but the first of them were idle. */
function turn(state: Bucket, second: number): void {
  const seconds = second - state.second;
  state.second = second;
  state.leftRu = Math.min(state.budgetRu, state.leftRu + seconds * state.budgetRu);
  if (state.highCharged > 0) state.highPriceRu = state.highRu / state.highCharged;
  const wantedRu = state.highRu + state.highRefused * state.highPriceRu;
  const claimRu = wantedRu > 0 ? wantedRu : state.reserveRu / 2;
  const kept = claimRu / 2 ** (seconds - 1);
  state.reserveRu = kept < CLAIM_MIN_RU ? 0 : Math.min(state.budgetRu, kept);
  state.highRu = 0;
  state.highCharged = 0;
  state.highRefused = 0;
  state.lastSecondRu = seconds === 1 ? state.thisSecondRu : 0;
  state.thisSecondRu = 0;
}

function setBudget(state: Bucket, budgetRu: number): void {
  if (budgetRu === state.budgetRu) return;
  if (state.leftRu === Number.POSITIVE_INFINITY || budgetRu === Number.POSITIVE_INFINITY) {
    state.leftRu = budgetRu;
  } else {
    // What was used in this second counts against the new budget, but a lowered budget does not create a debt.
    const moved = state.leftRu + budgetRu - state.budgetRu;
    state.leftRu = Math.max(moved, Math.min(0, state.leftRu));
  }
  state.budgetRu = budgetRu;
  state.reserveRu = Math.min(state.reserveRu, budgetRu);
}

/** The wait until refills have paid the debt and units are left; with a budget of 0 that never happens. */
function waitMs(state: Bucket, nowMs: number): number {
  const refills =
    state.budgetRu > 0 ? Math.floor(Math.max(0, DUST_RU - state.leftRu) / state.budgetRu) + 1 : 1;
  return Math.max(1, Math.ceil((state.second + refills) * SECOND_MS - nowMs));
}
