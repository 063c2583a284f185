/** Counts the committed work of one run. The totals of the whole migration are the ledger's counters. */

export const COUNTERS = [
  'documentsRead',
  'documentsWritten',
  // Those of them that the target had in the same slot already.
  'documentsReplaced',
  'documentsDeleted',
  'documentsMoved',
  'documentsSkipped',
  'longIntegers',
] as const;
export type Counter = (typeof COUNTERS)[number];
export type Counts = Readonly<Partial<Record<Counter, number>>>;

export class RunCounters {
  readonly #counts = new Map<Counter, number>();

  get(counter: Counter): number {
    return this.#counts.get(counter) ?? 0;
  }

  /** Adds the counts of a commit. */
  add(counts: Counts): void {
    for (const counter of COUNTERS) {
      const delta = counts[counter] ?? 0;
      if (delta !== 0) this.#counts.set(counter, this.get(counter) + delta);
    }
  }
}
