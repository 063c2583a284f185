/**
 * Counts documents that share something of which a hash is known, such as their new key and a unique value, in bounded
 * memory. The hash decides whether the sample has a group of documents, so a group is in it as a whole or not at all.
 * Large groups are counted apart: a sample that misses one of them by chance would be far from the truth. Invariant:
 * while the threshold was never halved, the sample has every group, and the count is exact.
 */
import { FrequentKeys } from '../sketch/frequent-keys.ts';
import { HashTable } from '../sketch/hash-table.ts';
import { exactly, type Bounded } from '../sketch/estimate.ts';

const EVERYTHING = 2 ** 32;
/** How many standard deviations the bounds are away, so that they contain the truth in 99 of 100 cases. */
const DEVIATIONS = 2.576;
/** How many groups have a counter of their own. */
const COUNTERS_MAX = 4096;
/** A group is large if it has this many times as many documents as a group without a counter can have. */
const LARGE_TIMES = 2;
/** The bytes in front of a saved sample: the length of its table. */
const HEAD_BYTES = 8;

export class ConflictSample {
  #below = EVERYTHING;
  #table = new HashTable(0);
  #large = new FrequentKeys(COUNTERS_MAX);
  readonly #groupsMax: number;

  /** `groupsMax`: the most groups that are kept. */
  constructor(groupsMax: number) {
    this.#groupsMax = groupsMax;
  }

  get isWhole(): boolean {
    return this.#below === EVERYTHING;
  }

  /** Adds a document of a group. Returns whether the group was found to have exactly two documents now. */
  add(high: number, low: number): boolean {
    this.#large.add(high, low, 1);
    if (high >>> 0 >= this.#below) return false;
    const isSecond = this.#table.documentsAt(this.#table.addDocuments(high, low)) === 2;
    while (this.#table.count > this.#groupsMax) this.#lower(this.#below / 2);
    return isSecond;
  }

  /** How many documents there are besides the first one of each group. */
  conflicts(): Bounded {
    if (this.isWhole) return exactly(this.#others(new Set()).found);
    const share = this.#below / EVERYTHING;
    // What a group without a counter may have at most is what the bounds of a group with a counter are apart.
    const large = this.#large
      .heaviest(COUNTERS_MAX)
      .filter(({ documents }) => documents.low > Math.max(1, LARGE_TIMES * (documents.high - documents.low)));
    const counted = new Set<number>();
    let [low, high] = [0, 0];
    for (const { high: first, low: second, documents } of large) {
      const at = this.#table.lookUp(first | 0, second | 0);
      const isSampled = first < this.#below && at >= 0;
      if (isSampled) counted.add(at);
      const exact = isSampled ? this.#table.documentsAt(at) : null;
      low += (exact ?? documents.low) - 1;
      high += (exact ?? documents.high) - 1;
    }
    const { found, squares, largest } = this.#others(counted);
    // The variance of a Horvitz-Thompson estimate; one more group than was found keeps the bound above zero.
    const deviation = Math.sqrt((squares + largest * largest) * (1 - share)) / share;
    const light = found / share;
    const lightLow = Math.max(found, Math.floor(light - DEVIATIONS * deviation));
    const lightHigh = Math.ceil(light + (DEVIATIONS + 1) * deviation);
    return { estimate: Math.round(light + (low + high) / 2), low: low + lightLow, high: high + lightHigh };
  }

  toBytes(): Buffer {
    const table = this.#table.toBytes([this.#below]);
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeDoubleLE(table.length);
    return Buffer.concat([head, table, this.#large.toBytes()]);
  }

  static fromBytes(bytes: Buffer, groupsMax: number): ConflictSample {
    const sample = new ConflictSample(groupsMax);
    const end = HEAD_BYTES + bytes.readDoubleLE();
    const { table, owner } = HashTable.fromBytes(bytes.subarray(HEAD_BYTES, end));
    [sample.#below = EVERYTHING] = owner;
    sample.#table = table;
    sample.#large = FrequentKeys.fromBytes(bytes.subarray(end), COUNTERS_MAX);
    return sample;
  }

  /** Sums up the groups of the sample, without some of them. */
  #others(except: ReadonlySet<number>): {
    readonly found: number;
    readonly squares: number;
    readonly largest: number;
  } {
    let [found, squares, largest] = [0, 0, 1];
    this.#table.each((at) => {
      const others = this.#table.documentsAt(at) - 1;
      if (others === 0 || except.has(at)) return;
      found += others;
      squares += others * others;
      largest = Math.max(largest, others);
    });
    return { found, squares, largest };
  }

  #lower(below: number): void {
    this.#below = below;
    this.#table.rebuild((at) => this.#table.highOf(at) < below);
  }
}
