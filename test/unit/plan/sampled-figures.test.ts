/** The figures of a sample: which bounds contain the truth, and which figure a sample cannot have. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/lib/random.ts';
import { currentCandidate, parseCandidate, planOf } from '../../../src/plan/candidates/candidate.ts';
import { dataFigures, writeFigures } from '../../../src/plan/figures.ts';
import { PageMeasure } from '../../../src/plan/pass/page-measure.ts';
import { documentsInSource, sampleOf } from '../../../src/plan/reading/sampled.ts';
import { stretchesOf } from '../../../src/plan/reading/stretches.ts';
import type { DataFigures, WriteFigures } from '../../../src/plan/result.ts';
import { exactly } from '../../../src/plan/sketch/estimate.ts';
import { draws } from '../../helpers/generated.ts';

const NOW = 1_790_000_000;
const ALL = 12_000;
const SEEDS = draws(100);
const DAY = 86_400;

interface Written {
  readonly tenant?: string;
  readonly user: string;
  readonly old: string;
  readonly id: string;
}

/** Documents in the order of the feed: tenants write in runs, a tenth have no tenant, ids repeat under another key. */
const documents: readonly Written[] = Array.from({ length: ALL }, (_none, n) => ({
  id: `d${n % 7000}`,
  old: `o${n}`,
  user: `u${(n * 7919) % 900}`,
  ...(n % 10 === 3 ? {} : { tenant: Math.floor(n / 60) % 4 === 0 ? 'giant' : `t${n % 37}` }),
}));
const tsOf = (n: number): number => NOW - Math.round(((ALL - n) / ALL) * 8 * DAY);

function figuresOf(
  stretches: ReadonlyArray<{ readonly after: number; readonly until: number }>,
  { share, reported }: { readonly share: number; readonly reported: number | null },
): { readonly data: DataFigures; readonly writes: WriteFigures; readonly all: ReturnType<typeof exactly> } {
  const candidate = parseCandidate('/tenant');
  const show = (values: readonly unknown[]): string => String(values[0]);
  const plan = planOf(candidate, ['/old']);
  const measure = new PageMeasure([{ plan, kind: 'hash-v2', endTs: NOW, show }], NOW);
  for (const { after, until } of stretches) {
    const rows = documents
      .slice(after, until)
      .map((one, at) => ({ ...one, _ts: tsOf(after + at), _rid: 'r', _lsn: after + at + 1 }));
    measure.take(Buffer.from(JSON.stringify({ Documents: rows, _count: rows.length })), ALL);
  }
  const parts = stretches.map(({ after, until }) => ({ documents: until - after }));
  const all = documentsInSource(parts, { share, reported });
  const [one] = measure.candidates;
  if (one === undefined) throw new Error('the candidate is measured');
  const of = { partitions: 4, all, sample: sampleOf(parts, share) };
  const data = dataFigures(one, { ...of, isWhole: share >= 1, hasPresentKey: false });
  return { data, writes: writeFigures(one, 10, of), all };
}

const TRUTH = figuresOf([{ after: 0, until: ALL }], { share: 1, reported: ALL });

test.each([ALL, null])(
  'a sample, %s documents reported -> each interval contains the truth for at least 19 of 20 seeds',
  (reported) => {
    const missed: Record<string, number> = {};
    // In how many samples the value with the most writes is the one that truly has them.
    let sameHottest = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const stretches = stretchesOf(ALL, { share: 0.05, count: 48, random: seededRandom(seed) });
      const { data, writes, all } = figuresOf(stretches, { share: 0.05, reported });
      const giant = data.largest.find(({ value }) => value === 'giant');
      const truly = TRUTH.data.largest.find(({ value }) => value === 'giant');
      const day = writes.lastDay.hottest;
      const hottest = TRUTH.writes.lastDay.hottest;
      const intervals: Readonly<
        Record<string, readonly [{ low: number; high: number } | undefined, number]>
      > = {
        documents: [all, ALL],
        distinct: [data.distinct, TRUTH.data.distinct.estimate],
        'documents of the biggest': [giant?.documents, truly?.documents.low ?? 0],
        'bytes of the biggest': [giant?.bytes, truly?.bytes.low ?? 0],
        missing: [data.missingBounds, TRUTH.data.missing],
        refused: [data.refusedBounds, 0],
        collisions: [data.collisions, TRUTH.data.collisions.documents],
        ...(day?.value === hottest?.value
          ? { 'writes of the last day': [day?.documents, hottest?.documents.low ?? 0] }
          : {}),
      };
      if (day?.value === hottest?.value) sameHottest += 1;
      for (const [name, [interval, truth]] of Object.entries(intervals))
        if (interval === undefined || truth < interval.low || truth > interval.high)
          missed[name] = 1 + (missed[name] ?? 0);
    }
    expect(sameHottest).toBeGreaterThan(SEEDS / 2);
    expect(Object.entries(missed).filter(([, count]) => count > SEEDS / 20)).toEqual([]);
  },
);

test('a sample -> the number of collisions is unknown, and only what was found is claimed', () => {
  const stretches = stretchesOf(ALL, { share: 0.05, count: 48, random: seededRandom(1) });
  const {
    documents: claimed,
    low,
    high,
    exact,
    known,
  } = figuresOf(stretches, { share: 0.05, reported: ALL }).data.collisions;
  expect(TRUTH.data.collisions.documents).toBeGreaterThan(100);
  expect({ exact, known, claimed }).toEqual({ exact: false, known: false, claimed: low });
  expect(high).toBeGreaterThan(ALL / 2);
});

test('a key that has the present key in it -> no collisions, also of a sample', () => {
  const parts = [{ documents: 600 }];
  const present = currentCandidate(['/tenant']);
  const plan = planOf(present, ['/tenant']);
  const measure = new PageMeasure([{ plan, kind: 'hash-v2', endTs: NOW, show: String }], NOW);
  const rows = documents.slice(0, 600).map((one) => ({ ...one, _ts: NOW, _rid: 'r', _lsn: 1 }));
  measure.take(Buffer.from(JSON.stringify({ Documents: rows, _count: rows.length })), ALL);
  const [one] = measure.candidates;
  if (one === undefined) throw new Error('the candidate is measured');
  const sample = sampleOf(parts, 0.05);
  const of = { partitions: 4, all: exactly(ALL), sample, isWhole: false, hasPresentKey: true };
  expect(dataFigures(one, of).collisions).toEqual({
    documents: 0,
    low: 0,
    high: 0,
    exact: true,
    known: true,
    examples: [],
  });
});
