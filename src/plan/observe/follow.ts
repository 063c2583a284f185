/**
 * Follows the feed of a container for a while. A child range continues from its parent's position. What is written while
 * ranges merge may be missed: the figures are shares and rates, which that hardly changes.
 */
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { ChangeFeed, type FeedStart } from '../../cosmos/feed/feed.ts';
import { wholeOf, type FeedRange, type Interval } from '../../cosmos/feed/ranges.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import type { Clock } from '../../lib/clock.ts';

/** How many ranges are followed at the same time. */
const READERS_MAX = 16;
/** The time between two questions to a range that has nothing new. */
const POLL_MS = 1000;

export interface Following {
  readonly side: Side;
  readonly clock: Clock;
  readonly forMs: number;
  readonly take: (page: Buffer) => void;
}

/** Returns how long the feed was followed, in seconds. */
export async function follow({ side, clock, forMs, take }: Following, signal: AbortSignal): Promise<number> {
  const beganMs = clock.monotonicMs();
  const endMs = beganMs + forMs;
  const reached: Array<Interval & { etag: string }> = [];
  const startOf = ({ min, max }: FeedRange): FeedStart => {
    const parent = reached.find((one) => one.min <= min && max <= one.max);
    return parent === undefined ? 'now' : { mode: 'latest-version', etag: parent.etag };
  };
  const work = async (range: FeedRange, inner: AbortSignal): Promise<void> => {
    const { requests, governor, patience, timeoutMs, sessions } = side;
    const call = {
      signal: inner,
      timeoutMs,
      governor,
      patience: patience.fresh(),
      sessionToken: () => tokenOf(side, range.range.id),
    };
    const start = startOf(range);
    const { min, max } = range;
    const position = { min, max, etag: '' };
    for await (const page of new ChangeFeed(requests, {
      mode: 'latest-version',
      range,
      priority: 'Low',
    }).pages(start, call)) {
      sessions.add(page.sessionToken);
      if (position.etag === '') reached.unshift(position);
      position.etag = page.position.etag;
      if (page.status === 200) take(page.bytes);
      page.free();
      const leftMs = endMs - clock.monotonicMs();
      if (leftMs <= 0) return;
      if (page.status === 304) await clock.sleep(Math.min(POLL_MS, leftMs), inner);
    }
  };
  await forEachRange(side, side.ranges.list.map(wholeOf), {
    limit: Math.max(READERS_MAX, side.ranges.list.length),
    signal,
    work,
  });
  return (clock.monotonicMs() - beganMs) / 1000;
}
