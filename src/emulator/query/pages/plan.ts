/**
 * Makes the plan of a query across ranges: the query that the client sends to each range, and how the client merges
 * the answers. A range answers an aggregate as `[{"item": ...}]`, and an ordered document as `{_rid, orderByItems,
 * payload}`. The client cuts the merged result at TOP or LIMIT.
 *
 * Invariant: the plan has the gateway's form in every field that SDKs read.
 */
import { unreachable } from '../../../lib/assert.ts';
import { Refusal } from '../../http/refusal.ts';
import { aggregatesIn, isAggregating } from '../evaluate/aggregate.ts';
import type {
  AggregateExpression,
  AggregateName,
  Expression,
  Selection,
  Statement,
} from '../parse/syntax.ts';

/**
 * The client replaces this text in the query: by a condition when it resumes after a certain row, otherwise by `true`.
 */
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
  const { sources, selection, orderBy, groupBy, distinct, limit } = statement;
  if (sources.length === 0) return false;
  return isAggregating(selection) || orderBy.length > 0 || groupBy.length > 0 || distinct || limit < Infinity;
}

export function planOf(statement: Statement, part: { readonly min: string; readonly max: string }) {
  const { selection, orderBy, groupBy, distinct, top, offset, limit } = statement;
  const isSlice = top === undefined && limit < Infinity;
  const columns = columnsOf(statement);
  const merges = columns.map(
    ({ name, of }) => [name, of.kind === 'aggregate' ? MERGES[of.name] : null] as const,
  );
  const isNamed = selection.kind === 'list';
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: {
      // Unordered: equal results need not be neighbours, so the client compares each result with all before it.
      distinctType: distinct ? 'Unordered' : 'None',
      top: top ?? null,
      offset: isSlice ? offset : null,
      limit: isSlice ? limit : null,
      orderBy: orderBy.map(({ descending }) => (descending ? 'Descending' : 'Ascending')),
      orderByExpressions: orderBy.map(({ text }) => text),
      groupByExpressions: groupBy.map(({ text }) => text),
      groupByAliases: groupBy.length > 0 && isNamed ? selection.entries.map(({ name }) => name) : [],
      // How the client merges aggregates: the single one of SELECT VALUE (`aggregates`), or each by its name
      // (`groupByAliasToAggregateType`).
      aggregates: isNamed ? [] : merges.map(([, merge]) => merge).filter((merge) => merge !== null),
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
  readonly of: Expression;
  readonly text: string;
}

/** Returns the items that an aggregating or grouping query selects; none for any other query. */
function columnsOf({ selection, groupBy }: Statement): readonly Column[] {
  if (selection.kind === 'star' || (!isAggregating(selection) && groupBy.length === 0)) return [];
  const entries =
    selection.kind === 'value' ? [{ name: '', of: selection.of, text: selection.text }] : selection.entries;
  for (const { of } of entries) {
    // Only the query that a plan makes for a range may nest aggregates. In a client's own query they could not be
    // merged.
    if (of.kind !== 'aggregate' && aggregatesIn(of).length > 0)
      throw new Refusal(400, 'An aggregate within an array or object cannot be merged across ranges.');
  }
  return entries;
}

/**
 * Writes the query for each range. Each part of the original text is followed by a new line, because it may end in a
 * comment.
 */
function rewritten(statement: Statement): string {
  const { fromText, whereText, orderBy, groupBy, distinct, top, offset, limit } = statement;
  const conditions = whereText === undefined ? [] : [`(${whereText}\n)`];
  if (orderBy.length > 0) conditions.push(`(${FILTER})`);
  // With DISTINCT or GROUP BY, results of several ranges may be equal or belong to one group. So no range may cut off
  // its results.
  const isWhole = !distinct && groupBy.length === 0;
  const keys = orderBy.map(({ text, descending }) => `${text}\n${descending ? 'DESC' : 'ASC'}`);
  const clauses = [
    `SELECT ${top === undefined || !isWhole ? '' : `TOP ${top} `}${selected(statement)}`,
    fromText,
    ...(conditions.length === 0 ? [] : [`WHERE ${conditions.join(' AND ')}`]),
    ...(groupBy.length === 0 ? [] : [`GROUP BY ${groupBy.map(({ text }) => `${text}\n`).join(', ')}`]),
    ...(keys.length === 0 ? [] : [`ORDER BY ${keys.join(', ')}`]),
  ];
  if (top === undefined && limit < Infinity && isWhole) {
    // Any range may have all the documents that OFFSET skips, so only the client can skip them.
    clauses.push(`OFFSET 0 LIMIT ${Math.min(offset + limit, Number.MAX_SAFE_INTEGER)}`);
  }
  return clauses.join('\n');
}

function selected(statement: Statement): string {
  const { selection, alias, orderBy, groupBy, distinct } = statement;
  const columns = columnsOf(statement);
  if (columns.length > 0) {
    const isValue = selection.kind === 'value';
    const parts = columns.map(({ name, of, text }) => {
      const part = of.kind === 'aggregate' ? partial(of) : `${text}\n`;
      return isValue ? part : `${JSON.stringify(name)}: ${part}`;
    });
    const isBare = isValue && columns.every(({ of }) => of.kind !== 'aggregate');
    const payload = isBare ? parts.join() : isValue ? `[${parts.join()}]` : `{${parts.join(', ')}}`;
    if (groupBy.length === 0) return isValue ? `VALUE ${payload}` : `${payload} AS payload`;
    const items = groupBy.map(({ text }) => `{"item": ${text}\n}`);
    return `[${items.join(', ')}] AS groupByItems, ${payload} AS payload`;
  }
  const item = itemOf(selection);
  if (orderBy.length === 0) return `${distinct ? 'DISTINCT ' : ''}VALUE ${item}`;
  if (alias === undefined) {
    throw new Refusal(
      400,
      'ORDER BY over a part of the documents cannot be merged across ranges by this emulator.',
    );
  }
  const items = orderBy.map(({ text }) => `{"item": ${text}\n}`);
  return `${alias}._rid, [${items.join(', ')}] AS orderByItems, ${item}\nAS payload`;
}

/** Returns the text of what is selected, as one expression. */
function itemOf(selection: Selection): string {
  switch (selection.kind) {
    case 'star':
      return selection.root;
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
