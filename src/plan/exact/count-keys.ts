/**
 * Counts the sorted key entries of a candidate in one reading: the documents of one key are next to each other, and of
 * those, documents with the same id. Every figure is exact but for two different values with the same hash of 64 bits,
 * which among a hundred million values happens with a probability below a thousandth.
 */
import type { ItemsPerKey } from '../sketch/key-sample.ts';
import { AFTER_KEY, OF_LAST_DAY, OF_LAST_HOUR, SIZE_BITS } from './entries.ts';
import type { OrderedEntries } from './exact-entries.ts';
import { throughTurns } from './turns.ts';

/** A value of a key, known by its hash, with what was counted of it. */
export interface CountedValue {
  /** The last two words of its hash. */
  readonly high: number;
  readonly low: number;
  readonly documents: number;
  readonly bytes: number;
  readonly lastDay: number;
  readonly lastHour: number;
  /** Some of its documents, by number, of which one shows what the value looks like. */
  readonly numbers: readonly number[];
}

/** Documents with the same new key and id. */
export interface FoundCollision {
  readonly high: number;
  readonly low: number;
  readonly id: readonly [high: number, low: number];
  readonly numbers: readonly number[];
}

export interface KeyCounts {
  readonly documents: number;
  /** For each level of the key, from the first on. */
  readonly distinct: readonly number[];
  readonly itemsPerKey: ItemsPerKey;
  /** The sum over all values of the square of their documents. */
  readonly squares: number;
  /** The documents of the value with the most documents, and of the ten with the most together. */
  readonly top1: number;
  readonly top10: number;
  /** By bytes, in descending order; values of equal size are in the order of their hashes. */
  readonly largest: readonly CountedValue[];
  readonly hottestOfDay: CountedValue | null;
  readonly hottestOfHour: CountedValue | null;
  /** How many documents would not get a slot of their own. */
  readonly collisions: number;
  readonly collided: readonly FoundCollision[];
}

/** How many of the largest values are kept. */
export const LARGEST_MAX = 10;
/** How many examples are kept. */
export const EXAMPLES_MAX = 5;
/** How many documents are known of a value that is shown, in case that some were changed since. */
const NUMBERS_KEPT = 4;

export async function countKeys(
  { merge, width, end }: OrderedEntries,
  signal: AbortSignal,
): Promise<KeyCounts> {
  const counter = new KeyCounter(width);
  await throughTurns(() => {
    const at = merge.next();
    if (at < 0) return false;
    counter.add(merge.words, at);
    return true;
  }, signal);
  end();
  return counter.counts();
}

class KeyCounter {
  readonly #keyWords: number;
  readonly #distinct: number[];
  /** How many values have so many documents. */
  readonly #ofCount = new Map<number, number>();
  readonly #largest: CountedValue[] = [];
  readonly #collided: FoundCollision[] = [];
  #hottestOfDay: CountedValue | null = null;
  #hottestOfHour: CountedValue | null = null;
  #collisions = 0;
  #squares = 0;
  #all = 0;
  /** The last entry, and what was counted of its key. */
  readonly #last: Uint32Array;
  #documents = 0;
  #bytes = 0;
  #lastDay = 0;
  #lastHour = 0;
  #numbers: number[] = [];

  constructor(width: number) {
    this.#keyWords = width - AFTER_KEY.words;
    this.#last = new Uint32Array(width);
    this.#distinct = Array.from({ length: this.#keyWords / 2 }, () => 0);
  }

  add(words: Uint32Array, at: number): void {
    const last = this.#last;
    const after = at + this.#keyWords;
    let same = 0;
    while (this.#all > 0 && same < this.#keyWords && words[at + same] === last[same]) same += 1;
    if (same < this.#keyWords) {
      this.#endKey();
      for (let level = same >> 1; level < this.#distinct.length; level += 1)
        this.#distinct[level] = (this.#distinct[level] ?? 0) + 1;
    } else if (words[after] === last[this.#keyWords] && words[after + 1] === last[this.#keyWords + 1])
      this.#collide(words, at);
    this.#all += 1;
    this.#documents += 1;
    const size = words[after + AFTER_KEY.size] ?? 0;
    this.#bytes += size & SIZE_BITS;
    if (size >= OF_LAST_DAY) this.#lastDay += 1;
    if ((size & OF_LAST_HOUR) !== 0) this.#lastHour += 1;
    if (this.#numbers.length < NUMBERS_KEPT) this.#numbers.push(words[after + AFTER_KEY.number] ?? 0);
    for (let i = 0; i < last.length; i += 1) last[i] = words[at + i] ?? 0;
  }

  counts(): KeyCounts {
    this.#endKey();
    const counts = [...this.#ofCount].toSorted(([one], [other]) => other - one);
    return {
      documents: this.#all,
      distinct: this.#distinct,
      itemsPerKey: itemsPerKey(counts),
      squares: this.#squares,
      top1: counts[0]?.[0] ?? 0,
      top10: topOf(counts, LARGEST_MAX),
      largest: this.#largest,
      hottestOfDay: this.#hottestOfDay,
      hottestOfHour: this.#hottestOfHour,
      collisions: this.#collisions,
      collided: this.#collided,
    };
  }

  #collide(words: Uint32Array, at: number): void {
    this.#collisions += 1;
    const after = at + this.#keyWords;
    const number = words[after + AFTER_KEY.number] ?? 0;
    const [high = 0, low = 0] = words.subarray(after - 2, after);
    const [idHigh = 0, idLow = 0] = words.subarray(after, after + 2);
    const known = this.#collided.at(-1);
    if (known?.high === high && known.low === low && known.id[0] === idHigh && known.id[1] === idLow) return;
    if (this.#collided.length === EXAMPLES_MAX) return;
    const before = this.#last[this.#keyWords + AFTER_KEY.number] ?? 0;
    this.#collided.push({ high, low, id: [idHigh, idLow], numbers: [number, before] });
  }

  #endKey(): void {
    const documents = this.#documents;
    if (documents === 0) return;
    this.#ofCount.set(documents, (this.#ofCount.get(documents) ?? 0) + 1);
    this.#squares += documents * documents;
    const least = this.#largest[LARGEST_MAX - 1];
    if (least === undefined || this.#bytes > least.bytes) this.#keepLargest(this.#value());
    if (this.#lastDay > (this.#hottestOfDay?.lastDay ?? 0)) this.#hottestOfDay = this.#value();
    if (this.#lastHour > (this.#hottestOfHour?.lastHour ?? 0)) this.#hottestOfHour = this.#value();
    this.#documents = 0;
    this.#bytes = 0;
    this.#lastDay = 0;
    this.#lastHour = 0;
    this.#numbers = [];
  }

  #value(): CountedValue {
    return {
      high: this.#last[this.#keyWords - 2] ?? 0,
      low: this.#last[this.#keyWords - 1] ?? 0,
      documents: this.#documents,
      bytes: this.#bytes,
      lastDay: this.#lastDay,
      lastHour: this.#lastHour,
      numbers: this.#numbers,
    };
  }

  /** Values come in the order of their hashes, so one goes after those of equal size. */
  #keepLargest(value: CountedValue): void {
    const after = this.#largest.findIndex(({ bytes }) => bytes < value.bytes);
    this.#largest.splice(after < 0 ? this.#largest.length : after, 0, value);
    if (this.#largest.length > LARGEST_MAX) this.#largest.pop();
  }
}

/** `counts` in descending order: a number of documents, and how many values have it. */
function itemsPerKey(counts: ReadonlyArray<readonly [documents: number, values: number]>): ItemsPerKey {
  const values = counts.reduce((sum, [, count]) => sum + count, 0);
  const at = (share: number): number => {
    // Counted from the smallest on, as from a sorted list of all values.
    let left = values - 1 - Math.min(values - 1, Math.floor(share * values));
    for (const [documents, count] of counts) {
      if (left < count) return documents;
      left -= count;
    }
    return 0;
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

function topOf(counts: ReadonlyArray<readonly [documents: number, values: number]>, most: number): number {
  let [sum, left] = [0, most];
  for (const [documents, values] of counts) {
    const taken = Math.min(left, values);
    sum += taken * documents;
    left -= taken;
    if (left === 0) break;
  }
  return sum;
}
