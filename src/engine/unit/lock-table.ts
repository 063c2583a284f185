/**
 * The locks of the sequencer by number. A lock is a 128-bit hash; its number stays the same while the lock is in use. The
 * table is made of typed arrays, because a Map would need a text for every hash and changes with every document. Invariant:
 * a hash has at most one number, and the numbers of dropped hashes are used again.
 */
import { HASH_WORDS } from '../../documents/hash.ts';
import { assert } from '../../lib/assert.ts';

const FIRST_CAPACITY = 1024;

export class LockTable {
  // Signed integers, which V8 handles without allocating.
  #words = new Int32Array(FIRST_CAPACITY * HASH_WORDS);
  // Chains of numbers, stored as number + 1; 0 ends a chain. Dropped numbers form a chain too.
  #next = new Int32Array(FIRST_CAPACITY);
  #buckets = new Int32Array(FIRST_CAPACITY);
  #dropped = 0;
  #used = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of the hash at `words[at]`, its first word mixed with `kind`; a new one if it is not in yet. */
  take(words: Uint32Array, at: number, kind: number): number {
    const a = (words[at] ?? 0) ^ kind;
    const b = (words[at + 1] ?? 0) | 0;
    const c = (words[at + 2] ?? 0) | 0;
    const d = (words[at + 3] ?? 0) | 0;
    const stored = this.#words;
    const bucket = a & (this.#buckets.length - 1);
    for (let link = this.#buckets[bucket] ?? 0; link > 0; link = this.#next[link - 1] ?? 0) {
      const i = (link - 1) * HASH_WORDS;
      if (stored[i] === a && stored[i + 1] === b && stored[i + 2] === c && stored[i + 3] === d)
        return link - 1;
    }
    return this.#add(a, b, c, d);
  }

  /** Takes out the hash with this number. */
  drop(number: number): void {
    const bucket = (this.#words[number * HASH_WORDS] ?? 0) & (this.#buckets.length - 1);
    const after = this.#next[number] ?? 0;
    let link = this.#buckets[bucket] ?? 0;
    if (link === number + 1) this.#buckets[bucket] = after;
    else {
      while (link > 0 && this.#next[link - 1] !== number + 1) link = this.#next[link - 1] ?? 0;
      assert(link > 0, 'only a hash that is in is dropped');
      this.#next[link - 1] = after;
    }
    this.#next[number] = this.#dropped;
    this.#dropped = number + 1;
    this.#size -= 1;
  }

  #add(a: number, b: number, c: number, d: number): number {
    let number = this.#dropped - 1;
    if (number >= 0) this.#dropped = this.#next[number] ?? 0;
    else {
      if (this.#used === this.#next.length) this.#grow();
      number = this.#used;
      this.#used += 1;
    }
    const i = number * HASH_WORDS;
    const words = this.#words;
    words[i] = a;
    words[i + 1] = b;
    words[i + 2] = c;
    words[i + 3] = d;
    this.#link(number);
    this.#size += 1;
    return number;
  }

  #link(number: number): void {
    const bucket = (this.#words[number * HASH_WORDS] ?? 0) & (this.#buckets.length - 1);
    this.#next[number] = this.#buckets[bucket] ?? 0;
    this.#buckets[bucket] = number + 1;
  }

  /** Twice the room; nothing is dropped at this moment, or there would be room. */
  #grow(): void {
    const capacity = this.#next.length * 2;
    const words = new Int32Array(capacity * HASH_WORDS);
    words.set(this.#words);
    this.#words = words;
    this.#next = new Int32Array(capacity);
    this.#buckets = new Int32Array(capacity);
    for (let number = 0; number < this.#used; number += 1) this.#link(number);
  }
}
