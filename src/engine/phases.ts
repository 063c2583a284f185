/**
 * The states of a migration and the moves between them; every move is a line of the journal.
 *
 *   new -> copying -> tailing -> ready -> fencing -> drained -> proven -> committed
 *                        ^---------+---------+----------+---------+   backed out, or interrupted
 *
 * What always holds: only a committed migration has left its source, and nothing leads back from there.
 */
import { InternalError, LedgerError } from '../lib/errors.ts';
import type { RunContext } from './context.ts';

export const PHASES = [
  'new',
  'copying',
  'tailing',
  'ready',
  'fencing',
  'drained',
  'proven',
  'committed',
] as const;
export type Phase = (typeof PHASES)[number];

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
  const { phase } = ledger.facts.read();
  const known = PHASES.find((one) => one === phase);
  if (known !== undefined) return known;
  throw new LedgerError(`the ledger is in a phase that this cosmig does not know: ${phase}`, {
    why: 'a newer cosmig has worked with it, or it is damaged',
    hint: 'use the newest cosmig that has worked with it',
  });
}

/** Durable when it returns. */
export function enter(
  context: Pick<RunContext, 'ledger' | 'clock'>,
  phase: Phase,
  details: object = {},
): void {
  const from = phaseOf(context);
  if (!MOVES[from].includes(phase)) throw new InternalError(`no way leads from ${from} to ${phase}`);
  context.ledger.facts.enter(phase, { nowMs: context.clock.now(), details });
  context.ledger.noteProgress();
}

/** Whether the tail may run: the copy has ended, and the source is still in use. */
export function isTailing(phase: Phase): boolean {
  return phase !== 'new' && phase !== 'copying' && phase !== 'committed';
}

/** A cutover is under way, or has died on its way. */
export function isCuttingOver(phase: Phase): boolean {
  return isTailing(phase) && phase !== 'tailing';
}

/** Noted when the writers were let on again that a cutover had stopped. */
export const LET_ON = 'let on';

/** Whether a cutover may have stopped the writers whom nobody has let on since: also one that died, whatever ran since. */
export function mayBeStopped({ ledger }: Pick<RunContext, 'ledger'>): boolean {
  return ledger.facts.lastOf(['phase fencing', LET_ON]) === 'phase fencing';
}
