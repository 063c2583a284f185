import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EntrySorter } from '../../../../src/plan/exact/entries.ts';
import { EntryMerge } from '../../../../src/plan/exact/merge.ts';
import { draws } from '../../../helpers/generated.ts';

/** Few different words, so that entries share their first words, and some large ones, whose sign must not matter. */
const word = fc.oneof(fc.integer({ min: 0, max: 2 }), fc.constantFrom(2 ** 31, 2 ** 32 - 1));
const WIDTH = 3;
const entry = fc.tuple(word, word, word);

const inOrder = (all: ReadonlyArray<readonly number[]>): number[][] =>
  all
    .map((words) => [...words])
    .toSorted((one, other) => {
      const at = one.findIndex((value, i) => value !== other[i]);
      return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
    });

test('entries of any words -> sorted word by word', () => {
  const sorter = new EntrySorter();
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), (all) => {
      const sorted = sorter.sort(Uint32Array.from(all.flat()), WIDTH);
      expect([...sorted]).toEqual(inOrder(all).flat());
    }),
    { numRuns: draws(300) },
  );
});

test('sorted runs of any lengths, within any memory -> one sorted sequence', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(entry, { maxLength: 20 }), { maxLength: 9 }),
      fc.nat(400),
      (runs, bytesMax) => {
        const file = Uint32Array.from(runs.flatMap((run) => inOrder(run).flat()));
        let start = 0;
        const merge = new EntryMerge({
          width: WIDTH,
          bytesMax,
          runs: runs.map((run) => {
            const at = start;
            start += run.length * WIDTH * 4;
            return { start: at, count: run.length };
          }),
          read: (offset, into) => into.set(file.subarray(offset / 4, offset / 4 + into.length)),
        });
        const merged: number[] = [];
        for (let at = merge.next(); at >= 0; at = merge.next())
          merged.push(...merge.words.subarray(at, at + WIDTH));
        expect(merged).toEqual(inOrder(runs.flat()).flat());
      },
    ),
    { numRuns: draws(300) },
  );
});
