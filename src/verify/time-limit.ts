/** The time limit of a comparison. At its end, what was read is kept, and the next run resumes. */
import { ChildSignal } from '../lib/abort.ts';
import type { Clock } from '../lib/clock.ts';
import { BudgetError } from '../lib/errors.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { timeLeft } from '../spec/time-left.ts';

/** The time left is checked this often: a timer cannot wait for months, and the machine's clock may be set. */
const CHECK_EVERY_MS = 3600 * 1000;

/** Runs `body` with a signal that is aborted at the time limit. */
export async function withTimeLimit<T>(
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
      await clock.sleep(Math.min(restMs, CHECK_EVERY_MS), alarm.signal);
    work.abort(
      new BudgetError('time limit reached before the comparison finished', {
        why: `${asked} was given`,
        hint: 'run cosmig verify again; it continues where this one stopped',
      }),
    );
  };
  // Never rejects; aborted below when the body has ended.
  const rung = ring().catch(() => undefined);
  try {
    return await body(work.signal);
  } finally {
    alarm.abort(new Error('the comparison has ended'));
    await rung;
  }
}
