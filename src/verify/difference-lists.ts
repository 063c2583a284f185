/** Who was found to differ, and how: by name, never with what is in them. */
import type { Candidate } from './recheck/candidate-store.ts';
import type { VerifyStore } from './store.ts';
import { KINDS, type InFlight, type Listed, type Named, type Sample } from './verdict.ts';

/** In memory. */
const LISTED_MAX = 1000;

/** All of them, as long as the store is open. */
export function namedIn({ candidates }: VerifyStore, nowMs: number): Named {
  const each = <T>(all: Iterable<Candidate>, tell: (candidate: Candidate) => T): Iterable<T> => ({
    *[Symbol.iterator]() {
      for (const candidate of all) yield tell(candidate);
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

/** The first of them. */
export function listedIn(store: VerifyStore, nowMs: number): Listed {
  const { differences, inFlight, waived } = namedIn(store, nowMs);
  return { differences: firstOf(differences), inFlight: firstOf(inFlight), waived: firstOf(waived) };
}

function firstOf<T>(all: Iterable<T>): T[] {
  const first: T[] = [];
  for (const one of all) if (first.push(one) === LISTED_MAX) break;
  return first;
}

function sampleOf({ name, kind }: Candidate): Sample {
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
