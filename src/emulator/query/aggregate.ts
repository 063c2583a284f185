/** COUNT, SUM, MIN, MAX and AVG over everything a query keeps. Missing values count for nothing in any of them. */
import { evaluator } from './evaluate.ts';
import type { Row } from './row.ts';
import type { AggregateName, Expression, Selection } from './syntax.ts';
import { jsonText } from './text.ts';
import { finite, order } from './values.ts';
import type { Value } from './values.ts';

/** Takes in documents one by one; the result is one item's text, or none. */
export interface Aggregation {
  add(row: Row): void;
  result(): string | undefined;
}

interface Running {
  add(value: Value): void;
  result(): Value;
}

type AggregateExpression = Extract<Expression, { kind: 'aggregate' }>;

export function isAggregating(selection: Selection): boolean {
  return columnsOf(selection).length > 0;
}

export function aggregation(selection: Selection): Aggregation {
  const columns = columnsOf(selection).map(({ name, of }) => {
    const running = RUNNING[of.name]();
    const evaluate = evaluator(of.of);
    return { name, running, add: (row: Row) => running.add(evaluate(row)) };
  });
  return {
    add(row) {
      for (const column of columns) column.add(row);
    },
    result() {
      if (selection.kind === 'value') return jsonText(columns[0]?.running.result());
      const members = columns.map(({ name, running }) => {
        const text = jsonText(running.result());
        return text === undefined ? undefined : `${JSON.stringify(name)}:${text}`;
      });
      return `{${members.filter((member) => member !== undefined).join(',')}}`;
    },
  };
}

function columnsOf(
  selection: Selection,
): readonly { readonly name: string; readonly of: AggregateExpression }[] {
  if (selection.kind === 'star') return [];
  const entries = selection.kind === 'value' ? [{ name: '', of: selection.of }] : selection.entries;
  return entries.flatMap(({ name, of }) => (of.kind === 'aggregate' ? [{ name, of }] : []));
}

const RUNNING: Readonly<Record<AggregateName, () => Running>> = {
  COUNT: counting,
  SUM: () => summing((sum) => sum),
  AVG: () => summing((sum, count) => sum / count),
  MIN: () => extreme(-1),
  MAX: () => extreme(1),
};

function counting(): Running {
  let count = 0;
  return {
    add(value) {
      if (value !== undefined) count++;
    },
    result: () => count,
  };
}

/** One value that is not a number makes the whole undefined. Of nothing at all the sum is 0. */
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
  let best: Value;
  return {
    add(value) {
      if (value !== undefined && (best === undefined || order(value, best) * direction > 0)) best = value;
    },
    result: () => best,
  };
}
