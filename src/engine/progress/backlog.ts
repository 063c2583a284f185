/**
 * Documents that were read and have no outcome yet, and an estimate of how long they will take: as long as others took
 * since the backlog was last empty. Idle time says nothing about the speed under load, so it does not count.
 */
import type { Clock } from '../../lib/clock.ts';

/** Bounds the estimate to this many times the time passed: after a slow start it must not end a run that just began. */
const ESTIMATE_MAX = 4;

export class Backlog {
  readonly #clock: Clock;
  /** Documents that have their outcome, which is not committed: not counted yet, and no work left. */
  uncommitted = 0;
  #open = 0;
  #ended = 0;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This many documents were read. */
  expect(documents: number): void {
    if (this.#open === 0) [this.#sinceMs, this.#ended] = [this.#clock.now(), 0];
    this.#open += documents;
  }

  /** One document has its outcome. */
  end(): void {
    this.#open -= 1;
    this.#ended += 1;
    this.uncommitted += 1;
  }

  /** The outcomes of so many are committed. */
  commit(documents: number): void {
    this.uncommitted -= documents;
  }

  /** Estimated time until the backlog is empty, if nothing more is read. */
  get drainMs(): number {
    if (this.#open === 0) return 0;
    const passedMs = this.#clock.now() - this.#sinceMs;
    return this.#ended === 0 ? passedMs : passedMs * Math.min(ESTIMATE_MAX, this.#open / this.#ended);
  }
}
