/**
 * Sends a query to one range and returns its pages as they come. Invariant: each request goes to one range, without a
 * query plan of the SDK, so a split is reported as a split and no range is read twice.
 */
import { PriorityLevel, type FeedOptions } from '@azure/cosmos';
import { TroubleError } from '../transport/trouble.ts';
import type { Call, ContainerRequests, Reply } from '../transport/container-requests.ts';
import type { Governor } from '../load/governor.ts';
import { isPart, type FeedRange } from '../feed/ranges.ts';
import type { Patience } from '../load/retry.ts';

export interface QueryCall extends Call {
  readonly patience: Patience;
  readonly governor: Governor;
  readonly sessionToken: string | undefined;
}

/** Yields the pages of a query over a range, until the service has no more; throws a TroubleError for a split. */
export async function* queryRange(
  requests: ContainerRequests,
  { range, query }: { readonly range: FeedRange; readonly query: string },
  call: QueryCall,
): AsyncGenerator<Reply> {
  const { signal, patience, governor } = call;
  for (let continuation: string | undefined = undefined; ;) {
    const from: string | undefined = continuation;
    const request = async (): Promise<Reply> => ask(requests, { range, query, continuation: from }, call);
    const reply = await governor.repeat(range.range.id, request, { signal, patience });
    yield reply;
    continuation = reply.header('x-ms-continuation');
    if (continuation === undefined || continuation === '') return;
  }
}

interface Asked {
  readonly range: FeedRange;
  readonly query: string;
  readonly continuation: string | undefined;
}

async function ask(
  requests: ContainerRequests,
  { range, query, continuation }: Asked,
  { sessionToken, signal, timeoutMs }: QueryCall,
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
    query,
    ...(isPart(range) ? { part: { min: range.min, max: range.max } } : {}),
  });
  if (!exchange.ok) throw new TroubleError(exchange.trouble);
  return exchange.reply;
}
