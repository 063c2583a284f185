// Run as its own process: one pass of a plan, which kills itself after the given number of pages.
import { planPass, type PassOrder } from '../plan/plan-pass.ts';

/** What the process is started with, as JSON. */
export interface PlanOrder extends Pick<PassOrder, 'connectionString' | 'path' | 'keys' | 'share' | 'exact'> {
  readonly killAfter: number;
}

const { killAfter, ...order } = JSON.parse(process.argv[2] ?? '{}') as PlanOrder;
let pages = 0;
await planPass({
  ...order,
  onProgress: () => {
    pages += 1;
    if (pages === killAfter) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write('ended\n');
