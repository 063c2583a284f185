/** The documents that differ, and how: by id and keys, never with their content. */
import type { Candidate } from './recheck/candidate-store.ts';
import type { VerifyStore } from './store.ts';
import {
  KINDS,
  type InFlight,
  type DifferenceLists,
  type DifferenceStream,
  type DifferenceSample,
} from './verdict.ts';

/** Length of a list in memory. */
const LISTED_MAX = 1000;

/** All documents, read from the store as they are consumed. */
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

/** The first documents of each list. */
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
