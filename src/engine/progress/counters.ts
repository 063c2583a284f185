/** What a run has done, in numbers. Totals of the whole migration are the ledger's counters, which move with commits. */

export const COUNTERS = [
  'documentsRead',
  'documentsWritten',
  'documentsDeleted',
  'documentsMoved',
  'documentsSkipped',
] as const;
export type Counter = (typeof COUNTERS)[number];
export type Counts = Readonly<Partial<Record<Counter, number>>>;

export class Tally {
  /** Documents that have their outcome and whose page has others that have none: not counted, and no work any more. */
  underWay = 0;
  readonly #counts = new Map<Counter, number>();

  get(counter: Counter): number {
    return this.#counts.get(counter) ?? 0;
  }

  /** Counts what was committed. */
  add(counts: Counts): void {
    for (const counter of COUNTERS) {
      const delta = counts[counter] ?? 0;
      if (delta !== 0) this.#counts.set(counter, this.get(counter) + delta);
    }
  }
}
