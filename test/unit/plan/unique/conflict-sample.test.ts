import { describe, expect, test } from 'vitest';
import { seededRandom, type Random } from '../../../../src/lib/random.ts';
import { ConflictSample } from '../../../../src/plan/unique/conflict-sample.ts';

/** How many documents each group has, and how often. */
type Groups = ReadonlyArray<readonly [documents: number, groups: number]>;

/** What a container may look like under another key. Groups of one document do not conflict. */
const CONTAINERS: Readonly<Record<string, Groups>> = {
  'hardly any conflicts': [
    [1, 20_000],
    [2, 100],
  ],
  'none at all': [[1, 15_000]],
  'pairs everywhere': [
    [1, 6000],
    [2, 6000],
  ],
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
};

const word = (random: Random): number => Math.floor(random.next() * 2 ** 32) | 0;

/** Adds all documents in random order. Returns how many of them conflict. */
function fill(add: (high: number, low: number) => void, groups: Groups, random: Random): number {
  const documents: Array<readonly [number, number]> = [];
  let conflicts = 0;
  for (const [size, count] of groups)
    for (let group = 0; group < count; group += 1) {
      const hash = [word(random), word(random)] as const;
      conflicts += size - 1;
      for (let i = 0; i < size; i += 1) documents.push(hash);
    }
  for (let i = documents.length - 1; i > 0; i -= 1) {
    const other = Math.floor(random.next() * (i + 1));
    const [one, two] = [documents[i], documents[other]];
    if (one === undefined || two === undefined) continue;
    documents[i] = two;
    documents[other] = one;
  }
  for (const [high, low] of documents) add(high, low);
  return conflicts;
}

describe('conflicts of unique keys', () => {
  test.each(Object.entries(CONTAINERS))(
    '%s -> in 95 of 100 seeds the bounds contain the truth',
    (_name, groups) => {
      let contained = 0;
      for (let seed = 1; seed <= 100; seed += 1) {
        const sample = new ConflictSample(1024);
        const truth = fill((high, low) => sample.add(high, low), groups, seededRandom(seed));
        const { estimate, low, high } = sample.conflicts();
        expect(low <= estimate && estimate <= high).toBe(true);
        if (low <= truth && truth <= high) contained += 1;
      }
      expect(contained).toBeGreaterThanOrEqual(95);
    },
    60_000,
  );

  test('no more groups than the sample keeps -> exact, also when it is saved in the middle', () => {
    const random = seededRandom(3);
    let sample = new ConflictSample(4096);
    let added = 0;
    const truth = fill(
      (high, low) => {
        sample.add(high, low);
        added += 1;
        if (added % 700 === 0) sample = ConflictSample.fromBytes(sample.toBytes(), 4096);
      },
      [
        [1, 2000],
        [7, 500],
      ],
      random,
    );
    expect([sample.isWhole, sample.conflicts()]).toEqual([
      true,
      { estimate: truth, low: truth, high: truth },
    ]);
  });

  test('saved and read again at any moment -> as without', () => {
    const groups = CONTAINERS['groups of many sizes'] ?? [];
    const whole = new ConflictSample(1024);
    let saved = new ConflictSample(1024);
    let added = 0;
    fill(
      (high, low) => {
        whole.add(high, low);
        saved.add(high, low);
        added += 1;
        if (added % 2003 === 0) saved = ConflictSample.fromBytes(saved.toBytes(), 1024);
      },
      groups,
      seededRandom(5),
    );
    expect([saved.isWhole, saved.conflicts()]).toEqual([false, whole.conflicts()]);
  });
});
