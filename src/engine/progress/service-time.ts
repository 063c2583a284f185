/** The service's time, taken from the Date headers of its replies: the clock of this machine may be wrong. */
import type { Clock } from '../../lib/clock.ts';

/** A date this little behind is normal: dates are cut to seconds, and replies overtake each other. */
const LATE_MS = 10_000;

export class ServiceTime {
  readonly #clock: Clock;
  #seenMs: number | undefined;
  #atMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the date of a reply. One that is far behind counts too, so the effect of a wrong date ends. */
  see(date: string | undefined): void {
    const ms = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(ms)) return;
    const behindMs = this.#seenMs === undefined ? 0 : this.nowMs() - ms;
    if (behindMs > 0 && behindMs < LATE_MS) return;
    this.#seenMs = ms;
    this.#atMs = this.#clock.now();
  }

  /** In seconds, as documents have it. */
  nowTs(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /** Until the first reply, the time of this machine. */
  nowMs(): number {
    const nowMs = this.#clock.now();
    return this.#seenMs === undefined ? nowMs : this.#seenMs + Math.max(0, nowMs - this.#atMs);
  }
}
