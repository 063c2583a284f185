/** The operators of the language: their binding power, and which of them the emulator does not support. */
import type { AggregateName, ArithmeticOperator } from './syntax.ts';
import type { ComparisonOperator, SqlValue } from '../evaluate/values.ts';

/**
 * Binding powers of the operators, weakest first, as in the service's grammar. There `||` is weaker than `=`, so a
 * concatenation that is compared needs parentheses. A leading NOT binds like a sign: `NOT c.a = 1` is `(NOT c.a) = 1`.
 */
export const POWER: ReadonlyMap<string, number> = new Map(
  ['?', '??', 'OR', 'AND', 'NOT IN BETWEEN LIKE', '||', '= != <>', '< <= > >=', '+ -', '* / %'].flatMap(
    (level, index) => level.split(' ').map((operator) => [operator, index + 1] as const),
  ),
);

export const COMPARISONS: ReadonlyMap<string, ComparisonOperator> = new Map([
  ...(['=', '!=', '<', '<=', '>', '>='] as const).map((operator) => [operator, operator] as const),
  ['<>', '!='],
]);

export const ARITHMETIC: ReadonlyMap<string, ArithmeticOperator> = new Map(
  (['+', '-', '*', '/', '%'] as const).map((sign) => [sign, sign]),
);

export const AGGREGATES: ReadonlyMap<string, AggregateName> = new Map(
  (['COUNT', 'SUM', 'MIN', 'MAX', 'AVG'] as const).map((name) => [name, name]),
);

export const CONSTANTS: ReadonlyMap<string, SqlValue> = new Map<string, SqlValue>([
  ['TRUE', true],
  ['FALSE', false],
  ['NULL', null],
  ['UNDEFINED', undefined],
]);

/** Words that are valid where a value is expected, but not supported, with the names that refusals give them. */
export const BEYOND: ReadonlyMap<string, string> = new Map([
  ['UDF', 'A user-defined function'],
  ['~', 'The operator ~'],
]);

export const BITWISE: ReadonlySet<string> = new Set(['&', '|', '^', '<<', '>>', '>>>']);
