/**
 * Packed documents of one page that go to one range, next to each other in the memory of the page. Their locks are held
 * without turns. They are sent, answered and released together; if the reply is another than that all were created, each
 * gets an operation of its own (copy-operation.ts), which is also its turn. Invariant: each document of a run is finished
 * once, by the run or by its operation.
 */
import type { OperationRun } from '../../cosmos/bulk/operation.ts';
import { assert } from '../../lib/assert.ts';
import type { CopiedPage } from './copied-page.ts';
import type { CopyOperation } from './copy-operation.ts';
import type { CopyPage } from './copy-page.ts';

/** The page of the copy to which a run belongs. */
type Owner = Pick<CopyPage, 'created' | 'adopt'>;

export class CopyRun implements OperationRun<CopyOperation> {
  readonly isRun = true;
  readonly #page: CopiedPage;
  readonly #owner: Owner;
  #from: number;
  readonly #to: number;

  /** A run of the packed documents from `from` up to and excluding `to`. */
  constructor(page: CopiedPage, owner: Owner, from: number, to: number) {
    assert(from < to && to <= page.packed.count, 'a run has packed documents');
    this.#page = page;
    this.#owner = owner;
    this.#from = from;
    this.#to = to;
  }

  get count(): number {
    return this.#to - this.#from;
  }

  get sizeBytes(): number {
    return this.#page.packed.operationBytes(this.#from, this.#to);
  }

  sizeOf(from: number, to: number): number {
    return this.#page.packed.operationBytes(this.#from + from, this.#from + to);
  }

  fitting(from: number, countMax: number, bytesMax: number): number {
    let [low, high] = [0, Math.min(countMax, this.count - from)];
    // Nearly always all of them fit.
    let middle = high;
    while (low < high) {
      if (this.sizeOf(from, from + middle) <= bytesMax) low = middle;
      else high = middle - 1;
      middle = (low + high + 1) >>> 1;
    }
    return low;
  }

  take(count: number): CopyRun {
    const from = this.#from;
    this.#from += count;
    return new CopyRun(this.#page, this.#owner, from, from + count);
  }

  writeTo(body: Buffer, at: number): void {
    this.#page.packed.copyOperations(this.#from, this.#to, body, at);
  }

  operations(): readonly CopyOperation[] {
    return Array.from({ length: this.count }, (_, i) => this.#owner.adopt(this.#from + i));
  }

  created(): void {
    this.#owner.created(this.#from, this.#to);
  }
}
