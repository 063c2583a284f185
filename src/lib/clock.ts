/**
 * Time as a parameter: the current time and waiting come from one object, which tests drive and the emulator can shift.
 */
import { sleep } from './abort.ts';

export interface Clock {
  /** Returns the current time, in milliseconds since the epoch. */
  now(): number;
  /** Resolves after `delayMs`; rejects with the reason as soon as `signal` is aborted. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: () => Date.now(), sleep };

/** Starts a stopwatch: the result returns the milliseconds since then. Setting the system clock does not affect it. */
export function stopwatch(): () => number {
  const beganMs = performance.now();
  return () => performance.now() - beganMs;
}

/** Measures whether a duration has passed. Setting the clock back does not extend it. */
export class Countdown {
  readonly #clock: Clock;
  #leftMs: number;
  #seenMs: number;

  constructor(clock: Clock, durationMs: number) {
    this.#clock = clock;
    this.#leftMs = durationMs;
    this.#seenMs = clock.now();
  }

  /**
   * Returns whether the duration has passed. Must be called regularly, because it adds up the time between two calls.
   */
  isOver(): boolean {
    const nowMs = this.#clock.now();
    this.#leftMs -= Math.max(0, nowMs - this.#seenMs);
    this.#seenMs = nowMs;
    return this.#leftMs <= 0;
  }
}
