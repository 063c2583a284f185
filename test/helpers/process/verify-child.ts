// Run as its own process: one comparison, which kills itself after the given number of steps.
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { loadSpec } from '../../../src/spec/load.ts';
import { verify } from '../../../src/verify/verify.ts';

/** What the process is started with, as JSON. */
export interface VerifyOrder {
  readonly options: Readonly<Record<string, readonly string[]>>;
  readonly env: Readonly<Record<string, string>>;
  readonly pageSize: number;
  readonly deadlineMs: number;
  readonly killAfter: { readonly stage: string; readonly steps: number };
}

const { options, env, pageSize, deadlineMs, killAfter } = JSON.parse(process.argv[2] ?? '{}') as VerifyOrder;
const { spec, connections } = loadSpec({ options, env, clock: systemClock });
let steps = 0;
await verify({
  spec,
  connections,
  level: 'digest',
  fresh: false,
  deadlineMs,
  clock: systemClock,
  random: seededRandom(7),
  log: createLog({ level: 'debug', format: 'text', clock: systemClock, write: () => undefined }),
  signal: new AbortController().signal,
  timing: { requestTimeoutMs: 1000, gapMs: 60, checkpointMs: 0, pageSize },
  onProgress: ({ stage }) => {
    if (stage !== killAfter.stage) return;
    steps += 1;
    if (steps === killAfter.steps) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write('ended\n');
