/** The time budget of a comparison: when it is over, what was read is kept, and the next run goes on. */
import { ChildSignal } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { BudgetError } from '../lib/errors.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { timeLeft } from '../spec/time-left.ts';

/** A timer holds no more than some weeks, and clocks are set. */
const LOOK_MS = 3600 * 1000;

/** Runs `body` under a signal that is aborted when the time is over. */
export async function inTime<T>(
  { deadline }: Pick<MigrationSpec, 'deadline'>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (deadline.kind === 'none') return body(signal);
  const { asked } = deadline;
  const leftMs = timeLeft(deadline, clock);
  using work = new ChildSignal(signal);
  using alarm = new ChildSignal(signal);
  const ring = async (): Promise<void> => {
    for (let restMs = leftMs(); restMs > 0; restMs = leftMs())
      await clock.sleep(Math.min(restMs, LOOK_MS), alarm.signal);
    work.abort(
      new BudgetError('the time is over, and the comparison is not', {
        why: `${asked} was asked for`,
        hint: 'run cosmig verify again; it goes on where this one stopped',
      }),
    );
  };
  // It ends by itself, or is called off below.
  const rung = ring().catch(() => undefined);
  try {
    return await body(work.signal);
  } finally {
    alarm.abort(new Error('the comparison has ended'));
    await rung;
  }
}
