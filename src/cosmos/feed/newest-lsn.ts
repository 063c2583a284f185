/**
 * How far a range has come, whoever answers. A read is answered by one replica; one that lags tells an old end, and a
 * session token asks for no more than what was seen already. So a range is asked for more than anybody has seen of it,
 * until the service says that it has no replica that knows so much (404/1002): only then is there no more.
 *
 * Somebody who keeps writing, or a service that does not heed what it is asked for, ends the asking as well; then the
 * newest of many answers is all that can be had. To find out that there is no more may take the service seconds.
 */
import { troubleOf } from '../transport/trouble.ts';
import type { ContainerLane } from '../transport/container-requests.ts';
import { Feed } from './feed.ts';
import type { FeedRange } from './ranges.ts';
import { retrying, type Patience } from '../load/retry.ts';
import type { Sessions } from './session-tokens.ts';

/** Enough for the steps to reach any end. */
const ASKS_MAX = 128;
/** Answers that say more than was asked for, or less: there are four replicas (fact SVC-10), and writers. */
const OTHERS_MAX = 16;

/** Who asks. */
export interface Asker {
  readonly lane: ContainerLane;
  readonly sessions: Sessions;
  /** `fresh()` for each question. */
  readonly patience: Patience;
  readonly timeoutMs: number;
}

/** When this resolves the session knows the newest of a range: whoever reads with it sees no older end. */
export async function seeNewestOf(asker: Asker, range: FeedRange, signal: AbortSignal): Promise<void> {
  const { sessions } = asker;
  const seen = sessions.of(range.range);
  // Of a range that nobody has seen yet there is nothing that could be asked beyond.
  if (seen === undefined) await askFor(asker, { range, sessionToken: seen }, signal);
  let step = 1;
  let others = 0;
  for (let asks = 0; asks < ASKS_MAX && others < OTHERS_MAX; asks += 1) {
    const beyond = sessions.beyond(range.range, step);
    const lsn = await askFor(asker, { range, sessionToken: beyond.token }, signal);
    if (lsn === 'nobody') {
      if (step === 1) return;
      step = 1;
      continue;
    }
    // Just as much as was asked for: there may be much more.
    const isAsAsked = lsn === beyond.lsn;
    step = isAsAsked ? step * 2 : 1;
    if (!isAsAsked) others += 1;
  }
}

/** How far the replica has come that answers to this; `nobody` when there is none. */
async function askFor(
  { lane, sessions, patience, timeoutMs }: Asker,
  { range, sessionToken }: { readonly range: FeedRange; readonly sessionToken: string | undefined },
  signal: AbortSignal,
): Promise<number | 'nobody'> {
  const feed = new Feed(lane, { mode: 'latest-version', range });
  const ask = async (): Promise<number | 'nobody'> => {
    try {
      const page = await feed.read('now', { signal, timeoutMs, sessionToken });
      sessions.add(page.sessionToken);
      return page.lsn ?? 0;
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble?.status === 404 && trouble.substatus === 1002) return 'nobody';
      throw error;
    }
  };
  return retrying(ask, { signal, patience: patience.fresh() });
}
