/**
 * Documents that were read and have no outcome yet, and how long they may take: as long as others took since there was
 * last nothing to do. What lies idle says nothing about how fast it goes when there is work.
 */
import type { Clock } from '../../lib/clock.ts';

/** A beginning says little, and a slow one must not end a run that has just begun: at most so many times what has passed. */
const AGAIN_MAX = 4;

export class Backlog {
  readonly #clock: Clock;
  #open = 0;
  #ended = 0;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** So many were read. */
  expect(documents: number): void {
    if (this.#open === 0) [this.#sinceMs, this.#ended] = [this.#clock.now(), 0];
    this.#open += documents;
  }

  /** One has its outcome. */
  end(): void {
    this.#open -= 1;
    this.#ended += 1;
  }

  /** How long a run goes on that reads no more. */
  get drainMs(): number {
    if (this.#open === 0) return 0;
    const passedMs = this.#clock.now() - this.#sinceMs;
    return this.#ended === 0 ? passedMs : passedMs * Math.min(AGAIN_MAX, this.#open / this.#ended);
  }
}
