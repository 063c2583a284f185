/**
 * Sums over documents, by bucket of their identity. Invariant: the order of documents does not matter, and the sums of
 * parts add up to the sum of the whole. The sum is an addition, not an XOR, so two equal documents do not cancel out.
 */
import { assert } from '../../lib/assert.ts';

const BUCKET_BITS = 12;
/** Enough buckets that a few differences touch few of them, and few enough that each checkpoint can write them all. */
export const BUCKETS = 1 << BUCKET_BITS;
/** Words of a bucket: documents and bytes (two each), sums of contributions and of cross-check hashes (four each). */
const WORDS = 12;
const [DOCUMENTS, BYTES, SUM, CROSS_CHECK] = [0, 2, 4, 8];

const SHELF_BITS = 8;
/** A shelf is a group of neighbouring buckets: small enough to fit into memory, large enough to have entries in most chunks. */
export const SHELVES = 1 << SHELF_BITS;

export function shelfOf(bucket: number): number {
  return bucket >>> (BUCKET_BITS - SHELF_BITS);
}

/** The buckets of a shelf. */
export function bucketsOf(shelf: number): number[] {
  const count = BUCKETS / SHELVES;
  return Array.from({ length: count }, (_, n) => shelf * count + n);
}

/** The bucket of an identity at `words[at]`. */
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

  /** A view, which changes with what is added. */
  view(): Buffer {
    return Buffer.from(this.#words.buffer);
  }

  /** Adds one document; its contribution is four words at `hash[at]`. */
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

  /** Adds the sums of others. */
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

  /** The sum over all buckets, for people. */
  text(): string {
    const all = new Uint32Array(4);
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      let carry = 0;
      for (let i = 0; i < 4; i += 1) {
        const sum = (all[i] ?? 0) + (this.#words[bucket * WORDS + SUM + i] ?? 0) + carry;
        all[i] = sum;
        carry = sum > 0xffff_ffff ? 1 : 0;
      }
    }
    return [...all]
      .toReversed()
      .map((word) => word.toString(16).padStart(8, '0'))
      .join('');
  }

  /** How a bucket differs between both sides. */
  compare(others: Buckets, bucket: number): Compared {
    const first = bucket * WORDS;
    const differsIn = (from: number, to: number): boolean => {
      for (let i = first + from; i < first + to; i += 1) if (this.#words[i] !== others.#words[i]) return true;
      return false;
    };
    return { isUnequal: differsIn(0, CROSS_CHECK), isDoubted: differsIn(CROSS_CHECK, WORDS) };
  }

  /** Whether a bucket has the same number of documents and the same contributions. */
  isSumOf(others: Buckets, bucket: number): boolean {
    const first = bucket * WORDS;
    for (const [at, words] of [
      [DOCUMENTS, 2],
      [SUM, 4],
    ] as const)
      for (let i = first + at; i < first + at + words; i += 1)
        if (this.#words[i] !== others.#words[i]) return false;
    return true;
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

export interface Compared {
  /** The documents differ as the scan reads them. */
  readonly isUnequal: boolean;
  /** Sampled documents differ as JSON.parse reads them. */
  readonly isDoubted: boolean;
}

export interface Contribution {
  readonly sizeBytes: number;
  readonly hash: Uint32Array;
  readonly at: number;
}
