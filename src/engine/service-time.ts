/** The service's time, from the dates of its replies: what this machine's clock says may be anything. */
import type { Clock } from '../lib/clock.ts';

export class ServiceTime {
  readonly #clock: Clock;
  #seenMs: number | undefined;
  #atMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A reply was sent then. */
  see(date: string | undefined): void {
    const ms = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(ms) || (this.#seenMs !== undefined && ms < this.nowMs())) return;
    this.#seenMs = ms;
    this.#atMs = this.#clock.now();
  }

  /** Until the first reply it is this machine's. */
  nowMs(): number {
    const nowMs = this.#clock.now();
    return this.#seenMs === undefined ? nowMs : this.#seenMs + Math.max(0, nowMs - this.#atMs);
  }
}
