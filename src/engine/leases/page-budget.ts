/**
 * Limits the bytes of pages that are in memory at once, over all ranges, so that the memory of a run does not depend on
 * the speed of the target. Invariant: when no other page is in memory, a page fits, however large it is.
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

  /** Waits until the budget has this many bytes free, and reserves them. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.#used > 0 && this.#used + bytes > this.#max) {
      const freed = deferred();
      this.#waiting.push(freed.resolve);
      try {
        await orAborted(freed.promise, signal);
      } finally {
        this.#waiting = this.#waiting.filter((other) => other !== freed.resolve);
      }
    }
    this.#used += bytes;
  }

  /** Adds to the reserved bytes, or gives some back. Never waits, because added bytes are in memory already. */
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
