/**
 * Finds the turn in which a command works, and lets the command run in it. Commands such as `tail` and `cutover` move
 * the application to the target; `reverse` and `rollback` move it back. A turn that leads back has the same engine, with
 * source and target swapped.
 */
import { existsSync } from 'node:fs';
import type { Result } from '../../cli/command.ts';
import { CosmigError, NotReadyError, rephrased } from '../../lib/errors.ts';
import { formatTime } from '../../lib/clock.ts';
import { swapWords } from '../../spec/turns/swapped-sides.ts';
import { loadLedgerPath, type LedgerOptions } from '../../spec/load.ts';
import { stepsLeft } from '../../spec/refusals.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import { swapResult, swappingLog, swappingReporter } from './swapping-reporter.ts';
import type { TurnState } from '../../state/turns/chain.ts';
import type { SpecContext } from '../runs/run-engine.ts';

/** `forth`: to the target. `back`: to the source. `newest`: the newest turn in which data has moved. */
export type Direction = 'forth' | 'back' | 'newest';

/** The part of a context by which the ledger is found, and where the command reports. */
export type TurnContext = Pick<SpecContext, 'env' | 'clock' | 'out' | 'log' | 'turn'> & {
  readonly options: LedgerOptions;
};

/** Runs `body` with the context of the newest turn in this direction. */
export async function inTurn<C extends TurnContext>(
  context: C,
  direction: Direction,
  body: (context: C) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const turn = (await newestTurn(loadLedgerPath(context), direction))?.number ?? 0;
  if (!leadsBack(turn)) return body({ ...context, turn });
  const { out, log } = context;
  try {
    const turned = { ...context, turn, out: swappingReporter(out), log: swappingLog(log) };
    const result = await body(turned);
    return result === undefined ? undefined : swapResult(result);
  } catch (error) {
    // Problems of settings name them as the operator gave them: what these say always means the first copy.
    throw error instanceof CosmigError && error.problems.length === 0 ? rephrased(error, swapWords) : error;
  }
}

/**
 * Returns the newest turn in this direction; null: the first one, whose ledger is missing or of an older cosmig. Refuses a
 * turn that has to wait until the one before has done its last steps.
 */
export async function newestTurn(ledger: string, direction: Direction): Promise<TurnState | null> {
  // Loaded on demand, since --help needs no database.
  const { readTurns } = await import('../../state/turns/chain.ts');
  const { mustBeUpgraded } = await import('../../state/ledger.ts');
  let turns: ReturnType<typeof readTurns> | readonly [];
  try {
    turns = existsSync(ledger) ? readTurns(ledger) : [];
  } catch (error) {
    // A command that moves documents forth upgrades the ledger. If a later turn has begun, it is refused, since the first
    // one is committed, and the next command finds that turn.
    if (direction !== 'forth' || !mustBeUpgraded(error)) throw error;
    return null;
  }
  if (direction === 'newest') return turns.findLast(({ hasBegun }) => hasBegun) ?? null;
  const newest = turns.findLast(({ number }) => leadsBack(number) === (direction === 'back'));
  const endedAtMs = newest?.from?.endedAtMs ?? null;
  if (endedAtMs !== null) throw wasEnded(endedAtMs, direction);
  if (newest !== undefined) {
    const before = newest.hasBegun ? undefined : turns[newest.number - 1];
    if (before?.unfinished != null)
      throw stepsLeft(leadsBack(before.number) ? 'rollback' : 'cutover', before.unfinished);
    return newest;
  }
  if (direction === 'forth') return null;
  const isCommitted = turns.some((turn) => turn.isCommitted);
  throw new NotReadyError('there is no way back for this migration', {
    why: isCommitted
      ? 'its cutover was not asked to keep the source'
      : 'the application still uses the source: no cutover has committed',
    hint: 'a way back is prepared by cosmig cutover --keep-source-for, before the commit',
  });
}

function wasEnded(atMs: number, direction: Direction): NotReadyError {
  return new NotReadyError('this migration was ended', {
    why: `cosmig finish gave the way back up at ${formatTime(atMs)}, so changes since then are not known`,
    hint:
      direction === 'back'
        ? 'to return all the same, move the documents as a migration of its own: cosmig copy with source and target swapped, another --ledger, and --adopt-target'
        : 'to move the application again, begin another migration: cosmig copy with another --ledger, and --adopt-target',
  });
}
