/**
 * Compiles an expression to a function of a row.
 *
 * Invariant: an undefined operand makes an expression undefined, with these exceptions: the other operands may decide
 * AND, OR, IN, BETWEEN and `??`; an undefined condition counts as false; arrays and objects leave out undefined items;
 * functions have rules of their own (functions.ts).
 */
import { unreachable } from '../../../lib/assert.ts';
import { Refusal } from '../../http/refusal.ts';
import { InternalError } from '../../../lib/errors.ts';
import { likeMatcher } from './like.ts';
import { aggregation, isAggregating } from './aggregate.ts';
import { both, calculate, not, signed } from './operate.ts';
import {
  canonicalText,
  compare,
  DOCUMENT,
  equal,
  isSqlArray,
  type Binding,
  type QueryRow,
  type SqlValue,
  stepInto,
} from './values.ts';
import type {
  Expression,
  NamedExpression,
  Selection,
  Source,
  Statement,
  SubqueryForm,
} from '../parse/syntax.ts';
import { concatenate } from './text.ts';

type Evaluate = (row: QueryRow) => SqlValue;

export function evaluator(expression: Expression): Evaluate {
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression;
      return () => value;
    }
    case 'path': {
      const { root, steps } = expression;
      return (row) => row.at(root, steps);
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
    case 'subquery':
      return subquery(expression.form, resultsOf(expression.statement));
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

/**
 * Evaluates AND (`decisive` is false) or OR (true): the first decisive term is the result. Without a decisive term,
 * even one term that is not a boolean makes the result undefined.
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

/**
 * Reads what a source stands for in a row: one value, or each item of an array. A subquery stands for each of its
 * results, or for each item of those results that are arrays.
 */
type ReadSource = (row: QueryRow) => Iterable<Binding>;

function sourceReader({ of, each }: Source): ReadSource {
  if (of.kind === 'path') {
    const { root, steps } = of;
    // The whole document always exists, so it need not be parsed to find that out: often only its text is needed.
    if (root === DOCUMENT && steps.length === 0 && !each) return (row) => [row.part(root, steps)];
    return function* (row) {
      const value = row.at(root, steps);
      if (!each && value !== undefined) yield row.part(root, steps);
      if (!each || !Array.isArray(value)) return;
      for (const index of value.keys()) yield row.part(root, [...steps, index]);
    };
  }
  const resultsOfSubquery = evaluator(of);
  return function* (row) {
    const results = resultsOfSubquery(row);
    for (const result of isSqlArray(results) ? results : []) {
      if (!each) yield { value: result };
      else if (isSqlArray(result)) for (const value of result) yield { value };
    }
  };
}

/** How many rows FROM and JOIN may make of one document: each array multiplies them. */
const ROWS_MAX = 1_000_000;

/**
 * Returns the rows that FROM and its JOINs make of a row: one for each combination of the items of their arrays.
 * Without FROM it returns the row itself.
 */
export function rowMaker(sources: readonly Source[]): (row: QueryRow) => Generator<QueryRow> {
  const readers = sources.map((source) => ({ alias: source.alias, read: sourceReader(source) }));
  return function* (row) {
    let made = 0;
    function* from(index: number, outer: QueryRow): Generator<QueryRow> {
      const next = readers[index];
      if (next === undefined) {
        made += 1;
        if (made > ROWS_MAX) throw new Refusal(400, `JOIN made more than ${ROWS_MAX} rows of one document.`);
        yield outer;
        return;
      }
      for (const binding of next.read(outer)) yield* from(index + 1, outer.with(next.alias, binding));
    }
    yield* from(0, row);
  };
}

function selectedValue(selection: Selection): Evaluate {
  switch (selection.kind) {
    case 'star':
      return (row) => row.at(selection.root, []);
    case 'value':
      return evaluator(selection.of);
    case 'list':
      return objectOf(selection.entries);
    default:
      return unreachable(selection);
  }
}

/** Returns the results of a subquery, for a row of the query around it. */
function resultsOf({ sources, where, selection, distinct, offset, limit }: Statement) {
  const rows = rowMaker(sources);
  const keeps = where && evaluator(where);
  const isAggregate = isAggregating(selection);
  const project = isAggregate ? undefined : selectedValue(selection);
  return (outer: QueryRow): readonly SqlValue[] => {
    const kept: QueryRow[] = [];
    for (const row of rows(outer)) if (keeps === undefined || keeps(row) === true) kept.push(row);
    if (project === undefined) {
      const total = aggregation(selection, evaluator);
      for (const row of kept) total.add(row);
      const result = total.result();
      return result === undefined ? [] : [JSON.parse(result) as SqlValue];
    }
    const results = kept.map(project).filter((value) => value !== undefined);
    const chosen = distinct ? firstOfEach(results) : results;
    return chosen.slice(offset, offset + limit);
  };
}

function firstOfEach(values: readonly SqlValue[]): readonly SqlValue[] {
  const found = new Map<string, SqlValue>();
  for (const value of values) {
    const key = canonicalText(value);
    if (!found.has(key)) found.set(key, value);
  }
  return [...found.values()];
}

function subquery(form: SubqueryForm, resultsIn: (row: QueryRow) => readonly SqlValue[]): Evaluate {
  switch (form) {
    case 'exists':
      return (row) => resultsIn(row).length > 0;
    case 'array':
      return (row) => resultsIn(row);
    case 'value':
      return (row) => {
        const [value, ...more] = resultsIn(row);
        if (more.length === 0) return value;
        throw new Refusal(
          400,
          'A subquery that stands for a value has more than one result; write ARRAY(SELECT ...).',
        );
      };
    default:
      return unreachable(form);
  }
}
