/**
 * The time limit of a comparison or a plan. When the limit is reached, progress is saved, and the next run resumes from
 * there.
 */
import { ChildSignal } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { BudgetError } from '../../lib/errors.ts';
import type { MigrationSpec } from '../../spec/migration-spec.ts';
import { timeLeft } from '../../spec/time-left.ts';

/** How often the time left is checked: a timer cannot wait for months, and the operator may set the machine's clock. */
const CHECK_EVERY_MS = 3600 * 1000;

/** Runs `body` with a signal that is aborted when the time limit is reached. */
export async function withTimeLimit<T>(
  { deadline }: Pick<MigrationSpec, 'deadline'>,
  {
    clock,
    signal,
    of: [work, command],
  }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** What is limited, and the command that does it, for the error. */
    readonly of: readonly [work: string, command: string];
  },
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (deadline.kind === 'none') return body(signal);
  const { asked } = deadline;
  const leftMs = timeLeft(deadline, clock);
  using running = new ChildSignal(signal);
  using alarm = new ChildSignal(signal);
  const ring = async (): Promise<void> => {
    for (let restMs = leftMs(); restMs > 0; restMs = leftMs())
      await clock.sleep(Math.min(restMs, CHECK_EVERY_MS), alarm.signal);
    running.abort(
      new BudgetError(`time limit reached before the ${work} finished`, {
        why: `${asked} was given`,
        hint: `run ${command} again; it continues where this one stopped`,
      }),
    );
  };
  // The alarm never rejects. It is aborted below as soon as the body has ended.
  const rung = ring().catch(() => undefined);
  try {
    return await body(running.signal);
  } finally {
    alarm.abort(new Error(`the ${work} has ended`));
    await rung;
  }
}
