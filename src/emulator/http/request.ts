/**
 * A request as the handlers see it, and the reply that they return. Handlers read headers and body through this class,
 * so that each header is checked in one place.
 */
import type { LocalAccount } from '../account/account.ts';
import { REFUSED_RU } from '../partitions/charges.ts';
import { isObject, parseJson, type JsonObject } from '../json/json-value.ts';
import { maxDepth } from '../json/json-text.ts';
import type { ContainerModel } from '../account/model.ts';
import { badRequest, Refusal, statusName } from './refusal.ts';
import type { RangeModel } from '../partitions/ranges.ts';
import type { Priority } from '../partitions/ru-meter.ts';
import { sessionToken } from '../partitions/sessions.ts';

export interface GatewayReply {
  readonly status: number;
  /** The body: JSON text or bytes. Replies with status 204 or 304 have none. */
  readonly body?: string | Buffer | undefined;
  readonly headers?: Readonly<Record<string, string | number>> | undefined;
  readonly chargeRu?: number | undefined;
}

/** The headers of a request; their names are in lower case. */
export type Headers = Readonly<Record<string, string | undefined>>;

export class GatewayRequest {
  readonly account: LocalAccount;
  readonly method: string;
  /** The decoded steps of the path. */
  readonly segments: readonly string[];
  readonly headers: Headers;
  /** The URL at which clients reach the account. */
  readonly endpoint: string;
  /** The body as text. It is empty until the request has been authorized. */
  body = '';

  constructor(parts: Pick<GatewayRequest, 'account' | 'method' | 'segments' | 'headers' | 'endpoint'>) {
    this.account = parts.account;
    this.method = parts.method;
    this.segments = parts.segments;
    this.headers = parts.headers;
    this.endpoint = parts.endpoint;
  }

  /** Returns a step of the path. The route guarantees that the step exists. */
  segment(index: number): string {
    return this.segments[index] ?? '';
  }

  /**
   * Returns the container of the path. A client that uses cached facts of a container states the container's resource
   * id, because a container that was created again under the same name has another id.
   */
  container(): ContainerModel {
    const container = this.account.container(this.segment(1), this.segment(3));
    const intended = this.headers['x-ms-cosmos-intended-collection-rid'] || container.rid;
    if (intended === container.rid) return container;
    throw badRequest(
      `The container ${container.id} has the resource id ${container.rid}, but the request is meant for ${intended}: ` +
        'the container was deleted and created again. Read the container, then repeat the request.',
      { substatus: WRONG_CONTAINER },
    );
  }

  jsonBody(): JsonObject {
    if (maxDepth(this.body) > BODY_DEPTH_MAX) {
      throw badRequest(`The request body is nested more than ${BODY_DEPTH_MAX} levels deep.`);
    }
    const parsed = this.anyJsonBody();
    if (!isObject(parsed)) throw badRequest('The request body must be a JSON object.');
    return parsed;
  }

  anyJsonBody(): unknown {
    const parsed = parseJson(this.body);
    if (parsed === undefined) throw badRequest('The request body is not valid JSON.');
    return parsed;
  }

  get priority(): Priority {
    return this.headers['x-ms-cosmos-priority-level']?.toLowerCase() === 'low' ? 'low' : 'high';
  }

  get wantsNoContent(): boolean {
    return this.headers['prefer']?.toLowerCase() === 'return=minimal';
  }

  /** The most items that the client accepts on a page; undefined when the client sets no limit. */
  get maxItems(): number | undefined {
    const header = this.headers['x-ms-max-item-count'];
    if (header === undefined || header === '') return undefined;
    const count = Number(header);
    if (!Number.isInteger(count) || count < -1 || count === 0) {
      throw badRequest(`The max item count ${header} is invalid: use -1 or a whole number from 1.`);
    }
    return count === -1 ? undefined : Math.min(count, PAGE_ITEMS_MAX);
  }
}

/** The substatus of a 400 that says that the name now belongs to another container. */
const WRONG_CONTAINER = 1024;

/** The most items of a page, whatever the client asks for. In practice the byte limit ends a page earlier. */
const PAGE_ITEMS_MAX = 100_000;

/** The deepest nesting that is accepted. No resource is nested this deep, and much deeper JSON overflows the stack. */
const BODY_DEPTH_MAX = 500;

/**
 * Charges of control-plane requests, which the service takes from the account's metadata budget and not from a range.
 */
export const METADATA_READ_RU = 1;
export const METADATA_WRITE_RU = 4.95;

/** Returns whether a header is `true`, in upper or lower case. */
export function isTrue(headers: Headers, name: string): boolean {
  return headers[name]?.toLowerCase() === 'true';
}

/** Returns whether a POST is a query. SDKs say so in three ways: by one of two headers, or by the content type alone. */
export function isQuery(headers: Headers): boolean {
  if (isTrue(headers, 'x-ms-documentdb-isquery') || isTrue(headers, 'x-ms-documentdb-query')) return true;
  return /^\s*application\/query\+json\b/i.test(headers['content-type'] ?? '');
}

export function json(
  status: number,
  value: unknown,
  headers: GatewayReply['headers'] = {},
  chargeRu = METADATA_READ_RU,
): GatewayReply {
  return { status, body: JSON.stringify(value), headers, chargeRu };
}

/** Returns the headers that identify a database or container, by its name and by its resource id. */
export function pathHeaders({ link, rid }: { link: string; rid: string }): Record<string, string> {
  return { 'x-ms-alt-content-path': link, 'x-ms-content-path': rid };
}

/** Returns the headers that say which range of a container has answered, and up to which transaction it has read. */
export function rangeHeaders(
  container: ContainerModel,
  range: RangeModel,
  lsn: number,
): Record<string, string | number> {
  return {
    lsn,
    'x-ms-global-committed-lsn': lsn,
    'x-ms-documentdb-partitionkeyrangeid': range.id,
    'x-ms-session-token': sessionToken(range, lsn),
    ...pathHeaders(container),
  };
}

/** Returns the reply to a refused request. */
export function refusalReply(refusal: Refusal): GatewayReply {
  const { status, substatus, retryAfterMs, message } = refusal;
  const headers: Record<string, string | number> = {};
  if (substatus !== 0) headers['x-ms-substatus'] = substatus;
  if (retryAfterMs !== undefined) headers['x-ms-retry-after-ms'] = Math.ceil(retryAfterMs);
  const body = JSON.stringify({ code: statusName(status), message, ...refusal.body });
  return { status, headers, body, chargeRu: refusal.chargeRu ?? REFUSED_RU };
}
