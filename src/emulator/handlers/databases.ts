/** Answers requests for databases: named groups of containers that may share a throughput. */
import type { DatabaseModel } from '../account/model.ts';
import {
  json,
  METADATA_WRITE_RU,
  pathHeaders,
  type GatewayReply,
  type GatewayRequest,
} from '../http/request.ts';
import { createDatabase, deleteDatabase } from '../account/catalog.ts';
import { requestedThroughput } from '../partitions/offers.ts';
import { listReply, withSystemProperties } from './resources.ts';

function bodyOf(database: DatabaseModel): object {
  return withSystemProperties(database.body, database, { _colls: 'colls/', _users: 'users/' });
}

function headersOf(database: DatabaseModel): Record<string, string> {
  return { etag: database.etag, ...pathHeaders(database) };
}

export function create(request: GatewayRequest): GatewayReply {
  const database = createDatabase(request.account, request.jsonBody(), requestedThroughput(request.headers));
  return json(201, bodyOf(database), headersOf(database), METADATA_WRITE_RU);
}

export function read(request: GatewayRequest): GatewayReply {
  const database = request.account.database(request.segment(1));
  return json(200, bodyOf(database), headersOf(database));
}

export function list(request: GatewayRequest): GatewayReply {
  return listReply(request, 'Databases', '', [...request.account.databases.values()].map(bodyOf));
}

export function remove(request: GatewayRequest): GatewayReply {
  deleteDatabase(request.account, request.account.database(request.segment(1)));
  return { status: 204, chargeRu: METADATA_WRITE_RU };
}
