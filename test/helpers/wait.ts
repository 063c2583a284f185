/** Waiting with a deadline: polls a claim instead of sleeping and hoping. */
import { setTimeout as delay } from 'node:timers/promises';

/** Ends a test that hangs. A test on a busy machine, or in a process that was stopped for a while, must not end by it. */
export const HANGS_MS = 60_000;

export interface Deadline {
  /** What we wait for, named in the error. */
  readonly what: string;
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/** Resolves with the first truthy answer of `check`; fails by name when the deadline is over. */
export async function until<T>(check: () => T | Promise<T>, deadline: Deadline): Promise<NonNullable<T>> {
  const endsAt = Date.now() + (deadline.timeoutMs ?? HANGS_MS);
  for (;;) {
    const answer = await check();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    if (Date.now() > endsAt) throw new Error(`waited in vain for ${deadline.what}`);
    await delay(deadline.everyMs ?? 15);
  }
}

const TICK_MS = 20;

/**
 * Measures how long this process has run. Time in which it was stopped, or waited for a core, does not count: then its
 * timers are late.
 */
export class RunningTime implements Disposable {
  #ticks = 0;
  readonly #waiting: { readonly atTick: number; readonly call: () => void }[] = [];
  readonly #timer = setInterval(() => {
    this.#ticks += 1;
    for (const { atTick, call } of this.#waiting) if (atTick === this.#ticks) call();
  }, TICK_MS);

  get ms(): number {
    return this.#ticks * TICK_MS;
  }

  /** Calls `call` when the process has run for `delayMs` more. */
  after(delayMs: number, call: () => void): void {
    this.#waiting.push({ atTick: this.#ticks + Math.ceil(delayMs / TICK_MS), call });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** The answer of `work`, or an error that names it when it takes too long. */
export async function within<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  const stop = new AbortController();
  const late = delay(timeoutMs, undefined, { signal: stop.signal }).then(
    () => {
      throw new Error(`${what} took longer than ${timeoutMs} ms`);
    },
    // The race is over, and no one listens.
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    stop.abort();
  }
}
