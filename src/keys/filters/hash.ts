/**
 * `hash:N`: a stable number from 0 to N-1, which spreads a hot key over N keys. Unlike a random suffix, the number can
 * be computed again from the value. Invariant: the formula never changes, because stored keys contain its result:
 *
 *   (the last eight hex digits of the value's V2 effective partition key, as a number) mod N
 *
 * The type of the value counts: 1 and "1" have different results, 1 and 1.0 the same result. A filter such as `lower`
 * before `hash` turns the value into text.
 */
import { effectiveKey } from '../../epk/effective-key.ts';
import type { Scalar } from '../../documents/scalar.ts';
import type { FilterKind } from './filter.ts';

/** The greatest N: far below 2^32, so that no result is noticeably more frequent than another. */
const BUCKETS_MAX = 1_000_000;

/** Returns the result for a value: a number from 0 up to and excluding `buckets`. */
export function bucketOf(value: Scalar, buckets: number): number {
  return Number.parseInt(effectiveKey('hash-v2', [value]).slice(-8), 16) % buckets;
}

export const hash: FilterKind = {
  name: 'hash',
  example: 'hash:400',
  make(argument) {
    const buckets = /^\d{1,7}$/.test(argument ?? '') ? Number(argument) : 0;
    if (buckets < 2 || buckets > BUCKETS_MAX)
      return { why: `hash takes a whole number from 2 to ${BUCKETS_MAX}` };
    return { form: { does: 'hash', buckets }, apply: (value) => bucketOf(value, buckets) };
  },
};
