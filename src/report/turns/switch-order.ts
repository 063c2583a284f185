/** The order that `cutover` and `rollback` give to the engine, from their options. */
import type { Context } from '../../cli/command.ts';
import { UsageError } from '../../lib/errors.ts';
import { loadLedgerPath, loadSpec, type LedgerOptions, type SpecInput } from '../../spec/load.ts';
import { operatorHooks } from '../../workflows/hooks.ts';
import { swapWords } from '../../spec/turns/swapped-sides.ts';
import type { CutoverOrder } from '../../workflows/cutover.ts';
import { newestTurn, type Direction } from './in-turn.ts';

interface SwitchOptions {
  readonly writersStopped: boolean;
  readonly onFence: string | undefined;
  readonly onCommit: string | undefined;
  readonly onAbort: string | undefined;
  readonly deadline: number;
  readonly quietFor: number;
}

/** Checks the options, and returns the order without the settings of the target. */
export async function switchOrder(
  {
    options,
    env,
    clock,
    out,
  }: Pick<Context, 'env' | 'clock' | 'out'> & {
    readonly options: SwitchOptions & SpecInput['options'] & LedgerOptions;
  },
  {
    command,
    direction,
    watchMs,
  }: { readonly command: string; readonly direction: Direction; readonly watchMs: number },
): Promise<Omit<CutoverOrder, 'likeSource'>> {
  const { onFence, onCommit, onAbort, writersStopped, deadline: deadlineMs, quietFor: quietMs } = options;
  const saysNothing = onFence === undefined && !writersStopped;
  if (saysNothing) {
    // What is left after a commit stops no writers.
    const turn = await newestTurn(loadLedgerPath({ options, env, clock }), direction);
    if (turn?.isCommitted !== true) throw writersUnknown(command);
  }
  if (quietMs >= deadlineMs) {
    throw new UsageError('--quiet-for is not shorter than --deadline', {
      why: `the writers would be stopped until the deadline, and the ${command} would always back out`,
      hint: 'pass a longer --deadline, or a shorter --quiet-for',
    });
  }
  // The hooks get the names of the migration: source and target are never swapped there.
  const { spec } = loadSpec({ options, env, clock });
  const hooks = operatorHooks({ onFence, onCommit, onAbort }, { spec, env, out });
  const { onAbort: resume } = hooks;
  return {
    ...hooks,
    // The engine gives the reason in its own words, in which a rollback is a cutover from the source.
    onAbort: resume === null ? null : async (why) => resume(direction === 'back' ? swapWords(why) : why),
    ...(saysNothing ? { stopWriters: async () => Promise.reject(writersUnknown(command)) } : {}),
    deadlineMs,
    quietMs,
    watchMs,
  };
}

function writersUnknown(command: string): UsageError {
  return new UsageError(`${command} needs to know that writers are stopped`, {
    why: 'writes after the last comparison would be lost',
    hint: 'pass --on-fence COMMAND, or stop them yourself and pass --writers-stopped',
  });
}
