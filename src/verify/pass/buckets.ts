/**
 * Sums over documents, one for each bucket of identities. Invariant: the order of documents does not matter, and the
 * sums of parts add up to the sum of the whole. Contributions are added, not combined by XOR, so two equal documents do
 * not cancel each other out.
 */
import { assert } from '../../lib/assert.ts';

const BUCKET_BITS = 12;
/**
 * The number of buckets: so high that a few differences touch only a small part of them, and so low that each
 * checkpoint can write all of them.
 */
export const BUCKETS = 1 << BUCKET_BITS;
/**
 * Words of 32 bits in a bucket: two for the number of documents, two for the bytes, four for the sum of the
 * contributions and four for the sum of the cross-check hashes.
 */
const WORDS = 12;
const [DOCUMENTS, BYTES, SUM, CROSS_CHECK] = [0, 2, 4, 8];

const SHELF_BITS = 8;
/** A shelf is a group of neighbouring buckets: small enough for memory, large enough to have entries in most chunks. */
export const SHELVES = 1 << SHELF_BITS;

export function shelfOf(bucket: number): number {
  return bucket >>> (BUCKET_BITS - SHELF_BITS);
}

/** Returns the numbers of the buckets in a shelf. */
export function bucketsOf(shelf: number): number[] {
  const count = BUCKETS / SHELVES;
  return Array.from({ length: count }, (_, n) => shelf * count + n);
}

/** Returns the bucket of the identity whose hash is at `words[at]`: the first bits of the hash. */
export function bucketOf(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) >>> (32 - BUCKET_BITS);
}

export class Buckets {
  readonly #words: Uint32Array;

  constructor(bytes?: Uint8Array) {
    this.#words = new Uint32Array(BUCKETS * WORDS);
    if (bytes === undefined) return;
    assert(bytes.length === this.#words.byteLength, 'sums of other buckets are never read');
    new Uint8Array(this.#words.buffer).set(bytes);
  }

  /** Returns the sums as bytes. The bytes are a view: they change when documents are added. */
  view(): Buffer {
    return Buffer.from(this.#words.buffer);
  }

  /** Adds one document, whose contribution is the four words at `hash[at]`. */
  add(bucket: number, { sizeBytes, hash, at }: Contribution): void {
    const first = bucket * WORDS;
    this.#addNumber(first + DOCUMENTS, 1);
    this.#addNumber(first + BYTES, sizeBytes);
    this.#addHash(first + SUM, hash, at);
  }

  /** Adds the cross-check hash of one sampled document. */
  addCrossCheck(bucket: number, hash: Uint32Array, at: number): void {
    this.#addHash(bucket * WORDS + CROSS_CHECK, hash, at);
  }

  /** Adds the sums in `others` to these sums, bucket by bucket. */
  merge(others: Buckets): void {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const first = bucket * WORDS;
      for (const [at, words] of [
        [DOCUMENTS, 2],
        [BYTES, 2],
        [SUM, 4],
        [CROSS_CHECK, 4],
      ] as const)
        this.#addWords(first + at, words, others.#words, first + at);
    }
  }

  documents(bucket: number): number {
    return this.#number(bucket * WORDS + DOCUMENTS);
  }

  total(): { readonly documents: number; readonly bytes: number } {
    let [documents, bytes] = [0, 0];
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      documents += this.documents(bucket);
      bytes += this.#number(bucket * WORDS + BYTES);
    }
    return { documents, bytes };
  }

  /** Returns the sum of the contributions in all buckets as hexadecimal text, for the report. */
  text(): string {
    const all = new Buckets();
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) all.#addHash(SUM, this.#words, bucket * WORDS + SUM);
    return [...all.#words.subarray(SUM, CROSS_CHECK)]
      .toReversed()
      .map((word) => word.toString(16).padStart(8, '0'))
      .join('');
  }

  /** Compares a bucket of this side with the same bucket of the other side. */
  compare(others: Buckets, bucket: number): Compared {
    const isSame = this.#comparedWith(others, bucket);
    return { isUnequal: !isSame(0, CROSS_CHECK), isDoubted: !isSame(CROSS_CHECK, WORDS) };
  }

  /** Returns whether a bucket has the same number of documents and the same sum of contributions as in `others`. */
  isSumOf(others: Buckets, bucket: number): boolean {
    const isSame = this.#comparedWith(others, bucket);
    return isSame(DOCUMENTS, BYTES) && isSame(SUM, CROSS_CHECK);
  }

  /** Returns a function that compares the words of a bucket from one offset up to and excluding another. */
  #comparedWith(others: Buckets, bucket: number): (from: number, to: number) => boolean {
    const first = bucket * WORDS;
    return (from, to) => {
      for (let i = first + from; i < first + to; i += 1)
        if (this.#words[i] !== others.#words[i]) return false;
      return true;
    };
  }

  #number(at: number): number {
    return (this.#words[at] ?? 0) + (this.#words[at + 1] ?? 0) * 0x1_0000_0000;
  }

  #addNumber(at: number, value: number): void {
    const sum = (this.#words[at] ?? 0) + value;
    this.#words[at] = sum;
    if (sum > 0xffff_ffff) this.#words[at + 1] = (this.#words[at + 1] ?? 0) + 1;
  }

  #addHash(at: number, hash: Uint32Array, from: number): void {
    this.#addWords(at, 4, hash, from);
  }

  #addWords(at: number, count: number, words: Uint32Array, from: number): void {
    let carry = 0;
    for (let i = 0; i < count; i += 1) {
      const sum = (this.#words[at + i] ?? 0) + (words[from + i] ?? 0) + carry;
      this.#words[at + i] = sum;
      carry = sum > 0xffff_ffff ? 1 : 0;
    }
  }
}

/** How a bucket differs between both sides. */
export interface Compared {
  /** The number, the bytes or the contributions of the documents differ, as the scan has read the documents. */
  readonly isUnequal: boolean;
  /** The cross-check hashes differ: the sampled documents are not the same when JSON.parse reads them. */
  readonly isDoubted: boolean;
}

/** What one document adds to its bucket. */
export interface Contribution {
  readonly sizeBytes: number;
  readonly hash: Uint32Array;
  readonly at: number;
}
