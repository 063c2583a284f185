/** The service's time, from the dates of its replies: what this machine's clock says may be anything. */
import type { Clock } from '../../lib/clock.ts';

/** Dates are cut to seconds, and replies overtake each other. */
const LATE_MS = 10_000;

export class ServiceTime {
  readonly #clock: Clock;
  #seenMs: number | undefined;
  #atMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A reply was sent then. A date that is far behind counts as well: a wrong date, or a clock that was set, ends. */
  see(date: string | undefined): void {
    const ms = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(ms)) return;
    const behindMs = this.#seenMs === undefined ? 0 : this.nowMs() - ms;
    if (behindMs > 0 && behindMs < LATE_MS) return;
    this.#seenMs = ms;
    this.#atMs = this.#clock.now();
  }

  /** Until the first reply it is this machine's. */
  nowMs(): number {
    const nowMs = this.#clock.now();
    return this.#seenMs === undefined ? nowMs : this.#seenMs + Math.max(0, nowMs - this.#atMs);
  }
}
