/** Searches for writes of others while a turn runs: from time to time in a tail, and at the end of a run that catches up. */
import { ChildSignal } from '../../lib/abort.ts';
import { group } from '../../lib/group.ts';
import { isTailing, phaseOf } from '../phases.ts';
import { runLeases, type LeasesParts } from '../leases/run-leases.ts';
import type { Goal } from '../progress/snapshot.ts';
import { searchForStrangers } from './strangers.ts';

/** The time between two searches. Each reads back what this run has written since the last one. */
const SEARCH_EVERY_MS = 10_000;

/** Runs the leases, and searches meanwhile. */
export async function runWatched(goal: Goal, leases: LeasesParts): Promise<void> {
  const { context, reading } = leases;
  if (context.spec.turn === undefined) return runLeases(goal, leases);
  await group(context.signal, async (members) => {
    using over = new ChildSignal(members.signal);
    if (goal === 'tail') members.start(async () => searchOften(leases, over.signal));
    try {
      await runLeases(goal, leases);
    } finally {
      over.abort(new Error('the run is over'));
    }
  });
  if (!reading.aborted) await searchForStrangers(context, { isFirst: false }, reading);
}

async function searchOften({ context }: LeasesParts, over: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await context.clock.sleep(SEARCH_EVERY_MS, over);
      // Until then the map is made, which ends with the first search.
      if (isTailing(phaseOf(context))) await searchForStrangers(context, { isFirst: false }, over);
    }
  } catch (error) {
    if (!over.aborted) throw error;
  }
}
