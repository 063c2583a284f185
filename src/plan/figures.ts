/**
 * Turns what was measured for a candidate into figures. Pure. With a sample of the source, counts are scaled to the whole
 * container, and their bounds say how certain they are.
 */
import type { CandidateMeasure } from './pass/candidate-measure.ts';
import type { Bounds, DataFigures, LargestValue, RecentWrites, WriteFigures } from './result.ts';
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
  /** How many documents each document that was read stands for: 1 if all were read. */
  readonly times: number;
  readonly sample: SampleFacts;
}

export function dataFigures(
  measure: CandidateMeasure,
  { partitions, times, sample }: FigureParts,
): DataFigures {
  const all = Math.round(sample.documents * times);
  const heaviest = measure.biggest.heaviest(LARGEST_MAX);
  const documents = Math.max(1, measure.documents);
  const largest = heaviest.map(({ high, low, weight, documents: found }): LargestValue => ({
    value: measure.texts.of(high, low),
    ...scaled({ documents: found, bytes: weight }, all, sample),
    share: found.low / documents,
  }));
  const shares = largest.map(({ share }) => share).toSorted((one, other) => other - one);
  const whole = measure.samples.at(-1);
  const collisions = measure.pairs.collisions();
  return {
    documents: Math.round(measure.documents * times),
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
    missing: Math.round(measure.missing * times),
    refused: Object.fromEntries(
      Object.entries(measure.refused)
        .filter(([, count]) => count > 0)
        .map(([reason, count]) => [reason, Math.round(count * times)]),
    ),
    collisions: {
      documents: Math.round(collisions.estimate * times),
      low: collisions.low,
      // Two documents that collide may be in different pages, so a sample of pages says little about the others.
      high: times === 1 ? collisions.high : Math.max(collisions.high, all - measure.documents),
      exact: measure.pairs.isWhole && times === 1,
      examples: [...measure.collided],
    },
    uniqueKeyConflicts: null,
    balance: GROWTHS.map((growth) => ({
      bytes: measure.space.balance('bytes', partitions * growth),
      writes: measure.space.balance('recent', partitions * growth),
    })),
  };
}

interface Counted {
  readonly documents: Bounds;
  readonly bytes: Bounds;
}

/** Scales the bounds of a value to the whole source. Its documents are taken to be as large as those that were read. */
function scaled({ documents, bytes }: Counted, all: number, sample: SampleFacts): Counted {
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

function distinctIn(values: KeySample, all: number, sample: SampleFacts): Bounded {
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

/** `writeRu` is what a write of an average document costs. */
export function writeFigures(
  measure: CandidateMeasure,
  writeRu: number,
  { times }: FigureParts,
): WriteFigures {
  const lastHour = recentWrites(measure, measure.lastHour, times);
  const { heat } = measure;
  return {
    lastHour,
    lastDay: recentWrites(measure, measure.lastDay, times),
    hottestRu: ((lastHour.hottest?.documents.low ?? 0) / HOUR) * writeRu,
    heat: {
      secondsPerColumn: heat.secondsPerColumn,
      endTs: heat.endTs,
      rows: Array.from({ length: ROWS }, (_row, row) =>
        Array.from({ length: COLUMNS }, (_column, column) => Math.round(heat.writes(row, column) * times)),
      ),
    },
  };
}

function recentWrites({ texts }: CandidateMeasure, keys: FrequentKeys, times: number): RecentWrites {
  const [first] = keys.heaviest(1);
  return {
    documents: Math.round(keys.total * times),
    hottest:
      first === undefined
        ? null
        : {
            value: texts.of(first.high, first.low),
            documents: { low: first.documents.low * times, high: first.documents.high * times },
            share: first.documents.low / keys.total,
          },
  };
}
