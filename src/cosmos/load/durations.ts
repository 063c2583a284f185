/** How long requests take, as counts of durations up to each of a few bounds. */

/** In milliseconds. A point read takes less than 10 ms, a whole batch of a busy range less than a second. */
export const DURATION_BOUNDS_MS = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const;

export class Durations {
  readonly #counts = Array.from({ length: DURATION_BOUNDS_MS.length + 1 }, () => 0);
  #sumMs = 0;

  add(durationMs: number): void {
    let bound = 0;
    while (durationMs > (DURATION_BOUNDS_MS[bound] ?? Infinity)) bound += 1;
    this.#counts[bound] = (this.#counts[bound] ?? 0) + 1;
    this.#sumMs += durationMs;
  }

  /** How many durations are above the bound before and up to this one; the last number is of those above all bounds. */
  get current(): { readonly counts: readonly number[]; readonly sumMs: number } {
    return { counts: [...this.#counts], sumMs: this.#sumMs };
  }
}
