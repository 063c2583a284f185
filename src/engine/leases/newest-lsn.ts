/** How far a range of the source has come, whoever answers (cosmos/feed/newest-lsn.ts). */
import { seeNewestOf } from '../../cosmos/feed/newest-lsn.ts';
import type { FeedRange } from '../../cosmos/feed/ranges.ts';
import { endOf } from './anchor.ts';
import type { RunContext } from '../context.ts';

/** When this resolves the session knows the newest of a range: whoever reads with it sees no older end. */
export async function seeNewest(context: RunContext, range: FeedRange, signal: AbortSignal): Promise<void> {
  const { lane, sessions, patience } = context.sourceSide;
  await endOf(context, { mode: 'latest-version', range }, signal);
  await seeNewestOf({ lane, sessions, patience, timeoutMs: context.timing.requestTimeoutMs }, range, signal);
}
