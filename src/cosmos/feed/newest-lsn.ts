/**
 * Finds the newest LSN of a range, whichever replica answers. A read is answered by a single replica. If this replica
 * lags, it reports an old end, and a session token asks only for what was seen already. So this module asks the range
 * for more than was seen of it, until the service answers that no replica has come that far (404/1002): only then was
 * everything seen.
 *
 * Invariant: the number of requests is bounded. An application that keeps writing, or a service that ignores session
 * tokens, uses up the bound; the newest answer is then the best that can be known. The service may take seconds to
 * find out that no replica has come further.
 */
import { troubleOf } from '../transport/trouble.ts';
import type { ContainerRequests } from '../transport/container-requests.ts';
import { ChangeFeed } from './feed.ts';
import type { FeedRange } from './ranges.ts';
import { retrying, type Patience } from '../load/retry.ts';
import type { SessionTokens } from './session-tokens.ts';

/** The most requests. The steps from LSN to LSN double, so this many requests reach any end. */
const ASKS_MAX = 128;
/**
 * The most replies with another LSN than the one that was asked for. Each of the four replicas (fact SVC-10) may be ahead
 * of the session, and the application may write meanwhile.
 */
const OTHERS_MAX = 16;

/** What a request for the LSN needs. */
export interface Asker {
  readonly requests: ContainerRequests;
  readonly sessions: SessionTokens;
  /** Each request gets a `fresh()` copy. */
  readonly patience: Patience;
  readonly timeoutMs: number;
}

/** When this resolves, the session has the newest LSN of the range: no read with the session sees an older end. */
export async function seeNewestOf(asker: Asker, range: FeedRange, signal: AbortSignal): Promise<void> {
  const { sessions } = asker;
  const seen = sessions.of(range.range);
  // Without a token of the range there is no LSN to go beyond. This request only gets a token.
  if (seen === undefined) await askFor(asker, { range, sessionToken: seen }, signal);
  let step = 1;
  let others = 0;
  for (let asks = 0; asks < ASKS_MAX && others < OTHERS_MAX; asks += 1) {
    const beyond = sessions.beyond(range.range, step);
    const lsn = await askFor(asker, { range, sessionToken: beyond.token }, signal);
    if (lsn === 'no replica') {
      if (step === 1) return;
      step = 1;
      continue;
    }
    // A replica that stands at exactly the LSN asked for may be far from the end, so the next step is twice as long.
    const isAsAsked = lsn === beyond.lsn;
    step = isAsAsked ? step * 2 : 1;
    if (!isAsAsked) others += 1;
  }
}

/** Returns the LSN of the replica that answers, or `no replica` if none has come as far as the token asks. */
async function askFor(
  { requests, sessions, patience, timeoutMs }: Asker,
  { range, sessionToken }: { readonly range: FeedRange; readonly sessionToken: string | undefined },
  signal: AbortSignal,
): Promise<number | 'no replica'> {
  const feed = new ChangeFeed(requests, { mode: 'latest-version', range });
  const ask = async (): Promise<number | 'no replica'> => {
    try {
      const page = await feed.read('now', { signal, timeoutMs, sessionToken });
      sessions.add(page.sessionToken);
      return page.lsn ?? 0;
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble?.status === 404 && trouble.substatus === 1002) return 'no replica';
      throw error;
    }
  };
  return retrying(ask, { signal, patience: patience.fresh() });
}
