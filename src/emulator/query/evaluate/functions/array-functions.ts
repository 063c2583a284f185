/** Functions of arrays, sets and objects. A set is an array in which equal items count once. */
import { Refusal } from '../../../http/refusal.ts';
import { isSqlArray, isSqlObject, same, type SqlValue } from '../values.ts';
import { ANY_NUMBER, ofArray, type FunctionTable, type ScalarFunction } from './scalar-function.ts';

function arrayContains(items: SqlValue, wanted: SqlValue, partial: SqlValue = false): SqlValue {
  if (!isSqlArray(items) || wanted === undefined || typeof partial !== 'boolean') return undefined;
  return items.some((item) => (partial ? covers(item, wanted) : same(item, wanted)));
}

/** Returns whether `whole` contains everything that `part` does: the partial match of ARRAY_CONTAINS. */
function covers(whole: SqlValue, part: SqlValue): boolean {
  if (!isSqlObject(part)) return same(whole, part);
  return (
    isSqlObject(whole) &&
    Object.keys(part).every((name) => Object.hasOwn(whole, name) && covers(whole[name], part[name]))
  );
}

function arraySlice(items: SqlValue, start: SqlValue, length: SqlValue = Infinity): SqlValue {
  if (!isSqlArray(items) || typeof start !== 'number' || typeof length !== 'number') return undefined;
  const from = start < 0 ? Math.max(0, items.length + Math.trunc(start)) : Math.trunc(start);
  return items.slice(from, from + Math.max(0, Math.trunc(length)));
}

function arrayConcat(...arrays: readonly SqlValue[]): SqlValue {
  return arrays.every(isSqlArray) ? arrays.flat(1) : undefined;
}

/**
 * Makes ARRAY_CONTAINS_ANY or ARRAY_CONTAINS_ALL: the first item that is found, or not found, decides. Without it, an
 * undefined item makes the result undefined.
 */
function containsItems(decisive: boolean): ScalarFunction {
  return {
    argsMin: 2,
    argsMax: ANY_NUMBER,
    apply(items, ...wanted) {
      if (!isSqlArray(items)) return undefined;
      const isFound = (one: SqlValue): boolean => items.some((item) => same(item, one));
      const known = wanted.filter((one) => one !== undefined);
      if (known.some((one) => isFound(one) === decisive)) return decisive;
      return known.length === wanted.length ? !decisive : undefined;
    },
  };
}

function distinct(items: readonly SqlValue[]): readonly SqlValue[] {
  const found: SqlValue[] = [];
  for (const item of items) if (!found.some((other) => same(other, item))) found.push(item);
  return found;
}

/** The most items of each set: finding equal items takes time that grows with the product of both numbers. */
const SET_ITEMS_MAX = 2000;

function ofSets(
  combine: (left: readonly SqlValue[], right: readonly SqlValue[]) => readonly SqlValue[],
): ScalarFunction {
  return {
    argsMin: 2,
    argsMax: 2,
    apply(left, right) {
      if (!isSqlArray(left) || !isSqlArray(right)) return undefined;
      if (Math.max(left.length, right.length) > SET_ITEMS_MAX) {
        throw new Refusal(
          400,
          `A set of more than ${SET_ITEMS_MAX} items is not supported by this emulator.`,
        );
      }
      return distinct(combine(left, right));
    },
  };
}

function choose(index: SqlValue, ...items: readonly SqlValue[]): SqlValue {
  return typeof index === 'number' ? items[index - 1] : undefined;
}

function objectToArray(object: SqlValue, name: SqlValue = 'k', value: SqlValue = 'v'): SqlValue {
  if (!isSqlObject(object) || typeof name !== 'string' || typeof value !== 'string') return undefined;
  return Object.entries(object).map(([key, item]) => {
    // An object without a prototype can have `__proto__` as an ordinary name.
    const entry = Object.create(null) as Record<string, SqlValue>;
    entry[name] = key;
    if (item !== undefined) entry[value] = item;
    return entry;
  });
}

export const ARRAY_FUNCTIONS: FunctionTable = [
  ['ARRAY_CONTAINS', { argsMin: 2, argsMax: 3, apply: arrayContains }],
  ['ARRAY_LENGTH', ofArray((items) => items.length)],
  ['ARRAY_SLICE', { argsMin: 2, argsMax: 3, apply: arraySlice }],
  ['ARRAY_CONCAT', { argsMin: 2, argsMax: ANY_NUMBER, apply: arrayConcat }],
  ['ARRAY_CONTAINS_ANY', containsItems(true)],
  ['ARRAY_CONTAINS_ALL', containsItems(false)],
  ['SETUNION', ofSets((left, right) => [...left, ...right])],
  ['SETINTERSECT', ofSets((left, right) => left.filter((item) => right.some((other) => same(item, other))))],
  ['CHOOSE', { argsMin: 2, argsMax: ANY_NUMBER, apply: choose }],
  ['OBJECTTOARRAY', { argsMin: 1, argsMax: 3, apply: objectToArray }],
  ['IIF', { argsMin: 3, argsMax: 3, apply: (condition, yes, no) => (condition === true ? yes : no) }],
];
