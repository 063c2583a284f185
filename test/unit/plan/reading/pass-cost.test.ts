import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { passCost, refuseDear } from '../../../../src/plan/reading/pass-cost.ts';
import { draws } from '../../../helpers/generated.ts';

test('any source and share -> a sample never costs more than everything', () => {
  fc.assert(
    fc.property(
      fc.nat(10_000_000),
      fc.integer({ min: 1, max: 300 }),
      fc.double({ min: 0.0001, max: 1, noNaN: true }),
      fc.double({ min: 0.5, max: 100, noNaN: true }),
      (documentCount, ranges, share, readRu) => {
        const whole = passCost({ documentCount, ranges }, { share: 1, readRu });
        const sample = passCost({ documentCount, ranges }, { share, readRu });
        expect(whole.ru).toBe(Math.ceil(documentCount * readRu));
        expect(sample.ru).toBeLessThanOrEqual(whole.ru ?? 0);
        expect([share, 1]).toContain(sample.share);
      },
    ),
    { numRuns: draws(300) },
  );
});

test.each([
  ['many documents', 1_000_000, 0.05, { share: 0.05, ru: 50_500 }],
  ['half of few documents', 3000, 0.5, { share: 0.5, ru: 1564 }],
  ['one document', 1, 0.05, { share: 1, ru: 1 }],
  ['nearly everything', 500, 0.95, { share: 1, ru: 500 }],
  ['nothing', 0, 0.5, { share: 1, ru: 0 }],
] as const)('%s -> read in the cheaper way', (_what, documentCount, share, expected) => {
  expect(passCost({ documentCount, ranges: 1 }, { share, readRu: 1 })).toMatchObject(expected);
});

test('an unknown number of documents -> an unknown cost, which --max-ru refuses', () => {
  const cost = passCost({ documentCount: null, ranges: 2 }, { share: 0.5, readRu: 1 });
  expect(cost).toMatchObject({ share: 0.5, ru: null });
  expect(() => refuseDear(cost, { ruMax: 100, isAccepted: false })).toThrow('is not known');
  expect(() => refuseDear(cost, { ruMax: null, isAccepted: false })).not.toThrow();
});
