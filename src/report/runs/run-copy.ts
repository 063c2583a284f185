/**
 * Runs a copy, with the comparison that follows the copy into an adopted target. Invariant: a command that ends without an
 * error has made this comparison, if it was due.
 */
import type { Result } from '../../cli/command.ts';
import type { RunObserver } from '../../notify/notify.ts';
import { withMetrics } from '../metrics/during.ts';
import { nextStep } from '../status/next-step.ts';
import { progressShower } from './compare-progress.ts';
import { runWithProgress, type SpecContext } from './run-engine.ts';

export async function runCopy(
  context: SpecContext,
  { observer, adoptsTarget }: { readonly observer?: RunObserver | undefined; readonly adoptsTarget: boolean },
): Promise<Result | undefined> {
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { run } = await import('../../engine/run.ts');
  let isDone = false;
  return withMetrics(context, 'copy', async () => {
    const result = await runWithProgress(context, {
      command: 'copy',
      observer,
      run: async (parts) => {
        const snapshot = await run('copy', { ...parts, adoptsTarget });
        isDone = true;
        if (!snapshot.sweepPending) return snapshot;
        const { completeAdoption, isComparisonDue } = await import('../../workflows/adopt.ts');
        if (!isComparisonDue(parts.spec.ledger)) return snapshot;
        const onSnapshot: typeof parts.onSnapshot = (taken) => observer?.onSnapshot(taken);
        const isEqual = await completeAdoption({ ...parts, onSnapshot }, progressShower(context));
        return { ...snapshot, sweepPending: !isEqual };
      },
    });
    // The phase of a finished copy is that of a tail, which does not run yet.
    return result === undefined || !isDone ? result : { ...result, ...(await nextStep(context)) };
  });
}
