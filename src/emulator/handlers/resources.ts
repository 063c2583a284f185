/** What the replies about databases, containers, offers and scripts have in common. */
import { Refusal } from '../http/refusal.ts';
import type { GatewayReply, GatewayRequest } from '../http/request.ts';
import type { JsonObject } from '../json/json-value.ts';
import { compileQuery, runPage } from '../query/query.ts';
import { readQuerySpec } from './query.ts';

const METADATA_LIST_RU = 2;

/** Returns the body of a database or container for a reply: what the client sent, then the system properties. */
export function withSystemProperties(
  body: JsonObject,
  system: { rid: string; self: string; etag: string; ts: number },
  links: Readonly<Record<string, string>>,
): JsonObject {
  return { ...body, _rid: system.rid, _self: system.self, _etag: system.etag, _ts: system.ts, ...links };
}

/** Refuses a replace if its `if-match` names another version than the current one. */
export function requireUnchanged(request: GatewayRequest, what: string, etag: string): void {
  const ifMatch = request.headers['if-match'];
  if (ifMatch === undefined || ifMatch === '*' || ifMatch === etag) return;
  throw new Refusal(412, `The ${what} was changed since it was read.`);
}

/** Answers with all resources of a list, or with those that the query in a POST selects. */
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
