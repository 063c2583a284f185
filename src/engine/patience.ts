/**
 * How long a range rests after it refused something, and when it was asked often enough. The server's hint counts;
 * jitter comes on top, so that ranges that were refused together do not come back together.
 */
import { ServiceError } from '../lib/errors.ts';
import type { Random } from '../lib/random.ts';

/** Not done, and why: nothing of it has happened. */
export type RefusalKind = 'throttled' | 'transient' | 'denied' | 'split';

export interface Refusal {
  readonly kind: RefusalKind;
  /** How often in a row, this one included. */
  readonly attempt: number;
  readonly hintMs: number | undefined;
  readonly cause: unknown;
}

const FIRST_MS = 50;
/** Longer rests find out late that the trouble is over. */
const REST_MAX_MS = 10_000;
/** A hint is kept, and up to this share of it is added. */
const JITTER = 0.25;

/** In a row; with rests of up to 10 s: minutes. Being throttled is no failure, however long it lasts. */
const ATTEMPTS_MAX: Readonly<Record<RefusalKind, number>> = {
  throttled: Infinity,
  transient: 30,
  denied: 12,
  split: 60,
};

const WORDS: Readonly<Record<RefusalKind, string>> = {
  throttled: 'throttles every write',
  transient: 'cannot be reached',
  denied: 'does not allow writes',
  split: 'has ranges that are not found',
};

/** How long to rest; throws what stopped us once that was often enough. */
export function restMs({ kind, attempt, hintMs, cause }: Refusal, random: Random): number {
  if (attempt > ATTEMPTS_MAX[kind]) {
    if (cause instanceof Error) throw cause;
    throw new ServiceError(`the target ${WORDS[kind]}`, {
      why: `${attempt} attempts in a row`,
      hint: 'see whether the account is well and the permissions are there, then run the command again',
      ...(cause === undefined ? {} : { cause }),
    });
  }
  if (hintMs !== undefined && hintMs > 0) return Math.ceil(hintMs * (1 + JITTER * random.next()));
  const fullMs = Math.min(REST_MAX_MS, FIRST_MS * 2 ** (attempt - 1));
  return Math.ceil(fullMs * (0.5 + random.next() / 2));
}
