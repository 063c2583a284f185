/**
 * Whose turn it is, among those who all want the same. What always holds: they get it in the order they first asked,
 * whoever has had it goes to the end, and one who does not come when it is their turn is forgotten.
 */
import type { Clock } from '../../lib/clock.ts';

interface Waiting {
  readonly who: string;
  /** When they were told to ask again. */
  dueMs: number;
}

/** Timers are late on a busy machine; later than this nobody is coming. */
const LATE_MS = 100;

export class Turns {
  readonly #clock: Clock;
  #waiting: Waiting[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many are before `who`, who waits from now on. */
  placeOf(who: string): number {
    const nowMs = this.#clock.now();
    this.#waiting = this.#waiting.filter((one) => one.who === who || one.dueMs + LATE_MS >= nowMs);
    const place = this.#waiting.findIndex((one) => one.who === who);
    if (place >= 0) return place;
    this.#waiting.push({ who, dueMs: nowMs });
    return this.#waiting.length - 1;
  }

  /** `who` was told to come back then. */
  comesAt(who: string, dueMs: number): void {
    const waiting = this.#waiting.find((one) => one.who === who);
    if (waiting !== undefined) waiting.dueMs = dueMs;
  }

  /** `who` has had their turn, or does not want it any more. */
  leave(who: string): void {
    this.#waiting = this.#waiting.filter((one) => one.who !== who);
  }
}
