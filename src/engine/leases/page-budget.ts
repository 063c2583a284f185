/**
 * How many bytes of pages may be in memory at once, over all ranges: what keeps the memory of a run the same however
 * slow the target is. First come, first served; one page always fits.
 */
import { orAborted } from '../../lib/abort.ts';
import { deferred } from '../../lib/deferred.ts';

export class PageBudget {
  readonly #max: number;
  #used = 0;
  #waiting: (() => void)[] = [];

  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  get usedBytes(): number {
    return this.#used;
  }

  /** Waits until there is room, and takes it. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.#used > 0 && this.#used + bytes > this.#max) {
      const room = deferred();
      this.#waiting.push(room.resolve);
      try {
        await orAborted(room.promise, signal);
      } finally {
        this.#waiting = this.#waiting.filter((other) => other !== room.resolve);
      }
    }
    this.#used += bytes;
  }

  /** More, or less, than was taken; nobody waits for what is there already. */
  adjust(deltaBytes: number): void {
    this.#used += deltaBytes;
    if (deltaBytes < 0) this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
