/**
 * The apply rule with every rule on: generated interleavings of an application, two feeds, a network, a
 * mover and its crashes find nothing lost, resurrected, duplicated or merged. `COSMIG_MODEL_RUNS` raises
 * their number; `COSMIG_SEED` replays one.
 */
import { expect, test } from 'vitest';
import { cheapDraws } from '../helpers/generated.ts';
import { explore, type Finding } from './scheduler.ts';
import { describeFinding, linesOf, shrink } from './shrink.ts';

// About four seconds on one core; the holes that README.md describes showed up within 100,000 runs or sooner.
const RUNS = Number(process.env['COSMIG_MODEL_RUNS'] ?? cheapDraws(15_000));
const SEED = process.env['COSMIG_SEED'];

function firstFailure(seeds: Iterable<number>): [number, Finding] | null {
  for (const seed of seeds) {
    const finding = explore(seed, { mutation: null, steps: true });
    if (finding !== null) return [seed, finding];
  }
  return null;
}

function* seedsUpTo(count: number): Generator<number> {
  for (let seed = 1; seed <= count; seed += 1) yield seed;
}

test(
  'model: any interleaving -> every promise holds',
  () => {
    const failed = firstFailure(SEED === undefined || SEED === '' ? seedsUpTo(RUNS) : [Number(SEED)]);
    const report =
      failed === null
        ? null
        : `COSMIG_SEED=${failed[0]} replays this:\n${describeFinding(shrink(failed[1]))}`;
    expect(report).toBeNull();
  },
  60_000 + RUNS * 5,
);

test('model: many documents and faults at once -> every promise holds', () => {
  const crowd = { identities: ['A7', 'B7', 'C8', 'D8', 'D7'], crashesMax: 4, appMax: 25, actionsMax: 700 };
  for (let seed = 1; seed <= Math.ceil(RUNS / 20); seed += 1) {
    const finding = explore(seed, { mutation: null, steps: true, scenario: crowd });
    expect(finding === null ? null : `seed ${seed}\n${describeFinding(shrink(finding))}`).toBeNull();
  }
});

test(
  'model: documents are renamed -> a copy under an old id is suspected, and gone after a comparison',
  () => {
    const casts = [['A7', 'A8'], ['A7', 'A8', 'C7'], ['A7', 'A8', 'A9', 'C8']]; // prettier-ignore
    for (let seed = 1; seed <= Math.ceil(RUNS / 3); seed += 1) {
      const scenario = { identities: casts[seed % casts.length] ?? [], renames: true };
      const finding = explore(seed, { mutation: null, steps: true, scenario });
      expect(finding === null ? null : `seed ${seed}\n${describeFinding(shrink(finding))}`).toBeNull();
    }
  },
  60_000 + RUNS * 5,
);

test('model: the same seed -> the same run', () => {
  const run = (): Finding | null => explore(3, { mutation: 'unconditional-upsert', steps: true });
  expect(run()).not.toBeNull();
  expect(run()).toEqual(run());
});

test('model: a failure -> is printed as a readable trace', () => {
  const trace = ['app A7 create P', 'task run 0', 'task run 0', 'task run 2', 'crash', 'start', 'task run 0'];
  expect(linesOf(trace)).toEqual(['app A7 create P', 'task run 0 0 2', 'crash', 'start', 'task run 0']);
});
