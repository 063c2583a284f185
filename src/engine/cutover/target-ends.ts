/**
 * Finds out whether the target was written to since it was compared. Invariant: a write or a delete that any replica
 * knows moves the LSN of its range, so it is not overlooked. After the tail has drained, cosmig itself changes the
 * target only to delete expired documents, to repair documents that differ, or to replicate the write of a straggler.
 */
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import type { RunContext } from '../context.ts';
import { endOf, seeNewest } from '../leases/anchor.ts';

/** Up to which LSN each range of the target was compared, by the id of the range. */
export type ComparedUpTo = ReadonlyMap<string, number>;

/** How many ranges are asked at the same time. */
const RANGES_AT_ONCE = 16;

/** Returns whether a range no longer ends where it ended when it was compared. This is also true after a split. */
export async function hasTargetMoved(
  context: RunContext,
  upTo: ComparedUpTo,
  signal: AbortSignal,
): Promise<boolean> {
  const { targetSide: side } = context;
  let hasMoved = false;
  await side.ranges.resolve(signal);
  await forEachRange(side, side.ranges.list.map(wholeOf), {
    limit: RANGES_AT_ONCE,
    signal,
    work: async (range, inner) => {
      await seeNewest(context, { range, side }, inner);
      const { lsn } = await endOf(context, { mode: 'latest-version', range, side }, inner);
      if (upTo.get(range.range.id) !== lsn) hasMoved = true;
    },
  });
  return hasMoved;
}
