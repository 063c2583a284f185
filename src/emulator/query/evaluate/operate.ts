/**
 * The operators that work on values alone.
 *
 * Invariant: a value of another type than the operator needs makes the result undefined.
 */
import { unreachable } from '../../../lib/assert.ts';
import type { ArithmeticOperator } from '../parse/syntax.ts';
import { finite, type SqlValue } from './values.ts';

export function not(value: SqlValue): SqlValue {
  return typeof value === 'boolean' ? !value : undefined;
}

export function signed(sign: 1 | -1, value: SqlValue): SqlValue {
  return typeof value === 'number' ? sign * value : undefined;
}

export function both(left: SqlValue, right: SqlValue): SqlValue {
  if (left === false || right === false) return false;
  return left === true && right === true ? true : undefined;
}

export function calculate(operator: ArithmeticOperator, left: SqlValue, right: SqlValue): SqlValue {
  if (typeof left !== 'number' || typeof right !== 'number') return undefined;
  switch (operator) {
    case '+':
      return finite(left + right);
    case '-':
      return finite(left - right);
    case '*':
      return finite(left * right);
    case '/':
      return finite(left / right);
    case '%':
      return finite(left % right);
    default:
      return unreachable(operator);
  }
}
