/**
 * Entries of fixed width, as words of 32 bits: one for each document and candidate. They are compared word by word, so
 * entries that begin with the same hash are next to each other when they are sorted.
 */

/** Bits of the word with the size of a document. Documents are far below the size that the other bits can hold. */
export const OF_LAST_DAY = 2 ** 31;
export const OF_LAST_HOUR = 2 ** 30;
export const SIZE_BITS = 2 ** 30 - 1;

/** How a key entry is laid out: two words for each level of the key, then these, counted from the end of the key. */
export const AFTER_KEY = { id: 0, size: 2, number: 3, words: 4 } as const;
/** An entry of a unique key: three words of the hash of the new key and the unique values, and the document's number. */
export const UNIQUE_ENTRY = { hash: 0, number: 3, words: 4 } as const;
/** Where a document was found: its LSN, of which the upper half shares a word with the number of the interval. */
export const ADDRESS_ENTRY = { lsnLow: 0, intervalAndLsnHigh: 1, words: 2 } as const;

/** Entries that grow in number. */
export class EntryList {
  readonly width: number;
  count = 0;
  #words: Uint32Array<ArrayBuffer>;

  constructor(width: number, capacity = 1024) {
    this.width = width;
    this.#words = new Uint32Array(width * capacity);
  }

  /** All entries, as words; valid until the next entry is added. */
  get words(): Uint32Array<ArrayBuffer> {
    return this.#words.subarray(0, this.count * this.width);
  }

  /** Adds an entry; returns where it begins in `target`, which is valid until the next entry is added. */
  add(): number {
    const at = this.count * this.width;
    this.count += 1;
    if (at + this.width > this.#words.length) {
      const wider = new Uint32Array(2 * this.#words.length);
      wider.set(this.#words);
      this.#words = wider;
    }
    return at;
  }

  get target(): Uint32Array<ArrayBuffer> {
    return this.#words;
  }

  clear(): void {
    this.count = 0;
  }
}

/** Sorts entries in memory. The native sort of numbers is used, since one that calls a function takes ten times as long. */
export class EntrySorter {
  #order = new Uint32Array(0);
  #keys = new BigUint64Array(0);
  /** The halves of `#keys`: the index of an entry, and one of its words. */
  #halves = new Uint32Array(0);
  #sorted = new Uint32Array(0);

  /** Returns the entries in order; valid until the next call. */
  sort(words: Uint32Array, width: number): Uint32Array<ArrayBuffer> {
    const count = words.length / width;
    if (this.#order.length < count) {
      this.#order = new Uint32Array(count);
      this.#keys = new BigUint64Array(count);
      this.#halves = new Uint32Array(this.#keys.buffer);
    }
    if (this.#sorted.length < words.length) this.#sorted = new Uint32Array(words.length);
    for (let i = 0; i < count; i += 1) this.#order[i] = i;
    this.#sortBy({ words, width }, 0, [0, count]);
    const sorted = this.#sorted;
    for (let i = 0, to = 0; i < count; i += 1) {
      const from = (this.#order[i] ?? 0) * width;
      for (let word = 0; word < width; word += 1, to += 1) sorted[to] = words[from + word] ?? 0;
    }
    return sorted.subarray(0, words.length);
  }

  /** Sorts a part of the order by one word, and then each group of equal words by the next word. */
  #sortBy(
    entries: { readonly words: Uint32Array; readonly width: number },
    word: number,
    [from, to]: readonly [from: number, to: number],
  ): void {
    const { words, width } = entries;
    if (to - from < 2 || word === width) return;
    const order = this.#order;
    const halves = this.#halves;
    for (let i = from; i < to; i += 1) {
      const entry = order[i] ?? 0;
      halves[2 * i] = entry;
      halves[2 * i + 1] = words[entry * width + word] ?? 0;
    }
    this.#keys.subarray(from, to).sort();
    for (let i = from; i < to; i += 1) order[i] = halves[2 * i] ?? 0;
    const valueAt = (i: number): number => words[(order[i] ?? 0) * width + word] ?? 0;
    for (let begin = from, end = from; begin < to; begin = end) {
      const value = valueAt(begin);
      do end += 1;
      while (end < to && valueAt(end) === value);
      if (end - begin > 1) this.#sortBy(entries, word + 1, [begin, end]);
    }
  }
}

/** Returns a sum that does not depend on the order of the words, by which lost or damaged entries are found. */
export function sumOf(words: Uint32Array, before = 0): number {
  let sum = before;
  for (let i = 0; i < words.length; i += 1)
    sum = (sum + Math.imul((words[i] ?? 0) ^ 0x9e37_79b1, 0x85eb_ca6b)) | 0;
  return sum;
}
