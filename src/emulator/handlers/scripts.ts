/** Stored procedures, triggers and user-defined functions: definitions are kept, nothing is run. */
import type { Account } from '../account/account.ts';
import { json, METADATA_WRITE_RU, type Call, type Reply } from '../http/request.ts';
import { requireName } from '../account/container-definition.ts';
import type { JsonObject } from '../json/json-value.ts';
import type { ScriptRow } from '../storage/catalog-store.ts';
import { Refusal } from '../http/refusal.ts';
import { childRidMaker } from '../storage/resource-ids.ts';
import { listReply } from './lists.ts';

const LIST_NAMES: Readonly<Record<string, string>> = {
  sprocs: 'StoredProcedures',
  triggers: 'Triggers',
  udfs: 'UserDefinedFunctions',
};

function bodyOf(call: Call, row: ScriptRow): JsonObject {
  const { self } = call.container();
  const body = JSON.parse(row.body) as JsonObject;
  return { ...body, _rid: row.rid, _self: `${self}${row.kind}/${row.rid}/`, _etag: row.etag, _ts: row.ts };
}

function find(call: Call): ScriptRow {
  const row = call.account.catalog.script(call.container().number, call.segment(4), call.segment(5));
  if (row === undefined) throw new Refusal(404, `There is no ${call.segment(4)} ${call.segment(5)}.`);
  return row;
}

function save(account: Account, row: ScriptRow): void {
  account.transaction(() => account.catalog.saveScript(row));
}

export function create(call: Call): Reply {
  const container = call.container();
  const kind = call.segment(4);
  const body = call.jsonBody();
  const id = requireName(body, 'script');
  if (call.account.catalog.script(container.number, kind, id) !== undefined) {
    throw new Refusal(409, `There is a script ${id} already.`);
  }
  const number = call.account.catalog.nextNumber('scripts');
  const row = {
    number,
    container: container.number,
    kind,
    id,
    rid: childRidMaker(container.database.number, container.number, 'script')(number),
    body: JSON.stringify(body),
    etag: call.account.newEtag(),
    ts: call.account.nowTs(),
  };
  save(call.account, row);
  return json(201, bodyOf(call, row), { etag: row.etag }, METADATA_WRITE_RU);
}

export function read(call: Call): Reply {
  const row = find(call);
  return json(200, bodyOf(call, row), { etag: row.etag });
}

export function list(call: Call): Reply {
  const container = call.container();
  const kind = call.segment(4);
  const rows = call.account.catalog.scripts(container.number, kind).map((row) => bodyOf(call, row));
  return listReply(call, LIST_NAMES[kind] ?? kind, container.rid, rows);
}

export function replace(call: Call): Reply {
  const before = find(call);
  const body = call.jsonBody();
  if (requireName(body, 'script') !== before.id)
    throw new Refusal(400, 'The id of a script cannot be changed.');
  const row = {
    ...before,
    body: JSON.stringify(body),
    etag: call.account.newEtag(),
    ts: call.account.nowTs(),
  };
  save(call.account, row);
  return json(200, bodyOf(call, row), { etag: row.etag }, METADATA_WRITE_RU);
}

export function remove(call: Call): Reply {
  const row = find(call);
  call.account.transaction(() => call.account.catalog.deleteScript(row.number));
  return { status: 204, chargeRu: METADATA_WRITE_RU };
}

export function run(call: Call): Reply {
  find(call);
  throw new Refusal(501, 'Stored procedures are stored and listed by the emulator, but not executed.');
}
