import { describe, expect, test } from 'vitest';
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import { RepeatSample } from '../../../../src/plan/sketch/repeat-sample.ts';
import { draws } from '../../../helpers/generated.ts';
import { sized } from '../../../helpers/nightly.ts';

/** How many documents each group has, and how often. */
type Groups = ReadonlyArray<readonly [documents: number, groups: number]>;

/** What a container may look like under another key, if the sample remembers a thousand documents. */
const CONTAINERS: Readonly<Record<string, Groups>> = {
  'hardly any': [
    [1, 20_000],
    [2, 100],
  ],
  'none at all': [[1, 15_000]],
  'pairs everywhere': [
    [1, 6000],
    [2, 6000],
  ],
  'pairs only': [[2, 12_000]],
  'half of the documents lack the value': [
    [1, 10_000],
    [10_000, 1],
  ],
  'a few large groups among many small ones': [
    [1, 10_000],
    [2, 700],
    [1000, 4],
    [250, 9],
  ],
  'positions in lists': [[12, 1500]],
  'groups of many sizes': [
    [1, 7000],
    [3, 1000],
    [9, 300],
    [30, 70],
    [100, 17],
    [1000, 2],
  ],
  'three ids in all tenants, which become one': [[8000, 3]],
  'three ids in all tenants, which become regions': [[500, 60]],
  'one id in all tenants among unique ones': [
    [1, 20_000],
    [2000, 1],
  ],
  'one id in all tenants, which become regions, among unique ones': [
    [1, 20_000],
    [50, 40],
  ],
  'one giant group': [
    [1, 3000],
    [20_000, 1],
  ],
  'groups that are too small for a counter': [
    [1, 16_000],
    [60, 130],
  ],
  'one giant group, three ids in regions, pairs': [
    [1, 8000],
    [2, 2000],
    [200, 30],
    [6000, 1],
  ],
};

/** How the change feed may return the documents. */
const ORDERS = ['mixed', 'one group after the other', 'the largest groups last'] as const;

const word = (random: Random): number => Math.floor(random.next() * 2 ** 32) | 0;

interface Container {
  readonly groups: Groups;
  readonly order?: (typeof ORDERS)[number];
  readonly random: Random;
}

/** How many seeds each container is filled with; in 19 of 20 the bounds must contain the truth. */
const SEEDS = draws(sized({ daily: 40, nightly: 100 }));

/**
 * Adds all documents. Returns how many there are besides the first one of each group. The hashes are in typed arrays, since
 * thousands of containers are filled.
 */
function fill(add: (high: number, low: number) => void, { groups, order, random }: Container): number {
  const inOrder = groups.toSorted(([one], [other]) =>
    order === 'the largest groups last' ? one - other : other - one,
  );
  const total = groups.reduce((sum, [size, count]) => sum + size * count, 0);
  const highs = new Int32Array(total);
  const lows = new Int32Array(total);
  let repeats = 0;
  let at = 0;
  for (const [size, count] of inOrder)
    for (let group = 0; group < count; group += 1) {
      highs.fill(word(random), at, at + size);
      lows.fill(word(random), at, at + size);
      repeats += size - 1;
      at += size;
    }
  if ((order ?? 'mixed') === 'mixed') shuffle(highs, lows, random);
  for (let i = 0; i < total; i += 1) add(highs[i] ?? 0, lows[i] ?? 0);
  return repeats;
}

/** Moves the documents, each of which has a word in both lists. */
function shuffle(highs: Int32Array, lows: Int32Array, random: Random): void {
  for (let i = highs.length - 1; i > 0; i -= 1) {
    const other = random.below(i + 1);
    const [high, low] = [highs[i] ?? 0, lows[i] ?? 0];
    highs[i] = highs[other] ?? 0;
    lows[i] = lows[other] ?? 0;
    highs[other] = high;
    lows[other] = low;
  }
}

const cases = Object.entries(CONTAINERS).flatMap(([name, groups]) =>
  ORDERS.map((order) => ({ name, groups, order })),
);

describe('documents that share a slot or a unique value', () => {
  test.each(cases)(
    '$name, $order -> in 19 of 20 seeds the bounds contain the truth',
    ({ groups, order }) => {
      let contained = 0;
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const sample = new RepeatSample(1024);
        const truth = fill((high, low) => sample.add(high, low), {
          groups,
          order,
          random: seededRandom(seed),
        });
        const { estimate, low, high } = sample.repeats();
        expect(low <= estimate && estimate <= high).toBe(true);
        if (low <= truth && truth <= high) contained += 1;
      }
      expect(contained).toBeGreaterThanOrEqual(Math.floor(0.95 * SEEDS));
    },
    60_000,
  );

  test('any group with two documents -> the bounds begin above zero, whether the sample has the group or not', () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const sample = new RepeatSample(1024);
      let found = 0;
      const groups: Groups = [
        [1, 20_000],
        [2000, 1],
      ];
      fill((high, low) => (found += Number(sample.add(high, low))), { groups, random: seededRandom(seed) });
      expect(found).toBeGreaterThan(0);
      expect(sample.repeats().low).toBeGreaterThan(1800);
    }
  });

  test.runIf(sized({ daily: false, nightly: true }))(
    'as much remembered as for a candidate, of more documents -> in 19 of 20 seeds the bounds contain the truth',
    () => {
      for (const groups of Object.values(CONTAINERS)) {
        let contained = 0;
        for (let seed = 1; seed <= 20; seed += 1) {
          const sample = new RepeatSample(65_536);
          const many = groups.map(([size, count]) => [size, 50 * count] as const);
          const truth = fill((high, low) => sample.add(high, low), {
            groups: many,
            random: seededRandom(seed),
          });
          const { low, high } = sample.repeats();
          if (low <= truth && truth <= high) contained += 1;
        }
        expect(contained).toBeGreaterThanOrEqual(19);
      }
    },
    1_800_000,
  );

  test('no more than the sample remembers -> exact, also when it is saved in the middle', () => {
    let sample = new RepeatSample(4096);
    let added = 0;
    const truth = fill(
      (high, low) => {
        sample.add(high, low);
        added += 1;
        if (added % 700 === 0) sample = RepeatSample.fromBytes(sample.toBytes(), 4096);
      },
      {
        groups: [
          [1, 2000],
          [7, 500],
        ],
        random: seededRandom(3),
      },
    );
    expect([sample.isWhole, sample.repeats()]).toEqual([true, { estimate: truth, low: truth, high: truth }]);
  });

  test('saved and read again at any moment -> as without', () => {
    const groups = CONTAINERS['groups of many sizes'] ?? [];
    const whole = new RepeatSample(1024);
    let saved = new RepeatSample(1024);
    let added = 0;
    const found: boolean[] = [];
    fill(
      (high, low) => {
        found.push(whole.add(high, low) === saved.add(high, low));
        added += 1;
        if (added % 2003 === 0) saved = RepeatSample.fromBytes(saved.toBytes(), 1024);
      },
      { groups, random: seededRandom(5) },
    );
    expect([saved.isWhole, saved.repeats()]).toEqual([false, whole.repeats()]);
    expect(found).not.toContain(false);
  });
});
