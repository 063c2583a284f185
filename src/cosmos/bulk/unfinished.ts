/**
 * The operations of a dispatcher that have not ended. Invariant: an operation that was added is counted until it has ended,
 * and every operation of a list is ended even if ending another one throws.
 */
import { must } from '../../lib/assert.ts';
import type { Batch } from './batcher.ts';
import type { OperationEnd, RangeOperation } from './operation.ts';

export class Unfinished<V> {
  /** Number of operations that have not ended. */
  count = 0;
  /** Number of operations that have ended. */
  ended = 0;
  readonly #onNone: () => void;

  /** `onNone` is called each time when some have ended and none is left. */
  constructor(onNone: () => void) {
    this.#onNone = onNone;
  }

  add(count: number): void {
    this.count += count;
  }

  /** Completes all operations that have an outcome. */
  complete(
    operations: readonly RangeOperation<V>[],
    outcomeOf: (index: number) => OperationEnd<V> | undefined,
  ): void {
    this.#endEach(operations, (operation, index) => {
      const outcome = outcomeOf(index);
      if (outcome === undefined) return;
      this.#end(1);
      operation.complete(outcome);
    });
  }

  /** Completes the runs of a batch whose operations have all created their documents. */
  completeRuns(batch: Batch<RangeOperation<V>>): void {
    this.#endEach(must(batch.onlyRuns, 'only runs are answered as a whole'), (run) => {
      this.#end(run.count);
      run.created();
    });
  }

  #end(count: number): void {
    this.count -= count;
    this.ended += count;
  }

  #endEach<T>(items: readonly T[], end: (item: T, index: number) => void): void {
    const thrown: unknown[] = [];
    for (const [index, item] of items.entries())
      try {
        end(item, index);
      } catch (error) {
        thrown.push(error);
      }
    if (this.count === 0) this.#onNone();
    if (thrown.length > 0) throw thrown[0];
  }
}
