/** Keeps the service's time, from the Date headers of its replies, because the clock of this machine may be wrong. */
import type { Clock } from '../../lib/clock.ts';

/** A date that is behind by less than this is normal: dates have whole seconds, and replies overtake each other. */
const LATE_MS = 10_000;

export class ServiceTime {
  readonly #clock: Clock;
  #seenMs: number | undefined;
  #atMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the date of a reply. A date that is far behind is taken too, so that a wrong date has no lasting effect. */
  see(date: string | undefined): void {
    const ms = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(ms)) return;
    const behindMs = this.#seenMs === undefined ? 0 : this.nowMs() - ms;
    if (behindMs > 0 && behindMs < LATE_MS) return;
    this.#seenMs = ms;
    this.#atMs = this.#clock.now();
  }

  /** The service's time in whole seconds, as in the `_ts` of documents. */
  nowTs(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /** The service's time. Until the first reply it is the time of this machine. */
  nowMs(): number {
    const nowMs = this.#clock.now();
    return this.#seenMs === undefined ? nowMs : this.#seenMs + Math.max(0, nowMs - this.#atMs);
  }
}
