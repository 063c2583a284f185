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
  /** The documents of each bucket; 0: the bucket is free. */
  #documents = new Float64Array(0);
  /**
   * The two words of each hash, next to each other, so that both are in one line of the processor's cache. They are
   * signed, because V8 allocates memory for a larger number whenever it is passed on.
   */
  #hashes = new Int32Array(0);
  #values = new Float64Array(0);

  constructor(columns: number) {
    this.columns = columns;
    this.#allocate(BUCKETS_MIN);
  }

  /** Adds documents with a hash; returns its bucket, which is valid until the next call. */
  addDocuments(high: number, low: number, documents = 1): number {
    const at = this.#search(high, low);
    const before = this.#documents[at] ?? 0;
    this.#documents[at] = before + documents;
    if (before !== 0) return at;
    this.#hashes[2 * at] = high;
    this.#hashes[2 * at + 1] = low;
    this.count += 1;
    if (this.count <= this.#documents.length * LOAD_MAX) return at;
    this.rebuild(() => true);
    return this.#search(high, low);
  }

  /** Returns the bucket of a hash, or -1 if the table does not have it. */
  lookUp(high: number, low: number): number {
    const at = this.#search(high, low);
    return this.#documents[at] === 0 ? -1 : at;
  }

  documentsAt(at: number): number {
    return this.#documents[at] ?? 0;
  }

  value(at: number, column: number): number {
    return this.#values[at * this.columns + column] ?? 0;
  }

  add(at: number, column: number, more: number): void {
    const values = this.#values;
    const index = at * this.columns + column;
    values[index] = (values[index] ?? 0) + more;
  }

  set(at: number, column: number, value: number): void {
    this.#values[at * this.columns + column] = value;
  }

  highOf(at: number): number {
    return (this.#hashes[2 * at] ?? 0) >>> 0;
  }

  lowOf(at: number): number {
    return (this.#hashes[2 * at + 1] ?? 0) >>> 0;
  }

  each(visit: (at: number) => void): void {
    const documents = this.#documents;
    for (let at = 0; at < documents.length; at += 1) if (documents[at] !== 0) visit(at);
  }

  /** Keeps the entries for which `keeps` returns true, and makes the table larger if they need it. */
  rebuild(keeps: (at: number) => boolean): void {
    let kept = 0;
    this.each((at) => {
      if (keeps(at)) kept += 1;
      else this.#documents[at] = 0;
    });
    const entries = this.#entries(kept);
    let buckets = this.#documents.length;
    while (kept > buckets * LOAD_MAX) buckets *= 2;
    if (buckets > this.#documents.length) this.#allocate(buckets);
    else {
      this.#documents.fill(0);
      this.#values.fill(0);
    }
    this.#insert(entries);
  }

  /** Returns the table as bytes, together with numbers of its owner. */
  toBytes(owner: readonly number[]): Buffer {
    const { documents, values, hashes } = this.#entries(this.count);
    const head = Float64Array.of(this.count, this.columns, owner.length, ...owner);
    return Buffer.concat([head, documents, values, hashes].map(bytesOf));
  }

  static fromBytes(bytes: Buffer): { readonly table: HashTable; readonly owner: readonly number[] } {
    // The copy begins at a multiple of eight bytes, as typed arrays must.
    const { buffer } = Uint8Array.from(bytes);
    const [count = 0, columns = 0, owned = 0] = new Float64Array(buffer, 0, COUNTS);
    const headBytes = 8 * (COUNTS + owned);
    assert(bytes.length === headBytes + count * (16 + 8 * columns), 'a saved table is whole');
    const table = new HashTable(columns);
    while (count > table.#documents.length * LOAD_MAX) table.#allocate(table.#documents.length * 2);
    table.#insert({
      documents: new Float64Array(buffer, headBytes, count),
      values: new Float64Array(buffer, headBytes + 8 * count, count * columns),
      hashes: new Int32Array(buffer, headBytes + 8 * count * (1 + columns), 2 * count),
    });
    return { table, owner: [...new Float64Array(buffer, 8 * COUNTS, owned)] };
  }

  #allocate(buckets: number): void {
    this.#mask = buckets - 1;
    this.#documents = new Float64Array(buckets);
    this.#hashes = new Int32Array(2 * buckets);
    this.#values = new Float64Array(buckets * this.columns);
  }

  /** Copies all entries, of which there are `count`, one after the other. */
  #entries(count: number): Entries {
    const { columns } = this;
    const documents = new Float64Array(count);
    const values = new Float64Array(count * columns);
    const hashes = new Int32Array(2 * count);
    let to = 0;
    for (let at = 0; at < this.#documents.length; at += 1) {
      const found = this.#documents[at] ?? 0;
      if (found === 0) continue;
      documents[to] = found;
      hashes[2 * to] = this.#hashes[2 * at] ?? 0;
      hashes[2 * to + 1] = this.#hashes[2 * at + 1] ?? 0;
      for (let column = 0; column < columns; column += 1)
        values[to * columns + column] = this.#values[at * columns + column] ?? 0;
      to += 1;
    }
    return { documents, values, hashes };
  }

  /** Fills the empty table with entries that are different. */
  #insert({ documents, values, hashes }: Entries): void {
    const { columns } = this;
    for (let from = 0; from < documents.length; from += 1) {
      const [high, low] = [hashes[2 * from] ?? 0, hashes[2 * from + 1] ?? 0];
      const at = this.#search(high, low);
      this.#documents[at] = documents[from] ?? 0;
      this.#hashes[2 * at] = high;
      this.#hashes[2 * at + 1] = low;
      for (let column = 0; column < columns; column += 1)
        this.#values[at * columns + column] = values[from * columns + column] ?? 0;
    }
    this.count = documents.length;
  }

  #search(signedOrNot: number, word: number): number {
    const high = signedOrNot | 0;
    const low = word | 0;
    // The low word is used: a sample keeps hashes whose high word is small.
    const mask = this.#mask;
    const documents = this.#documents;
    const hashes = this.#hashes;
    let at = low & mask;
    while (documents[at] !== 0 && (hashes[2 * at + 1] !== low || hashes[2 * at] !== high))
      at = (at + 1) & mask;
    return at;
  }
}

/** The entries of a table without its free buckets. */
interface Entries {
  readonly documents: Float64Array;
  readonly values: Float64Array;
  readonly hashes: Int32Array;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array | Int32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
