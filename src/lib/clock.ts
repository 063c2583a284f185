/**
 * Time is passed in: what the clock says and how long a wait takes come from one object, so that a test can drive both
 * and the emulator can shift them.
 */
import { sleep } from './abort.ts';

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `delayMs`; rejects with the reason as soon as `signal` is aborted. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = { now: () => Date.now(), sleep };

/** Tells the milliseconds since it was started. Nobody sets it, as they do a clock on the wall. */
export function stopwatch(): () => number {
  const beganMs = performance.now();
  return () => performance.now() - beganMs;
}

/** A time that passes; a clock that is set back meanwhile makes it no longer. */
export class Countdown {
  readonly #clock: Clock;
  #leftMs: number;
  #seenMs: number;

  constructor(clock: Clock, durationMs: number) {
    this.#clock = clock;
    this.#leftMs = durationMs;
    this.#seenMs = clock.now();
  }

  /** Asked now and then: what passes between two questions counts. */
  isOver(): boolean {
    const nowMs = this.#clock.now();
    this.#leftMs -= Math.max(0, nowMs - this.#seenMs);
    this.#seenMs = nowMs;
    return this.#leftMs <= 0;
  }
}
