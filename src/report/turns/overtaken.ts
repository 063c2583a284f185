/**
 * Refuses a command whose direction is over: the application has been switched the other way since. Invariant: the hint
 * names a command that is not refused.
 */
import { existsSync } from 'node:fs';
import { NotReadyError } from '../../lib/errors.ts';
import { loadLedgerPath } from '../../spec/load.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import type { TurnContext } from './in-turn.ts';

const SWITCHED_BACK = {
  message: 'the application was switched back to the source by cosmig rollback',
  hint: 'run cosmig tail: it resumes the migration from there, without a new copy',
} as const;

/** Throws if data moves the other way now: for `cosmig copy`, `tail` and `reverse`. */
export async function refuseOvertaken(
  context: Pick<TurnContext, 'env' | 'clock' | 'options'>,
  command: 'copy' | 'tail' | 'reverse',
): Promise<void> {
  const ledger = loadLedgerPath(context);
  if (!existsSync(ledger)) return;
  // Loaded on demand, since --help needs no database.
  const { readTurns } = await import('../../state/turns/chain.ts');
  const { Ledger, mustBeUpgraded } = await import('../../state/ledger.ts');
  // A run that was killed while it made the ledger has left a file without a migration.
  if (!Ledger.peek(ledger).hasBegun) return;
  let newest: ReturnType<typeof readTurns>[number] | undefined;
  try {
    newest = readTurns(ledger).at(-1);
  } catch (error) {
    // The command itself upgrades the ledger.
    if (mustBeUpgraded(error)) return;
    throw error;
  }
  if (newest === undefined || newest.number === 0 || newest.from?.endedAtMs != null) return;
  if (!leadsBack(newest.number)) {
    if (command === 'tail') return;
    const { message, hint } = SWITCHED_BACK;
    const why =
      command === 'copy'
        ? 'its documents were copied before, and cosmig knows each of them'
        : 'there is nothing to replicate back: the application writes to the source';
    throw new NotReadyError(message, { why, hint });
  }
  if (command === 'reverse') return;
  throw new NotReadyError('this migration is committed: the target is in use', {
    why: 'changes of the source are no longer replicated: they might undo newer changes of the target',
    hint: 'cosmig reverse keeps the source up to date, so that cosmig rollback can return to it; cosmig finish gives that up',
  });
}
