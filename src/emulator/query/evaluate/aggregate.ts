/**
 * Computes COUNT, SUM, MIN, MAX and AVG over all rows that a query selects, or over those of one group. Aggregates may
 * be nested in arrays and objects, because a range answers `[{"item": COUNT(1)}]` to a client that merges the answers
 * of several ranges. Expressions of GROUP BY may stand next to aggregates: they have the same value in each row of a
 * group.
 *
 * Invariant: a missing value does not change any aggregate.
 */
import { isDeepStrictEqual } from 'node:util';
import { InternalError } from '../../../lib/errors.ts';
import { finite, isSqlArray, isSqlObject, order, type QueryRow, type SqlValue } from './values.ts';
import type {
  AggregateExpression,
  AggregateName,
  NamedExpression,
  Expression,
  Selection,
} from '../parse/syntax.ts';
import { toJson } from './text.ts';

/**
 * Takes rows one by one. `result` returns the aggregates of these rows as JSON text; undefined if there is no value.
 */
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

/**
 * Returns whether an expression consists only of aggregates and of the keys of GROUP BY, and of arrays and objects around
 * them.
 */
export function isMadeOfAggregates(expression: Expression, keys: readonly Expression[] = []): boolean {
  if (expression.kind === 'aggregate' || keys.some((key) => isDeepStrictEqual(key, expression))) return true;
  if (keys.length > 0 && expression.kind === 'literal') return true;
  const parts = partsOf(expression) ?? [];
  return parts.length > 0 && parts.every((part) => isMadeOfAggregates(part, keys));
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
    selected.every((expression) => isMadeOfAggregates(expression)) &&
    counts.every(({ name, of }) => name === 'COUNT' && of.kind === 'literal' && of.value !== undefined)
  );
}

/**
 * Compiles an expression to a function of a row. It is passed in, because this module cannot import evaluator.ts, which
 * imports this module for aggregates in subqueries.
 */
type Compile = (expression: Expression) => (row: QueryRow) => SqlValue;

/** Returns the aggregation of a selection. `counted` is the number of documents that the store has already counted. */
export function aggregation(selection: Selection, compile: Compile, counted = 0): Aggregation {
  if (selection.kind === 'star') throw new InternalError('the parser refuses SELECT * with an aggregate');
  const tree = new AggregateTree(compile, counted);
  return selection.kind === 'value' ? tree.of(selection.of) : tree.ofObject(selection.entries);
}

class AggregateTree {
  readonly #compile: Compile;
  readonly #counted: number;

  constructor(compile: Compile, counted: number) {
    this.#compile = compile;
    this.#counted = counted;
  }

  of(expression: Expression): Aggregation {
    if (expression.kind === 'aggregate') {
      const running = RUNNING[expression.name](this.#counted);
      const evaluate = this.#compile(expression.of);
      return { add: (row) => running.add(evaluate(row)), result: () => toJson(running.result()) };
    }
    if (expression.kind === 'array') {
      const items = expression.items.map((item) => this.of(item));
      return together(items, () => `[${present(items.map((item) => item.result()))}]`);
    }
    if (expression.kind === 'object') return this.ofObject(expression.entries);
    return sameInEachRow(this.#compile(expression));
  }

  ofObject(entries: readonly NamedExpression[]): Aggregation {
    const members = entries.map(({ name, of }) => ({ name, of: this.of(of) }));
    const text = ({ name, of }: (typeof members)[number]): string | undefined => {
      const result = of.result();
      return result === undefined ? undefined : `${JSON.stringify(name)}:${result}`;
    };
    return together(
      members.map((member) => member.of),
      () => `{${present(members.map(text))}}`,
    );
  }
}

/** An expression of GROUP BY: its value is that of the first row of the group. */
function sameInEachRow(evaluate: (row: QueryRow) => SqlValue): Aggregation {
  let text: string | undefined;
  let isKnown = false;
  return {
    add(row) {
      if (!isKnown) text = toJson(evaluate(row));
      isKnown = true;
    },
    result: () => text,
  };
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

/** Finds the least or the greatest value. An array or object among the values makes the result undefined. */
function extreme(direction: 1 | -1): Running {
  let best: SqlValue;
  let areComparable = true;
  return {
    add(value) {
      if (isSqlArray(value) || isSqlObject(value)) areComparable = false;
      else if (value !== undefined && (best === undefined || order(value, best) * direction > 0))
        best = value;
    },
    result: () => (areComparable ? best : undefined),
  };
}
