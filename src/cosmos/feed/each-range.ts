/** Runs a task for each range, and again for the new ranges if a range splits or merges meanwhile. */
import { forEachConcurrently, type WorkOnEach } from '../../lib/group.ts';
import type { Patience } from '../load/retry.ts';
import { troubleOf } from '../transport/trouble.ts';
import type { LiveRanges } from './live-ranges.ts';
import type { FeedRange } from './ranges.ts';

export async function forEachRange(
  { ranges, patience }: { readonly ranges: LiveRanges; readonly patience: Patience },
  parts: readonly FeedRange[],
  { limit, signal, work }: WorkOnEach<FeedRange, void>,
): Promise<void> {
  const splits = patience.fresh();
  await forEachConcurrently(parts, {
    limit,
    signal,
    work: async (part, inner) => {
      try {
        await work(part, inner);
        return [];
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble?.kind !== 'split') throw error;
        return ranges.readersAfter(part, { trouble, patience: splits, signal: inner });
      }
    },
  });
}
