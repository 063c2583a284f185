/**
 * Proposes candidates from a sample of documents: the best single paths, a pair, and for a path that is skewed a suffix or
 * a time bucket. Each has its reason. Proposals are only what is worth measuring; the verdict comes from the measure.
 */
import { formatCount, formatShare } from '../../lib/counting.ts';
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
/** A path with a value of its own in this share of all documents is like the id: it keeps nothing together. */
const NEARLY_UNIQUE = 0.9;
/** The property that a suffix or a bucket is written to: the first of these that no document has. */
const DERIVED = ['pk', 'newPk', 'partitionKey', 'newPartitionKey'];

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
  const usable = others.filter(({ path, isTime, isName }) => !isTime && isName && !isId(path));
  const derived = freeProperty(documents, keyPaths);
  const singles = usable
    .filter(({ distinct }) => distinct >= VALUES_MIN)
    .toSorted((one, other) => promise(other, documents.length) - promise(one, documents.length))
    .slice(0, SINGLES_MAX);
  const proposals: Array<readonly [key: string, why: string]> = [];
  for (const one of singles)
    proposals.push([
      one.printed,
      `${formatCount(one.distinct)} values in a sample of ${formatCount(documents.length)} documents, the most frequent with ${formatShare(one.topShare)}`,
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
  if (skewed !== undefined && derived !== undefined) {
    const name = placeholder(skewed);
    proposals.push([
      `/${derived}={${name}}-{id|hash:${SUFFIXES}}`,
      `${formatShare(skewed.topShare)} of the sample have one value of ${skewed.printed}: a computed suffix divides it into ${SUFFIXES}`,
    ]);
  }
  const bucketed = singles[0];
  if (time !== undefined && bucketed !== undefined && derived !== undefined)
    proposals.push([
      `/${derived}={${placeholder(bucketed)}}-{${placeholder(time)}|month}`,
      `a value of ${bucketed.printed} that grows for ever is divided by month`,
    ]);
  if (proposals.length === 0) proposals.push(['/id', 'no property has enough values; the id always does']);
  return proposals.slice(0, PROPOSED_MAX).map(([key, proposed]) => ({ ...parseCandidate(key), proposed }));
}

/** More values promise more, unless nearly every document has its own. */
function promise({ distinct, topShare, path }: PathFigures, documents: number): number {
  const unique = distinct > documents * NEARLY_UNIQUE ? 100 : 0;
  return (1 - topShare) * Math.log2(distinct) - (path.length - 1) * 0.5 - unique;
}

/** Returns a property that no document of the sample has; undefined: there is none. */
function freeProperty(
  documents: readonly unknown[],
  keyPaths: readonly (readonly string[])[],
): string | undefined {
  return DERIVED.find(
    (name) =>
      keyPaths.every(([first]) => first !== name) &&
      documents.every((document) => !Object.hasOwn(Object(document), name)),
  );
}

function isId(path: readonly string[]): boolean {
  return path.length === 1 && path[0] === 'id';
}

function placeholder({ path, printed }: PathFigures): string {
  return path.length === 1 && /^\w+$/.test(path[0] ?? '') ? (path[0] ?? '') : printed;
}
