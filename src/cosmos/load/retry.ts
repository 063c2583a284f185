/**
 * Patience with trouble of the service, and the simple retry loop that uses it. The dispatcher and the readers that
 * look for their range after a split have loops of their own, with the same patience.
 *
 * Invariant: every wait has a reason that can be displayed, is at least as long as the service asks, and differs
 * between requests that wait for the same thing; and waiting ends: by success, by the signal, or with the trouble
 * that lasted.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { TroubleError, troubleOf, type Trouble, type TroubleKind } from '../transport/trouble.ts';

/** A wait that is about to begin. */
export interface Wait {
  readonly reason: TroubleKind;
  readonly delayMs: number;
  /** Number of the attempt, from 1. A success starts the count again. */
  readonly attempt: number;
  /** How long the trouble has lasted so far. */
  readonly lastedMs: number;
  readonly trouble: Trouble;
}

interface Limit {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Trouble that lasts longer than this is thrown. */
  readonly totalMs: number;
}

const MINUTE_MS = 60_000;

/** Limits of the trouble that waiting can cure. A key being rotated needs minutes (fact SVC-40); so does a split. */
const LIMITS: Readonly<Partial<Record<TroubleKind, Limit>>> = {
  throttled: { firstMs: 100, longestMs: 10_000, totalMs: 15 * MINUTE_MS },
  transient: { firstMs: 100, longestMs: 10_000, totalMs: 5 * MINUTE_MS },
  denied: { firstMs: 2000, longestMs: 15_000, totalMs: 2 * MINUTE_MS },
  split: { firstMs: 100, longestMs: 5000, totalMs: 10 * MINUTE_MS },
};
const { denied: _aKeyIsRotated, ...OTHERS } = LIMITS;
/**
 * Limits for the first requests of a command. Without `denied`: a refused key is reported at once, because it is most
 * likely wrong.
 */
export const FIRST_CONTACT: NonNullable<PatienceParts['limits']> = OTHERS;
/** The longest hint that is followed; a longer one is taken for a mistake. */
const HINT_MAX_MS = 5 * MINUTE_MS;

export interface PatienceParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly onWait?: (wait: Wait) => void;
  readonly limits?: Readonly<Partial<Record<TroubleKind, Limit>>>;
}

/** A wait is reported when the trouble has lasted this long. Shorter waits are normal. */
const REPORTED_AFTER_MS = 5000;
const REPORTED_EVERY_MS = 30_000;

/** Returns a function that logs long waits at intervals, for work that displays no progress of its own. */
export function logWaits(log: Log, clock: Clock): (wait: Wait) => void {
  let reportedMs = -Infinity;
  return ({ lastedMs, trouble }) => {
    const nowMs = clock.monotonicMs();
    if (lastedMs < REPORTED_AFTER_MS || nowMs - reportedMs < REPORTED_EVERY_MS) return;
    reportedMs = nowMs;
    const seconds = Math.round(lastedMs / 1000);
    log.warn(`waiting for ${trouble.at ?? 'the account'}: ${trouble.what}, for ${seconds} s now`);
  };
}

/** Measures how long one piece of work has been in trouble, and decides how long it keeps trying. */
export class Patience {
  readonly #parts: PatienceParts;
  readonly #borne = new Map<TroubleKind, { attempts: number; lastedMs: number }>();
  #last: { readonly kind: TroubleKind; readonly atMs: number } | undefined;

  constructor(parts: PatienceParts) {
    this.#parts = parts;
  }

  /** Forgets past trouble, because the work succeeded. */
  reset(): void {
    this.#borne.clear();
    this.#last = undefined;
  }

  /** Returns a patience with the same limits, or others, and no trouble yet, for another piece of work. */
  fresh(limits = this.#parts.limits): Patience {
    return new Patience({ ...this.#parts, ...(limits === undefined ? {} : { limits }) });
  }

  /** Waits. Throws the trouble if waiting cannot cure it, or if it has lasted too long. */
  async bear(trouble: Trouble, signal: AbortSignal): Promise<void> {
    const wait = this.next(trouble);
    this.report(wait);
    await this.#parts.clock.sleep(wait.delayMs, signal);
  }

  /** Returns the wait that is due now, without waiting; throws like `bear`. */
  next(trouble: Trouble): Wait {
    return this.#count(trouble, (limit, attempt) =>
      delayFor(limit, attempt, { hintMs: trouble.retryAfterMs, random: this.#parts.random }),
    );
  }

  /** Counts throttling, without a wait: the range limit decides how long the range rests. Throws like `bear`. */
  endure(trouble: Trouble): Wait {
    return this.#count(trouble, () => Math.min(trouble.retryAfterMs ?? 0, HINT_MAX_MS));
  }

  /** Reports a wait to the display. */
  report(wait: Wait): void {
    this.#parts.onWait?.(wait);
  }

  #count(trouble: Trouble, delayOf: (limit: Limit, attempt: number) => number): Wait {
    const { clock, limits = LIMITS } = this.#parts;
    const { kind } = trouble;
    const limit = limits[kind];
    if (limit === undefined) throw new TroubleError(trouble);
    const nowMs = clock.monotonicMs();
    // Nothing has succeeded since the last trouble, so the time since then counts for the kind of that trouble. Otherwise
    // two kinds that alternate would never reach their limits.
    if (this.#last !== undefined) this.#of(this.#last.kind).lastedMs += nowMs - this.#last.atMs;
    this.#last = { kind, atMs: nowMs };
    const borne = this.#of(kind);
    borne.attempts += 1;
    const delayMs = delayOf(limit, borne.attempts);
    if (borne.lastedMs + delayMs > limit.totalMs) throw lasting(trouble, borne.lastedMs);
    return { reason: kind, delayMs, attempt: borne.attempts, lastedMs: borne.lastedMs, trouble };
  }

  #of(kind: TroubleKind): { attempts: number; lastedMs: number } {
    let borne = this.#borne.get(kind);
    if (borne === undefined) this.#borne.set(kind, (borne = { attempts: 0, lastedMs: 0 }));
    return borne;
  }
}

function delayFor(
  { firstMs, longestMs }: Limit,
  attempt: number,
  { hintMs, random }: { readonly hintMs: number | undefined; readonly random: Random },
): number {
  const backoffMs = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  if (hintMs === undefined) return Math.ceil(backoffMs * (0.5 + random.next() / 2));
  // The service gives all requests the same hint. The random addition keeps them from returning at the same time.
  const askedMs = Math.min(hintMs, HINT_MAX_MS);
  return Math.ceil(askedMs + (backoffMs + askedMs) * 0.25 * random.next());
}

function lasting(trouble: Trouble, lastedMs: number): TroubleError {
  const seconds = Math.round(lastedMs / 1000);
  return new TroubleError({ ...trouble, what: `${trouble.what}, for ${seconds} s now` });
}

/**
 * Returns the result of `work`, which is repeated while its trouble may pass. Other errors are thrown unchanged. A
 * split is thrown by default, because a caller that asks the same range again gets the same answer.
 */
export async function retrying<T>(
  work: () => Promise<T>,
  options: {
    readonly signal: AbortSignal;
    readonly patience: Patience;
    readonly splits?: 'thrown' | 'waited-for';
    /** What makes `work` wait after a 429: this patience, or the range limit inside `work`. */
    readonly throttledBy?: 'patience' | 'range-limit';
  },
): Promise<T> {
  const { signal, patience, splits = 'thrown', throttledBy = 'patience' } = options;
  for (;;) {
    signal.throwIfAborted();
    try {
      const result = await work();
      patience.reset();
      return result;
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble === undefined || (trouble.kind === 'split' && splits === 'thrown')) throw error;
      if (trouble.kind === 'throttled' && throttledBy === 'range-limit')
        patience.report(patience.endure(trouble));
      else await patience.bear(trouble, signal);
    }
  }
}
