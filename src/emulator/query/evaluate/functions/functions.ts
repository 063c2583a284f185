/**
 * The scalar functions, by name.
 *
 * Invariant: an argument of a type that a function does not take makes the result undefined. The type checks take every
 * value, also a missing one.
 */
import { isSqlArray, isSqlObject, type SqlValue } from '../values.ts';
import { ARRAY_FUNCTIONS } from './array-functions.ts';
import { DATE_FUNCTIONS } from './date-functions.ts';
import { NUMBER_FUNCTIONS } from './number-functions.ts';
import { typeCheck, type FunctionTable, type ScalarFunction } from './scalar-function.ts';
import { TEXT_FUNCTIONS } from './text-functions.ts';

function isPrimitive(value: SqlValue): boolean {
  return value !== undefined && !isSqlArray(value) && !isSqlObject(value);
}

/** Returns whether a value is a whole number that fits into 64 bits, the service's bound. */
function isInteger(value: SqlValue): boolean {
  return Number.isInteger(value) && Math.abs(Number(value)) <= 2 ** 63;
}

const TYPE_CHECKS: FunctionTable = [
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
];

const FUNCTIONS: ReadonlyMap<string, ScalarFunction> = new Map([
  ...TYPE_CHECKS,
  ...TEXT_FUNCTIONS,
  ...ARRAY_FUNCTIONS,
  ...NUMBER_FUNCTIONS,
  ...DATE_FUNCTIONS,
]);

/** Returns the function of that name, in upper or lower case. */
export function functionNamed(name: string): ScalarFunction | undefined {
  return FUNCTIONS.get(name.toUpperCase());
}
