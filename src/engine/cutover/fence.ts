/**
 * The fence: the ends of the source's ranges after the writers were stopped. Invariant: ends are returned only if no
 * write moved them between a reading before the comparison and a reading after it. A write that moves an end is
 * reported by range and document.
 *
 * If the watch notices every kind of change, it runs at the same time as the comparison. Otherwise the comparison
 * follows the watch.
 */
import { ChildSignal } from '../../lib/abort.ts';
import { captureOutcome } from '../../lib/group.ts';
import type { Attempt } from './attempt.ts';
import { catchUp } from './catch-up.ts';
import { prove, proveTargetUnchanged } from './proof.ts';
import { anchorTarget } from '../turn/next-turn.ts';
import { findStraggler, readSourceEnds, type SourceEnds } from './source-ends.ts';
import { describeChange } from '../../state/source-change.ts';
import { enter } from '../phases.ts';

type Watch = () => Promise<SourceEnds | null>;

/** Returns ends that did not move while both sides were found equal; null if an end moved, or equality is not proven. */
export async function provenEnds(attempt: Attempt): Promise<SourceEnds | null> {
  const { context, reading, leases } = attempt;
  attempt.begin('draining');
  const from = await readSourceEnds(context, 'any replica', reading);
  await catchUp(leases);
  const watch = async (): Promise<SourceEnds | null> => {
    await context.clock.sleep(attempt.options.quietMs, reading);
    return endsUnmoved(attempt, from);
  };
  // If documents expire and no feed reports deletes, a delete looks like an expiration: a quiet watch proves nothing.
  const isEveryChangeReported = context.deletes === 'avad' || !context.expires;
  const ends = await (isEveryChangeReported ? proveDuringWatch : proveAfterWatch)(attempt, watch);
  if (ends === null) return null;
  // Replicates the deletes of documents that expired during the comparison.
  await catchUp(leases);
  if (attempt.kept !== null) attempt.anchors = await anchorTarget(context, attempt.kept, reading);
  if (!(await proveTargetUnchanged(attempt, reading))) return null;
  return endsUnmoved(attempt, ends);
}

/** Returns the ends as they are now. If a write has moved an end, reports the write and returns null. */
async function endsUnmoved(attempt: Attempt, from: SourceEnds): Promise<SourceEnds | null> {
  const { context, reading, options } = attempt;
  const to = await readSourceEnds(context, 'newest', reading);
  const straggler = await findStraggler(context, { from, to }, reading);
  attempt.stillWritten = straggler === null || straggler.what === 'split' ? null : describeChange(straggler);
  if (straggler === null) return to;
  context.ledger.journal.append({ event: 'fence restarted', ...straggler }, context.clock.now());
  options.say(
    attempt.stillWritten === null
      ? `range ${straggler.range} was split or merged; reading its ends again`
      : `writes still arriving: ${attempt.stillWritten}; waiting for them to stop`,
  );
  return null;
}

/** Compares both sides during the watch. If a write arrives in the meantime, the result is ignored. */
async function proveDuringWatch(attempt: Attempt, watch: Watch): Promise<SourceEnds | null> {
  using over = new ChildSignal(attempt.reading);
  let isWatching = true;
  const proving = captureOutcome(async () => {
    const isEqual = await prove(attempt, over.signal);
    if (isWatching) attempt.begin('watching the fence');
    return isEqual;
  });
  let ends: SourceEnds | null = null;
  try {
    ends = await watch();
    if (ends !== null) enter(attempt.context, { phase: 'drained' });
  } finally {
    isWatching = false;
    if (ends === null) over.abort(new Error('a write arrived behind the fence'));
    await proving;
  }
  const isEqual = await proving;
  return ends !== null && isEqual() ? ends : null;
}

/**
 * Compares both sides after a quiet interval, and not during it: only counts that are taken later show what was deleted
 * in the interval.
 */
async function proveAfterWatch(attempt: Attempt, watch: Watch): Promise<SourceEnds | null> {
  attempt.begin('watching the fence');
  const ends = await watch();
  if (ends === null) return null;
  enter(attempt.context, { phase: 'drained' });
  return (await prove(attempt, attempt.reading)) ? ends : null;
}
