/**
 * Turns what was measured for a candidate into figures. Pure. With a sample of the source, counts are scaled to the whole
 * container, and their bounds say how certain they are.
 */
import type { CandidateMeasure } from './pass/candidate-measure.ts';
import type {
  Bounds,
  CandidateResult,
  DataFigures,
  LargestValue,
  RecentWrites,
  WriteFigures,
} from './result.ts';
import { distinctOfAll, documentsOfAll, type SampleFacts } from './reading/sampled.ts';
import { COLUMNS, ROWS } from './sketch/heat-map.ts';
import type { Bounded } from './sketch/estimate.ts';
import type { FrequentKeys } from './sketch/frequent-keys.ts';
import type { KeySample } from './sketch/key-sample.ts';

/** How many of the biggest values are shown. */
const LARGEST_MAX = 10;
/** The numbers of partitions for which the balance is shown, as multiples of the present number. */
const GROWTHS = [1, 2, 4] as const;
const HOUR = 3600;

export interface FigureParts {
  /** The number of physical partitions of the source. */
  readonly partitions: number;
  /** The number of documents in the source. */
  readonly all: Bounded;
  readonly sample: SampleFacts;
  /** Whether every document was read and none changed meanwhile. */
  readonly isWhole: boolean;
  /** Whether the key has every level of the present key. Then no two documents can get the same key and id. */
  readonly hasPresentKey: boolean;
}

export function dataFigures(
  measure: CandidateMeasure,
  { partitions, all, sample, isWhole, hasPresentKey }: FigureParts,
): DataFigures {
  const times = timesOf(all, sample);
  const heaviest = measure.biggest.heaviest(LARGEST_MAX);
  const documents = Math.max(1, sample.documents);
  const largest = heaviest.map(({ high, low, weight, documents: found }): LargestValue => ({
    value: measure.texts.of(high, low),
    ...scaled({ documents: found, bytes: weight }, all, sample),
    share: found.low / documents,
  }));
  const shares = largest.map(({ share }) => share).toSorted((one, other) => other - one);
  const whole = measure.samples.at(-1);
  const missing = documentsOfAll(measure.missing, all, sample);
  const refusedCount = Object.values(measure.refused).reduce((sum, count) => sum + count, 0);
  const refused = documentsOfAll(refusedCount, all, sample);
  return {
    documents: documentsOfAll(measure.documents, all, sample).estimate,
    distinct: whole === undefined ? { estimate: 0, low: 0, high: 0 } : distinctIn(whole, all, sample),
    distinctPerLevel: measure.samples.map((level) => distinctIn(level, all, sample)),
    largest,
    top1Share: shares[0] ?? 0,
    top10Share: Math.min(
      1,
      shares.reduce((sum, share) => sum + share, 0),
    ),
    effectiveKeys: effectiveKeys(measure),
    itemsPerKey: whole?.itemsPerKey() ?? { p50: 0, p95: 0, p99: 0, max: 0 },
    types: { ...measure.types },
    missing: missing.estimate,
    missingBounds: boundsOf(missing),
    refused: Object.fromEntries(
      Object.entries(measure.refused)
        .filter(([, count]) => count > 0)
        .map(([reason, count]) => [reason, Math.round(count * times)]),
    ),
    refusedBounds: boundsOf(refused),
    collisions: hasPresentKey
      ? { documents: 0, low: 0, high: 0, exact: true, known: true, examples: [] }
      : { ...collisionsOf(measure, all, { sample, isWhole }), examples: [...measure.collided] },
    uniqueKeyConflicts: null,
    balance: GROWTHS.map((growth) => ({
      bytes: measure.space.balance('bytes', partitions * growth),
      writes: measure.space.balance('recent', partitions * growth),
    })),
  };
}

/**
 * Documents that collide may lie in any two pages. A sample of pages has nearly none of these pairs, so it gives a lower
 * bound only: what it found exists, and all documents that it did not read could be in the way of others.
 */
function collisionsOf(
  { slots, documents }: CandidateMeasure,
  all: Bounded,
  { sample, isWhole }: Pick<FigureParts, 'sample' | 'isWhole'>,
): Omit<DataFigures['collisions'], 'examples'> {
  const { estimate, low, high } = slots.repeats();
  if (sample.share >= 1)
    return { documents: estimate, low, high, exact: slots.isWhole && isWhole, known: true };
  const most = Math.max(low, all.high - Math.max(1, documents - high));
  return { documents: low, low, high: documents === 0 ? all.high : most, exact: false, known: false };
}

/** How many documents each document that was read stands for. */
function timesOf(all: Bounded, { share, documents }: SampleFacts): number {
  return share >= 1 || documents === 0 ? 1 : all.estimate / documents;
}

function boundsOf({ low, high }: Bounded): Bounds {
  return { low, high };
}

interface Counted {
  readonly documents: Bounds;
  readonly bytes: Bounds;
}

/** Scales the bounds of a value to the whole source. Its documents are taken to be as large as those that were read. */
function scaled({ documents, bytes }: Counted, all: Bounded, sample: SampleFacts): Counted {
  if (sample.share >= 1) return { documents, bytes };
  const low = documentsOfAll(documents.low, all, sample).low;
  const high = documentsOfAll(documents.high, all, sample).high;
  return {
    documents: { low, high },
    bytes: {
      low: Math.floor((bytes.low / Math.max(1, documents.low)) * low),
      high: Math.ceil((bytes.high / Math.max(1, documents.high)) * high),
    },
  };
}

function distinctIn(values: KeySample, all: Bounded, sample: SampleFacts): Bounded {
  return distinctOfAll(values.distinct(), { singles: values.singles(), all, sample });
}

/** Returns how many keys of equal size would be as uneven. Heavy values count themselves; the others are a sample. */
function effectiveKeys(measure: CandidateMeasure): number {
  const sample = measure.samples.at(-1);
  if (sample === undefined || measure.documents === 0) return 0;
  const heavy = measure.biggest.heaviest(LARGEST_MAX * LARGEST_MAX);
  const squares = sample.squares(heavy) + heavy.reduce((sum, { documents: { low } }) => sum + low * low, 0);
  return squares === 0 ? 0 : measure.documents ** 2 / squares;
}

/** At least these RU/s go to the hottest value: as the followed feed showed it, or on average in the last hour. */
export function hottestRuOf({ writes, observed }: Pick<CandidateResult, 'writes' | 'observed'>): number {
  return Math.max(writes.hottestRu, observed?.hottest?.ruPerSecond ?? 0);
}

/** `writeRu` is what a write of an average document costs. */
export function writeFigures(
  measure: CandidateMeasure,
  writeRu: number,
  { all, sample }: Pick<FigureParts, 'all' | 'sample'>,
): WriteFigures {
  const times = timesOf(all, sample);
  const lastHour = recentWrites(measure, measure.lastHour, { all, sample });
  const { heat } = measure;
  return {
    lastHour,
    lastDay: recentWrites(measure, measure.lastDay, { all, sample }),
    hottestRu: ((lastHour.documents * (lastHour.hottest?.share ?? 0)) / HOUR) * writeRu,
    heat: {
      secondsPerColumn: heat.secondsPerColumn,
      endTs: heat.endTs,
      rows: Array.from({ length: ROWS }, (_row, row) =>
        Array.from({ length: COLUMNS }, (_column, column) => Math.round(heat.writes(row, column) * times)),
      ),
    },
  };
}

function recentWrites(
  { texts }: CandidateMeasure,
  keys: FrequentKeys,
  { all, sample }: Pick<FigureParts, 'all' | 'sample'>,
): RecentWrites {
  const [first] = keys.heaviest(1);
  return {
    documents: documentsOfAll(keys.total, all, sample).estimate,
    hottest:
      first === undefined
        ? null
        : {
            value: texts.of(first.high, first.low),
            documents: {
              low: documentsOfAll(first.documents.low, all, sample).low,
              high: documentsOfAll(first.documents.high, all, sample).high,
            },
            share: first.documents.low / keys.total,
          },
  };
}
