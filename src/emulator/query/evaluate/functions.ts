/**
 * The scalar functions, in one table.
 *
 * Invariant: an argument of the wrong type makes the result undefined. Only the type checks accept every value, and
 * also a missing value.
 */
import { concatenate, toJson, refuseLongText } from './text.ts';
import { finite, isSqlArray, isSqlObject, same, type SqlValue } from './values.ts';

export interface ScalarFunction {
  readonly argsMin: number;
  readonly argsMax: number;
  apply(...args: readonly SqlValue[]): SqlValue;
}

type Rest = readonly SqlValue[];

function typeCheck(holds: (value: SqlValue) => boolean): ScalarFunction {
  return { argsMin: 1, argsMax: 1, apply: holds };
}

function ofString(apply: (text: string) => SqlValue): ScalarFunction {
  return {
    argsMin: 1,
    argsMax: 1,
    apply: (value) => (typeof value === 'string' ? apply(value) : undefined),
  };
}

function ofNumber(apply: (number: number) => number): ScalarFunction {
  return {
    argsMin: 1,
    argsMax: 1,
    apply: (value) => (typeof value === 'number' ? finite(apply(value)) : undefined),
  };
}

function ofArray(apply: (items: readonly SqlValue[]) => SqlValue): ScalarFunction {
  return { argsMin: 1, argsMax: 1, apply: (value) => (isSqlArray(value) ? apply(value) : undefined) };
}

/** Makes a function that tests two strings. Its optional third argument says whether to ignore case. */
function stringTest(holds: (text: string, part: string) => boolean): ScalarFunction {
  return {
    argsMin: 2,
    argsMax: 3,
    apply(text, part, ignoreCase = false) {
      if (typeof text !== 'string' || typeof part !== 'string' || typeof ignoreCase !== 'boolean')
        return undefined;
      return ignoreCase ? holds(text.toLowerCase(), part.toLowerCase()) : holds(text, part);
    },
  };
}

/** Makes a function of a string and a whole number. A negative number counts as 0. */
function stringCut(cut: (text: string, count: number) => SqlValue): ScalarFunction {
  return {
    argsMin: 2,
    argsMax: 2,
    apply: (text, count) =>
      typeof text === 'string' && typeof count === 'number'
        ? cut(text, Math.max(0, Math.trunc(count)))
        : undefined,
  };
}

function indexOf(text: SqlValue, part: SqlValue, start: SqlValue = 0): SqlValue {
  if (typeof text !== 'string' || typeof part !== 'string' || typeof start !== 'number') return undefined;
  return start < 0 || start > text.length ? undefined : text.indexOf(part, start);
}

function substring(text: SqlValue, start: SqlValue, length: SqlValue): SqlValue {
  if (typeof text !== 'string' || typeof start !== 'number' || typeof length !== 'number') return undefined;
  const from = Math.max(0, Math.trunc(start));
  return text.slice(from, from + Math.max(0, Math.trunc(length)));
}

function replace(text: SqlValue, part: SqlValue, by: SqlValue): SqlValue {
  if (typeof text !== 'string' || typeof part !== 'string' || typeof by !== 'string') return undefined;
  if (part === '') return text;
  const pieces = text.split(part);
  refuseLongText(text.length + (pieces.length - 1) * (by.length - part.length));
  return pieces.join(by);
}

function replicate(text: string, count: number): SqlValue {
  refuseLongText(text.length * count);
  return text.repeat(count);
}

function toText(value: SqlValue): SqlValue {
  if (value === undefined || typeof value === 'string') return value;
  return toJson(value);
}

function toNumber(text: string): SqlValue {
  return /^\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i.test(text) ? finite(Number(text)) : undefined;
}

function toBoolean(text: string): SqlValue {
  const word = text.trim();
  return word === 'true' || (word === 'false' ? false : undefined);
}

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

function arrayConcat(...arrays: Rest): SqlValue {
  return arrays.every(isSqlArray) ? arrays.flat(1) : undefined;
}

function isPrimitive(value: SqlValue): boolean {
  return value !== undefined && !isSqlArray(value) && !isSqlObject(value);
}

/** Returns whether a value is a whole number that fits into 64 bits, the service's bound. */
function isInteger(value: SqlValue): boolean {
  return Number.isInteger(value) && Math.abs(Number(value)) <= 2 ** 63;
}

/** Rounds to a whole number. Halves are rounded away from zero, unlike with Math.round. */
function round(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function power(base: SqlValue, exponent: SqlValue): SqlValue {
  return typeof base === 'number' && typeof exponent === 'number' ? finite(base ** exponent) : undefined;
}

/** The most arguments of a function without a fixed number. They are passed on the stack, so there must be a limit. */
const ANY_NUMBER = 1000;

const FUNCTIONS: ReadonlyMap<string, ScalarFunction> = new Map([
  ['IS_DEFINED', typeCheck((value) => value !== undefined)],
  ['IS_NULL', typeCheck((value) => value === null)],
  ['IS_STRING', typeCheck((value) => typeof value === 'string')],
  ['IS_NUMBER', typeCheck((value) => typeof value === 'number')],
  ['IS_FINITE_NUMBER', typeCheck((value) => Number.isFinite(value))],
  ['IS_INTEGER', typeCheck(isInteger)],
  ['IS_BOOL', typeCheck((value) => typeof value === 'boolean')],
  ['IS_ARRAY', typeCheck(isSqlArray)],
  ['IS_OBJECT', typeCheck(isSqlObject)],
  ['IS_PRIMITIVE', typeCheck(isPrimitive)],

  ['STARTSWITH', stringTest((text, part) => text.startsWith(part))],
  ['ENDSWITH', stringTest((text, part) => text.endsWith(part))],
  ['CONTAINS', stringTest((text, part) => text.includes(part))],
  ['STRINGEQUALS', stringTest((text, part) => text === part)],
  ['INDEX_OF', { argsMin: 2, argsMax: 3, apply: indexOf }],
  ['LENGTH', ofString((text) => text.length)],
  ['LOWER', ofString((text) => text.toLowerCase())],
  ['UPPER', ofString((text) => text.toUpperCase())],
  ['TRIM', ofString((text) => text.trim())],
  ['LTRIM', ofString((text) => text.trimStart())],
  ['RTRIM', ofString((text) => text.trimEnd())],
  ['REVERSE', ofString((text) => Array.from(text).toReversed().join(''))],
  ['LEFT', stringCut((text, count) => text.slice(0, count))],
  ['RIGHT', stringCut((text, count) => text.slice(Math.max(0, text.length - count)))],
  ['REPLICATE', stringCut(replicate)],
  ['SUBSTRING', { argsMin: 3, argsMax: 3, apply: substring }],
  ['REPLACE', { argsMin: 3, argsMax: 3, apply: replace }],
  ['CONCAT', { argsMin: 2, argsMax: ANY_NUMBER, apply: concatenate }],
  ['TOSTRING', { argsMin: 1, argsMax: 1, apply: toText }],
  ['STRINGTONUMBER', ofString(toNumber)],
  ['STRINGTOBOOLEAN', ofString(toBoolean)],
  ['STRINGTONULL', ofString((text) => (text.trim() === 'null' ? null : undefined))],

  ['ARRAY_CONTAINS', { argsMin: 2, argsMax: 3, apply: arrayContains }],
  ['ARRAY_LENGTH', ofArray((items) => items.length)],
  ['ARRAY_SLICE', { argsMin: 2, argsMax: 3, apply: arraySlice }],
  ['ARRAY_CONCAT', { argsMin: 2, argsMax: ANY_NUMBER, apply: arrayConcat }],

  ['ABS', ofNumber(Math.abs)],
  ['FLOOR', ofNumber(Math.floor)],
  ['CEILING', ofNumber(Math.ceil)],
  ['ROUND', ofNumber(round)],
  ['TRUNC', ofNumber(Math.trunc)],
  ['SIGN', ofNumber(Math.sign)],
  ['SQRT', ofNumber(Math.sqrt)],
  ['SQUARE', ofNumber((value) => value * value)],
  ['EXP', ofNumber(Math.exp)],
  ['LOG10', ofNumber(Math.log10)],
  ['POWER', { argsMin: 2, argsMax: 2, apply: power }],

  ['IIF', { argsMin: 3, argsMax: 3, apply: (condition, yes, no) => (condition === true ? yes : no) }],
]);

/** Returns the function of that name, in upper or lower case. */
export function functionNamed(name: string): ScalarFunction | undefined {
  return FUNCTIONS.get(name.toUpperCase());
}
