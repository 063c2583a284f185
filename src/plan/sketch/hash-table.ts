/**
 * A hash table from a hash of 64 bits, given as two words, to a number of documents and some more numbers. It uses typed
 * arrays and linear probing, because a Map with a text as key costs several times as much for each document. Invariant: at
 * most five of eight buckets are taken; a bucket without documents is free.
 */
import { assert } from '../../lib/assert.ts';

const BUCKETS_MIN = 64;
/** The share of the buckets that may be taken. With more, a search would look at many. */
const LOAD_MAX = 5 / 8;
/** The numbers at the start of a saved table: entries, columns, and numbers of its owner. */
const COUNTS = 3;

export class HashTable {
  count = 0;
  readonly columns: number;
  #mask = 0;
  /** The numbers of a bucket are next to each other: its documents, then its columns. */
  readonly #stride: number;
  #numbers = new Float64Array(0);
  /**
   * The two words of each hash, next to each other, so that both are in one line of the processor's cache. They are
   * signed, because V8 allocates memory for a larger number whenever it is passed on.
   */
  #hashes = new Int32Array(0);

  constructor(columns: number) {
    this.columns = columns;
    this.#stride = columns + 1;
    this.#allocate(BUCKETS_MIN);
  }

  /** Adds documents with a hash; returns its bucket, which is valid until the next call. */
  addDocuments(high: number, low: number, documents = 1): number {
    const at = this.#search(high, low);
    const index = at * this.#stride;
    const before = this.#numbers[index] ?? 0;
    this.#numbers[index] = before + documents;
    if (before !== 0) return at;
    this.#hashes[2 * at] = high;
    this.#hashes[2 * at + 1] = low;
    this.count += 1;
    if (this.count <= this.#buckets * LOAD_MAX) return at;
    this.rebuild(() => true);
    return this.#search(high, low);
  }

  /** Returns the bucket of a hash, or -1 if the table does not have it. */
  lookUp(high: number, low: number): number {
    const at = this.#search(high, low);
    return this.documentsAt(at) === 0 ? -1 : at;
  }

  documentsAt(at: number): number {
    return this.#numbers[at * this.#stride] ?? 0;
  }

  value(at: number, column: number): number {
    return this.#numbers[at * this.#stride + 1 + column] ?? 0;
  }

  add(at: number, column: number, more: number): void {
    const numbers = this.#numbers;
    const index = at * this.#stride + 1 + column;
    numbers[index] = (numbers[index] ?? 0) + more;
  }

  set(at: number, column: number, value: number): void {
    this.#numbers[at * this.#stride + 1 + column] = value;
  }

  highOf(at: number): number {
    return (this.#hashes[2 * at] ?? 0) >>> 0;
  }

  lowOf(at: number): number {
    return (this.#hashes[2 * at + 1] ?? 0) >>> 0;
  }

  each(visit: (at: number) => void): void {
    for (let at = 0; at < this.#buckets; at += 1) if (this.documentsAt(at) !== 0) visit(at);
  }

  /** Keeps the entries for which `keeps` returns true, and makes the table larger if they need it. */
  rebuild(keeps: (at: number) => boolean): void {
    this.each((at) => {
      if (keeps(at)) return;
      this.#numbers[at * this.#stride] = 0;
      this.count -= 1;
    });
    const { count } = this;
    const { numbers, hashes } = this.#entries();
    let buckets = this.#buckets;
    while (count > buckets * LOAD_MAX) buckets *= 2;
    if (buckets > this.#buckets) this.#allocate(buckets);
    else this.#numbers.fill(0);
    this.#insert(numbers, hashes);
  }

  /** Returns the table as bytes, together with numbers of its owner. */
  toBytes(owner: readonly number[]): Buffer {
    const { numbers, hashes } = this.#entries();
    const head = Float64Array.of(this.count, this.columns, owner.length, ...owner);
    return Buffer.concat([head, numbers, hashes].map(bytesOf));
  }

  static fromBytes(bytes: Buffer): { readonly table: HashTable; readonly owner: readonly number[] } {
    // The copy begins at a multiple of eight bytes, as typed arrays must.
    const { buffer } = Uint8Array.from(bytes);
    const [count = 0, columns = 0, owned = 0] = new Float64Array(buffer, 0, COUNTS);
    const headBytes = 8 * (COUNTS + owned);
    assert(bytes.length === headBytes + count * (16 + 8 * columns), 'a saved table is whole');
    const table = new HashTable(columns);
    while (count > table.#buckets * LOAD_MAX) table.#allocate(table.#buckets * 2);
    const numbers = new Float64Array(buffer, headBytes, count * (columns + 1));
    table.#insert(numbers, new Int32Array(buffer, headBytes + numbers.byteLength, 2 * count));
    return { table, owner: [...new Float64Array(buffer, 8 * COUNTS, owned)] };
  }

  get #buckets(): number {
    return this.#mask + 1;
  }

  #allocate(buckets: number): void {
    this.#mask = buckets - 1;
    this.#numbers = new Float64Array(buckets * this.#stride);
    this.#hashes = new Int32Array(2 * buckets);
  }

  /** Copies the entries one after the other. */
  #entries(): { readonly numbers: Float64Array; readonly hashes: Int32Array } {
    const stride = this.#stride;
    const numbers = new Float64Array(this.count * stride);
    const hashes = new Int32Array(2 * this.count);
    let to = 0;
    for (let at = 0; at < this.#buckets; at += 1) {
      if (this.#numbers[at * stride] === 0) continue;
      hashes[2 * to] = this.#hashes[2 * at] ?? 0;
      hashes[2 * to + 1] = this.#hashes[2 * at + 1] ?? 0;
      for (let i = 0; i < stride; i += 1) numbers[to * stride + i] = this.#numbers[at * stride + i] ?? 0;
      to += 1;
    }
    return { numbers, hashes };
  }

  /** Fills the empty table with entries that are different. */
  #insert(numbers: Float64Array, hashes: Int32Array): void {
    const stride = this.#stride;
    this.count = hashes.length / 2;
    for (let from = 0; from < this.count; from += 1) {
      const [high, low] = [hashes[2 * from] ?? 0, hashes[2 * from + 1] ?? 0];
      const at = this.#search(high, low);
      this.#hashes[2 * at] = high;
      this.#hashes[2 * at + 1] = low;
      for (let i = 0; i < stride; i += 1) this.#numbers[at * stride + i] = numbers[from * stride + i] ?? 0;
    }
  }

  #search(signedOrNot: number, word: number): number {
    const high = signedOrNot | 0;
    const low = word | 0;
    // The low word is used: a sample keeps hashes whose high word is small.
    const mask = this.#mask;
    const stride = this.#stride;
    const numbers = this.#numbers;
    const hashes = this.#hashes;
    let at = low & mask;
    while (numbers[at * stride] !== 0 && (hashes[2 * at + 1] !== low || hashes[2 * at] !== high))
      at = (at + 1) & mask;
    return at;
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array | Int32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
