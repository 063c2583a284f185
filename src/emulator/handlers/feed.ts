/** Answers a GET on the documents of a container: a change feed, or the plain list. */
import { readFeed, type ChangeFeedMode } from '../partitions/change-feed.ts';
import { rangeHeaders, type GatewayReply, type GatewayRequest } from '../http/request.ts';
import { badRequest } from '../http/refusal.ts';
import { visibleLsn } from '../partitions/sessions.ts';
import { list, scopeOf } from './query.ts';

const WIRE_FORMAT = '2021-09-15';

function modeOf(request: GatewayRequest): ChangeFeedMode | undefined {
  const header = request.headers['a-im']?.trim().toLowerCase();
  if (header === undefined || header === '') return undefined;
  if (header === 'incremental feed') return 'latest-version';
  if (header !== 'full-fidelity feed') throw badRequest(`The feed ${request.headers['a-im']} is unknown.`);
  if (request.headers['x-ms-cosmos-changefeed-wire-format-version'] !== WIRE_FORMAT) {
    throw badRequest(`All versions and deletes change feed needs the wire format version ${WIRE_FORMAT}.`);
  }
  return 'all-versions';
}

/** Reads the change feed that the headers name. If the headers name none, lists the documents. */
export function read(request: GatewayRequest): GatewayReply {
  const mode = modeOf(request);
  if (mode === undefined) return list(request);
  const { account } = request;
  const container = request.container();
  const scope = scopeOf(request, container);
  const range = scope.range ?? (container.ranges.length === 1 ? container.ranges[0] : undefined);
  if (range === undefined) {
    throw badRequest(
      'A change feed of several ranges is read range by range: name a range or a partition key.',
    );
  }
  account.admit(container, range, request.priority);
  const seen = visibleLsn(account, range, request.headers['x-ms-session-token']);
  const page = readFeed(account, container, {
    mode,
    range,
    min: scope.min,
    max: scope.max,
    ifNoneMatch: request.headers['if-none-match'],
    ifModifiedSince: request.headers['if-modified-since'],
    maxItems: request.maxItems,
    visibleLsn: seen,
  });
  account.charge(container, range, page.chargeRu, request.priority);
  const headers = {
    'x-ms-item-count': page.count,
    ...rangeHeaders(container, range, seen),
    etag: page.etag,
    lsn: range.lsn,
  };
  if (page.count === 0 && !account.deviates('feed-ends-with-200'))
    return { status: 304, headers, chargeRu: page.chargeRu };
  const body = Buffer.concat([
    Buffer.from(`{"_rid":"${container.rid}","Documents":[`),
    page.body ?? Buffer.alloc(0),
    Buffer.from(`],"_count":${page.count}}`),
  ]);
  return { status: 200, body, headers, chargeRu: page.chargeRu };
}
