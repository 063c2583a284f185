/**
 * The phases of a migration and the moves between them. Every move is an event in the journal.
 *
 *   new -> copying -> tailing -> ready -> fencing -> drained -> proven -> committed
 *                        ^---------+---------+----------+---------+   backed out, or interrupted
 *
 * Invariant: only in `committed` is the target in use, and no phase follows `committed`.
 */
import { InternalError } from '../lib/errors.ts';
import type { PhaseEntry } from '../state/journal.ts';
import type { Phase } from '../state/migration.ts';
import type { NextTurn } from '../state/turns/next-turn.ts';
import type { RunContext } from './context.ts';

const MOVES: Readonly<Record<Phase, readonly Phase[]>> = {
  new: ['copying'],
  copying: ['tailing'],
  tailing: ['ready'],
  ready: ['fencing', 'tailing'],
  fencing: ['drained', 'tailing'],
  drained: ['proven', 'fencing', 'tailing'],
  proven: ['committed', 'fencing', 'tailing'],
  committed: [],
};

export function phaseOf({ ledger }: Pick<RunContext, 'ledger'>): Phase {
  return ledger.migration.read().phase;
}

/**
 * Moves the migration to another phase. `next`: what a commit leaves for the next turn; null if there is no way back.
 * Durable.
 */
export function enter(
  { ledger, clock }: Pick<RunContext, 'ledger' | 'clock'>,
  entry: PhaseEntry,
  next: NextTurn | null = null,
): void {
  const from = phaseOf({ ledger });
  if (!MOVES[from].includes(entry.phase))
    throw new InternalError(`no way leads from ${from} to ${entry.phase}`);
  ledger.migration.enter(entry, clock.now(), next);
  ledger.noteProgress();
}

/** Whether the tail may run: the copy has ended, and the source is still in use. */
export function isTailing(phase: Phase): boolean {
  return phase !== 'new' && phase !== 'copying' && phase !== 'committed';
}

/** Whether a cutover is in progress or was interrupted. */
export function isCuttingOver(phase: Phase): boolean {
  return isTailing(phase) && phase !== 'tailing';
}
