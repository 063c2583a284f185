/**
 * The newest LSN of a range, whichever replica answers. A read is answered by one replica. One that lags reports an old
 * end, and a session token asks for no more than what was seen already. So a range is asked for more than has been seen
 * of it, until the service says that no replica has come that far (404/1002): only then there is no more.
 *
 * Invariant: the asking ends. An application that keeps writing, or a service that ignores the session token, ends it
 * after a number of answers; the newest of them is then the best that can be known. It may take the service seconds to
 * find out that no replica has come further.
 */
import { troubleOf } from '../transport/trouble.ts';
import type { ContainerRequests } from '../transport/container-requests.ts';
import { ChangeFeed } from './feed.ts';
import type { FeedRange } from './ranges.ts';
import { retrying, type Patience } from '../load/retry.ts';
import type { SessionTokens } from './session-tokens.ts';

/** Enough for the steps, which double, to reach any end. */
const ASKS_MAX = 128;
/** Answers of more than was asked for, or of less: there are four replicas (fact SVC-10), and writers. */
const OTHERS_MAX = 16;

/** What is needed to ask. */
export interface Asker {
  readonly requests: ContainerRequests;
  readonly sessions: SessionTokens;
  /** `fresh()` for each request. */
  readonly patience: Patience;
  readonly timeoutMs: number;
}

/** When this resolves, the session has the newest LSN of the range: no read with it sees an older end. */
export async function seeNewestOf(asker: Asker, range: FeedRange, signal: AbortSignal): Promise<void> {
  const { sessions } = asker;
  const seen = sessions.of(range.range);
  // Without any token of the range there is nothing to ask beyond.
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
    // Exactly as much as was asked for: there may be much more.
    const isAsAsked = lsn === beyond.lsn;
    step = isAsAsked ? step * 2 : 1;
    if (!isAsAsked) others += 1;
  }
}

/** How far the replica that answers has come. */
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
