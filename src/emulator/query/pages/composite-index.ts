/**
 * Checks whether an indexing policy has the composite index that the service needs for an ORDER BY with several keys.
 */
import { own } from '../../json/json-value.ts';
import type { OrderBy } from '../parse/syntax.ts';

/**
 * Returns whether an index lists the paths of ORDER BY in the same order, either all in the direction of ORDER BY or
 * all in the opposite direction.
 */
export function hasCompositeIndex(indexingPolicy: unknown, orderBy: readonly OrderBy[]): boolean {
  if (orderBy.length < 2) return true;
  const indexes = own(indexingPolicy, 'compositeIndexes');
  return Array.isArray(indexes) && indexes.some((index: unknown) => isFor(index, orderBy));
}

function isFor(index: unknown, orderBy: readonly OrderBy[]): boolean {
  if (!Array.isArray(index) || index.length !== orderBy.length) return false;
  const turns = orderBy.map(({ of, descending }, level) => {
    const indexed: unknown = index[level];
    if (!isSamePath(own(indexed, 'path'), of.steps)) return undefined;
    return (own(indexed, 'order') === 'descending') === descending;
  });
  return turns.every((turn) => turn !== undefined && turn === turns[0]);
}

function isSamePath(path: unknown, steps: OrderBy['of']['steps']): boolean {
  // A name with other characters than letters is in quotes: /address/"zip code"
  return typeof path === 'string' && path.replaceAll('"', '') === `/${steps.join('/')}`;
}
