/**
 * A sample of key values that counts the documents of each value in it exactly. A value is in the sample if its hash is
 * below a threshold, so the choice does not depend on how often the value occurs. When the sample is full, the threshold
 * is halved. Invariant: while the threshold was never halved, the sample has every value, and every figure is exact.
 */
import { assert } from '../../lib/assert.ts';
import { HashTable } from './hash-table.ts';
import { sampledCount, type Bounded } from './estimate.ts';

/**
 * The most values that are kept. A full sample of this size estimates the number of values within 0.4 to 0.6 % (one
 * sigma).
 */
const VALUES_MAX = 65_536;
/** Hashes are compared by their first word, so the threshold of a sample of everything is one more than any word. */
const EVERYTHING = 2 ** 32;

/** The number of documents for each value, by how many of the values have fewer. */
export interface ItemsPerKey {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export class KeySample {
  #below = EVERYTHING;
  #table: HashTable;
  readonly #valuesMax: number;

  constructor(valuesMax = VALUES_MAX) {
    assert(valuesMax > 1, 'a sample can be halved');
    this.#valuesMax = valuesMax;
    this.#table = new HashTable(0);
  }

  /** Whether the sample has every value. */
  get isWhole(): boolean {
    return this.#below === EVERYTHING;
  }

  /** The share of all values that the sample has. */
  get share(): number {
    return this.#below / EVERYTHING;
  }

  /** Adds a document. `high` and `low` are two words of the hash of its key value. */
  add(high: number, low: number): void {
    if (high >>> 0 >= this.#below) return;
    this.#table.addDocuments(high, low);
    while (this.#table.count > this.#valuesMax) this.#halve();
  }

  /** Whether the sample has a value that was added: the one whose hash has this first word. */
  isBelow(high: number): boolean {
    return high >>> 0 < this.#below;
  }

  /** How many values there are. */
  distinct(): Bounded {
    return sampledCount(this.#table.count, this.share);
  }

  /**
   * The sum over all values, except those that are named, of the square of their documents. Its share of the square of all
   * documents is the chance that two documents, drawn at random, have the same value.
   */
  squares(except: ReadonlyArray<{ readonly high: number; readonly low: number }> = []): number {
    const left = new Set(except.map(({ high, low }) => this.#table.lookUp(high, low)));
    let sum = 0;
    this.#table.each((at) => {
      if (left.has(at)) return;
      const documents = this.#table.documentsAt(at);
      sum += documents * documents;
    });
    return sum / this.share;
  }

  /** How many values have one document. */
  singles(): number {
    let found = 0;
    this.#table.each((at) => {
      if (this.#table.documentsAt(at) === 1) found += 1;
    });
    return Math.round(found / this.share);
  }

  itemsPerKey(): ItemsPerKey {
    const counts = new Float64Array(this.#table.count);
    let filled = 0;
    this.#table.each((at) => {
      counts[filled] = this.#table.documentsAt(at);
      filled += 1;
    });
    counts.sort();
    const at = (share: number): number => counts[Math.min(filled - 1, Math.floor(share * filled))] ?? 0;
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
  }

  /** Adds the documents of another sample, which has seen other documents. */
  merge(other: KeySample): void {
    this.#below = Math.min(this.#below, other.#below);
    this.#keepBelow();
    other.#table.each((from) => {
      const [high, low] = [other.#table.highOf(from), other.#table.lowOf(from)];
      if (high < this.#below) this.#table.addDocuments(high, low, other.#table.documentsAt(from));
    });
    while (this.#table.count > this.#valuesMax) this.#halve();
  }

  toBytes(): Buffer {
    return this.#table.toBytes([this.#below]);
  }

  static fromBytes(bytes: Buffer, valuesMax = VALUES_MAX): KeySample {
    const sample = new KeySample(valuesMax);
    const { table, owner } = HashTable.fromBytes(bytes);
    [sample.#below = EVERYTHING] = owner;
    sample.#table = table;
    return sample;
  }

  #halve(): void {
    this.#below /= 2;
    this.#keepBelow();
  }

  #keepBelow(): void {
    this.#table.rebuild((at) => this.#table.highOf(at) < this.#below);
  }
}
