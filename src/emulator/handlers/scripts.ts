/**
 * Answers requests for stored procedures, triggers and user-defined functions. Definitions are stored, never executed.
 */
import { json, METADATA_WRITE_RU, type GatewayRequest, type GatewayReply } from '../http/request.ts';
import { requireName } from '../account/container-definition.ts';
import type { JsonObject } from '../json/json-value.ts';
import type { ScriptRow } from '../storage/catalog-store.ts';
import { badRequest, Refusal } from '../http/refusal.ts';
import { childRidMaker } from '../storage/resource-ids.ts';
import { listReply } from './resources.ts';

const LIST_NAMES: Readonly<Record<string, string>> = {
  sprocs: 'StoredProcedures',
  triggers: 'Triggers',
  udfs: 'UserDefinedFunctions',
};

function bodyOf(request: GatewayRequest, row: ScriptRow): JsonObject {
  const { self } = request.container();
  const body = JSON.parse(row.body) as JsonObject;
  return { ...body, _rid: row.rid, _self: `${self}${row.kind}/${row.rid}/`, _etag: row.etag, _ts: row.ts };
}

function find(request: GatewayRequest): ScriptRow {
  const row = request.account.catalog.script(
    request.container().number,
    request.segment(4),
    request.segment(5),
  );
  if (row === undefined) throw new Refusal(404, `There is no ${request.segment(4)} ${request.segment(5)}.`);
  return row;
}

/** Stores a script under a new etag and returns the reply. */
function save(
  request: GatewayRequest,
  status: 200 | 201,
  script: Omit<ScriptRow, 'body' | 'etag' | 'ts'>,
  body: JsonObject,
): GatewayReply {
  const { account } = request;
  const row = { ...script, body: JSON.stringify(body), ...account.newVersion() };
  account.transaction(() => account.catalog.saveScript(row));
  return json(status, bodyOf(request, row), { etag: row.etag }, METADATA_WRITE_RU);
}

export function create(request: GatewayRequest): GatewayReply {
  const container = request.container();
  const kind = request.segment(4);
  const body = request.jsonBody();
  const id = requireName(body, 'script');
  if (request.account.catalog.script(container.number, kind, id) !== undefined) {
    throw new Refusal(409, `A script with id ${id} exists already.`);
  }
  const number = request.account.catalog.nextNumber('scripts');
  const rid = childRidMaker(container.database.number, container.number, 'script')(number);
  return save(request, 201, { number, container: container.number, kind, id, rid }, body);
}

export function read(request: GatewayRequest): GatewayReply {
  const row = find(request);
  return json(200, bodyOf(request, row), { etag: row.etag });
}

export function list(request: GatewayRequest): GatewayReply {
  const container = request.container();
  const kind = request.segment(4);
  const rows = request.account.catalog.scripts(container.number, kind).map((row) => bodyOf(request, row));
  return listReply(request, LIST_NAMES[kind] ?? kind, container.rid, rows);
}

export function replace(request: GatewayRequest): GatewayReply {
  const before = find(request);
  const body = request.jsonBody();
  if (requireName(body, 'script') !== before.id) throw badRequest('The id of a script cannot be changed.');
  return save(request, 200, before, body);
}

export function remove(request: GatewayRequest): GatewayReply {
  const row = find(request);
  request.account.transaction(() => request.account.catalog.deleteScript(row.number));
  return { status: 204, chargeRu: METADATA_WRITE_RU };
}

export function run(request: GatewayRequest): GatewayReply {
  find(request);
  throw new Refusal(501, 'Stored procedures are stored and listed by the emulator, but not executed.');
}
