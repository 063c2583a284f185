/** What a scalar function is, and how the usual kinds of functions are made. */
import { finite, isSqlArray, type SqlValue } from '../values.ts';

export interface ScalarFunction {
  readonly argsMin: number;
  readonly argsMax: number;
  apply(...args: readonly SqlValue[]): SqlValue;
}

/** A table of functions by their names in capitals. */
export type FunctionTable = ReadonlyArray<readonly [name: string, called: ScalarFunction]>;

/**
 * The most arguments of a function that takes any number of arguments. They are passed on the stack, so there must be a
 * limit.
 */
export const ANY_NUMBER = 1000;

export function typeCheck(holds: (value: SqlValue) => boolean): ScalarFunction {
  return { argsMin: 1, argsMax: 1, apply: holds };
}

export function ofString(apply: (text: string) => SqlValue): ScalarFunction {
  return {
    argsMin: 1,
    argsMax: 1,
    apply: (value) => (typeof value === 'string' ? apply(value) : undefined),
  };
}

export function ofNumber(apply: (number: number) => number): ScalarFunction {
  return {
    argsMin: 1,
    argsMax: 1,
    apply: (value) => (typeof value === 'number' ? finite(apply(value)) : undefined),
  };
}

export function ofArray(apply: (items: readonly SqlValue[]) => SqlValue): ScalarFunction {
  return { argsMin: 1, argsMax: 1, apply: (value) => (isSqlArray(value) ? apply(value) : undefined) };
}

/** Makes a function of two numbers. Its result is undefined where JSON cannot represent it. */
export function ofNumbers(apply: (left: number, right: number) => number | undefined): ScalarFunction {
  return {
    argsMin: 2,
    argsMax: 2,
    apply(left, right) {
      if (typeof left !== 'number' || typeof right !== 'number') return undefined;
      const value = apply(left, right);
      return value === undefined ? undefined : finite(value);
    },
  };
}
