/**
 * The entrance to the emulator's queries, whose language is a subset of the service's. `compileQuery` reads the text of
 * a query. `runPage` returns one page of its results as text, from the documents that the caller offers.
 *
 * Invariant: no query waits, keeps state between pages or depends on HTTP.
 */
import { isDeepStrictEqual } from 'node:util';
import { Refusal } from '../http/refusal.ts';
import { isAggregating, isCounting } from './evaluate/aggregate.ts';
import { queryFingerprint, readToken, type Resume } from './pages/continuation.ts';
import { evaluator, rowMaker } from './evaluate/evaluator.ts';
import {
  aggregatePage,
  gatheredPage,
  orderedPage,
  plainPage,
  type CompiledQuery,
  type Documents,
  type PageLimits,
  type QueryPage,
} from './pages/pages.ts';
import { parse } from './parse/statement.ts';
import { projector } from './evaluate/project.ts';
import type { Expression, PathExpression } from './parse/syntax.ts';
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
  const { alias, orderBy, groupBy, sources } = statement;
  const isWhole = sources.length === 1 && alias !== undefined;
  const required = (path: readonly string[]): Literal | undefined =>
    alias === undefined || statement.where === undefined
      ? undefined
      : literalAt(statement.where, { kind: 'path', root: alias, steps: path });
  const id = required(['id'])?.value;
  const gathers = isAggregating(statement.selection);
  return {
    idEquals: typeof id === 'string' ? id : undefined,
    requires: (path) => required(path) !== undefined,
    countsAll:
      statement.where === undefined && isWhole && groupBy.length === 0 && isCounting(statement.selection),
    // The fingerprint of an ordered query does not include its filter, because SDKs narrow the filter when they resume.
    fingerprint:
      orderBy.length === 0
        ? queryFingerprint(query, [...parameters])
        : queryFingerprint(
            'ORDER BY',
            orderBy.map(({ of, descending }) => [of.steps, descending]),
          ),
    statement,
    rows: rowMaker(sources),
    keeps: (row) => where === undefined || where(row) === true,
    project: gathers || groupBy.length > 0 ? () => undefined : projector(statement.selection),
  };
}

export function runPage(query: CompiledQuery, documents: Documents, limits: PageLimits): QueryPage {
  const start = limits.continuation === undefined ? undefined : resumeAt(query, limits.continuation);
  const offered = offeredTo(query, documents);
  const question = { query, documents: offered, limits, start };
  const { orderBy, groupBy, distinct, selection } = query.statement;
  if (groupBy.length > 0 || distinct) return gatheredPage(question);
  if (isAggregating(selection)) return aggregatePage(question);
  return orderBy.length === 0 ? plainPage(question) : orderedPage(question);
}

function offeredTo({ statement: { sources, where } }: CompiledQuery, documents: Documents): Documents {
  // A filter that is never true selects no document.
  if (where?.kind === 'literal' && where.value !== true) return () => [];
  // A query without FROM has one result, which depends on no document.
  return sources.length === 0 ? (after) => (after < 0 ? [{ position: 0, text: '{}' }] : []) : documents;
}

function resumeAt(query: CompiledQuery, token: string): Resume {
  const resume = readToken(query.fingerprint, token);
  const { orderBy, groupBy, distinct, selection } = query.statement;
  const keys = distinct ? 0 : orderBy.length;
  if ((isAggregating(selection) && groupBy.length === 0) || keys !== resume.keys.length) {
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

/**
 * Returns a literal that the filter requires the value at `path` to equal; undefined if there is none. Of several such
 * literals any will do, because the filter is evaluated anyway.
 */
function literalAt(where: Expression, path: PathExpression): Literal | undefined {
  if (where.kind === 'and')
    return where.terms.map((term) => literalAt(term, path)).find((literal) => literal !== undefined);
  if (where.kind !== 'compare' || where.operator !== '=') return undefined;
  const { left, right } = where;
  if (isDeepStrictEqual(left, path)) return right.kind === 'literal' ? right : undefined;
  return isDeepStrictEqual(right, path) && left.kind === 'literal' ? left : undefined;
}

type Literal = Extract<Expression, { kind: 'literal' }>;
