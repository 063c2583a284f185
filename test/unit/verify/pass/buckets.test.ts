import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bucketOf,
  Buckets,
  BUCKETS,
  bucketsOf,
  shelfOf,
  SHELVES,
} from '../../../../src/verify/pass/buckets.ts';

interface One {
  readonly bucket: number;
  readonly sizeBytes: number;
  readonly hash: Uint32Array;
}

const documents = fc.array(
  fc.record({
    bucket: fc.constantFrom(0, 1, BUCKETS - 1),
    sizeBytes: fc.constantFrom(1, 1000, 2 ** 31),
    hash: fc
      .array(fc.constantFrom(0, 1, 0x7fff_ffff, 0xffff_ffff), { minLength: 4, maxLength: 4 })
      .map((words) => Uint32Array.from(words)),
  }),
);

function sumOf(all: readonly One[]): Buckets {
  const buckets = new Buckets();
  for (const { bucket, sizeBytes, hash } of all) buckets.add(bucket, { sizeBytes, hash, at: 0 });
  return buckets;
}

describe('buckets', () => {
  test('documents in another order -> the same sums', () => {
    fc.assert(
      fc.property(documents, fc.integer(), (all, seed) => {
        const shuffled = all.toSorted((a, b) => ((a.hash[0] ?? 0) ^ seed) - ((b.hash[1] ?? 0) ^ seed));
        expect(sumOf(shuffled).view().equals(sumOf(all).view())).toBe(true);
      }),
    );
  });

  test('parts -> they add up to the whole, and survive as bytes', () => {
    fc.assert(
      fc.property(documents, documents, (some, others) => {
        const sum = new Buckets(sumOf(some).view());
        sum.merge(sumOf(others));
        expect(sum.view().equals(sumOf([...some, ...others]).view())).toBe(true);
      }),
    );
  });

  test('an overflow -> the sum is modulo 2^128', () => {
    fc.assert(
      fc.property(documents, (all) => {
        const expected = all.reduce((sum, { hash }) => sum + bigOf(hash), 0n) % 2n ** 128n;
        expect(BigInt(`0x${sumOf(all).text()}`)).toBe(expected);
      }),
    );
  });

  test('more than 32 bits of documents or bytes -> counted', () => {
    const hash = new Uint32Array(4);
    const all = Array.from({ length: 5 }, () => ({ bucket: 3, sizeBytes: 2 ** 31, hash }));
    expect(sumOf(all).total()).toEqual({ documents: 5, bytes: 5 * 2 ** 31 });
  });

  test('two documents with the same hash -> they do not cancel, unlike in an XOR', () => {
    const hash = Uint32Array.from([7, 7, 7, 7]);
    const other = Uint32Array.from([9, 9, 9, 9]);
    const twice = (word: Uint32Array): Buckets =>
      sumOf([
        { bucket: 1, sizeBytes: 1, hash: word },
        { bucket: 1, sizeBytes: 1, hash: word },
      ]);
    expect(twice(hash).compare(twice(other), 1)).toEqual({ isUnequal: true, isDoubted: false });
  });

  test('cross-check differs alone -> doubted, not unequal', () => {
    const one = sumOf([{ bucket: 5, sizeBytes: 1, hash: new Uint32Array(4) }]);
    const other = new Buckets(one.view());
    other.addCrossCheck(5, Uint32Array.from([1, 0, 0, 0]), 0);
    expect([one.compare(other, 5), one.compare(other, 4)]).toEqual([
      { isUnequal: false, isDoubted: true },
      { isUnequal: false, isDoubted: false },
    ]);
  });

  test('an identity -> its first bits are its bucket', () => {
    expect(bucketOf(Uint32Array.from([0xffff_ffff]), 0)).toBe(BUCKETS - 1);
    expect(bucketOf(Uint32Array.from([0x000f_ffff]), 0)).toBe(0);
  });

  test('every bucket -> on exactly one shelf', () => {
    const all = Array.from({ length: SHELVES }, (_, shelf) => bucketsOf(shelf));
    for (const [shelf, buckets] of all.entries())
      expect(new Set(buckets.map(shelfOf))).toEqual(new Set([shelf]));
    expect(all.flat()).toEqual(Array.from({ length: BUCKETS }, (_, bucket) => bucket));
  });
});

function bigOf(words: Uint32Array): bigint {
  return words.reduceRight((sum, word) => (sum << 32n) + BigInt(word), 0n);
}
