/** Time is passed in, so that tests can move it and the emulator can shift it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Tells the milliseconds since it was started. Nobody sets it, as they do a clock on the wall. */
export function stopwatch(): () => number {
  const beganMs = performance.now();
  return () => performance.now() - beganMs;
}

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  advance(deltaMs: number): void {
    this.#nowMs += deltaMs;
  }
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
