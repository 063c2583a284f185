/**
 * The entrance to the query subset. `compileQuery` reads the text of a query. `runPage` returns one page of its
 * results as text, from the documents that the caller offers.
 *
 * Invariant: no query waits, keeps state between pages or depends on HTTP.
 */
import { Refusal } from '../http/refusal.ts';
import { isAggregating, isCounting } from './evaluate/aggregate.ts';
import { queryFingerprint, readToken, type Resume } from './pages/continuation.ts';
import { evaluator } from './evaluate/evaluator.ts';
import {
  aggregatePage,
  orderedPage,
  plainPage,
  type CompiledQuery,
  type Documents,
  type PageLimits,
  type QueryPage,
} from './pages/pages.ts';
import { parse } from './parse/statement.ts';
import { projector } from './evaluate/project.ts';
import type { Expression } from './parse/syntax.ts';
import { isSqlArray, isSqlObject, type SqlValue } from './evaluate/values.ts';

/** A query as a request body states it. Its types are not checked yet. */
export interface QuerySpec {
  readonly query: unknown;
  readonly parameters?: unknown;
}

/** The longest text of a query, as on the service. */
const QUERY_UNITS_MAX = 512 * 1024;
/** How deep the value of a parameter may be nested: as deep as a document. */
const PARAMETER_DEPTH_MAX = 128;

export function compileQuery(spec: QuerySpec): CompiledQuery {
  const { query, parameters } = checked(spec);
  const statement = parse(query, parameters);
  const where = statement.where && evaluator(statement.where);
  const { orderBy } = statement;
  return {
    idEquals: statement.where && statement.alias !== undefined ? idIn(statement.where) : undefined,
    requires: (path) => statement.where !== undefined && literalAt(statement.where, path) !== undefined,
    countsAll:
      statement.where === undefined && statement.alias !== undefined && isCounting(statement.selection),
    // An ordered query continues after a value, whatever its filter is: SDKs narrow the filter when they resume.
    fingerprint:
      orderBy === undefined
        ? queryFingerprint(query, [...parameters])
        : queryFingerprint('ORDER BY', [orderBy.steps, orderBy.descending]),
    statement,
    keeps: (row) => where === undefined || where(row) === true,
    project: isAggregating(statement.selection) ? () => undefined : projector(statement.selection),
  };
}

export function runPage(query: CompiledQuery, documents: Documents, limits: PageLimits): QueryPage {
  const start = limits.continuation === undefined ? undefined : resumeAt(query, limits.continuation);
  const offered = offeredTo(query, documents);
  const question = { query, documents: offered, limits, start };
  if (isAggregating(query.statement.selection)) return aggregatePage(question);
  const { orderBy } = query.statement;
  return orderBy === undefined ? plainPage(question) : orderedPage(question, orderBy);
}

function offeredTo({ statement: { alias, where } }: CompiledQuery, documents: Documents): Documents {
  // A filter that is never true selects no document.
  if (where?.kind === 'literal' && where.value !== true) return () => [];
  // A query without FROM has one result, which depends on no document.
  return alias === undefined ? (after) => (after < 0 ? [{ position: 0, text: '{}' }] : []) : documents;
}

function resumeAt(query: CompiledQuery, token: string): Resume {
  const resume = readToken(query.fingerprint, token);
  const isOrdered = query.statement.orderBy !== undefined;
  if (isAggregating(query.statement.selection) || isOrdered !== (resume.key !== undefined)) {
    throw new Refusal(400, 'The continuation token belongs to another query.');
  }
  return resume;
}

function checked(spec: QuerySpec): {
  readonly query: string;
  readonly parameters: ReadonlyMap<string, SqlValue>;
} {
  const { query, parameters: given = [] } = spec;
  if (typeof query !== 'string') throw new Refusal(400, 'The query must be a string.');
  if (query.length > QUERY_UNITS_MAX) {
    throw new Refusal(400, `The query text is longer than ${QUERY_UNITS_MAX} characters.`);
  }
  if (!Array.isArray(given)) throw new Refusal(400, 'The query parameters must be an array.');
  const parameters = new Map<string, SqlValue>();
  for (const entry of given as readonly unknown[]) {
    const { name, value } = Object(entry) as { readonly name?: unknown; readonly value?: SqlValue };
    if (typeof name !== 'string' || !/^@[\p{L}\p{N}_]+$/u.test(name)) {
      throw new Refusal(400, 'A query parameter needs a name that starts with @.');
    }
    if (parameters.has(name)) throw new Refusal(400, `The query parameter ${name} is given twice.`);
    if (!isShallow(value, PARAMETER_DEPTH_MAX)) {
      throw new Refusal(400, `The query parameter ${name} is nested too deeply.`);
    }
    parameters.set(name, value);
  }
  return { query, parameters };
}

function isShallow(value: SqlValue, depthMax: number): boolean {
  if (!isSqlArray(value) && !isSqlObject(value)) return true;
  return depthMax > 0 && Object.values(value).every((inner: SqlValue) => isShallow(inner, depthMax - 1));
}

function idIn(where: Expression): string | undefined {
  const id = literalAt(where, ['id'])?.value;
  return typeof id === 'string' ? id : undefined;
}

/**
 * Returns a literal that the filter requires a property to equal, if it requires one. If it requires several, any of
 * them will do, because the filter is evaluated anyway.
 */
function literalAt(where: Expression, path: readonly string[]): Literal | undefined {
  if (where.kind === 'and')
    return where.terms.map((term) => literalAt(term, path)).find((literal) => literal !== undefined);
  if (where.kind !== 'compare' || where.operator !== '=') return undefined;
  const { left, right } = where;
  if (isAt(left, path)) return right.kind === 'literal' ? right : undefined;
  return isAt(right, path) && left.kind === 'literal' ? left : undefined;
}

type Literal = Extract<Expression, { kind: 'literal' }>;

function isAt(expression: Expression, path: readonly string[]): boolean {
  if (expression.kind !== 'path' || expression.steps.length !== path.length) return false;
  return expression.steps.every((step, level) => step === path[level]);
}
