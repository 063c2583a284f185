/**
 * A hash table from a hash of 64 bits, given as two words, to some numbers. It uses typed arrays and linear probing,
 * because a Map with a text as key costs several times as much for each document. Invariant: at most half of the buckets
 * are taken.
 */
import { assert } from '../../lib/assert.ts';

const BUCKETS_MIN = 64;
/** The bytes of the head of a saved table: the number of entries, and the number of columns. */
const HEAD_BYTES = 8;

/**
 * Memory that a table has left, by its size, for the next table that is rebuilt. Tables are rebuilt all the time, and
 * memory of megabytes that is allocated each time makes the garbage collector run for a quarter of a pass.
 */
const spares = new Map<
  number,
  { taken: Uint8Array<ArrayBuffer>; hashes: Int32Array<ArrayBuffer>; values: Float64Array<ArrayBuffer> }
>();
/** Larger than any number of columns. */
const COLUMNS_MAX = 4096;

export class HashTable {
  count = 0;
  readonly columns: number;
  #mask = BUCKETS_MIN - 1;
  #taken = new Uint8Array(BUCKETS_MIN);
  /**
   * The two words of each hash, next to each other, so that both are in one line of the processor's cache. They are
   * signed, because V8 allocates memory for a larger number whenever it is passed on.
   */
  #hashes = new Int32Array(2 * BUCKETS_MIN);
  #values: Float64Array<ArrayBuffer>;

  constructor(columns: number) {
    this.columns = columns;
    this.#values = new Float64Array(BUCKETS_MIN * columns);
  }

  /** Returns the bucket of a hash, which is added with zeros if it is new. Valid until the next hash is added. */
  find(high: number, low: number): number {
    const at = this.#search(high, low);
    if (this.#taken[at] === 1) return at;
    this.#taken[at] = 1;
    this.#hashes[2 * at] = high;
    this.#hashes[2 * at + 1] = low;
    for (let column = 0; column < this.columns; column += 1) this.set(at, column, 0);
    this.count += 1;
    if (this.count * 2 <= this.#taken.length) return at;
    this.rebuild(() => true);
    return this.#search(high, low);
  }

  /** Returns the bucket of a hash, or -1 if the table does not have it. */
  lookUp(high: number, low: number): number {
    const at = this.#search(high, low);
    return this.#taken[at] === 1 ? at : -1;
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

  /** Returns a number that is computed once for each hash. Zero stands for a number that was not computed yet. */
  once(at: number, column: number, compute: () => number): number {
    const known = this.value(at, column);
    if (known !== 0) return known - 1;
    const found = compute();
    this.set(at, column, found + 1);
    return found;
  }

  highOf(at: number): number {
    return (this.#hashes[2 * at] ?? 0) >>> 0;
  }

  lowOf(at: number): number {
    return (this.#hashes[2 * at + 1] ?? 0) >>> 0;
  }

  each(visit: (at: number) => void): void {
    for (let at = 0; at < this.#taken.length; at += 1) if (this.#taken[at] === 1) visit(at);
  }

  /** Keeps the entries for which `keeps` returns true, in a table of the right size. */
  rebuild(keeps: (at: number) => boolean): void {
    const taken = this.#taken;
    let kept = 0;
    for (let at = 0; at < taken.length; at += 1) {
      if (taken[at] !== 1) continue;
      if (keeps(at)) kept += 1;
      else taken[at] = 0;
    }
    const left = this.#clear(kept);
    const { hashes, values } = left;
    const { columns } = this;
    for (let from = 0; from < taken.length; from += 1) {
      if (taken[from] !== 1) continue;
      const at = this.find(hashes[2 * from] ?? 0, hashes[2 * from + 1] ?? 0);
      for (let column = 0; column < columns; column += 1)
        this.#values[at * columns + column] = values[from * columns + column] ?? 0;
    }
    spares.set(taken.length * COLUMNS_MAX + columns, left);
  }

  toBytes(): Buffer {
    const entryBytes = 8 + 8 * this.columns;
    const bytes = Buffer.alloc(HEAD_BYTES + this.count * entryBytes);
    bytes.writeUInt32LE(this.count, 0);
    bytes.writeUInt32LE(this.columns, 4);
    let end = HEAD_BYTES;
    this.each((at) => {
      end = bytes.writeUInt32LE(this.highOf(at), end);
      end = bytes.writeUInt32LE(this.lowOf(at), end);
      for (let column = 0; column < this.columns; column += 1)
        end = bytes.writeDoubleLE(this.value(at, column), end);
    });
    return bytes;
  }

  static fromBytes(bytes: Buffer): HashTable {
    const [count, columns] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
    assert(bytes.length === HEAD_BYTES + count * (8 + 8 * columns), 'a saved table is whole');
    const table = new HashTable(columns);
    table.#clear(count);
    for (let entry = 0, from = HEAD_BYTES; entry < count; entry += 1, from += 8 + 8 * columns) {
      const at = table.find(bytes.readUInt32LE(from), bytes.readUInt32LE(from + 4));
      for (let column = 0; column < columns; column += 1)
        table.set(at, column, bytes.readDoubleLE(from + 8 + 8 * column));
    }
    return table;
  }

  /** Removes everything, and makes room for some entries. Returns the memory that was used until now. */
  #clear(count: number): {
    readonly taken: Uint8Array<ArrayBuffer>;
    readonly hashes: Int32Array<ArrayBuffer>;
    readonly values: Float64Array<ArrayBuffer>;
  } {
    let buckets = BUCKETS_MIN;
    while (buckets < count * 4) buckets *= 2;
    const left = { taken: this.#taken, hashes: this.#hashes, values: this.#values };
    const spare = spares.get(buckets * COLUMNS_MAX + this.columns);
    spares.delete(buckets * COLUMNS_MAX + this.columns);
    this.count = 0;
    this.#mask = buckets - 1;
    this.#taken = spare?.taken.fill(0) ?? new Uint8Array(buckets);
    this.#hashes = spare?.hashes ?? new Int32Array(2 * buckets);
    this.#values = spare?.values ?? new Float64Array(buckets * this.columns);
    return left;
  }

  #search(signedOrNot: number, word: number): number {
    const high = signedOrNot | 0;
    const low = word | 0;
    // The low word is used: a sample keeps hashes whose high word is small.
    const mask = this.#mask;
    const taken = this.#taken;
    const hashes = this.#hashes;
    let at = low & mask;
    while (taken[at] === 1 && (hashes[2 * at + 1] !== low || hashes[2 * at] !== high)) at = (at + 1) & mask;
    return at;
  }
}
