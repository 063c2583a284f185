/**
 * Finds documents that would get the same key and id. The sample takes all documents of some ids, chosen by the hash of
 * the id, so that documents which collide are in it together or not at all. Invariant: while the threshold was never
 * halved, the sample has every document, and the count is exact.
 */
import { HashTable } from './hash-table.ts';
import { exactly, type Bounded } from './estimate.ts';

/** The most pairs of key and id that are kept. */
const PAIRS_MAX = 65_536;
const EVERYTHING = 2 ** 32;
/** How many standard deviations the bounds are away, so that they contain the truth in 99 of 100 cases. */
const DEVIATIONS = 2.576;

/** The first word of the hash of the id, which decides whether the sample has the pair. */
const ID = 0;

export class PairSample {
  #below = EVERYTHING;
  #table = new HashTable(1);
  readonly #pairsMax: number;

  constructor(pairsMax = PAIRS_MAX) {
    this.#pairsMax = pairsMax;
  }

  get isWhole(): boolean {
    return this.#below === EVERYTHING;
  }

  /** Whether the sample takes documents with this id. */
  takes(idWord: number): boolean {
    return idWord >>> 0 < this.#below;
  }

  /**
   * Adds a document. `idWord` is the first word of the hash of its id; `high` and `low` are words of the hash of its new
   * key and id. Returns whether an earlier document has the same key and id.
   */
  add(idWord: number, high: number, low: number): boolean {
    if (!this.takes(idWord)) return false;
    const at = this.#table.addDocuments(high, low);
    this.#table.set(at, ID, idWord >>> 0);
    const isCollision = this.#table.documentsAt(at) > 1;
    while (this.#table.count > this.#pairsMax) this.#lower(this.#below / 2);
    return isCollision;
  }

  /** How many documents would not get a slot of their own: all but one of those with the same key and id. */
  collisions(): Bounded {
    let found = 0;
    // Documents of one id are in the sample together, so the ids are what was drawn, each with its own count.
    const ofId = new Map<number, number>();
    this.#table.each((at) => {
      const others = this.#table.documentsAt(at) - 1;
      if (others === 0) return;
      found += others;
      const id = this.#table.value(at, ID);
      ofId.set(id, (ofId.get(id) ?? 0) + others);
    });
    if (this.isWhole) return exactly(found);
    const share = this.#below / EVERYTHING;
    const squares = [...ofId.values()].reduce((sum, others) => sum + others * others, 0);
    // The variance of a Horvitz-Thompson estimate; one more id than was found keeps the bound above zero.
    const largest = Math.max(1, ...ofId.values());
    const deviation = Math.sqrt((squares + largest * largest) * (1 - share)) / share;
    const estimate = found / share;
    return {
      estimate: Math.round(estimate),
      low: Math.max(found, Math.floor(estimate - DEVIATIONS * deviation)),
      high: Math.ceil(estimate + (DEVIATIONS + 1) * deviation),
    };
  }

  /** Adds the documents of another sample, which has seen other documents. */
  merge(other: PairSample): void {
    this.#lower(Math.min(this.#below, other.#below));
    other.#table.each((from) => {
      const id = other.#table.value(from, ID);
      if (!this.takes(id)) return;
      const [high, low] = [other.#table.highOf(from), other.#table.lowOf(from)];
      const at = this.#table.addDocuments(high, low, other.#table.documentsAt(from));
      this.#table.set(at, ID, id);
    });
    while (this.#table.count > this.#pairsMax) this.#lower(this.#below / 2);
  }

  toBytes(): Buffer {
    return this.#table.toBytes([this.#below]);
  }

  static fromBytes(bytes: Buffer, pairsMax = PAIRS_MAX): PairSample {
    const sample = new PairSample(pairsMax);
    const { table, owner } = HashTable.fromBytes(bytes);
    [sample.#below = EVERYTHING] = owner;
    sample.#table = table;
    return sample;
  }

  #lower(below: number): void {
    if (below === this.#below) return;
    this.#below = below;
    this.#table.rebuild((at) => this.#table.value(at, ID) < below);
  }
}
