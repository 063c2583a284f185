/**
 * Meters throughput, with one bucket of request units (RU) for each budget: a physical range's, or a database's shared
 * one. The rules follow facts SVC-32 and SVC-29:
 *
 * - Every whole second refills a bucket, at most to the budget of one second: unused RU expire.
 * - A request that starts while RU are left runs to its end, even if it needs more than are left. The missing RU become
 *   a debt, which the refills of later seconds pay. Until the debt is paid, every request is refused.
 * - When RU are scarce, requests of priority Low are refused first. Low must leave a reserve: what High wanted in the
 *   previous second, minus what High has used in this second. What High wanted is what it used, plus its refused
 *   requests at the average price of its requests. While High is idle, the reserve is halved each second.
 *
 * A budget of Infinity is not metered: use is counted, but no request is refused and no debt arises.
 */
export type Priority = 'high' | 'low';

const SECOND_MS = 1000;
/** RU that count as nothing. Charges have two decimals, so a smaller rest is a rounding error of binary sums. */
const DUST_RU = 0.001;
/** The smallest reserve. A smaller one is dropped, because no request costs less. */
const CLAIM_MIN_RU = 0.1;

/** Returns a bucket that is not metered yet and has served nothing. */
function newBucket(second: number) {
  return {
    budgetRu: Infinity,
    /** RU left in this second. A negative number is a debt. */
    leftRu: Infinity,
    /** RU reserved for High in this second. Low must leave the part that High has not used yet. */
    reserveRu: 0,
    second,
    highRu: 0,
    /** How many requests of priority High were charged, and how many were refused, in this second. */
    highCharged: 0,
    highRefused: 0,
    /** The average price of a High request in the latest second that charged one. */
    highPriceRu: 1,
    thisSecondRu: 0,
    lastSecondRu: 0,
    totalRu: 0,
    throttled: 0,
  };
}

type Bucket = ReturnType<typeof newBucket>;

export class RuMeter {
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** `nowMs` must never return an earlier time than before. */
  constructor(options: { readonly nowMs: () => number }) {
    this.#nowMs = options.nowMs;
  }

  /** Returns undefined to admit a request, or the milliseconds to wait (429/3200). A changed budget applies at once. */
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

  /** Debits the RU that a request has cost. */
  charge(bucket: string, ru: number, priority: Priority): void {
    const state = this.#at(bucket, this.#nowMs());
    state.leftRu -= ru;
    state.thisSecondRu += ru;
    state.totalRu += ru;
    if (priority === 'low') return;
    state.highRu += ru;
    state.highCharged += 1;
  }

  /** Removes a bucket, for example that of a deleted range. */
  forget(bucket: string): void {
    this.#buckets.delete(bucket);
  }

  /** Returns what a bucket has spent. `lastSecondRu` is the use of the last complete second. */
  spent(bucket: string): { totalRu: number; throttled: number; lastSecondRu: number } {
    if (!this.#buckets.has(bucket)) return { totalRu: 0, throttled: 0, lastSecondRu: 0 };
    const { totalRu, throttled, lastSecondRu } = this.#at(bucket, this.#nowMs());
    return { totalRu, throttled, lastSecondRu };
  }

  /** Returns the state of the bucket in the one-second interval that contains `nowMs`. */
  #at(name: string, nowMs: number): Bucket {
    const second = Math.floor(nowMs / SECOND_MS);
    const known = this.#buckets.get(name);
    if (known !== undefined) {
      if (second > known.second) turn(known, second);
      return known;
    }
    const fresh = newBucket(second);
    this.#buckets.set(name, fresh);
    return fresh;
  }
}

/** Closes the seconds since the bucket was last used. All of them but the first were idle. */
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
    // RU used in this second count against the new budget, but a lowered budget does not create a debt.
    const moved = state.leftRu + budgetRu - state.budgetRu;
    state.leftRu = Math.max(moved, Math.min(0, state.leftRu));
  }
  state.budgetRu = budgetRu;
  state.reserveRu = Math.min(state.reserveRu, budgetRu);
}

/** Returns the wait until refills have paid the debt and RU are left; with a budget of 0, until the next second. */
function waitMs(state: Bucket, nowMs: number): number {
  const refills =
    state.budgetRu > 0 ? Math.floor(Math.max(0, DUST_RU - state.leftRu) / state.budgetRu) + 1 : 1;
  return Math.max(1, Math.ceil((state.second + refills) * SECOND_MS - nowMs));
}
