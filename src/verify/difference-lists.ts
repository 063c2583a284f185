/**
 * Lists the documents that differ, each with the kind of its difference. Invariant: a list contains ids and keys, and
 * never the content of a document.
 */
import type { Candidate } from './recheck/candidate-store.ts';
import type { VerifyStore } from './store.ts';
import {
  KINDS,
  type InFlight,
  type DifferenceLists,
  type DifferenceStream,
  type DifferenceSample,
} from './verdict.ts';

/** How many documents a list in memory may have. The report reads longer lists from the verify file. */
const LISTED_MAX = 1000;

/**
 * Returns the lists of all documents that differ. Each document is read from the verify file when the caller reaches
 * it.
 */
export function streamDifferences({ candidates }: VerifyStore, nowMs: number): DifferenceStream {
  const each = <T>(all: Iterable<Candidate>, describe: (candidate: Candidate) => T): Iterable<T> => ({
    *[Symbol.iterator]() {
      for (const candidate of all) yield describe(candidate);
    },
  });
  return {
    differences: each(candidates.all('confirmed'), sampleOf),
    inFlight: each(candidates.all('open'), (one): InFlight => ({
      ...sampleOf(one),
      ageMs: nowMs - (one.sinceMs ?? nowMs),
    })),
    waived: each(candidates.all('waived'), sampleOf),
  };
}

/** Returns the first LISTED_MAX documents of each list. */
export function firstDifferences(store: VerifyStore, nowMs: number): DifferenceLists {
  const { differences, inFlight, waived } = streamDifferences(store, nowMs);
  return { differences: firstOf(differences), inFlight: firstOf(inFlight), waived: firstOf(waived) };
}

function firstOf<T>(all: Iterable<T>): T[] {
  const first: T[] = [];
  for (const one of all) if (first.push(one) === LISTED_MAX) break;
  return first;
}

function sampleOf({ name, kind }: Candidate): DifferenceSample {
  const valuesOf = (texts: readonly (string | null)[]): unknown[] =>
    texts.map((text): unknown => (text === null ? {} : JSON.parse(text)));
  const [targetKey] = name.targetKeys;
  return {
    kind: kind ?? KINDS[0],
    id: JSON.parse(name.id) as unknown,
    sourceKey: valuesOf(name.sourceKey),
    targetKey: targetKey === undefined ? null : valuesOf(targetKey),
  };
}
