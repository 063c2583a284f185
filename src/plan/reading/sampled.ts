/**
 * Says how certain the figures of a sample are. A sample reads whole stretches of the feed, and documents that were
 * written together are often alike, so a stretch says little more than one document would. Invariant: bounds count each
 * stretch as one draw, so they are rather too wide than too narrow.
 */
import { exactly, type Bounded } from '../sketch/estimate.ts';

/** What was read of a source. */
export interface SampleFacts {
  /** The share of the source that was read; 1: all of it, and every figure is exact. */
  readonly share: number;
  /** How many stretches were read, and how many documents they had together. */
  readonly stretches: number;
  readonly documents: number;
}

/** How many standard deviations the bounds are away, so that they contain the truth in 99 of 100 cases. */
const DEVIATIONS = 2.576;

/** Counts the stretches with documents that a pass has read. */
export function sampleOf(parts: ReadonlyArray<{ readonly documents: number }>, share: number): SampleFacts {
  return {
    share,
    stretches: parts.filter(({ documents }) => documents > 0).length,
    documents: parts.reduce((sum, { documents }) => sum + documents, 0),
  };
}

/**
 * How many documents the source has. Of a sample, the number that the service reports is the best that is known; if it
 * reports none, the number follows from the share that was read, and stretches are taken to differ by chance.
 */
export function documentsInSource(
  parts: ReadonlyArray<{ readonly documents: number }>,
  { share, reported }: { readonly share: number; readonly reported: number | null },
): Bounded {
  const { documents } = sampleOf(parts, share);
  if (share >= 1) return exactly(documents);
  if (reported !== null) return exactly(Math.max(documents, reported));
  const estimate = Math.round(documents / share);
  const squares = parts.reduce((sum, { documents: found }) => sum + found * found, 0);
  // The variance of the sum of stretches, as if their number varied too; one more document keeps it above zero.
  const deviation = (DEVIATIONS * Math.sqrt(squares + 1)) / share;
  return {
    estimate,
    low: Math.max(documents, Math.floor(estimate - deviation)),
    high: Math.ceil(estimate + deviation),
  };
}

/**
 * Estimates which share of all documents has some property, if `found` documents of the sample have it: Wilson's
 * interval with a draw for each stretch.
 */
export function shareOfAll(found: number, { share, stretches, documents }: SampleFacts): Bounded {
  if (documents === 0) return { estimate: 0, low: 0, high: 1 };
  const part = found / documents;
  if (share >= 1) return { estimate: part, low: part, high: part };
  const squared = DEVIATIONS * DEVIATIONS;
  const draws = Math.max(1, Math.min(stretches, documents));
  const middle = (part + squared / (2 * draws)) / (1 + squared / draws);
  const half =
    (DEVIATIONS * Math.sqrt((part * (1 - part)) / draws + squared / (4 * draws * draws))) /
    (1 + squared / draws);
  return { estimate: part, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** Estimates how many documents have some property, if the source has `all` documents. */
export function documentsOfAll(found: number, all: Bounded, sample: SampleFacts): Bounded {
  if (sample.share >= 1) return exactly(found);
  const { estimate, low, high } = shareOfAll(found, sample);
  // What was found exists, and what was read without it is known not to have it.
  const most = Math.max(found, all.high - (sample.documents - found));
  return {
    estimate: Math.max(found, Math.round(estimate * all.estimate)),
    low: Math.max(found, Math.floor(low * all.low)),
    high: Math.min(most, Math.ceil(high * all.high)),
  };
}

/**
 * Estimates how many distinct values the source has (Charikar and others, 2000): values that the sample has more than
 * once are most likely all there are of their kind, and a value that it has once may stand for as many others as were
 * not read. The estimate is the geometric mean of the bounds for the latter.
 */
export function distinctOfAll(
  inSample: Bounded,
  { singles, all, sample }: { readonly singles: number; readonly all: Bounded; readonly sample: SampleFacts },
): Bounded {
  if (sample.share >= 1) return inSample;
  const once = Math.min(singles, inSample.estimate);
  const more = inSample.estimate - once;
  const unread = Math.max(0, all.high - sample.documents);
  return {
    estimate: Math.round(more + once / Math.sqrt(sample.share)),
    low: inSample.low,
    // Without an assumption about the order of the feed, every document that was not read may have a value of its own.
    high: inSample.high + unread,
  };
}
