/**
 * Gives each lock of the sequencer a number. A lock is a 128-bit hash, and keeps its number as long as it is in use. The
 * table consists of typed arrays, because a Map would need a string for every hash, and every document would change the
 * Map. Invariant: a hash has at most one number. The number of a dropped hash is used again.
 */
import { HASH_WORDS } from '../../documents/hash.ts';
import { assert } from '../../lib/assert.ts';

const FIRST_CAPACITY = 1024;
/** Stands for the number of a hash that is not in the table. */
export const NONE = -1;

export class LockTable {
  // The hashes, four words for each number. They are signed integers, which V8 handles without allocating.
  #words = new Int32Array(FIRST_CAPACITY * HASH_WORDS);
  // The next lock of the same bucket, as its number + 1; 0 ends the chain. Dropped numbers form a chain too.
  #next = new Int32Array(FIRST_CAPACITY);
  #buckets = new Int32Array(FIRST_CAPACITY);
  #dropped = 0;
  #used = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the number of the hash at `words[at]`, with `kind` mixed into its first word. Adds a hash that is new. */
  take(words: Uint32Array, at: number, kind: number): number {
    const a = (words[at] ?? 0) ^ kind;
    const b = (words[at + 1] ?? 0) | 0;
    const c = (words[at + 2] ?? 0) | 0;
    const d = (words[at + 3] ?? 0) | 0;
    const known = this.#find(a, b, c, d);
    return known === NONE ? this.#add(a, b, c, d) : known;
  }

  /** Returns the number of a hash, as `take` does; NONE if it is not in the table. */
  find(words: Uint32Array, at: number, kind: number): number {
    const a = (words[at] ?? 0) ^ kind;
    return this.#find(a, (words[at + 1] ?? 0) | 0, (words[at + 2] ?? 0) | 0, (words[at + 3] ?? 0) | 0);
  }

  /** Adds the hash at `words[at]`, with `kind` mixed into its first word. Returns false, and adds nothing, if it is there. */
  add(words: Uint32Array, at: number, kind: number): boolean {
    const a = (words[at] ?? 0) ^ kind;
    const b = (words[at + 1] ?? 0) | 0;
    const c = (words[at + 2] ?? 0) | 0;
    const d = (words[at + 3] ?? 0) | 0;
    if (this.#find(a, b, c, d) !== NONE) return false;
    this.#add(a, b, c, d);
    return true;
  }

  /** Removes a hash, and returns the number that it had; NONE if it is not in the table. */
  remove(words: Uint32Array, at: number, kind: number): number {
    const a = (words[at] ?? 0) ^ kind;
    const b = (words[at + 1] ?? 0) | 0;
    const c = (words[at + 2] ?? 0) | 0;
    const d = (words[at + 3] ?? 0) | 0;
    const [stored, next] = [this.#words, this.#next];
    const bucket = a & (this.#buckets.length - 1);
    let before = NONE;
    for (let link = this.#buckets[bucket] ?? 0; link > 0; link = next[link - 1] ?? 0) {
      const number = link - 1;
      const i = number * HASH_WORDS;
      if (stored[i] === a && stored[i + 1] === b && stored[i + 2] === c && stored[i + 3] === d) {
        this.#unlink(number, { bucket, before });
        return number;
      }
      before = number;
    }
    return NONE;
  }

  /** Removes the hash with this number from the table. */
  drop(number: number): void {
    const bucket = (this.#words[number * HASH_WORDS] ?? 0) & (this.#buckets.length - 1);
    let before = NONE;
    let link = this.#buckets[bucket] ?? 0;
    for (; link > 0 && link !== number + 1; link = this.#next[before] ?? 0) before = link - 1;
    assert(link > 0, 'only a hash that is in is dropped');
    this.#unlink(number, { bucket, before });
  }

  /** Takes a number out of the chain of its bucket. `before`: the number before it; NONE if it is the first. */
  #unlink(number: number, { bucket, before }: { readonly bucket: number; readonly before: number }): void {
    const after = this.#next[number] ?? 0;
    if (before === NONE) this.#buckets[bucket] = after;
    else this.#next[before] = after;
    this.#next[number] = this.#dropped;
    this.#dropped = number + 1;
    this.#size -= 1;
  }

  #find(a: number, b: number, c: number, d: number): number {
    const stored = this.#words;
    const bucket = a & (this.#buckets.length - 1);
    for (let link = this.#buckets[bucket] ?? 0; link > 0; link = this.#next[link - 1] ?? 0) {
      const i = (link - 1) * HASH_WORDS;
      if (stored[i] === a && stored[i + 1] === b && stored[i + 2] === c && stored[i + 3] === d)
        return link - 1;
    }
    return NONE;
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

  /** Doubles the capacity. Called only when the table is full, so no dropped number is waiting to be used again. */
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
