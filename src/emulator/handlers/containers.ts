/** Answers requests for containers: definitions, quotas and statistics, ranges, and the empty feed of conflicts. */
import { createHash } from 'node:crypto';
import {
  isTrue,
  json,
  METADATA_READ_RU,
  METADATA_WRITE_RU,
  pathHeaders,
  type GatewayReply,
  type GatewayRequest,
} from '../http/request.ts';
import type { JsonObject } from '../json/json-value.ts';
import { createContainer, deleteContainer, replaceContainer } from '../account/catalog.ts';
import type { ContainerModel } from '../account/model.ts';
import { DEFAULT_SETTINGS } from '../account/settings.ts';
import { requestedThroughput } from '../partitions/offers.ts';
import type { RangeModel } from '../partitions/ranges.ts';
import { listReply, requireUnchanged, withSystemProperties } from './resources.ts';

const LINKS = {
  _docs: 'docs/',
  _sprocs: 'sprocs/',
  _triggers: 'triggers/',
  _udfs: 'udfs/',
  _conflicts: 'conflicts/',
};

function bodyOf(container: ContainerModel): JsonObject {
  return withSystemProperties(container.body, container, LINKS);
}

function headersOf(container: ContainerModel): Record<string, string> {
  return { etag: container.etag, ...pathHeaders(container) };
}

/** Returns counts and sizes as headers in the service's form, if the client asks for them. */
function quotaHeaders(request: GatewayRequest, container: ContainerModel): Record<string, string> {
  if (!isTrue(request.headers, 'x-ms-documentdb-populatequotainfo')) return {};
  const { account } = request;
  const count = (kind: string): number => account.catalog.scripts(container.number, kind).length;
  const kb = Math.ceil(container.bytes / 1024);
  const usage =
    `functions=${count('udfs')};storedProcedures=${count('sprocs')};triggers=${count('triggers')};` +
    `documentSize=${Math.floor(kb / 1024)};documentsSize=${kb};documentsCount=${container.documents};collectionSize=${kb};`;
  const quota =
    'functions=50;storedProcedures=100;triggers=25;documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;';
  return {
    'x-ms-resource-usage': usage,
    'x-ms-resource-quota': quota,
    'x-ms-documentdb-collection-index-transformation-progress': '100',
  };
}

/**
 * Returns the size of each range and its largest keys, if the client asks for them. A key value that has reached a lower
 * `logicalPartitionLimitBytes` is reported with the 20 GB that a full one has on the service.
 */
function statistics(request: GatewayRequest, container: ContainerModel): JsonObject {
  if (!isTrue(request.headers, 'x-ms-documentdb-populatepartitionstatistics')) return {};
  const { logicalPartitionLimitBytes: limit } = request.account.settings;
  const scale = DEFAULT_SETTINGS.logicalPartitionLimitBytes / limit;
  const ranges = container.ranges.map((range) => ({
    id: String(range.id),
    sizeInKB: Math.ceil(range.bytes / 1024),
    documentCount: range.documents,
    partitionKeys: request.account.documents
      .heaviestKeys(container.number, range.id)
      .map(({ key, bytes }) => ({
        partitionKey: JSON.parse(key) as unknown,
        sizeInKB: Math.ceil((bytes * scale) / 1024),
      })),
  }));
  return { statistics: ranges };
}

export function create(request: GatewayRequest): GatewayReply {
  const database = request.account.database(request.segment(1));
  const container = createContainer(
    request.account,
    database,
    request.jsonBody(),
    requestedThroughput(request.headers),
  );
  return json(201, bodyOf(container), headersOf(container), METADATA_WRITE_RU);
}

export function read(request: GatewayRequest): GatewayReply {
  const container = request.container();
  const headers = { ...headersOf(container), ...quotaHeaders(request, container) };
  return json(200, { ...bodyOf(container), ...statistics(request, container) }, headers);
}

export function replace(request: GatewayRequest): GatewayReply {
  const container = request.container();
  requireUnchanged(request, 'container', container.etag);
  replaceContainer(request.account, container, request.jsonBody());
  return json(200, bodyOf(container), headersOf(container), METADATA_WRITE_RU);
}

export function list(request: GatewayRequest): GatewayReply {
  const database = request.account.database(request.segment(1));
  return listReply(
    request,
    'DocumentCollections',
    database.rid,
    [...database.containers.values()].map(bodyOf),
  );
}

export function remove(request: GatewayRequest): GatewayReply {
  deleteContainer(request.account, request.container());
  return { status: 204, chargeRu: METADATA_WRITE_RU };
}

/**
 * Lists the current ranges, in the order of the hash space. `shown` is the effect of a fault rule. Most SDKs read this
 * list as a feed: they send the etag of the last page until the answer is 304.
 */
export function ranges(request: GatewayRequest, shown?: 'incomplete' | 'stale'): GatewayReply {
  const container = request.container();
  const known = shown === 'stale' ? container.previousRanges : container.ranges;
  const current = shown === 'incomplete' ? known.slice(0, -1) : known;
  const etag = etagOfRanges(container, current);
  if (request.headers['if-none-match'] === etag) {
    return { status: 304, headers: { etag, ...pathHeaders(container) }, chargeRu: METADATA_READ_RU };
  }
  const listed = current.map((range) => ({
    _rid: container.rid,
    id: String(range.id),
    _etag: container.etag,
    minInclusive: range.min,
    maxExclusive: range.max,
    ridPrefix: range.id,
    _self: `${container.self}pkranges/${range.id}/`,
    throughputFraction: 1 / container.ranges.length,
    status: range.splittingUntilMs === undefined ? 'online' : 'splitting',
    parents: range.parents.map(String),
    _ts: container.ts,
    lsn: range.lsn,
  }));
  const reply = listReply(request, 'PartitionKeyRanges', container.rid, listed);
  return { ...reply, headers: { ...reply.headers, etag } };
}

/** Returns an etag that changes with every split and merge, because no range id is used twice in a container. */
function etagOfRanges({ rid }: ContainerModel, ranges: readonly RangeModel[]): string {
  const ids = ranges.map(({ id }) => id).join();
  return `"${createHash('sha256').update(`${rid} ${ids}`).digest('base64url').slice(0, 22)}"`;
}

/** Answers with an empty list of conflicts. An account with a single write region has no conflicts. */
export function conflicts(request: GatewayRequest): GatewayReply {
  return listReply(request, 'Conflicts', request.container().rid, []);
}
