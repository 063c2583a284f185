/**
 * Answers queries over documents: of one key, of a key prefix, of a range or a part of it, or of the whole container.
 */
import { effectiveKey, prefixRange } from '../../epk/effective-key.ts';
import { must } from '../../lib/assert.ts';
import type { LocalAccount } from '../account/account.ts';
import {
  isTrue,
  json,
  pathHeaders,
  rangeHeaders,
  type GatewayReply,
  type GatewayRequest,
} from '../http/request.ts';
import { queryCharge } from '../partitions/charges.ts';
import { keyText, parseKey } from '../account/container-definition.ts';
import { own, parseJson } from '../json/json-value.ts';
import type { ContainerModel } from '../account/model.ts';
import type { Window } from '../storage/document-store.ts';
import { rangeById, rangeOf, refuseWhileSplitting, type RangeModel } from '../partitions/ranges.ts';
import { hasCompositeIndex } from '../query/pages/composite-index.ts';
import { needsPlan, planOf } from '../query/pages/plan.ts';
import { countPage, type CompiledQuery, type Documents, type StoredDocument } from '../query/pages/pages.ts';
import { compileQuery, runPage, type QuerySpec } from '../query/query.ts';
import { badRequest, Refusal } from '../http/refusal.ts';
import { sessionToken } from '../partitions/sessions.ts';
import { metricsHeaders } from './query-metrics.ts';

/** The most items of a page if the client sets no limit. */
const ITEMS_DEFAULT = 100;

interface Scope {
  readonly min: string;
  readonly max: string;
  /** The key to read, if the scope is one logical partition: its effective key, and its text as documents store it. */
  readonly key: { readonly epk: string; readonly text: string } | undefined;
  /** The range to read; undefined when the scope may include several ranges. */
  readonly range: RangeModel | undefined;
}

/**
 * Returns the interval that contains this effective key alone. A longer key that begins with it has at least one digit
 * more, and so is not below `max`.
 */
function ofOneKey(epk: string): { min: string; max: string } {
  return { min: epk, max: `${epk}0` };
}

function unlessSplitting(request: GatewayRequest, range: RangeModel): RangeModel {
  refuseWhileSplitting(range, request.account.machineMs());
  return range;
}

/** Returns the part of a container that the range and key headers of a request name. */
export function scopeOf(request: GatewayRequest, container: ContainerModel): Scope {
  const key = request.headers['x-ms-documentdb-partitionkey'];
  if (key !== undefined && key !== '') {
    const { definition, ranges } = container;
    const values = parseKey(definition, key);
    if (values.length === definition.keyPaths.length) {
      const epk = effectiveKey(definition.kind, values);
      const wholeKey = { epk, text: keyText(values) };
      return { ...ofOneKey(epk), key: wholeKey, range: unlessSplitting(request, rangeOf(ranges, epk)) };
    }
    if (values.length > 0) {
      const prefix = prefixRange(values);
      const range = unlessSplitting(request, rangeOf(ranges, prefix.min));
      return { ...prefix, key: undefined, range: range.max >= prefix.max ? range : undefined };
    }
  }
  const id = request.headers['x-ms-documentdb-partitionkeyrangeid'];
  if (id === undefined || id === '') return { min: '', max: 'FF', key: undefined, range: undefined };
  const range = rangeById(container.ranges, id, request.account.machineMs());
  const min = request.headers['x-ms-start-epk'] ?? range.min;
  const max = request.headers['x-ms-end-epk'] || range.max;
  if (!/^[0-9A-F]*$/.test(min) || !/^[0-9A-F]+$/.test(max) || min >= max) {
    throw badRequest(
      `The part ${min}..${max} of the hash space is invalid: use upper-case hex, start below end.`,
    );
  }
  // A part that extends beyond the range includes other ranges. So the client's list of ranges is outdated.
  if (min < range.min || max > range.max) {
    throw new Refusal(410, `Range ${id} covers ${range.min}..${range.max}, and not all of ${min}..${max}.`, {
      substatus: 1002,
    });
  }
  return { min, max, key: undefined, range };
}

export function readQuerySpec(request: GatewayRequest): QuerySpec {
  const body = request.anyJsonBody();
  if (typeof body === 'string') return { query: body };
  return { query: own(body, 'query'), parameters: own(body, 'parameters') ?? [] };
}

/**
 * Returns whether the request names neither a range nor a key. A request that names the only range of a container does
 * name a range.
 */
function isWhole({ range, min, max }: Scope): boolean {
  return range === undefined && min === '' && max === 'FF';
}

/**
 * Refuses a query of the whole container, unless the client says that the query may cross partitions, or the filter
 * requires one value for each part of the key.
 */
function refuseCrossing(request: GatewayRequest, container: ContainerModel, query: CompiledQuery): void {
  if (isTrue(request.headers, 'x-ms-documentdb-query-enablecrosspartition')) return;
  if (container.definition.keyPaths.every(query.requires)) return;
  throw badRequest(
    'Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to true, ' +
      'specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.',
  );
}

/** Returns a function that reads the documents of the scope after any position. The query may call it many times. */
function documentsIn(
  request: GatewayRequest,
  container: ContainerModel,
  scope: Scope,
  query: CompiledQuery,
): Documents {
  const { documents } = request.account;
  const { key } = scope;
  const window = windowOf(request, container, scope);
  if (key === undefined) return (after) => documents.scan({ ...window, after });
  // The positions of a key's documents are sorted only once. Sorting for each chunk would take quadratic time.
  let positions: readonly number[] | undefined;
  return (after) => {
    positions ??= positionsOfKey(request, container, key, query);
    return documentsAt(request.account, positions, after, window.nowTs);
  };
}

function windowOf(
  { account }: GatewayRequest,
  { number: container }: ContainerModel,
  { min, max }: Scope,
): Window {
  return { container, min, max, nowTs: account.nowTs() };
}

function positionsOfKey(
  { account }: GatewayRequest,
  container: ContainerModel,
  key: NonNullable<Scope['key']>,
  query: CompiledQuery,
): readonly number[] {
  if (query.idEquals === undefined) return account.documents.positionsOf(container.number, key.epk, key.text);
  const row = account.documents.find(container.number, key.epk, query.idEquals);
  return row?.key === key.text ? [row.position] : [];
}

function* documentsAt(
  account: LocalAccount,
  positions: readonly number[],
  after: number,
  nowTs: number,
): Generator<StoredDocument> {
  for (let index = firstAfter(positions, after); index < positions.length; index += 1) {
    const row = account.documents.at(must(positions[index], 'the index is within the list'));
    if (row === undefined || (row.expires_at !== null && row.expires_at <= nowTs)) continue;
    yield { position: row.position, text: `${row.text}}` };
  }
}

/** Returns the index of the first position after `after` in an ascending list. */
function firstAfter(positions: readonly number[], after: number): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (must(positions[middle], 'the middle is within the list') > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

function answer(request: GatewayRequest, spec: QuerySpec): GatewayReply {
  const container = request.container();
  const scope = scopeOf(request, container);
  const query = compileQuery(spec);
  if (request.method === 'POST' && isWhole(scope)) refuseCrossing(request, container, query);
  if (!hasCompositeIndex(own(container.body, 'indexingPolicy'), query.statement.orderBy)) {
    throw badRequest(
      'The order by query does not have a corresponding composite index that it can be served from.',
    );
  }
  const beganMs = request.account.machineMs();
  if (request.account.settings.queries === 'planned' && isWhole(scope) && needsPlan(query.statement)) {
    throw badRequest(
      'The results of this query must be merged across ranges: request its plan, then query each range.',
      {
        substatus: 1004,
        chargeRu: 0,
        body: { additionalErrorInfo: JSON.stringify(planOf(query.statement, scope)) },
      },
    );
  }
  const visited = scope.range === undefined ? container.ranges : [scope.range];
  for (const range of visited) request.account.admit(container, range, request.priority);
  const limits = {
    maxItems: request.maxItems ?? ITEMS_DEFAULT,
    maxBytes: request.account.settings.pageBytes,
    continuation: continuationOf(request.headers['x-ms-continuation']),
    // As on the service, a page of a query of one key has a token only if another result follows. A page of any other
    // query may have a token although nothing follows.
    looksAhead: scope.key !== undefined,
  };
  const page =
    query.countsAll && scope.key === undefined && limits.continuation === undefined
      ? countPage(query, request.account.documents.count(windowOf(request, container, scope)))
      : runPage(query, documentsIn(request, container, scope, query), limits);
  const costRu = queryCharge(visited.length, { items: page.scanned, bytes: page.scannedBytes });
  const isDear = query.countsAll && request.account.deviates('dear-counts');
  const chargeRu = isDear ? 100 * costRu : costRu;
  for (const range of visited)
    request.account.charge(container, range, chargeRu / visited.length, request.priority);
  const only = visited.length === 1 ? visited[0] : undefined;
  const headers: Record<string, string | number> = {
    'x-ms-item-count': page.items.length,
    ...(only === undefined ? pathHeaders(container) : rangeHeaders(container, only, only.lsn)),
    'x-ms-session-token': visited.map((range) => sessionToken(range, range.lsn)).join(','),
  };
  if (page.continuation !== undefined) {
    // A page of several ranges has a token in the gateway's form, which names the part of the container that it is for.
    const { min, max } = scope;
    headers['x-ms-continuation'] =
      scope.range === undefined
        ? JSON.stringify({ token: page.continuation, range: { min, max } })
        : page.continuation;
  }
  const tookMs = request.account.machineMs() - beganMs;
  Object.assign(headers, metricsHeaders(request, page, tookMs));
  const body = `{"_rid":"${container.rid}","Documents":[${page.items.join(',')}],"_count":${page.items.length}}`;
  return { status: 200, body, headers, chargeRu };
}

/**
 * Returns the token in a continuation header. The header is the token itself, an object with the token (the gateway's
 * form), or a list of such objects, of which the first counts.
 */
function continuationOf(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  const parsed = parseJson(header);
  const token = own(Array.isArray(parsed) ? parsed[0] : parsed, 'token');
  return typeof token === 'string' ? token : header;
}

export function run(request: GatewayRequest): GatewayReply {
  return answer(request, readQuerySpec(request));
}

/** Answers with the plain list of documents. */
export function list(request: GatewayRequest): GatewayReply {
  return answer(request, { query: 'SELECT * FROM c' });
}

/** Answers with the plan of a query. .NET and Java ask for it before the query, JavaScript along with the query. */
export function plan(request: GatewayRequest): GatewayReply {
  const { statement } = compileQuery(readQuerySpec(request));
  return json(200, planOf(statement, scopeOf(request, request.container())), {}, 0);
}
