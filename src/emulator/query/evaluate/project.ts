/**
 * Writes what a query returns as JSON text.
 *
 * Invariant: what a path selects from a stored document is cut out of its text, never serialized from a parsed value.
 * Long integers, spellings and escapes are therefore preserved.
 */
import { unreachable } from '../../../lib/assert.ts';
import { valueSpan } from '../../json/json-text.ts';
import { evaluator } from './evaluator.ts';
import type { PathStep, QueryRow } from './values.ts';
import type { NamedExpression, Expression, Selection } from '../parse/syntax.ts';
import { toJson, refuseLongText } from './text.ts';

/** Returns the text of the item that a row yields; undefined if it yields none. */
export type Project = (row: QueryRow) => string | undefined;

export function projector(selection: Selection): Project {
  switch (selection.kind) {
    case 'star':
      return pathText(selection.root, []);
    case 'value':
      return textOf(selection.of);
    case 'list':
      return objectText(selection.entries);
    default:
      return unreachable(selection);
  }
}

function textOf(expression: Expression): Project {
  switch (expression.kind) {
    case 'path': {
      return pathText(expression.root, expression.steps);
    }
    case 'object':
      return objectText(expression.entries);
    case 'array': {
      const items = expression.items.map(textOf);
      return (row) => `[${joined(items.map((item) => item(row)))}]`;
    }
    case 'coalesce': {
      const [left, right] = [textOf(expression.left), textOf(expression.right)];
      return (row) => left(row) ?? right(row);
    }
    case 'conditional': {
      const condition = evaluator(expression.condition);
      const [whenTrue, otherwise] = [textOf(expression.whenTrue), textOf(expression.otherwise)];
      return (row) => (condition(row) === true ? whenTrue(row) : otherwise(row));
    }
    default: {
      const evaluate = evaluator(expression);
      return (row) => toJson(evaluate(row));
    }
  }
}

function pathText(root: string, steps: readonly PathStep[]): Project {
  return (row) => {
    const part = row.part(root, steps);
    return 'value' in part ? toJson(part.value) : row.textAt(part.steps, cut);
  };
}

function cut(text: string, steps: readonly PathStep[]): string | undefined {
  const span = valueSpan(text, steps);
  return span && text.slice(span.start, span.end);
}

function objectText(entries: readonly NamedExpression[]): Project {
  const members = entries.map((entry) => ({ label: `${JSON.stringify(entry.name)}:`, of: textOf(entry.of) }));
  return (row) => {
    const parts = members.map(({ label, of }) => {
      const text = of(row);
      return text === undefined ? undefined : label + text;
    });
    return `{${joined(parts)}}`;
  };
}

/** Joins the parts of an object or array. Parts without a value are left out of both, as on the service. */
function joined(parts: readonly (string | undefined)[]): string {
  const present = parts.filter((part) => part !== undefined);
  refuseLongText(present.reduce((units, part) => units + part.length, 0));
  return present.join(',');
}
