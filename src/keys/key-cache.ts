/**
 * Caches computed keys, or what else is computed of the same values, by the bytes from which they are computed. Many
 * documents share a tenant or a customer, and a key is a pure function of these bytes. Invariant: a cached key was
 * computed from exactly the same bytes; the size of the cache is bounded.
 */
import { isComposite } from '../documents/scalar.ts';
import type { PageScan } from '../documents/page-scan.ts';
import { assert } from '../lib/assert.ts';

/** The number of keys in a bucket of the cache. A new key replaces the oldest key of its bucket. */
const WAYS = 4;
const BUCKETS = 32_768 / WAYS;
/** The longest input that is cached. Longer inputs are hardly ever shared. */
const BYTES_MAX = 64;
/**
 * The byte that ends each value, also a missing one. JSON values have no control characters, so no value contains this
 * byte.
 */
const END = 0;

/** The memory of a cache has two megabytes, so it is allocated when the first key is remembered. */
class Memory<T> {
  readonly known: Array<T | undefined> = [];
  readonly sizes = new Uint8Array(BUCKETS * WAYS);
  readonly hashes = new Int32Array(BUCKETS * WAYS);
  readonly bytes = new Uint8Array(BUCKETS * WAYS * BYTES_MAX);
  readonly oldest = new Uint8Array(BUCKETS);

  constructor() {
    this.known.length = BUCKETS * WAYS;
  }
}

export class KeyCache<T extends object> {
  readonly #scan: PageScan;
  readonly #inputs: readonly number[];
  #memory: Memory<T> | undefined;
  /**
   * The input bytes of the last lookup. The next three fields are their hash, their number and their bucket; the bucket
   * is -1 if the input cannot be cached.
   */
  readonly #asked = new Uint8Array(BYTES_MAX);
  #askedHash = 0;
  #askedBytes = 0;
  #bucket = -1;

  /** `inputs` are the nodes of all values from which a key is computed. */
  constructor(scan: PageScan, inputs: readonly number[]) {
    this.#scan = scan;
    this.#inputs = inputs;
  }

  /** Returns the cached key of a row; undefined if it is not cached. */
  find(row: number): T | undefined {
    this.#bucket = this.#ask(row);
    const memory = this.#memory;
    if (this.#bucket < 0 || memory === undefined) return undefined;
    const first = this.#bucket * WAYS;
    for (let way = first; way < first + WAYS; way += 1)
      if (memory.hashes[way] === this.#askedHash && this.#isAsked(memory, way)) return memory.known[way];
    return undefined;
  }

  /** Stores the key of the row that was looked up last. Called after `find` has returned undefined for this row. */
  remember(known: T): T {
    const bucket = this.#bucket;
    if (bucket < 0) return known;
    assert(this.#askedBytes > 0, 'a key is computed from something');
    const memory = (this.#memory ??= new Memory<T>());
    const oldest = memory.oldest[bucket] ?? 0;
    memory.oldest[bucket] = (oldest + 1) % WAYS;
    const way = bucket * WAYS + oldest;
    memory.known[way] = known;
    memory.sizes[way] = this.#askedBytes;
    memory.hashes[way] = this.#askedHash;
    const from = way * BYTES_MAX;
    for (let i = 0; i < this.#askedBytes; i += 1) memory.bytes[from + i] = this.#asked[i] ?? 0;
    return known;
  }

  #isAsked({ sizes, bytes }: Memory<T>, way: number): boolean {
    if (sizes[way] !== this.#askedBytes) return false;
    const from = way * BYTES_MAX;
    for (let i = 0; i < this.#askedBytes; i += 1) if (bytes[from + i] !== this.#asked[i]) return false;
    return true;
  }

  /** Collects the input bytes of a row; returns their bucket, or -1 if they cannot be cached. */
  #ask(row: number): number {
    const scan = this.#scan;
    const { page } = scan;
    const asked = this.#asked;
    let size = 0;
    let hash = 0x811c_9dc5;
    for (let input = 0; input < this.#inputs.length; input += 1) {
      const node = this.#inputs[input] ?? 0;
      const start = scan.start(row, node);
      const end = scan.end(row, node);
      if (size + end - start + 1 > BYTES_MAX || (start > 0 && isComposite(page, start))) return -1;
      for (let at = start; at < end; at += 1) {
        const byte = page[at] ?? 0;
        asked[size] = byte;
        size += 1;
        hash = Math.imul(hash ^ byte, 0x0100_0193);
      }
      asked[size] = END;
      size += 1;
    }
    this.#askedBytes = size;
    this.#askedHash = hash;
    return (hash ^ (hash >>> 15)) & (BUCKETS - 1);
  }
}
