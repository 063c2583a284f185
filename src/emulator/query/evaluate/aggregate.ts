/**
 * Computes COUNT, SUM, MIN, MAX and AVG over all documents that a query selects. Aggregates may be nested in arrays
 * and objects, because a range answers `[{"item": COUNT(1)}]` to a client that merges the answers of several ranges.
 *
 * Invariant: a missing value does not change any aggregate.
 */
import { InternalError } from '../../../lib/errors.ts';
import { evaluator } from './evaluator.ts';
import { finite, order, type QueryRow, type SqlValue } from './values.ts';
import type {
  AggregateExpression,
  AggregateName,
  NamedExpression,
  Expression,
  Selection,
} from '../parse/syntax.ts';
import { toJson } from './text.ts';

/** Takes documents one by one. `result` returns the aggregates as JSON text; undefined without a value. */
interface Aggregation {
  add(row: QueryRow): void;
  result(): string | undefined;
}

interface Running {
  add(value: SqlValue): void;
  result(): SqlValue;
}

export function isAggregating(selection: Selection): boolean {
  return selectedBy(selection).some((expression) => aggregatesIn(expression).length > 0);
}

function selectedBy(selection: Selection): readonly Expression[] {
  if (selection.kind === 'star') return [];
  return selection.kind === 'value' ? [selection.of] : selection.entries.map(({ of }) => of);
}

/** Returns the aggregates of an expression that are outermost or nested in arrays and objects only. */
export function aggregatesIn(expression: Expression): readonly AggregateExpression[] {
  if (expression.kind === 'aggregate') return [expression];
  return partsOf(expression)?.flatMap(aggregatesIn) ?? [];
}

/** Returns whether an expression consists only of aggregates, and of arrays and objects around them. */
export function isMadeOfAggregates(expression: Expression): boolean {
  if (expression.kind === 'aggregate') return true;
  const parts = partsOf(expression) ?? [];
  return parts.length > 0 && parts.every(isMadeOfAggregates);
}

function partsOf(expression: Expression): readonly Expression[] | undefined {
  if (expression.kind === 'array') return expression.items;
  return expression.kind === 'object' ? expression.entries.map((entry) => entry.of) : undefined;
}

/** Returns whether the query asks only for the number of documents, which the store can count by an index. */
export function isCounting(selection: Selection): boolean {
  const selected = selectedBy(selection);
  const counts = selected.flatMap(aggregatesIn);
  return (
    selected.length > 0 &&
    selected.every(isMadeOfAggregates) &&
    counts.every(({ name, of }) => name === 'COUNT' && of.kind === 'literal' && of.value !== undefined)
  );
}

/** Returns the aggregation of a selection. `counted` is the number of documents that the store has already counted. */
export function aggregation(selection: Selection, counted = 0): Aggregation {
  if (selection.kind === 'star') throw notAggregating();
  return selection.kind === 'value'
    ? aggregating(selection.of, counted)
    : objectOf(selection.entries, counted);
}

function aggregating(expression: Expression, counted: number): Aggregation {
  switch (expression.kind) {
    case 'aggregate': {
      const running = RUNNING[expression.name](counted);
      const evaluate = evaluator(expression.of);
      return { add: (row) => running.add(evaluate(row)), result: () => toJson(running.result()) };
    }
    case 'array': {
      const items = expression.items.map((item) => aggregating(item, counted));
      return together(items, () => `[${present(items.map((item) => item.result()))}]`);
    }
    case 'object':
      return objectOf(expression.entries, counted);
    default:
      throw notAggregating();
  }
}

function objectOf(entries: readonly NamedExpression[], counted: number): Aggregation {
  const members = entries.map(({ name, of }) => ({ name, of: aggregating(of, counted) }));
  const text = ({ name, of }: (typeof members)[number]): string | undefined => {
    const result = of.result();
    return result === undefined ? undefined : `${JSON.stringify(name)}:${result}`;
  };
  return together(
    members.map((member) => member.of),
    () => `{${present(members.map(text))}}`,
  );
}

function together(parts: readonly Aggregation[], result: () => string): Aggregation {
  return {
    add(row) {
      for (const part of parts) part.add(row);
    },
    result,
  };
}

/** Joins the parts of an array or object. A part without a value is left out. */
function present(texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join(',');
}

function notAggregating(): InternalError {
  return new InternalError('the parser lets only arrays and objects stand around aggregates');
}

const RUNNING: Readonly<Record<AggregateName, (counted: number) => Running>> = {
  COUNT: counting,
  SUM: () => summing((sum) => sum),
  AVG: () => summing((sum, count) => sum / count),
  MIN: () => extreme(-1),
  MAX: () => extreme(1),
};

function counting(counted: number): Running {
  let count = counted;
  return {
    add(value) {
      if (value !== undefined) count++;
    },
    result: () => count,
  };
}

/** Adds up numbers. A value of another type makes the result undefined. The sum of no values is 0. */
function summing(finish: (sum: number, count: number) => number): Running {
  let sum = 0;
  let count = 0;
  let allNumbers = true;
  return {
    add(value) {
      if (value === undefined) return;
      if (typeof value !== 'number') {
        allNumbers = false;
        return;
      }
      sum += value;
      count++;
    },
    result: () => (allNumbers ? finite(finish(sum, count)) : undefined),
  };
}

function extreme(direction: 1 | -1): Running {
  let best: SqlValue;
  return {
    add(value) {
      if (value !== undefined && (best === undefined || order(value, best) * direction > 0)) best = value;
    },
    result: () => best,
  };
}
