/**
 * Time as a parameter: the current time, durations and waiting come from one object, which tests drive and the emulator
 * can shift.
 */
import { sleep } from './abort.ts';

export interface Clock {
  /**
   * Returns the current time, in milliseconds since the epoch: for what people read and what is stored. The clock of
   * the machine may be set at any moment, so a difference of two such times is not a duration.
   */
  now(): number;
  /**
   * Returns milliseconds since some moment in the past: for durations. Setting the clock of the machine has no effect
   * on them.
   */
  monotonicMs(): number;
  /** Resolves after `delayMs`; rejects with the reason as soon as `signal` is aborted. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => Math.floor(performance.now()),
  sleep,
};

/** Starts a stopwatch: the result returns the milliseconds since then. Setting the system clock does not affect it. */
export function stopwatch(): () => number {
  const beganMs = performance.now();
  return () => performance.now() - beganMs;
}

/** Measures whether a duration has passed. */
export class Countdown {
  readonly #clock: Clock;
  readonly #endMs: number;

  constructor(clock: Clock, durationMs: number) {
    this.#clock = clock;
    this.#endMs = clock.monotonicMs() + durationMs;
  }

  isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endMs;
  }
}

/** Returns a time in UTC to the second, as people read it everywhere: `2026-01-31 05:30:00Z`. */
export function formatTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`.replace('T', ' ');
}

/** Returns a time as the `_ts` of a document has it, in whole seconds since 1970, with the time that people read. */
export function formatTs(atMs: number): string {
  return `${Math.floor(atMs / 1000)} (${formatTime(atMs)})`;
}
