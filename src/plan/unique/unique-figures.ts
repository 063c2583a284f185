/** How many documents would break the unique keys of the container under a candidate. Pure. */
import type { ExactFigures } from '../exact/exact-figures.ts';
import type { CandidateMeasure } from '../pass/candidate-measure.ts';
import type { UniqueKeyConflicts } from '../result.ts';
import type { Bounded } from '../sketch/estimate.ts';
import type { UniqueKey } from './unique-values.ts';

export interface ConflictParts {
  readonly uniqueKeys: readonly UniqueKey[];
  /** The number of documents in the source. */
  readonly all: Bounded;
  /** Whether a part of the source was read. */
  readonly isSample: boolean;
  /** Whether every document was read and none changed meanwhile. */
  readonly isWhole: boolean;
  /** Whether the key has every level of the present key. Then what was unique stays unique. */
  readonly hasPresentKey: boolean;
  /** What was counted on the disk; undefined: nothing was kept there. */
  readonly exact: ExactFigures | undefined;
}

/** Returns null if the container has no unique keys. */
export function uniqueKeyConflicts(
  { unique, documents: read }: CandidateMeasure,
  { uniqueKeys, all, isSample, isWhole, hasPresentKey, exact }: ConflictParts,
): UniqueKeyConflicts | null {
  if (uniqueKeys.length === 0) return null;
  const keys = uniqueKeys.map(({ text }, at): UniqueKeyConflicts['keys'][number] => {
    const sample = unique.samples[at];
    const counted = exact?.conflicts[at];
    if (hasPresentKey || sample === undefined)
      return { paths: text, documents: 0, low: 0, high: 0, exact: true, known: true, examples: [] };
    if (counted !== undefined) {
      const { documents, examples } = counted;
      return {
        paths: text,
        documents,
        low: documents,
        high: documents,
        exact: isWhole,
        known: true,
        examples,
      };
    }
    const { estimate, low, high } = sample.repeats();
    const examples = [...(unique.examples[at] ?? [])];
    if (!isSample)
      return {
        paths: text,
        documents: estimate,
        low,
        high,
        exact: sample.isWhole && isWhole,
        known: true,
        examples,
      };
    // Documents that conflict lie anywhere: what was found exists, and what was not read may conflict with anything.
    const most = Math.max(low, all.high - Math.max(1, read - high));
    return { paths: text, documents: low, low, high: most, exact: false, known: false, examples };
  });
  // A document may conflict in several unique keys: those of the worst one exist, and the sum of all cannot be exceeded.
  const low = Math.max(0, ...keys.map((key) => key.low));
  const high = keys.reduce((sum, key) => sum + key.high, 0);
  return {
    documents: Math.max(0, ...keys.map(({ documents }) => documents)),
    low,
    high: Math.min(high, Math.max(low, all.high)),
    exact: low === high && keys.every((key) => key.exact),
    known: keys.every(({ known }) => known),
    keys,
  };
}
