/** Feeds of databases, containers, offers and scripts: all of them, or those a query picks. */
import type { GatewayRequest, GatewayReply } from '../http/request.ts';
import { compileQuery, runPage } from '../query/query.ts';
import { readQuerySpec } from './query.ts';

const METADATA_LIST_RU = 2;

export function listReply(
  request: GatewayRequest,
  name: string,
  rid: string,
  resources: readonly object[],
): GatewayReply {
  let items = resources.map((resource) => JSON.stringify(resource));
  if (request.method === 'POST') {
    const documents = items.map((text, position) => ({ position: position + 1, text }));
    const limits = {
      maxItems: Number.MAX_SAFE_INTEGER,
      maxBytes: Number.MAX_SAFE_INTEGER,
      continuation: undefined,
    };
    const query = compileQuery(readQuerySpec(request));
    items = runPage(
      query,
      (after) => documents.filter((document) => document.position > after),
      limits,
    ).items;
  }
  const body = `{"_rid":${JSON.stringify(rid)},${JSON.stringify(name)}:[${items.join(',')}],"_count":${items.length}}`;
  return { status: 200, body, headers: { 'x-ms-item-count': items.length }, chargeRu: METADATA_LIST_RU };
}
