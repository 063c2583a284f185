/**
 * Makes the plan of a query across ranges: the query that the client sends to each range, and how the client merges
 * the answers. A range answers an aggregate as `[{"item": ...}]`, and an ordered document as `{_rid, orderByItems,
 * payload}`. The client cuts the merged result at TOP or LIMIT.
 *
 * Invariant: the plan has the gateway's form in every field that SDKs read.
 */
import { unreachable } from '../../../lib/assert.ts';
import { Refusal } from '../../http/refusal.ts';
import { isAggregating } from '../evaluate/aggregate.ts';
import type { AggregateExpression, AggregateName, Selection, Statement } from '../parse/syntax.ts';

/** The client replaces this with a condition when it resumes from a position of its own, otherwise with `true`. */
const FILTER = '{documentdb-formattableorderbyquery-filter}';

const MERGES: Readonly<Record<AggregateName, string>> = {
  COUNT: 'Count',
  SUM: 'Sum',
  MIN: 'Min',
  MAX: 'Max',
  AVG: 'Average',
};

/** Returns whether the client must merge the answers of several ranges. Otherwise it can concatenate them. */
export function needsPlan(statement: Statement): boolean {
  if (statement.alias === undefined) return false;
  return isAggregating(statement.selection) || statement.orderBy !== undefined || statement.limit < Infinity;
}

export function planOf(statement: Statement, part: { readonly min: string; readonly max: string }) {
  const { selection, orderBy, top, offset, limit } = statement;
  const isSlice = top === undefined && limit < Infinity;
  const merges = columnsOf(selection).map(({ name, of }) => [name, MERGES[of.name]] as const);
  const isNamed = selection.kind === 'list';
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: {
      distinctType: 'None',
      top: top ?? null,
      offset: isSlice ? offset : null,
      limit: isSlice ? limit : null,
      orderBy: orderBy === undefined ? [] : [orderBy.descending ? 'Descending' : 'Ascending'],
      orderByExpressions: orderBy === undefined ? [] : [orderBy.text],
      groupByExpressions: [],
      groupByAliases: [],
      // How the client merges the only aggregate of SELECT VALUE, or the aggregates by their names.
      aggregates: isNamed ? [] : merges.map(([, merge]) => merge),
      groupByAliasToAggregateType: isNamed ? Object.fromEntries(merges) : {},
      // The query that the client sends to each range; empty if it is the original query.
      rewrittenQuery: needsPlan(statement) ? rewritten(statement) : '',
      hasSelectValue: selection.kind === 'value',
      hasNonStreamingOrderBy: false,
    },
    queryRanges: [{ min: part.min, max: part.max, isMinInclusive: true, isMaxInclusive: false }],
  };
}

interface Column {
  readonly name: string;
  readonly of: AggregateExpression;
}

/** Returns the aggregates that a query selects, if any. */
function columnsOf(selection: Selection): readonly Column[] {
  if (selection.kind === 'star' || !isAggregating(selection)) return [];
  const entries = selection.kind === 'value' ? [{ name: '', of: selection.of }] : selection.entries;
  return entries.map(({ name, of }) => {
    if (of.kind === 'aggregate') return { name, of };
    // Only the query that a plan makes for a range may nest aggregates. In a client's own query they could not be
    // merged.
    throw new Refusal(400, 'An aggregate within an array or object cannot be merged across ranges.');
  });
}

/** Writes the query for each range. A new line ends every part of the original text, which may end in a comment. */
function rewritten(statement: Statement): string {
  const { alias, whereText, orderBy, top, offset, limit } = statement;
  const conditions = whereText === undefined ? [] : [`(${whereText}\n)`];
  if (orderBy !== undefined) conditions.push(`(${FILTER})`);
  const clauses = [
    `SELECT ${top === undefined ? '' : `TOP ${top} `}${selected(statement)}`,
    `FROM ${alias}`,
    ...(conditions.length === 0 ? [] : [`WHERE ${conditions.join(' AND ')}`]),
    ...(orderBy === undefined ? [] : [`ORDER BY ${orderBy.text}`, orderBy.descending ? 'DESC' : 'ASC']),
  ];
  if (top === undefined && limit < Infinity) {
    // One range may have all the documents that OFFSET skips.
    clauses.push(`OFFSET 0 LIMIT ${Math.min(offset + limit, Number.MAX_SAFE_INTEGER)}`);
  }
  return clauses.join('\n');
}

function selected({ selection, alias, orderBy }: Statement): string {
  const columns = columnsOf(selection);
  if (columns.length > 0) {
    const members = columns.map(({ name, of }) =>
      selection.kind === 'value' ? partial(of) : `${JSON.stringify(name)}: ${partial(of)}`,
    );
    return selection.kind === 'value' ? `VALUE [${members.join()}]` : `{${members.join(', ')}} AS payload`;
  }
  const item = itemOf(selection, `${alias}`);
  if (orderBy === undefined) return `VALUE ${item}`;
  return `${alias}._rid, [{"item": ${orderBy.text}\n}] AS orderByItems, ${item}\nAS payload`;
}

/** Returns the text of what is selected, as one expression. */
function itemOf(selection: Selection, alias: string): string {
  switch (selection.kind) {
    case 'star':
      return alias;
    case 'value':
      return selection.text;
    case 'list':
      return `{${selection.entries.map(({ name, text }) => `${JSON.stringify(name)}: ${text}\n`).join(', ')}}`;
    default:
      return unreachable(selection);
  }
}

/** Writes the partial result of a range. MIN and MAX have a count with them, because a range may have no value. */
function partial({ name, text }: AggregateExpression): string {
  const of = (other: AggregateName): string => `${other}${text.slice(name.length)}\n`;
  switch (name) {
    case 'COUNT':
    case 'SUM':
      return `{"item": ${of(name)}}`;
    case 'AVG':
      return `{"item": {"sum": ${of('SUM')}, "count": ${of('COUNT')}}}`;
    case 'MIN':
    case 'MAX':
      return `{"item": ${of(name)}, "item2": {"${name.toLowerCase()}": ${of(name)}, "count": ${of('COUNT')}}}`;
    default:
      return unreachable(name);
  }
}
