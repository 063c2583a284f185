/**
 * What a cutover leaves for the next turn, in which the data moves in the other direction. The anchors of the target say
 * where that turn begins to read. Invariant: the anchors are taken before the last look that finds the target unchanged
 * since it was compared. So what is before an anchor was compared, and what is after it will be read.
 */
import type { DeleteMode } from '../../state/migration.ts';
import type { AnchoredRange, ClosedEnd, NextTurn } from '../../state/turns/next-turn.ts';
import type { SourceEnds } from '../cutover/source-ends.ts';
import type { RunContext } from '../context.ts';
import { anchorRanges } from '../leases/anchor.ts';

/** How the source is kept after the commit, so that the application can return to it. */
export interface KeptSource {
  /** How deletes of the target are detected in the next turn. */
  readonly deletes: DeleteMode;
  /** How long the operator wants to be able to return. */
  readonly forMs: number;
  /** The default time to live of the source in seconds, which is paused while the source is kept; null: it has none. */
  readonly pausedTtl: number | null;
}

/** Takes the anchors of the target. */
export async function anchorTarget(
  context: RunContext,
  { deletes }: KeptSource,
  signal: AbortSignal,
): Promise<readonly AnchoredRange[]> {
  return anchorRanges(context, { side: context.targetSide, deletes }, signal);
}

/** Returns what the commit stores. `ends`: where the source ended when both sides were found equal. */
export function nextTurn(
  { spec, clock }: Pick<RunContext, 'spec' | 'clock'>,
  { deletes, forMs, pausedTtl }: KeptSource,
  { anchors, ends }: { readonly anchors: readonly AnchoredRange[]; readonly ends: SourceEnds },
): NextTurn {
  return {
    number: (spec.turn?.number ?? 0) + 1,
    deletes,
    keptUntilMs: clock.now() + forMs,
    pausedTtl,
    anchors,
    closedEnds: [...ends.values()].map(({ range: { range, min, max }, lsn, lv, avad }): ClosedEnd => {
      return { rangeId: range.id, min, max, lsn, lv, avad };
    }),
  };
}
