/**
 * Whose turn it is, among ranges that share one budget. Invariant: they get it in the order they first asked, a range
 * that has had its turn goes to the end, and one that does not come back at its turn is forgotten.
 */
import type { Clock } from '../../lib/clock.ts';

interface Waiting {
  readonly range: string;
  /** When the range was asked to come back. */
  dueMs: number;
}

/** Timers are late on a busy machine; a range that is later than this is not coming. */
const LATE_MS = 100;

export class FairQueue {
  readonly #clock: Clock;
  #waiting: Waiting[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many ranges are ahead of this one, which waits from now on. */
  aheadOf(range: string): number {
    const nowMs = this.#clock.now();
    this.#waiting = this.#waiting.filter((one) => one.range === range || one.dueMs + LATE_MS >= nowMs);
    const ahead = this.#waiting.findIndex((one) => one.range === range);
    if (ahead >= 0) return ahead;
    this.#waiting.push({ range, dueMs: nowMs });
    return this.#waiting.length - 1;
  }

  /** The range comes back at that time. */
  comesAt(range: string, dueMs: number): void {
    const waiting = this.#waiting.find((one) => one.range === range);
    if (waiting !== undefined) waiting.dueMs = dueMs;
  }

  /** The range has had its turn, or no longer wants one. */
  leave(range: string): void {
    this.#waiting = this.#waiting.filter((one) => one.range !== range);
  }
}
