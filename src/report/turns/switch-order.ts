/** The order that `cutover` and `rollback` give to the engine, from their options. */
import type { Context } from '../../cli/command.ts';
import { UsageError } from '../../lib/errors.ts';
import { loadSpec, type SpecInput } from '../../spec/load.ts';
import { operatorHooks } from '../../workflows/hooks.ts';
import type { CutoverOrder } from '../../workflows/cutover.ts';

interface SwitchOptions {
  readonly writersStopped: boolean;
  readonly onFence: string | undefined;
  readonly onCommit: string | undefined;
  readonly onAbort: string | undefined;
  readonly deadline: number;
  readonly quietFor: number;
}

/** Checks the options, and returns the order without the settings of the target. */
export function switchOrder(
  {
    options,
    env,
    clock,
    out,
  }: Pick<Context, 'env' | 'clock' | 'out'> & {
    readonly options: SwitchOptions & SpecInput['options'];
  },
  { command, watchMs }: { readonly command: string; readonly watchMs: number },
): Omit<CutoverOrder, 'likeSource'> {
  const { onFence, onCommit, onAbort, writersStopped, deadline: deadlineMs, quietFor: quietMs } = options;
  if (onFence === undefined && !writersStopped) {
    throw new UsageError(`${command} needs to know that writers are stopped`, {
      why: 'writes after the last comparison would be lost',
      hint: 'pass --on-fence COMMAND, or stop them yourself and pass --writers-stopped',
    });
  }
  if (quietMs >= deadlineMs) {
    throw new UsageError('--quiet-for is not shorter than --deadline', {
      why: `the writers would be stopped until the deadline, and the ${command} would always back out`,
      hint: 'pass a longer --deadline, or a shorter --quiet-for',
    });
  }
  // The hooks get the names of the migration: source and target are never swapped there.
  const { spec } = loadSpec({ options, env, clock });
  return {
    ...operatorHooks({ onFence, onCommit, onAbort }, { spec, env, out }),
    deadlineMs,
    quietMs,
    watchMs,
  };
}
