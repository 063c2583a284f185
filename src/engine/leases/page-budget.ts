/**
 * Limits the bytes of pages that are in memory at once, over all ranges, so that the memory of a run does not depend on
 * the speed of the target. Invariant: when no other page is in memory, a page fits, however large it is. Pages get their
 * bytes in the order in which they asked, so freeing bytes costs the same with hundreds of ranges that wait.
 */
import { orAborted } from '../../lib/abort.ts';
import { deferred } from '../../lib/deferred.ts';

interface Waiting {
  /** Returns how large the page will probably be. That becomes known while pages wait. */
  readonly expected: () => number;
  readonly grant: (bytes: number) => void;
}

export class PageBudget {
  readonly #max: number;
  #used = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Waits until the budget has as many bytes free as a page is expected to have. Reserves them, and returns how many. */
  async take(expected: () => number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const bytes = expected();
    if (this.#waiting.size === 0 && this.#fits(bytes)) {
      this.#used += bytes;
      return bytes;
    }
    const granted = deferred<number>();
    const waiting = { expected, grant: granted.resolve };
    this.#waiting.add(waiting);
    try {
      return await orAborted(granted.promise, signal);
    } catch (error) {
      // The bytes may have been granted in the turn in which the signal was aborted. If not, a smaller page that waited
      // behind this one may fit.
      if (this.#waiting.delete(waiting)) this.#grant();
      else this.adjust(-(await granted.promise));
      throw error;
    }
  }

  /** Adds to the reserved bytes, or gives some back. Never waits, because added bytes are in memory already. */
  adjust(deltaBytes: number): void {
    this.#used += deltaBytes;
    if (deltaBytes < 0) this.#grant();
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#max;
  }

  #grant(): void {
    for (const waiting of this.#waiting) {
      const bytes = waiting.expected();
      if (!this.#fits(bytes)) return;
      this.#waiting.delete(waiting);
      this.#used += bytes;
      waiting.grant(bytes);
    }
  }
}
