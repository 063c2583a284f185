/**
 * A hash table from a hash of 64 bits, given as two words, to a number of documents and some more numbers. It uses typed
 * arrays and linear probing, because a Map with a text as key costs several times as much for each document. Invariant: at
 * most five of eight records are taken; a record without documents is free.
 *
 * A document touches one record, because waiting for memory costs most. A record has the two words of the hash (8 bytes),
 * the number of documents (8 bytes), and 8 bytes for each column. It is named by the index of its first 8 bytes.
 */
import { assert } from '../../lib/assert.ts';

const RECORDS_MIN = 64;
/** The share of the records that may be taken. With more, a search would look at many. */
const LOAD_MAX = 5 / 8;
/** The numbers at the start of a saved table: entries, columns, and numbers of its owner. */
const COUNTS = 3;
/** Where the number of documents and the first column are in a record. */
const DOCUMENTS = 1;
const COLUMNS = 2;

/** Memory that a table has left, by its size. Tables are rebuilt all the time, and new memory makes work for the collector. */
const spares = new Map<number, ArrayBuffer>();

export class HashTable {
  count = 0;
  readonly columns: number;
  readonly #stride: number;
  #mask = 0;
  #numbers = new Float64Array(0);
  /** The same memory as words. They are signed, because V8 allocates memory for a larger number whenever it is passed on. */
  #words = new Int32Array(0);

  constructor(columns: number) {
    this.columns = columns;
    this.#stride = columns + COLUMNS;
    this.#allocate(RECORDS_MIN);
  }

  /** Adds documents with a hash; returns its record, which is valid until the next call. */
  addDocuments(high: number, low: number, documents = 1): number {
    const at = this.#search(high, low);
    const before = this.#numbers[at + DOCUMENTS] ?? 0;
    this.#numbers[at + DOCUMENTS] = before + documents;
    if (before !== 0) return at;
    this.#words[2 * at] = high;
    this.#words[2 * at + 1] = low;
    this.count += 1;
    if (this.count <= this.#size * LOAD_MAX) return at;
    this.#move(2 * this.#size, () => true);
    return this.#search(high, low);
  }

  /** Returns the record of a hash, or -1 if the table does not have it. */
  lookUp(high: number, low: number): number {
    const at = this.#search(high, low);
    return this.documentsAt(at) === 0 ? -1 : at;
  }

  documentsAt(at: number): number {
    return this.#numbers[at + DOCUMENTS] ?? 0;
  }

  value(at: number, column: number): number {
    return this.#numbers[at + COLUMNS + column] ?? 0;
  }

  add(at: number, column: number, more: number): void {
    const numbers = this.#numbers;
    const index = at + COLUMNS + column;
    numbers[index] = (numbers[index] ?? 0) + more;
  }

  set(at: number, column: number, value: number): void {
    this.#numbers[at + COLUMNS + column] = value;
  }

  highOf(at: number): number {
    return (this.#words[2 * at] ?? 0) >>> 0;
  }

  lowOf(at: number): number {
    return (this.#words[2 * at + 1] ?? 0) >>> 0;
  }

  each(visit: (at: number) => void): void {
    const end = this.#numbers.length;
    for (let at = 0; at < end; at += this.#stride) if (this.documentsAt(at) !== 0) visit(at);
  }

  /** Returns the values of about so many entries, which lie everywhere in the table. */
  draw(column: number, about: number): Float64Array {
    const every = Math.max(1, Math.floor(this.count / about)) * this.#stride;
    const end = this.#numbers.length;
    const values = new Float64Array(Math.ceil(end / every));
    let drawn = 0;
    for (let at = 0; at < end; at += every) {
      if (this.documentsAt(at) === 0) continue;
      values[drawn] = this.value(at, column);
      drawn += 1;
    }
    return values.subarray(0, drawn);
  }

  /** Keeps the entries for which `keeps` returns true. It may change the columns of an entry that is kept. */
  rebuild(keeps: (at: number) => boolean): void {
    this.#move(this.#size, keeps);
  }

  /** Returns the table as bytes, together with numbers of its owner. */
  toBytes(owner: readonly number[]): Buffer {
    const head = Float64Array.of(this.count, this.columns, owner.length, ...owner);
    const entries = new Int32Array(2 * this.count * this.#stride);
    const words = this.#words;
    let to = 0;
    this.each((at) => {
      const end = 2 * (at + this.#stride);
      for (let from = 2 * at; from < end; from += 1) {
        entries[to] = words[from] ?? 0;
        to += 1;
      }
    });
    return Buffer.concat([head, entries].map(bytesOf));
  }

  static fromBytes(bytes: Buffer): { readonly table: HashTable; readonly owner: readonly number[] } {
    // The copy begins at a multiple of eight bytes, as typed arrays must.
    const { buffer } = Uint8Array.from(bytes);
    const [count = 0, columns = 0, owned = 0] = new Float64Array(buffer, 0, COUNTS);
    const table = new HashTable(columns);
    const headBytes = 8 * (COUNTS + owned);
    assert(bytes.length === headBytes + 8 * count * table.#stride, 'a saved table is whole');
    let size = RECORDS_MIN;
    while (count > size * LOAD_MAX) size *= 2;
    table.#allocate(size);
    const entries = new Float64Array(buffer, headBytes);
    const words = new Int32Array(buffer, headBytes);
    for (let at = 0; at < entries.length; at += table.#stride) table.#insert(entries, words, at);
    table.count = count;
    return { table, owner: [...new Float64Array(buffer, 8 * COUNTS, owned)] };
  }

  /** How many records there are. */
  get #size(): number {
    return this.#mask + 1;
  }

  /** Gives the table other memory, which is full of zeros. */
  #allocate(size: number): void {
    const sizeBytes = 8 * size * this.#stride;
    const memory = spares.get(sizeBytes) ?? new ArrayBuffer(sizeBytes);
    spares.delete(sizeBytes);
    this.#mask = size - 1;
    this.#numbers = new Float64Array(memory);
    this.#words = new Int32Array(memory);
  }

  /** Moves the entries for which `keeps` returns true to other memory, with so many records. */
  #move(size: number, keeps: (at: number) => boolean): void {
    const kept = new HashTable(this.columns);
    kept.#allocate(size);
    this.each((at) => {
      if (!keeps(at)) return;
      kept.#insert(this.#numbers, this.#words, at);
      kept.count += 1;
    });
    this.#numbers.fill(0);
    spares.set(this.#numbers.byteLength, this.#numbers.buffer);
    this.count = kept.count;
    this.#mask = kept.#mask;
    this.#numbers = kept.#numbers;
    this.#words = kept.#words;
  }

  /** Copies an entry that the table does not have, from the memory of another one with the same columns. */
  #insert(numbers: Float64Array, words: Int32Array, from: number): void {
    const mask = this.#mask;
    const stride = this.#stride;
    const into = this.#numbers;
    let record = (words[2 * from + 1] ?? 0) & mask;
    while (into[record * stride + DOCUMENTS] !== 0) record = (record + 1) & mask;
    const at = record * stride;
    // As a number, some hashes would not keep their bits.
    this.#words[2 * at] = words[2 * from] ?? 0;
    this.#words[2 * at + 1] = words[2 * from + 1] ?? 0;
    for (let i = DOCUMENTS; i < stride; i += 1) into[at + i] = numbers[from + i] ?? 0;
  }

  #search(signedOrNot: number, word: number): number {
    const high = signedOrNot | 0;
    const low = word | 0;
    const mask = this.#mask;
    const stride = this.#stride;
    const numbers = this.#numbers;
    const words = this.#words;
    // The low word is used: a sample keeps hashes whose high word is small.
    let record = low & mask;
    let at = record * stride;
    while (numbers[at + DOCUMENTS] !== 0 && (words[2 * at + 1] !== low || words[2 * at] !== high)) {
      record = (record + 1) & mask;
      at = record * stride;
    }
    return at;
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array | Int32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
