/** Counts the documents of a range, with a query that the service answers from its index. */
import { TroubleError } from '../transport/trouble.ts';
import type { ContainerRequests, Reply } from '../transport/container-requests.ts';
import type { FeedRange } from '../feed/ranges.ts';
import { memberOf } from '../../lib/json/json.ts';
import { queryRange, type QueryCall } from './query-range.ts';

export interface CountCall extends QueryCall {
  /** The documents to count, as a condition on `c`; undefined for all documents. */
  readonly where?: string;
}

/** The most pages of one count. The service may return a count in several pages, each with a part of it. */
const PAGES_MAX = 10_000;

/** Returns the number of documents in a range and the last session token; throws a TroubleError for a split. */
export async function countRange(
  requests: ContainerRequests,
  range: FeedRange,
  { where, ...call }: CountCall,
): Promise<{ readonly documents: number; readonly sessionToken: string | undefined }> {
  const query = `SELECT VALUE COUNT(1) FROM c${where === undefined ? '' : ` WHERE ${where}`}`;
  let [documents, pages] = [0, 0];
  let sessionToken: string | undefined;
  for await (const reply of queryRange(requests, { range, query }, call)) {
    pages += 1;
    if (pages > PAGES_MAX) throw unreadable('a count does not end');
    documents += countIn(reply);
    ({ sessionToken } = reply);
  }
  return { documents, sessionToken };
}

function countIn({ body }: Reply): number {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString());
  } catch (error) {
    throw unreadable('a count cannot be read', error);
  }
  const documents = memberOf(parsed, 'Documents');
  if (!Array.isArray(documents)) throw unreadable('the reply has no count');
  return documents.reduce<number>((sum, one) => sum + numberIn(one), 0);
}

/** Reads a count: `7`, or a form for clients that add up counts, such as `[{"item": 7}]` or `{"_aggregate": 7}`. */
function numberIn(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + numberIn(one), 0);
  const [only, ...others]: unknown[] =
    typeof value === 'object' && value !== null ? Object.values(value) : [];
  if (only === undefined || others.length > 0) throw unreadable('the reply has a count that is not a number');
  return numberIn(only);
}

function unreadable(what: string, cause?: unknown): TroubleError {
  return new TroubleError({ kind: 'transient', status: 200, substatus: 0, what, chargeRu: 0, cause });
}
