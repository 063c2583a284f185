/**
 * Counts documents that repeat what an earlier one has, in bounded memory: its slot (the new key and the id), or its new
 * key and a unique value. What they have is known by a hash.
 *
 * Each document is drawn with the same probability, whatever others have. The sample remembers what it has drawn; a
 * document that comes later and has the same is a repeat. From then on every repeat of it is seen, so how often one thing
 * repeats does not matter: one slot with a million documents is as certain as a million slots with two.
 *
 * To make room, half of what is remembered is forgotten at random. The next repeat of each of the others then counts for
 * two: their weight doubles. A repeat that was seen has the weight one again. Invariant: the weight of what is remembered
 * is one by the probability that it still is, so the sum of the weights of all repeats is their expected number. While
 * nothing was forgotten, that number is exact.
 */
import { exactly, type Bounded } from './estimate.ts';
import { HashTable } from './hash-table.ts';
import { mix } from './mix.ts';

/** How many standard deviations the bounds are away, so that they contain the truth in 99 of 100 cases. */
const DEVIATIONS = 2.576;
/** What the sample has not drawn is recognized by one bit in 16 of 17 cases, without a search in the large table. */
const BITS_PER_ENTRY = 16;
const WORD_BITS = 32;
/** Multiples of this number, the golden ratio of 2^32, differ in all bits. */
const STEP = 0x9e37_79b9;

const WEIGHT = 0;

export class RepeatSample {
  /** The weight of a document that is drawn now; it is drawn with the probability of one by this. */
  #weight = 1;
  #table = new HashTable(1);
  /** Repeats that were seen. So many there are for certain. */
  #seen = 0;
  #estimate = 0;
  #variance = 0;
  /** How many documents are not drawn before the next one is, without those that are repeats. */
  #skip = 0;
  /** How many random numbers there were. */
  #draws = 0;
  /** One bit for each hash; set if something that is remembered has it. */
  readonly #bits: Int32Array;
  readonly #entriesMax: number;

  /** `entriesMax`: how much is remembered. */
  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
    this.#bits = new Int32Array(2 ** Math.ceil(Math.log2((entriesMax * BITS_PER_ENTRY) / WORD_BITS)));
  }

  /** Whether everything is remembered. */
  get isWhole(): boolean {
    return this.#weight === 1;
  }

  /**
   * Adds a document. Returns whether it is the first repeat of something that is remembered; it may be that again after
   * that was forgotten.
   */
  add(high: number, low: number): boolean {
    const table = this.#table;
    const at = this.#isBitSet(high) ? table.lookUp(high, low) : -1;
    if (at >= 0) {
      const weight = table.value(at, WEIGHT);
      this.#seen += 1;
      this.#estimate += weight;
      // The document was not remembered with the probability of 1 - 1 / weight, and would have added nothing.
      this.#variance += weight * (weight - 1);
      table.set(at, WEIGHT, 1);
      return table.documentsAt(table.addDocuments(high, low)) === 2;
    }
    if (this.#skip > 0) {
      this.#skip -= 1;
      return false;
    }
    table.set(table.addDocuments(high, low), WEIGHT, this.#weight);
    this.#setBit(high);
    while (table.count > this.#entriesMax) this.#forgetHalf();
    if (this.#weight > 1) this.#skip = this.#gap(high);
    return false;
  }

  /** How many documents there are besides the first one that has the same. */
  repeats(): Bounded {
    if (this.isWhole) return exactly(this.#seen);
    // The variance is known from the repeats that were seen; one more keeps it above zero.
    const deviation = Math.sqrt(this.#variance + this.#weight * (this.#weight - 1));
    return {
      estimate: this.#estimate,
      low: Math.max(this.#seen, Math.floor(this.#estimate - DEVIATIONS * deviation)),
      high: Math.ceil(this.#estimate + (DEVIATIONS + 1) * deviation),
    };
  }

  toBytes(): Buffer {
    const owner = [this.#weight, this.#seen, this.#estimate, this.#variance, this.#skip, this.#draws];
    return this.#table.toBytes(owner);
  }

  static fromBytes(bytes: Buffer, entriesMax: number): RepeatSample {
    const sample = new RepeatSample(entriesMax);
    const { table, owner } = HashTable.fromBytes(bytes);
    const [weight = 1, seen = 0, estimate = 0, variance = 0, skip = 0, draws = 0] = owner;
    sample.#weight = weight;
    sample.#seen = seen;
    sample.#estimate = estimate;
    sample.#variance = variance;
    sample.#skip = skip;
    sample.#draws = draws;
    sample.#table = table;
    sample.#setBits();
    return sample;
  }

  #forgetHalf(): void {
    const table = this.#table;
    this.#weight *= 2;
    table.rebuild((at) => {
      // Whether it is forgotten depends on its hash, not on its bucket, which is another one in a table that was saved.
      const isKept = ((mix(table.highOf(at) ^ this.#weight) ^ table.lowOf(at)) & 1) === 0;
      if (isKept) table.set(at, WEIGHT, 2 * table.value(at, WEIGHT));
      return isKept;
    });
    this.#setBits();
  }

  /**
   * How many documents to skip, at random: a number for each document would cost more. The random numbers follow from how
   * many there were, so that a saved sample continues with the same, and from the document, so that they differ from
   * container to container.
   */
  #gap(high: number): number {
    this.#draws += 1;
    const random = ((mix(Math.imul(this.#draws, STEP) ^ high) >>> 0) + 1) / 2 ** WORD_BITS;
    return Math.floor(Math.log(random) / Math.log(1 - 1 / this.#weight));
  }

  #isBitSet(high: number): boolean {
    return ((this.#bits[(high >>> 5) & (this.#bits.length - 1)] ?? 0) & (1 << (high & 31))) !== 0;
  }

  #setBit(high: number): void {
    const word = (high >>> 5) & (this.#bits.length - 1);
    this.#bits[word] = (this.#bits[word] ?? 0) | (1 << (high & 31));
  }

  #setBits(): void {
    this.#bits.fill(0);
    this.#table.each((at) => this.#setBit(this.#table.highOf(at)));
  }
}
