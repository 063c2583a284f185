/**
 * Counts the documents of a range, with a query that the service answers from its index. Invariant: each request goes
 * to one range, without a query plan of the SDK, so a split is reported as a split and no range is counted twice.
 */
import { PriorityLevel, type FeedOptions } from '@azure/cosmos';
import { TroubleError } from '../transport/trouble.ts';
import type { Call, ContainerRequests, Reply } from '../transport/container-requests.ts';
import type { Governor } from '../load/governor.ts';
import { isPart, type FeedRange } from '../feed/ranges.ts';
import { memberOf } from '../../lib/json/json.ts';
import type { Patience } from '../load/retry.ts';

export interface CountCall extends Call {
  readonly patience: Patience;
  readonly governor: Governor;
  readonly sessionToken: string | undefined;
  /** The documents to count, as a condition on `c`; undefined for all documents. */
  readonly where?: string;
}

/** The most pages of one count. The service may return a count in several pages, each with a part of it. */
const PAGES_MAX = 10_000;

/** Returns the number of documents in a range and the last session token; throws a TroubleError for a split. */
export async function countRange(
  requests: ContainerRequests,
  range: FeedRange,
  call: CountCall,
): Promise<{ readonly documents: number; readonly sessionToken: string | undefined }> {
  const { signal, patience, governor } = call;
  let documents = 0;
  let continuation: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const request = async (): Promise<Reply> => ask(requests, { range, continuation }, call);
    const reply = await governor.repeat(range.range.id, request, { signal, patience });
    documents += countIn(reply);
    continuation = reply.header('x-ms-continuation');
    if (continuation === undefined || continuation === '')
      return { documents, sessionToken: reply.sessionToken };
  }
  throw unreadable('a count does not end');
}

async function ask(
  requests: ContainerRequests,
  { range, continuation }: { readonly range: FeedRange; readonly continuation: string | undefined },
  { sessionToken, where, signal, timeoutMs }: CountCall,
): Promise<Reply> {
  const options: FeedOptions = {
    priorityLevel: PriorityLevel.Low,
    ...(continuation === undefined ? {} : { continuationToken: continuation }),
    ...(sessionToken === undefined ? {} : { sessionToken, consistencyLevel: 'Session' }),
  };
  const exchange = await requests.feed({
    signal,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    what: 'docs',
    options,
    rangeId: range.range.id,
    query: `SELECT VALUE COUNT(1) FROM c${where === undefined ? '' : ` WHERE ${where}`}`,
    ...(isPart(range) ? { part: { min: range.min, max: range.max } } : {}),
  });
  if (!exchange.ok) throw new TroubleError(exchange.trouble);
  return exchange.reply;
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
