/** A run whose operations exist one by one, so that a test can compare what becomes of it with what becomes of them. */
import type { OperationRun, OperationText } from '../../../../src/cosmos/bulk/operation.ts';

export class TextRun<T extends OperationText> implements OperationRun<T> {
  readonly isRun = true;
  readonly #all: T[];
  readonly #onCreated: (operations: readonly T[]) => void;

  constructor(operations: readonly T[], onCreated: (operations: readonly T[]) => void = () => {}) {
    this.#all = [...operations];
    this.#onCreated = onCreated;
  }

  get count(): number {
    return this.#all.length;
  }

  get sizeBytes(): number {
    return this.sizeOf(0, this.count);
  }

  sizeOf(from: number, to: number): number {
    return this.#all.slice(from, to).reduce((sum, { sizeBytes }) => sum + sizeBytes + 1, -1);
  }

  fitting(from: number, countMax: number, bytesMax: number): number {
    let count = 0;
    while (count < countMax && from + count < this.count && this.sizeOf(from, from + count + 1) <= bytesMax)
      count += 1;
    return count;
  }

  take(count: number): TextRun<T> {
    return new TextRun(this.#all.splice(0, count), this.#onCreated);
  }

  writeTo(body: Buffer, at: number): void {
    let next = at;
    for (const operation of this.#all) {
      if (next > at) body[next - 1] = 0x2c;
      operation.writeTo(body, next);
      next += operation.sizeBytes + 1;
    }
  }

  operations(): readonly T[] {
    return [...this.#all];
  }

  created(): void {
    this.#onCreated(this.#all);
  }
}
