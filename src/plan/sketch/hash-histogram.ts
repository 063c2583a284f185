/**
 * Counts documents, bytes and recent writes in equal parts of the hash space. It answers how evenly a key would fill any
 * number of physical partitions, because a partition is an interval of the hash space.
 */
import { assert } from '../../lib/assert.ts';

/** How many parts of the hash space are distinguished: enough for 1,000 partitions with an error of a quarter each. */
export const PARTS = 4096;
const PART_BITS = 12;
/** The effective keys of the service have 126 bits: the two highest bits of the first word are zero. */
const WORD_BITS = 30;

export type Amount = 'documents' | 'bytes' | 'recent';

/** How much of something each physical partition would have. */
export interface Balance {
  readonly partitions: number;
  /** The largest share of one partition. */
  readonly top: number;
  /** The largest share divided by the average share: 1 is perfectly even. */
  readonly overAverage: number;
  /** The share of each partition, in the order of the hash space. */
  readonly shares: readonly number[];
}

export class HashHistogram {
  readonly #counts: Readonly<Record<Amount, Float64Array>> = {
    documents: new Float64Array(PARTS),
    bytes: new Float64Array(PARTS),
    recent: new Float64Array(PARTS),
  };

  /**
   * Adds a document. `firstWord` has the first 32 bits of its effective key. A document that stands for others, because it
   * was drawn, counts for `times` of them.
   */
  // oxlint-disable-next-line max-params -- an object for each document would cost more than counting it
  add(firstWord: number, bytes: number, isRecent: boolean, times: number): void {
    const part = partOf(firstWord);
    const { documents, bytes: sizes, recent } = this.#counts;
    documents[part] = (documents[part] ?? 0) + times;
    sizes[part] = (sizes[part] ?? 0) + bytes * times;
    if (isRecent) recent[part] = (recent[part] ?? 0) + times;
  }

  /** Returns how something would spread over partitions of equal hash space. */
  balance(of: Amount, partitions: number): Balance {
    assert(partitions > 0, 'a container has a partition');
    const sums = new Float64Array(partitions);
    let total = 0;
    for (let part = 0; part < PARTS; part += 1) {
      const amount = this.#counts[of][part] ?? 0;
      total += amount;
      spread(sums, part, amount);
    }
    const shares = [...sums].map((sum) => (total === 0 ? 0 : sum / total));
    const top = Math.max(...shares);
    return { partitions, top, overAverage: total === 0 ? 1 : top * partitions, shares };
  }

  merge(other: HashHistogram): void {
    for (const of of ['documents', 'bytes', 'recent'] as const)
      for (let part = 0; part < PARTS; part += 1)
        this.#counts[of][part] = (this.#counts[of][part] ?? 0) + (other.#counts[of][part] ?? 0);
  }

  toBytes(): Buffer {
    const { documents, bytes, recent } = this.#counts;
    return Buffer.concat([documents, bytes, recent].map(({ buffer }) => Buffer.from(buffer.slice(0))));
  }

  static fromBytes(bytes: Buffer): HashHistogram {
    const histogram = new HashHistogram();
    const { documents, bytes: sizes, recent } = histogram.#counts;
    for (const [index, counts] of [documents, sizes, recent].entries())
      for (let part = 0; part < PARTS; part += 1)
        counts[part] = bytes.readDoubleLE((index * PARTS + part) * 8);
    return histogram;
  }
}

function partOf(firstWord: number): number {
  return firstWord >>> (WORD_BITS - PART_BITS);
}

/** Adds an amount to the partitions that a part of the hash space overlaps, in proportion to the overlap. */
function spread(sums: Float64Array, part: number, amount: number): void {
  if (amount === 0) return;
  const { length: partitions } = sums;
  const [from, to] = [(part * partitions) / PARTS, ((part + 1) * partitions) / PARTS];
  for (let at = Math.floor(from); at < to; at += 1) {
    const overlap = Math.min(to, at + 1) - Math.max(from, at);
    sums[at] = (sums[at] ?? 0) + (amount * overlap) / (to - from);
  }
}
