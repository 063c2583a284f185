/** What replies about databases, containers, offers and scripts have in common. */
import { Refusal } from '../http/refusal.ts';
import type { GatewayReply, GatewayRequest } from '../http/request.ts';
import type { JsonObject } from '../json/json-value.ts';
import { compileQuery, runPage } from '../query/query.ts';
import { readQuerySpec } from './query.ts';

const METADATA_LIST_RU = 2;

/** The body of a database or container: what the client sent, then the system properties. */
export function withSystemProperties(
  body: JsonObject,
  system: { rid: string; self: string; etag: string; ts: number },
  links: Readonly<Record<string, string>>,
): JsonObject {
  return { ...body, _rid: system.rid, _self: system.self, _etag: system.etag, _ts: system.ts, ...links };
}

/** Refuses a replace whose `if-match` names another version. */
export function requireUnchanged(request: GatewayRequest, what: string, etag: string): void {
  const ifMatch = request.headers['if-match'];
  if (ifMatch === undefined || ifMatch === '*' || ifMatch === etag) return;
  throw new Refusal(412, `The ${what} was changed since it was read.`);
}

/** All resources of a list, or for a POST those that its query selects. */
export function listReply(
  request: GatewayRequest,
  name: string,
  rid: string,
  resources: readonly object[],
): GatewayReply {
  let items = resources.map((resource) => JSON.stringify(resource));
  if (request.method === 'POST') {
    const documents = items.map((text, position) => ({ position, text }));
    const limits = { maxItems: Infinity, maxBytes: Infinity, continuation: undefined };
    const query = compileQuery(readQuerySpec(request));
    items = runPage(query, (after) => documents.filter(({ position }) => position > after), limits).items;
  }
  const body = `{"_rid":${JSON.stringify(rid)},${JSON.stringify(name)}:[${items.join(',')}],"_count":${items.length}}`;
  return { status: 200, body, headers: { 'x-ms-item-count': items.length }, chargeRu: METADATA_LIST_RU };
}
