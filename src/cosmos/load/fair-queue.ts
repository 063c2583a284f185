/**
 * Gives turns to ranges that share one budget. Invariant: ranges get turns in the order in which they first asked; a
 * range goes to the end after its turn; a range that does not come back when its turn is due is forgotten.
 */
import type { Clock } from '../../lib/clock.ts';

interface Waiting {
  readonly range: string;
  /** When the range was asked to come back. */
  dueMs: number;
}

/** How late a range may come back, because timers are late on a busy machine. A later range is forgotten. */
const LATE_MS = 100;

export class FairQueue {
  readonly #clock: Clock;
  #waiting: Waiting[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns how many ranges are ahead of this range, and adds the range at the end if it is new. */
  aheadOf(range: string): number {
    const nowMs = this.#clock.monotonicMs();
    this.#waiting = this.#waiting.filter((one) => one.range === range || one.dueMs + LATE_MS >= nowMs);
    const ahead = this.#waiting.findIndex((one) => one.range === range);
    if (ahead >= 0) return ahead;
    this.#waiting.push({ range, dueMs: nowMs });
    return this.#waiting.length - 1;
  }

  /** Records that the range was asked to come back at `dueMs`. */
  comesAt(range: string, dueMs: number): void {
    const waiting = this.#waiting.find((one) => one.range === range);
    if (waiting !== undefined) waiting.dueMs = dueMs;
  }

  /** Removes a range that has had its turn or was split. */
  leave(range: string): void {
    this.#waiting = this.#waiting.filter((one) => one.range !== range);
  }
}
