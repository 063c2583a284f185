/** Functions of numbers. Those whose name begins with INT compute with signed integers of 64 bits, as on the service. */
import { finite, type SqlValue } from '../values.ts';
import { ofNumber, ofNumbers, type FunctionTable, type ScalarFunction } from './scalar-function.ts';

/** Rounds to a whole number. Halves are rounded away from zero, unlike with Math.round. */
function round(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

/** Makes a function of two whole numbers. The service's integers have 64 bits, and overflow wraps around. */
function ofIntegers(apply: (left: bigint, right: bigint) => bigint | undefined): ScalarFunction {
  return ofNumbers((left, right) => {
    if (!Number.isSafeInteger(left) || !Number.isSafeInteger(right)) return undefined;
    const value = apply(BigInt(left), BigInt(right));
    return value === undefined ? undefined : Number(BigInt.asIntN(64, value));
  });
}

const INTEGER_BITS = 64n;

function shifted(apply: (value: bigint, bits: bigint) => bigint): ScalarFunction {
  return ofIntegers((value, bits) => (bits < 0n || bits >= INTEGER_BITS ? undefined : apply(value, bits)));
}

/** Rounds down to a multiple of a size. */
function numberBin(value: SqlValue, size: SqlValue = 1): SqlValue {
  if (typeof value !== 'number' || typeof size !== 'number' || size === 0) return undefined;
  const bin = Math.floor(value / size) * size;
  // A size such as 0.1 is not exact in binary, so the result is rounded to 15 decimal digits.
  return finite(Number(bin.toPrecision(15)));
}

function logarithm(value: SqlValue, base: SqlValue = Math.E): SqlValue {
  if (typeof value !== 'number' || typeof base !== 'number') return undefined;
  return finite(base === Math.E ? Math.log(value) : Math.log(value) / Math.log(base));
}

const DEGREES = 180 / Math.PI;

export const NUMBER_FUNCTIONS: FunctionTable = [
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
  ['LOG', { argsMin: 1, argsMax: 2, apply: logarithm }],
  ['POWER', ofNumbers((base, exponent) => base ** exponent)],
  ['PI', { argsMin: 0, argsMax: 0, apply: () => Math.PI }],
  ['SIN', ofNumber(Math.sin)],
  ['COS', ofNumber(Math.cos)],
  ['TAN', ofNumber(Math.tan)],
  ['COT', ofNumber((angle) => 1 / Math.tan(angle))],
  ['ASIN', ofNumber(Math.asin)],
  ['ACOS', ofNumber(Math.acos)],
  ['ATAN', ofNumber(Math.atan)],
  ['ATN2', ofNumbers(Math.atan2)],
  ['DEGREES', ofNumber((angle) => angle * DEGREES)],
  ['RADIANS', ofNumber((angle) => angle / DEGREES)],
  ['NUMBERBIN', { argsMin: 1, argsMax: 2, apply: numberBin }],
  ['INTADD', ofIntegers((left, right) => left + right)],
  ['INTSUB', ofIntegers((left, right) => left - right)],
  ['INTMUL', ofIntegers((left, right) => left * right)],
  ['INTDIV', ofIntegers((left, right) => (right === 0n ? undefined : left / right))],
  ['INTMOD', ofIntegers((left, right) => (right === 0n ? undefined : left % right))],
  ['INTBITAND', ofIntegers((left, right) => left & right)],
  ['INTBITOR', ofIntegers((left, right) => left | right)],
  ['INTBITXOR', ofIntegers((left, right) => left ^ right)],
  ['INTBITNOT', ofNumber((value) => (Number.isSafeInteger(value) ? Number(~BigInt(value)) : NaN))],
  ['INTBITLEFTSHIFT', shifted((value, bits) => value << bits)],
  ['INTBITRIGHTSHIFT', shifted((value, bits) => value >> bits)],
];
