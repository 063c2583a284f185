/**
 * Counts the documents that were read and have no outcome yet, and estimates how long they will take. The estimate uses
 * the speed since the backlog was last empty, because idle time says nothing about the speed under load.
 */
import type { Clock } from '../../lib/clock.ts';

/**
 * Limits the estimate to this many times the time passed. Otherwise a slow start could end a run that has just begun.
 */
const ESTIMATE_MAX = 4;

export class Backlog {
  readonly #clock: Clock;
  /** Documents that have an outcome which is not committed. The counters do not have them yet, and no work is left. */
  uncommitted = 0;
  #open = 0;
  #ended = 0;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts documents that were read. */
  expect(documents: number): void {
    if (this.#open === 0) [this.#sinceMs, this.#ended] = [this.#clock.monotonicMs(), 0];
    this.#open += documents;
  }

  /** Counts a document that has its outcome. */
  end(): void {
    this.#open -= 1;
    this.#ended += 1;
    this.uncommitted += 1;
  }

  /** Counts documents whose outcomes are committed. */
  commit(documents: number): void {
    this.uncommitted -= documents;
  }

  /** The estimated time until the backlog is empty, if no more pages are read. */
  get drainMs(): number {
    if (this.#open === 0) return 0;
    const passedMs = this.#clock.monotonicMs() - this.#sinceMs;
    return this.#ended === 0 ? passedMs : passedMs * Math.min(ESTIMATE_MAX, this.#open / this.#ended);
  }
}
