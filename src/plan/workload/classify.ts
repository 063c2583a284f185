/**
 * Where a call goes with a candidate for the key: to one document, one key value, a few of them, or every partition.
 * Pure. Invariant: what cannot be determined counts as a call to every partition, and says so.
 */
import { parseDerivation } from '../../keys/strategies/parse.ts';
import { isSamePath, parsePath, printPath } from '../../keys/path.ts';
import type { Path } from '../../keys/strategies/strategy.ts';
import type { KeyCandidate } from '../candidates/candidate.ts';
import type { QueryClass } from '../result.ts';
import type { Alternative, Conditions } from './query/conditions.ts';
import type { WorkloadCall } from './workload.ts';

/** A level of a key: a property, and what it is made of if it is a derived one. */
export interface CandidateLevel {
  readonly path: Path;
  readonly from: readonly Path[] | null;
}

export interface Classified {
  readonly class: QueryClass;
  readonly isKnown: boolean;
  readonly why: string;
  /** How many key values, or values of the first levels, the call names; 0 for a call to every partition. */
  readonly values: number;
}

const ID: Path = ['id'];

/** Returns the levels of a candidate's key. */
export function levelsOf({
  paths,
  derive,
}: Pick<KeyCandidate, 'paths' | 'derive'>): readonly CandidateLevel[] {
  const derivations = derive.map((text) => parseDerivation(text));
  return paths.map((text) => {
    const path = parsePath(text);
    const derivation = derivations.find((one) => isSamePath(one.path, path));
    return { path, from: derivation?.strategy.paths ?? null };
  });
}

/** `present` are the key paths that the container has, and `key` are the levels of the candidate. */
export function classify(
  call: WorkloadCall,
  key: readonly CandidateLevel[],
  present: readonly Path[],
): Classified {
  const known = [...call.knows, ...(call.namesKey || call.does.kind !== 'query' ? present : [])];
  switch (call.does.kind) {
    case 'query':
      return call.does.conditions === null
        ? unknown('cannot be determined: the query is not understood')
        : classifyQuery(call.does.conditions, key, known);
    case 'write':
      return {
        class: 'point',
        isKnown: true,
        why: 'a document that is written has its key in it',
        values: 1,
      };
    case 'by-id': {
      const missing = missingIn(key, [...known, ID]);
      if (missing.length === 0)
        return { class: 'point', isKnown: true, why: 'the application knows the key and the id', values: 1 };
      const why = `cannot be determined: the application needs ${names(missing)} to find a document by its id`;
      return unknown(why);
    }
    case 'batch':
    default: {
      const missing = missingIn(key, known);
      if (missing.length === 0)
        return { class: 'single-partition', isKnown: true, why: 'its documents share the key', values: 1 };
      const why = `cannot be determined: its documents must have the same ${names(missing)}`;
      return unknown(why);
    }
  }
}

function unknown(why: string): Classified {
  return { class: 'fan-out', isKnown: false, why, values: 0 };
}

/** Returns the properties that a key needs and that are not known. */
function missingIn(key: readonly CandidateLevel[], known: readonly Path[]): readonly Path[] {
  const has = (path: Path): boolean => known.some((one) => isSamePath(one, path));
  return key.flatMap(({ path, from }) =>
    has(path) || (from !== null && from.every(has)) ? [] : (from ?? [path]).filter((one) => !has(one)),
  );
}

function classifyQuery(
  { alternatives, ranges, unsure }: Conditions,
  key: readonly CandidateLevel[],
  known: readonly Path[],
): Classified {
  const found = alternatives.map((alternative) => levelsNamed(alternative, key, known));
  const levels = Math.min(...found.map((one) => one.levels));
  const values = found.reduce((sum, one) => sum + one.values, 0);
  const [first] = key;
  if (levels === 0 || first === undefined) return fanOut(key.slice(0, 1), { ranges, unsure });
  const named = key.slice(0, levels);
  if (levels < key.length)
    return {
      class: 'prefix',
      isKnown: true,
      why: `names ${levelNames(named)}, the first of ${key.length} levels${several(values)}`,
      values,
    };
  if (values > 1)
    return { class: 'prefix', isKnown: true, why: `names ${values} values of ${levelNames(key)}`, values };
  const isPoint = alternatives.every((alternative) => alternative.get(JSON.stringify(ID)) === 1);
  const added = key.some(({ path, from }) => from !== null && !isNamed(alternatives[0], path, known));
  const why = added
    ? `the application can compute ${levelNames(key)} from what the query names, and add it`
    : `names ${levelNames(key)}`;
  return isPoint
    ? { class: 'point', isKnown: true, why: `${why}, and the id`, values }
    : { class: 'single-partition', isKnown: true, why, values };
}

function several(values: number): string {
  return values > 1 ? `, ${values} values of it` : '';
}

function isNamed(alternative: Alternative | undefined, path: Path, known: readonly Path[]): boolean {
  return alternative?.has(JSON.stringify(path)) === true || known.some((one) => isSamePath(one, path));
}

/** Returns how many levels from the first on an alternative names, and how many values they can have together. */
function levelsNamed(
  alternative: Alternative,
  key: readonly CandidateLevel[],
  known: readonly Path[],
): { levels: number; values: number } {
  const countOf = (path: Path): number | undefined =>
    known.some((one) => isSamePath(one, path)) ? 1 : alternative.get(JSON.stringify(path));
  let values = 1;
  for (const [levels, { path, from }] of key.entries()) {
    const own = countOf(path);
    const parts = (from ?? []).map(countOf);
    if (own !== undefined) values *= own;
    else if (from !== null && parts.every((part) => part !== undefined))
      values *= parts.reduce((product, part) => product * part, 1);
    else return { levels, values };
  }
  return { levels: key.length, values };
}

function fanOut(
  first: readonly CandidateLevel[],
  { ranges, unsure }: Pick<Conditions, 'ranges' | 'unsure'>,
): Classified {
  const needed = first.flatMap(({ path, from }) => [path, ...(from ?? [])]);
  const isIn = (paths: readonly Path[]): boolean =>
    needed.some((path) => paths.some((other) => isSamePath(path, other)));
  const name = levelNames(first);
  if (isIn(unsure)) return unknown(`cannot be determined: ${name} is in a condition other than = and IN`);
  const why = isIn(ranges)
    ? `asks for a range of ${name}, and a hash spreads a range over every partition`
    : `does not name ${name} in every case`;
  return { class: 'fan-out', isKnown: true, why, values: 0 };
}

function levelNames(levels: readonly CandidateLevel[]): string {
  return names(levels.map(({ path }) => path));
}

function names(paths: readonly Path[]): string {
  return [...new Set(paths.map(printPath))].join(' and ');
}
