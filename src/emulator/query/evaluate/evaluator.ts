/**
 * Compiles an expression to a function of a document.
 *
 * Invariant: an expression with an undefined operand is undefined, except AND, OR, `??` and the type checks, which may
 * have a result without that operand.
 */
import { unreachable } from '../../../lib/assert.ts';
import { InternalError } from '../../../lib/errors.ts';
import { likeMatcher } from './like.ts';
import { compare, equal, finite, type QueryRow, type SqlValue, stepInto } from './values.ts';
import type { ArithmeticOperator, NamedExpression, Expression } from '../parse/syntax.ts';
import { concatenate } from './text.ts';

type Evaluate = (row: QueryRow) => SqlValue;

export function evaluator(expression: Expression): Evaluate {
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression;
      return () => value;
    }
    case 'path': {
      const { steps } = expression;
      return (row) => row.at(steps);
    }
    case 'member': {
      const of = evaluator(expression.of);
      return (row) => stepInto(of(row), expression.steps);
    }
    case 'array': {
      const items = expression.items.map(evaluator);
      return (row) => items.map((item) => item(row)).filter((value) => value !== undefined);
    }
    case 'object':
      return objectOf(expression.entries);
    case 'not': {
      const of = evaluator(expression.of);
      return (row) => not(of(row));
    }
    case 'sign': {
      const of = evaluator(expression.of);
      return (row) => signed(expression.sign, of(row));
    }
    case 'and':
      return decidedBy(false, expression.terms.map(evaluator));
    case 'or':
      return decidedBy(true, expression.terms.map(evaluator));
    case 'compare':
      return ofBoth(expression, (left, right) => compare(expression.operator, left, right));
    case 'arithmetic':
      return ofBoth(expression, (left, right) => calculate(expression.operator, left, right));
    case 'concat':
      return ofBoth(expression, (left, right) => concatenate(left, right));
    case 'coalesce':
      return ofBoth(expression, (left, right) => (left === undefined ? right : left));
    case 'conditional': {
      const condition = evaluator(expression.condition);
      const [whenTrue, otherwise] = [evaluator(expression.whenTrue), evaluator(expression.otherwise)];
      return (row) => (condition(row) === true ? whenTrue(row) : otherwise(row));
    }
    case 'in': {
      const of = evaluator(expression.of);
      const candidates = expression.candidates.map(evaluator);
      return (row) => isAmong(of(row), candidates, row);
    }
    case 'between': {
      const of = evaluator(expression.of);
      const [low, high] = [evaluator(expression.low), evaluator(expression.high)];
      return (row) => {
        const value = of(row);
        return both(compare('>=', value, low(row)), compare('<=', value, high(row)));
      };
    }
    case 'like':
      return like(evaluator(expression.of), expression.pattern, expression.escape);
    case 'call': {
      const args = expression.args.map(evaluator);
      const { called } = expression;
      return (row) => called.apply(...args.map((arg) => arg(row)));
    }
    case 'aggregate':
      throw new InternalError('the parser lets an aggregate stand only as a whole selected item');
    default:
      return unreachable(expression);
  }
}

function ofBoth(
  operands: { readonly left: Expression; readonly right: Expression },
  combine: (left: SqlValue, right: SqlValue) => SqlValue,
): Evaluate {
  const [left, right] = [evaluator(operands.left), evaluator(operands.right)];
  return (row) => combine(left(row), right(row));
}

function objectOf(entries: readonly NamedExpression[]): Evaluate {
  const members = entries.map((entry) => ({ name: entry.name, of: evaluator(entry.of) }));
  return (row) => {
    // An object without a prototype can have `__proto__` as an ordinary name.
    const object = Object.create(null) as Record<string, SqlValue>;
    for (const { name, of } of members) {
      const value = of(row);
      if (value !== undefined) object[name] = value;
    }
    return object;
  };
}

function not(value: SqlValue): SqlValue {
  return typeof value === 'boolean' ? !value : undefined;
}

function signed(sign: 1 | -1, value: SqlValue): SqlValue {
  return typeof value === 'number' ? sign * value : undefined;
}

/**
 * Evaluates AND (`decisive` is false) or OR (true): the first decisive term is the result. Without one, a single term
 * that is not a boolean makes the result undefined.
 */
function decidedBy(decisive: boolean, terms: readonly Evaluate[]): Evaluate {
  return (row) => {
    let undecided: SqlValue = !decisive;
    for (const term of terms) {
      const value = term(row);
      if (value === decisive) return decisive;
      if (typeof value !== 'boolean') undecided = undefined;
    }
    return undecided;
  };
}

function both(left: SqlValue, right: SqlValue): SqlValue {
  if (left === false || right === false) return false;
  return left === true && right === true ? true : undefined;
}

/** Evaluates IN: `=` with each candidate, joined by OR. */
function isAmong(value: SqlValue, candidates: readonly Evaluate[], row: QueryRow): SqlValue {
  let undecided: SqlValue = false;
  for (const candidate of candidates) {
    const found = equal(value, candidate(row));
    if (found === true) return true;
    if (found === undefined) undecided = undefined;
  }
  return undecided;
}

function like(of: Evaluate, pattern: Expression, escape: string | undefined): Evaluate {
  if (pattern.kind === 'literal') {
    if (typeof pattern.value !== 'string') return () => undefined;
    const matches = likeMatcher(pattern.value, escape);
    return (row) => {
      const value = of(row);
      return typeof value === 'string' ? matches(value) : undefined;
    };
  }
  const patternOf = evaluator(pattern);
  return (row) => {
    const [value, wanted] = [of(row), patternOf(row)];
    if (typeof value !== 'string' || typeof wanted !== 'string') return undefined;
    return likeMatcher(wanted, escape)(value);
  };
}

function calculate(operator: ArithmeticOperator, left: SqlValue, right: SqlValue): SqlValue {
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
