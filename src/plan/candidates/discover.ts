/**
 * Proposes candidates from a sample of documents: the best single paths, a pair, and for a path that is skewed a suffix or
 * a time bucket. Each has its reason. Proposals are only what is worth measuring; the verdict comes from the measure.
 */
import { isSamePath } from '../../keys/path.ts';
import { parseCandidate, type KeyCandidate } from './candidate.ts';
import { pathsOf, type PathFigures } from './paths.ts';

/** How many candidates are proposed at most; each costs time in the pass. */
const PROPOSED_MAX = 5;
const SINGLES_MAX = 3;
/** A key needs a value in nearly all documents. */
const PRESENCE_MIN = 0.95;
/** A value with more of the sample than this makes a path skewed. */
const SKEWED = 0.2;
/** The fewest values of a path that can stand alone, and of one that is worth a suffix. */
const VALUES_MIN = 20;
/** The number of suffixes, as in Microsoft's own example of a suffix that can be computed. */
const SUFFIXES = 16;
/** The property that an extra suffix or bucket is written to. */
const DERIVED = '/pk';

/** Returns candidates for a container with this key, from a sample of its documents. */
export function discover(
  documents: readonly unknown[],
  keyPaths: readonly (readonly string[])[],
): KeyCandidate[] {
  if (documents.length === 0) return [];
  const paths = pathsOf(documents).filter(({ presence }) => presence >= PRESENCE_MIN);
  const others = paths.filter(
    ({ path }) => !keyPaths.some((key) => keyPaths.length === 1 && isSamePath(key, path)),
  );
  const usable = others.filter(({ path, isTime }) => !isTime && !isId(path));
  const singles = usable
    .filter(({ distinct }) => distinct >= VALUES_MIN)
    .toSorted(byPromise)
    .slice(0, SINGLES_MAX);
  const proposals: Array<readonly [key: string, why: string]> = [];
  for (const one of singles)
    proposals.push([
      one.printed,
      `${one.distinct} values in a sample of ${documents.length} documents, the most frequent with ${percent(one.topShare)}`,
    ]);
  // Few values that belong together are worth keeping together, with a second level that divides them.
  const group = paths.find(
    ({ distinct, isText, isTime }) => isText && !isTime && distinct >= 2 && distinct < documents.length / 20,
  );
  const inner = singles.find(({ path }) => group !== undefined && !isSamePath(path, group.path));
  if (group !== undefined && inner !== undefined)
    proposals.push([
      `${group.printed},${inner.printed}`,
      `keeps the documents of each value of ${group.printed} together, divided by ${inner.printed}`,
    ]);
  const skewed = [
    ...usable,
    ...paths.filter(({ path }) => keyPaths.some((key) => isSamePath(key, path))),
  ].find(({ topShare, distinct, isTime }) => !isTime && topShare > SKEWED && distinct >= 2);
  const time = paths.find(({ isTime }) => isTime);
  if (skewed !== undefined) {
    const name = placeholder(skewed);
    proposals.push([
      `${DERIVED}={${name}}-{id|hash:${SUFFIXES}}`,
      `${percent(skewed.topShare)} of the sample have one value of ${skewed.printed}: a computed suffix divides it into ${SUFFIXES}`,
    ]);
  }
  const bucketed = singles[0];
  if (time !== undefined && bucketed !== undefined)
    proposals.push([
      `${DERIVED}={${placeholder(bucketed)}}-{${placeholder(time)}|month}`,
      `a value of ${bucketed.printed} that grows for ever is divided by month`,
    ]);
  if (proposals.length === 0) proposals.push(['/id', 'no property has enough values; the id always does']);
  return proposals.slice(0, PROPOSED_MAX).map(([key, proposed]) => ({ ...parseCandidate(key), proposed }));
}

/** More values come first, unless nearly every document has its own: that keeps nothing together. */
function byPromise(one: PathFigures, other: PathFigures): number {
  return promise(other) - promise(one);
}

function promise({ distinct, topShare, path }: PathFigures): number {
  return (1 - topShare) * Math.log2(distinct) - (path.length - 1) * 0.5;
}

function isId(path: readonly string[]): boolean {
  return path.length === 1 && path[0] === 'id';
}

function placeholder({ path, printed }: PathFigures): string {
  return path.length === 1 && /^\w+$/.test(path[0] ?? '') ? (path[0] ?? '') : printed;
}

function percent(share: number): string {
  return `${Math.max(share * 100, 0.1).toFixed(share < 0.1 ? 1 : 0)} %`;
}
