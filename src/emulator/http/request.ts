/** One request as the handlers see it, and what they answer. */
import type { Account } from '../account/account.ts';
import { REFUSED_RU } from '../partitions/charges.ts';
import { isObject, type JsonObject } from '../json/json-value.ts';
import { maxDepth } from '../json/json-text.ts';
import type { ContainerModel } from '../account/model.ts';
import { Refusal, statusName } from './refusal.ts';
import type { Priority } from '../partitions/ru-meter.ts';

export interface Reply {
  readonly status: number;
  /** JSON text or bytes; none for 204 and 304. */
  readonly body?: string | Buffer | undefined;
  readonly headers?: Readonly<Record<string, string | number>> | undefined;
  readonly chargeRu?: number | undefined;
}

export class Call {
  readonly account: Account;
  readonly method: string;
  /** The path's steps, decoded. */
  readonly segments: readonly string[];
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Where clients reach the account. */
  readonly endpoint: string;

  constructor(parts: {
    account: Account;
    method: string;
    segments: readonly string[];
    headers: Readonly<Record<string, string | undefined>>;
    body: string;
    endpoint: string;
  }) {
    this.account = parts.account;
    this.method = parts.method;
    this.segments = parts.segments;
    this.headers = parts.headers;
    this.body = parts.body;
    this.endpoint = parts.endpoint;
  }

  withBody(body: string): Call {
    const { account, method, segments, headers, endpoint } = this;
    return new Call({ account, method, segments, headers, body, endpoint });
  }

  /** A step of the path that the route has made sure of. */
  segment(index: number): string {
    return this.segments[index] ?? '';
  }

  container(): ContainerModel {
    return this.account.container(this.segment(1), this.segment(3));
  }

  jsonBody(): JsonObject {
    if (maxDepth(this.body) > BODY_DEPTH_MAX) {
      throw new Refusal(400, `The request body is nested more than ${BODY_DEPTH_MAX} levels deep.`);
    }
    const parsed = this.anyJsonBody();
    if (!isObject(parsed)) throw new Refusal(400, 'The request body must be a JSON object.');
    return parsed;
  }

  anyJsonBody(): unknown {
    try {
      return JSON.parse(this.body) as unknown;
    } catch {
      throw new Refusal(400, 'The request body is not valid JSON.');
    }
  }

  get priority(): Priority {
    return this.headers['x-ms-cosmos-priority-level']?.toLowerCase() === 'low' ? 'low' : 'high';
  }

  get wantsNoContent(): boolean {
    return this.headers['prefer']?.toLowerCase() === 'return=minimal';
  }

  /** The item limit of a page; undefined when the client leaves it to the account. */
  get maxItems(): number | undefined {
    const header = this.headers['x-ms-max-item-count'];
    if (header === undefined || header === '') return undefined;
    const count = Number(header);
    if (!Number.isInteger(count) || count < -1 || count === 0) {
      throw new Refusal(400, `The max item count ${header} is invalid: use -1 or a whole number from 1.`);
    }
    return count === -1 ? undefined : Math.min(count, PAGE_ITEMS_MAX);
  }
}

/** No page holds more than this, whatever a client asks for: the byte limit ends it long before. */
const PAGE_ITEMS_MAX = 100_000;

/** No resource nests this deep, and writing out what nests much deeper overflows the stack. */
const BODY_DEPTH_MAX = 500;

/** Charges of control-plane calls, which cost the account's metadata budget and no range anything. */
const METADATA_READ_RU = 1;
export const METADATA_WRITE_RU = 4.95;

export function json(
  status: number,
  value: unknown,
  headers: Reply['headers'] = {},
  chargeRu = METADATA_READ_RU,
): Reply {
  return { status, body: JSON.stringify(value), headers, chargeRu };
}

/** What a client reads of a request that was turned down. */
export function refusalReply(refusal: Refusal): Reply {
  const { status, substatus, retryAfterMs, message } = refusal;
  const headers: Record<string, string | number> = {};
  if (substatus !== 0) headers['x-ms-substatus'] = substatus;
  if (retryAfterMs !== undefined) headers['x-ms-retry-after-ms'] = Math.ceil(retryAfterMs);
  const body = JSON.stringify({ code: statusName(status), message, ...refusal.body });
  return { status, headers, body, chargeRu: refusal.chargeRu ?? REFUSED_RU };
}
