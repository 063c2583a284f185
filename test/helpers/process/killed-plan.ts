/** A plan in a process that is killed in the middle of its pass. */
import { MigrationProcess } from '../../faults/harness/migration/process.ts';
import { expect } from 'vitest';
import type { PlanOrder } from './plan-child.ts';

/** Runs the order until the page at which it kills itself. Its output goes to `logPath`. */
export async function killedPlan(order: PlanOrder, logPath: string): Promise<void> {
  await using killed = new MigrationProcess(new URL('plan-child.ts', import.meta.url), order, logPath);
  expect(await killed.ended).toEqual({ code: null, signal: 'SIGKILL' });
}
