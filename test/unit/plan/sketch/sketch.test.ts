import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrequentKeys } from '../../../../src/plan/sketch/frequent-keys.ts';
import { HashHistogram } from '../../../../src/plan/sketch/hash-histogram.ts';
import { COLUMNS, HeatMap } from '../../../../src/plan/sketch/heat-map.ts';
import { KeySample } from '../../../../src/plan/sketch/key-sample.ts';
import { drawn, draws } from '../../../helpers/generated.ts';
import { sized } from '../../../helpers/nightly.ts';

/** A hash of 64 bits that depends on a number and a seed only. */
function hashOf(value: number, seed = 0): readonly [number, number] {
  let [high, low] = [value ^ 0x9e37_79b9, (value * 31 + seed) | 0];
  for (let round = 0; round < 4; round += 1) {
    high = Math.imul(high ^ (high >>> 16) ^ low, 0x85eb_ca6b);
    low = Math.imul(low ^ (low >>> 13) ^ high, 0xc2b2_ae35);
  }
  return [(high ^ (high >>> 15)) >>> 0, (low ^ (low >>> 16)) >>> 0];
}

const SEEDS = Array.from({ length: 20 }, (_, n) => n + 1);

interface Added {
  readonly key: number;
  readonly bytes: number;
}
const documents = fc.array(
  fc.record({ key: fc.integer({ min: 0, max: 60 }), bytes: fc.integer({ min: 1, max: 900 }) }),
  {
    maxLength: 400,
  },
);
/** Some documents, and the number of them after which they are saved and read again, or belong to another sketch. */
const divided = fc.record({ all: documents, cut: fc.nat(400) });

function weightsOf(all: readonly Added[], of: (one: Added) => number): Map<number, number> {
  const sums = new Map<number, number>();
  for (const one of all) sums.set(one.key, (sums.get(one.key) ?? 0) + of(one));
  return sums;
}

describe('frequent keys', () => {
  const fill = (keys: FrequentKeys, all: readonly Added[]): FrequentKeys => {
    for (const { key, bytes } of all) keys.add(...hashOf(key), bytes);
    return keys;
  };
  /** The values whose truth is outside the bounds. */
  const outside = (keys: FrequentKeys, all: readonly Added[]): number[] => {
    const [bytes, counts] = [weightsOf(all, (one) => one.bytes), weightsOf(all, () => 1)];
    return [...bytes.keys(), 999].filter((key) => {
      const { weight, documents: found } = keys.of(...hashOf(key));
      const [is, are] = [bytes.get(key) ?? 0, counts.get(key) ?? 0];
      return weight.low > is || is > weight.high || found.low > are || are > found.high;
    });
  };

  test('any documents -> the bounds contain the truth', () => {
    const few = fc.integer({ min: 2, max: 40 });
    const check = (size: number, { all }: { all: readonly Added[] }): void => {
      expect(outside(fill(new FrequentKeys(size), all), all)).toEqual([]);
    };
    fc.assert(fc.property(few, divided, check), { numRuns: draws(300) });
  });

  test('saved, read again, merged -> the bounds contain the truth', () => {
    const check = (size: number, { all, cut }: { all: readonly Added[]; cut: number }): void => {
      const first = FrequentKeys.fromBytes(fill(new FrequentKeys(size), all.slice(0, cut)).toBytes(), size);
      first.merge(fill(new FrequentKeys(size), all.slice(cut)));
      expect(first.total).toBe(all.reduce((sum, { bytes }) => sum + bytes, 0));
      expect(outside(first, all)).toEqual([]);
    };
    fc.assert(fc.property(fc.integer({ min: 2, max: 40 }), divided, check), { numRuns: draws(300) });
  });

  test('many values of every weight, at the real size -> the bounds of the heaviest contain the truth', () => {
    const keys = new FrequentKeys();
    const bytes = new Map<number, number>();
    const counts = new Map<number, number>();
    for (let n = 0; n < 400_000; n += 1) {
      // Value k has about a kth of the documents of the heaviest one, and most values have one document.
      const key = n % 3 === 0 ? Math.floor(60_000 / (1 + (Math.imul(n, 2_654_435_761) >>> 16))) : n;
      const size = 200 + (n % 1700);
      keys.add(...hashOf(key), size);
      bytes.set(key, (bytes.get(key) ?? 0) + size);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect(keys.isExact).toBe(false);
    const heaviest = [...bytes].toSorted((one, other) => other[1] - one[1]).slice(0, 50);
    for (const [key, is] of heaviest) {
      const { weight, documents: found } = keys.of(...hashOf(key));
      expect([weight.low <= is, is <= weight.high]).toEqual([true, true]);
      const are = counts.get(key) ?? 0;
      expect([found.low <= are, are <= found.high]).toEqual([true, true]);
    }
    expect(keys.heaviest(1)[0]).toMatchObject({ high: hashOf(heaviest[0]?.[0] ?? -1)[0] });
  });

  test('few values -> exact, in descending order', () => {
    const keys = fill(new FrequentKeys(), [
      { key: 1, bytes: 5 },
      { key: 2, bytes: 50 },
      { key: 3, bytes: 20 },
      { key: 3, bytes: 20 },
    ]);
    expect(keys.isExact).toBe(true);
    expect(keys.heaviest(2).map(({ weight, documents: found }) => [weight, found])).toEqual([
      [
        { low: 50, high: 50 },
        { low: 1, high: 1 },
      ],
      [
        { low: 40, high: 40 },
        { low: 2, high: 2 },
      ],
    ]);
  });

  test('a value with more than twice the share of a counter -> always has one', () => {
    const keys = new FrequentKeys(100);
    for (let n = 0; n < 100_000; n += 1) keys.add(...hashOf(n % 40 === 0 ? -1 : n), 1);
    expect(keys.heaviest(1)).toMatchObject([{ high: hashOf(-1)[0], low: hashOf(-1)[1] }]);
  });
});

describe('key sample', () => {
  const fill = (sample: KeySample, all: readonly Added[]): KeySample => {
    for (const { key } of all) sample.add(...hashOf(key));
    return sample;
  };

  test('at most as many values as fit -> exact', () => {
    const check = ({ all, cut }: { all: readonly Added[]; cut: number }): void => {
      const sample = KeySample.fromBytes(fill(new KeySample(100), all.slice(0, cut)).toBytes(), 100);
      sample.merge(fill(new KeySample(100), all.slice(cut)));
      const counts = [...weightsOf(all, () => 1).values()].toSorted((a, b) => a - b);
      const { length } = counts;
      expect(sample.distinct()).toEqual({ estimate: length, low: length, high: length });
      expect(sample.squares()).toBe(counts.reduce((sum, count) => sum + count * count, 0));
      expect(sample.itemsPerKey().max).toBe(counts.at(-1) ?? 0);
      expect(sample.itemsPerKey().p50).toBe(counts[Math.min(length - 1, length >> 1)] ?? 0);
    };
    fc.assert(fc.property(divided, check), { numRuns: draws(300) });
  });

  test('in any order, saved or merged -> the same sample', () => {
    const check = ({ all, cut }: { all: readonly Added[]; cut: number }): void => {
      const whole = fill(new KeySample(8), all);
      const merged = KeySample.fromBytes(fill(new KeySample(8), all.slice(cut)).toBytes(), 8);
      merged.merge(fill(new KeySample(8), all.slice(0, cut)));
      expect(merged.share).toBe(whole.share);
      expect([merged.distinct(), merged.squares()]).toEqual([whole.distinct(), whole.squares()]);
    };
    fc.assert(fc.property(divided, check), { numRuns: draws(300) });
  });

  test.each(sized({ daily: [100, 10_000, 200_000], nightly: [100, 1e4, 1e5, 1e6, 1e7] }))(
    '%d values, 20 seeds -> within 2 percent and within the bounds',
    (values) => {
      let outside = 0;
      let error = 0;
      for (const seed of drawn(SEEDS)) {
        const sample = new KeySample();
        for (let n = 0; n < values; n += 1) sample.add(...hashOf(n, seed));
        const { estimate, low, high } = sample.distinct();
        error = Math.max(error, Math.abs(estimate / values - 1));
        if (low > values || high < values) outside += 1;
      }
      expect(error).toBeLessThan(0.02);
      expect(outside).toBeLessThanOrEqual(1);
    },
    600_000,
  );
});

describe('hash histogram', () => {
  test.each([1, 2, 3, 7, 64, 5000])(
    '%d partitions -> shares add up, and an even spread is even',
    (partitions) => {
      const histogram = new HashHistogram();
      for (let n = 0; n < 40_000; n += 1) histogram.add(hashOf(n)[0] >>> 2, 100, n % 10 === 0, 1);
      const { shares, overAverage } = HashHistogram.fromBytes(histogram.toBytes()).balance(
        'documents',
        partitions,
      );
      expect(shares).toHaveLength(partitions);
      expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
      expect(overAverage).toBeLessThan(partitions > 100 ? 4 : 1.2);
    },
  );

  test('one value -> all in one partition, whatever their number', () => {
    const histogram = new HashHistogram();
    const other = new HashHistogram();
    for (let n = 0; n < 10; n += 1) (n < 5 ? histogram : other).add(0x3fff_ffff, 7, true, 1);
    histogram.merge(other);
    for (const partitions of [1, 2, 16, 4096])
      expect(histogram.balance('bytes', partitions)).toMatchObject({ top: 1, overAverage: partitions });
    expect(histogram.balance('recent', 2).shares).toEqual([0, 1]);
  });

  test('nothing -> even', () => {
    expect(new HashHistogram().balance('recent', 3)).toMatchObject({ top: 0, overAverage: 1 });
  });
});

describe('heat map', () => {
  const writes = fc.array(
    fc.record({ word: fc.integer({ min: 0, max: 0x3fff_ffff }), ageSeconds: fc.nat(400_000_000) }),
    {
      maxLength: 200,
    },
  );
  const END = 1_800_000_000;
  const fill = (map: HeatMap, all: ReadonlyArray<{ word: number; ageSeconds: number }>): HeatMap => {
    for (const { word, ageSeconds } of all) map.add(word, END - 1 - ageSeconds, 1);
    return map;
  };
  const cells = (map: HeatMap): number[] =>
    Array.from({ length: 128 * COLUMNS }, (_none, at) => map.writes(Math.floor(at / COLUMNS), at % COLUMNS));

  test('any history, in any order, saved or merged -> the same map, with every write', () => {
    const check = (all: ReadonlyArray<{ word: number; ageSeconds: number }>, cut: number): void => {
      const whole = fill(new HeatMap(END), all);
      const merged = HeatMap.fromBytes(fill(new HeatMap(END), all.slice(cut)).toBytes());
      merged.merge(fill(new HeatMap(END), all.slice(0, cut)));
      expect([merged.secondsPerColumn, cells(merged)]).toEqual([whole.secondsPerColumn, cells(whole)]);
      expect(cells(whole).reduce((sum, count) => sum + count, 0)).toBe(all.length);
    };
    fc.assert(fc.property(writes, fc.nat(200), check), { numRuns: draws(100) });
  });

  test('a write of the future -> in the last column', () => {
    const map = new HeatMap(END);
    map.add(0, END + 50, 1);
    expect(map.writes(0, COLUMNS - 1)).toBe(1);
  });
});
