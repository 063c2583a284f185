/**
 * The one patience with trouble of the service, and the plain loop around it. Loops of their own have: the dispatcher
 * (a range waits, its operations do not), and readers that look for their range again after a split. All of them wait
 * by this patience.
 *
 * Invariant: every wait has a reason that can be displayed, is never shorter than the service asks, differs between
 * requests that wait for the same thing, and ends: by success, by the signal, or with the trouble that did not pass.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { TroubleError, troubleOf, type Trouble, type TroubleKind } from '../transport/trouble.ts';

/** A wait that is about to begin. */
export interface Wait {
  readonly reason: TroubleKind;
  readonly delayMs: number;
  /** Counted from 1; a success starts again. */
  readonly attempt: number;
  /** How long the trouble has lasted. */
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

/** The trouble that waiting can cure. A key that is being rotated needs minutes (fact SVC-40); so does a split. */
const LIMITS: Readonly<Partial<Record<TroubleKind, Limit>>> = {
  throttled: { firstMs: 100, longestMs: 10_000, totalMs: 15 * MINUTE_MS },
  transient: { firstMs: 100, longestMs: 10_000, totalMs: 5 * MINUTE_MS },
  denied: { firstMs: 2000, longestMs: 15_000, totalMs: 2 * MINUTE_MS },
  split: { firstMs: 100, longestMs: 5000, totalMs: 10 * MINUTE_MS },
};
const { denied: _aKeyIsRotated, ...OTHERS } = LIMITS;
/** For the first requests of a command: a refusal is most likely a wrong key, and is thrown at once. */
export const FIRST_CONTACT: NonNullable<PatienceParts['limits']> = OTHERS;
/** A longer hint is taken for a mistake. */
const HINT_MAX_MS = 5 * MINUTE_MS;

export interface PatienceParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly onWait?: (wait: Wait) => void;
  readonly limits?: Readonly<Partial<Record<TroubleKind, Limit>>>;
}

/** Shorter waits are normal, and not reported. */
const REPORTED_AFTER_MS = 5000;
const REPORTED_EVERY_MS = 30_000;

/** Logs long waits now and then, for work that displays no progress of its own. */
export function logWaits(log: Log, clock: Clock): (wait: Wait) => void {
  let reportedMs = -Infinity;
  return ({ lastedMs, trouble }) => {
    const nowMs = clock.now();
    if (lastedMs < REPORTED_AFTER_MS || nowMs - reportedMs < REPORTED_EVERY_MS) return;
    reportedMs = nowMs;
    const seconds = Math.round(lastedMs / 1000);
    log.warn(`waiting for ${trouble.at ?? 'the account'}: ${trouble.what}, for ${seconds} s now`);
  };
}

/** How long one piece of work has been in trouble, and how long it keeps trying. */
export class Patience {
  readonly #parts: PatienceParts;
  readonly #borne = new Map<TroubleKind, { attempts: number; lastedMs: number }>();
  #last: { readonly kind: TroubleKind; readonly atMs: number } | undefined;

  constructor(parts: PatienceParts) {
    this.#parts = parts;
  }

  /** The work succeeded: what follows is new trouble. */
  reset(): void {
    this.#borne.clear();
    this.#last = undefined;
  }

  /** The same patience for another piece of work, which has had no trouble yet. */
  fresh(): Patience {
    return new Patience(this.#parts);
  }

  /** Waits; throws the trouble when waiting cannot cure it, or when it has lasted too long. */
  async bear(trouble: Trouble, signal: AbortSignal): Promise<void> {
    const wait = this.next(trouble);
    this.report(wait);
    await this.#parts.clock.sleep(wait.delayMs, signal);
  }

  /** How long to wait now; throws like `bear`. */
  next(trouble: Trouble): Wait {
    return this.#count(trouble, (limit, attempt) =>
      delayFor(limit, attempt, { hintMs: trouble.retryAfterMs, random: this.#parts.random }),
    );
  }

  /** Counts a throttled request: the range limit owns its rest, so nothing is waited for here. Throws like `bear`. */
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
    const nowMs = clock.now();
    // Nothing has worked since the last trouble. That time counts for its kind, so kinds that alternate end as well.
    if (this.#last !== undefined) this.#of(this.#last.kind).lastedMs += Math.max(0, nowMs - this.#last.atMs);
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
  // All requests got the same hint; the spread keeps them from coming back at once.
  const askedMs = Math.min(hintMs, HINT_MAX_MS);
  return Math.ceil(askedMs + (backoffMs + askedMs) * 0.25 * random.next());
}

function lasting(trouble: Trouble, lastedMs: number): TroubleError {
  const seconds = Math.round(lastedMs / 1000);
  return new TroubleError({ ...trouble, what: `${trouble.what}, for ${seconds} s now` });
}

/**
 * The result of `work`, tried again while its trouble may pass. Other errors are thrown as they are. A split is thrown
 * unless asked for otherwise, because it does not pass for a caller that asks the same range again.
 */
export async function retrying<T>(
  work: () => Promise<T>,
  options: {
    readonly signal: AbortSignal;
    readonly patience: Patience;
    readonly splits?: 'thrown' | 'waited-for';
    /** Whose rest follows a 429: `work` may wait for the range limit by itself. */
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
