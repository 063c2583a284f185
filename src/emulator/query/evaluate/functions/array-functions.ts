/** Functions of arrays, sets and objects. A set is an array in which equal items count once. */
import { Refusal } from '../../../http/refusal.ts';
import { isInteger, isSqlArray, isSqlObject, same, type SqlObject, type SqlValue } from '../values.ts';
import { ANY_NUMBER, ofArray, type FunctionTable, type ScalarFunction } from './scalar-function.ts';

function arrayContains(items: SqlValue, wanted: SqlValue, partial: SqlValue = false): SqlValue {
  if (!isSqlArray(items) || wanted === undefined || typeof partial !== 'boolean') return undefined;
  if (!partial || !isSqlObject(wanted)) return items.some((item) => same(item, wanted));
  if (items.some((item) => hasAll(item, wanted, same))) return true;
  if (items.some((item) => hasAll(item, wanted, covers))) {
    // Microsoft's documentation does not say whether an object within `wanted` may also be only a part of the item's
    // object.
    throw new Refusal(
      400,
      'ARRAY_CONTAINS with a part of an object within an object is not supported by this emulator.',
    );
  }
  return false;
}

/** Returns whether `whole` is an object that has each property of `part`, with values that match. */
function hasAll(
  whole: SqlValue,
  part: SqlObject,
  matches: (value: SqlValue, wanted: SqlValue) => boolean,
): boolean {
  if (!isSqlObject(whole)) return false;
  return Object.keys(part).every((name) => Object.hasOwn(whole, name) && matches(whole[name], part[name]));
}

function covers(whole: SqlValue, part: SqlValue): boolean {
  return isSqlObject(part) ? hasAll(whole, part, covers) : same(whole, part);
}

function arraySlice(items: SqlValue, start: SqlValue, length: SqlValue = Number.MAX_SAFE_INTEGER): SqlValue {
  if (!isSqlArray(items) || !isInteger(start) || !isInteger(length)) return undefined;
  const from = start < 0 ? Math.max(0, items.length + start) : start;
  return items.slice(from, from + Math.max(0, length));
}

function arrayConcat(...arrays: readonly SqlValue[]): SqlValue {
  return arrays.every(isSqlArray) ? arrays.flat(1) : undefined;
}

/**
 * Makes ARRAY_CONTAINS_ANY or ARRAY_CONTAINS_ALL: the first wanted item that the array has (ANY) or lacks (ALL)
 * decides. If none decides, an undefined wanted item makes the result undefined.
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

/** The most items of a set. The time to find equal items grows with the product of the sizes of both sets. */
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
  ['SETINTERSECT', ofSets((left, right) => right.filter((item) => left.some((other) => same(item, other))))],
  ['CHOOSE', { argsMin: 2, argsMax: ANY_NUMBER, apply: choose }],
  ['OBJECTTOARRAY', { argsMin: 1, argsMax: 3, apply: objectToArray }],
  ['IIF', { argsMin: 3, argsMax: 3, apply: (condition, yes, no) => (condition === true ? yes : no) }],
];
