/**
 * The states of a migration and the moves between them; every move is a line of the journal.
 *
 *   new -> copying -> tailing -> ready -> fencing -> drained -> proven -> committed
 *                        ^---------+---------+----------+---------+   backed out, or interrupted
 *
 * Invariant: only a committed migration has left its source, and no phase follows it.
 */
import { InternalError } from '../lib/errors.ts';
import type { PhaseEntry } from '../state/journal.ts';
import type { Phase } from '../state/migration.ts';
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

/** Durable when it returns. */
export function enter({ ledger, clock }: Pick<RunContext, 'ledger' | 'clock'>, entry: PhaseEntry): void {
  const from = phaseOf({ ledger });
  if (!MOVES[from].includes(entry.phase))
    throw new InternalError(`no way leads from ${from} to ${entry.phase}`);
  ledger.migration.enter(entry, clock.now());
  ledger.noteProgress();
}

/** Whether the tail may run: the copy has ended, and the source is still in use. */
export function isTailing(phase: Phase): boolean {
  return phase !== 'new' && phase !== 'copying' && phase !== 'committed';
}

/** A cutover is in progress, or was interrupted. */
export function isCuttingOver(phase: Phase): boolean {
  return isTailing(phase) && phase !== 'tailing';
}
