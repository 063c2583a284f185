/**
 * Finds the key values that weigh most, in bounded memory (Misra and Gries, with weights). The table keeps a counter for
 * each value. When it is full, a weight is taken from all counters, and those that have nothing left are removed.
 * Invariant: the weight of a value is at least its counter, and at most its counter plus all that was ever taken from
 * one. A value that is not in the table weighs at most what was taken.
 */
import { HashTable } from './hash-table.ts';

/** The most values with a counter. A value that weighs more than a 10,000th of everything always has one. */
const VALUES_MAX = 20_000;

const WEIGHT = 0;
/** The median is taken of this many counters: more would hardly change it. */
const COUNTERS_DRAWN = 256;

/** One of the heaviest values, with bounds that contain the truth. */
export interface Frequent {
  readonly high: number;
  readonly low: number;
  readonly weight: { readonly low: number; readonly high: number };
  readonly documents: { readonly low: number; readonly high: number };
}

export class FrequentKeys {
  /** The weight of everything that was added. */
  total = 0;
  #table = new HashTable(1);
  /** The weight, and the number of documents, that a value may have lost. */
  #lostWeight = 0;
  #lostDocuments = 0;
  readonly #valuesMax: number;

  constructor(valuesMax = VALUES_MAX) {
    this.#valuesMax = valuesMax;
  }

  /** Whether no counter was ever reduced, so that every bound is exact. */
  get isExact(): boolean {
    return this.#lostWeight === 0;
  }

  /** Adds a document; returns the bucket of its value, which is valid until the next call. */
  add(high: number, low: number, weight: number): number {
    if (this.#table.count > this.#valuesMax) this.#reduce();
    this.total += weight;
    const at = this.#table.addDocuments(high, low);
    this.#table.add(at, WEIGHT, weight);
    return at;
  }

  weightAt(at: number): number {
    return this.#table.value(at, WEIGHT);
  }

  documentsAt(at: number): number {
    return this.#table.documentsAt(at);
  }

  /**
   * The heaviest values, in descending order of what they weigh at least. Values of equal weight are in the order of
   * their hashes, so that the result does not depend on the order in which documents came.
   */
  heaviest(count: number): Frequent[] {
    const table = this.#table;
    const isBefore = (one: number, other: number): boolean =>
      table.value(one, WEIGHT) > table.value(other, WEIGHT) ||
      (table.value(one, WEIGHT) === table.value(other, WEIGHT) && table.highOf(one) < table.highOf(other));
    const top: number[] = [];
    table.each((at) => {
      if (top.length === count && !isBefore(at, top[count - 1] ?? at)) return;
      const after = top.findIndex((other) => isBefore(at, other));
      top.splice(after < 0 ? top.length : after, 0, at);
      if (top.length > count) top.pop();
    });
    return top.map((at) => this.#read(at));
  }

  /** The bounds of one value. */
  of(high: number, low: number): Frequent {
    const at = this.#table.lookUp(high, low);
    if (at >= 0) return this.#read(at);
    return {
      high,
      low,
      weight: { low: 0, high: this.#lostWeight },
      documents: { low: 0, high: this.#lostDocuments },
    };
  }

  /** Adds the documents of another set of counters, which has seen other documents. */
  merge(other: FrequentKeys): void {
    other.#table.each((from) => {
      const [high, low] = [other.#table.highOf(from), other.#table.lowOf(from)];
      const at = this.#table.addDocuments(high, low, other.#table.documentsAt(from));
      this.#table.add(at, WEIGHT, other.#table.value(from, WEIGHT));
    });
    this.total += other.total;
    this.#lostWeight += other.#lostWeight;
    this.#lostDocuments += other.#lostDocuments;
    while (this.#table.count > this.#valuesMax) this.#reduce();
  }

  toBytes(): Buffer {
    return this.#table.toBytes([this.total, this.#lostWeight, this.#lostDocuments]);
  }

  static fromBytes(bytes: Buffer, valuesMax = VALUES_MAX): FrequentKeys {
    const keys = new FrequentKeys(valuesMax);
    const { table, owner } = HashTable.fromBytes(bytes);
    [keys.total = 0, keys.#lostWeight = 0, keys.#lostDocuments = 0] = owner;
    keys.#table = table;
    return keys;
  }

  /** Takes the median weight from every counter, which removes about half of them. */
  #reduce(): void {
    const table = this.#table;
    const drawn = table.draw(WEIGHT, COUNTERS_DRAWN);
    const taken = drawn.sort()[drawn.length >> 1] ?? 0;
    // Of a value that loses its counter, all documents are forgotten. A value that keeps it loses none.
    let forgotten = 0;
    table.rebuild((at) => {
      const left = table.value(at, WEIGHT) - taken;
      if (left <= 0) forgotten = Math.max(forgotten, table.documentsAt(at));
      table.set(at, WEIGHT, left);
      return left > 0;
    });
    this.#lostWeight += taken;
    this.#lostDocuments += forgotten;
  }

  #read(at: number): Frequent {
    const table = this.#table;
    const weight = table.value(at, WEIGHT);
    const documents = table.documentsAt(at);
    return {
      high: table.highOf(at),
      low: table.lowOf(at),
      weight: { low: weight, high: weight + this.#lostWeight },
      documents: { low: documents, high: documents + this.#lostDocuments },
    };
  }
}
