import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/lib/random.ts';
import { distinctOfAll, documentsOfAll, sampleOf, shareOfAll } from '../../../../src/plan/reading/sampled.ts';
import { exactly } from '../../../../src/plan/sketch/estimate.ts';
import { stretchesOf } from '../../../../src/plan/reading/stretches.ts';

const ALL = 40_000;
const SHARE = 0.05;

/** Feeds in which the value with number 0 has about a fifth of the documents. */
const FEEDS: Readonly<Record<string, (lsn: number) => number>> = {
  mixed: (lsn) => (lsn % 5 === 0 ? 0 : lsn),
  'written in runs of 500': (lsn) => (Math.floor(lsn / 500) % 5 === 0 ? 0 : lsn % 977),
  'all of it in the beginning': (lsn) => (lsn <= ALL / 5 ? 0 : 1 + (lsn % 3)),
};

test.each(Object.entries(FEEDS))(
  '%s -> the bounds contain the truth in 95 of 100 samples',
  (_name, valueOf) => {
    const values = Array.from({ length: ALL }, (_none, at) => valueOf(at + 1));
    const truth = values.filter((value) => value === 0).length;
    const distinct = new Set(values).size;
    const inside = { documents: 0, distinct: 0 };
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = seededRandom(seed);
      const counts = new Map<number, number>();
      const parts = stretchesOf(ALL, { share: SHARE, count: 64, random }).map(({ after, until }) => {
        for (const value of values.slice(after, until)) counts.set(value, 1 + (counts.get(value) ?? 0));
        return { documents: until - after };
      });
      const sample = sampleOf(parts, SHARE);
      const found = documentsOfAll(counts.get(0) ?? 0, exactly(ALL), sample);
      expect(found.low).toBeLessThanOrEqual(found.high);
      if (found.low <= truth && truth <= found.high) inside.documents += 1;
      const singles = [...counts.values()].filter((count) => count === 1).length;
      const here = { estimate: counts.size, low: counts.size, high: counts.size };
      const bounds = distinctOfAll(here, { singles, all: exactly(ALL), sample });
      if (bounds.low <= distinct && distinct <= bounds.high) inside.distinct += 1;
    }
    expect(inside.documents).toBeGreaterThanOrEqual(95);
    expect(inside.distinct).toBeGreaterThanOrEqual(95);
  },
);

test('everything was read -> exact', () => {
  const sample = sampleOf([{ documents: 10 }, { documents: 0 }, { documents: 30 }], 1);
  expect(sample).toEqual({ share: 1, stretches: 2, documents: 40 });
  expect(documentsOfAll(10, exactly(40), sample)).toEqual({ estimate: 10, low: 10, high: 10 });
  expect(shareOfAll(10, sample)).toEqual({ estimate: 0.25, low: 0.25, high: 0.25 });
});

test('nothing was read -> nothing is known', () => {
  const sample = sampleOf([], 0.05);
  expect(shareOfAll(0, sample)).toEqual({ estimate: 0, low: 0, high: 1 });
  expect(documentsOfAll(0, exactly(100), sample)).toEqual({ estimate: 0, low: 0, high: 100 });
});
