// Run as its own process: one run of the engine, which kills itself at a named point when its order says so.
import { createInterface } from 'node:readline';
import type { Goal } from '../../../../src/engine/progress/snapshot.ts';
import { run } from '../../../../src/engine/run.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { CanceledError, CosmigError } from '../../../../src/lib/errors.ts';
import { createLog } from '../../../../src/lib/log.ts';
import { seededRandom } from '../../../../src/lib/random.ts';
import { loadSpec } from '../../../../src/spec/load.ts';
import { packsPages } from '../../../helpers/migration/packing.ts';

/** What the process is started with, as JSON. */
export interface MoverOrder {
  readonly goal: Goal;
  /** Values of the spec by name, as a command line gives them. */
  readonly options: Readonly<Record<string, readonly string[]>>;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly requestTimeoutMs: number;
  readonly seed: number;
  readonly kill?: { readonly point: string; readonly passing: number };
}

const order = JSON.parse(process.argv[2] ?? '{}') as MoverOrder;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const drain = new AbortController();
const abort = new AbortController();
const input = createInterface(process.stdin);
const stop = (): void => drain.abort(new CanceledError('SIGTERM'));
input.on('line', stop);
input.on('close', stop);

const passings: Record<string, number> = {};
const onPoint = (point: string): void => {
  passings[point] = (passings[point] ?? 0) + 1;
  if (point === 'page-read' && passings[point] === 1) say({ reading: true });
  if (order.kill?.point === point && order.kill.passing === passings[point])
    process.kill(process.pid, 'SIGKILL');
};

try {
  const { spec, connections } = loadSpec({
    options: order.options,
    env: order.env,
    clock: systemClock,
    folder: order.folder,
  });
  say({ started: true });
  const snapshot = await run(order.goal, {
    spec,
    connections,
    clock: systemClock,
    random: seededRandom(order.seed),
    log: createLog({
      level: 'debug',
      format: 'text',
      clock: systemClock,
      write: (line) => process.stderr.write(line),
    }),
    drain: drain.signal,
    abort: abort.signal,
    onSnapshot: (picture) => say({ snapshot: picture }),
    timing: { requestTimeoutMs: order.requestTimeoutMs, pollMs: 50, showMs: 500 },
    onPoint,
    packsPages,
  });
  say({ ended: true, exitCode: 0, snapshot, passings });
} catch (error) {
  const exitCode = error instanceof CosmigError ? error.exitCode : 70;
  const shown =
    error instanceof Error
      ? { name: error.constructor.name, message: error.message, stack: error.stack }
      : {};
  const why = error instanceof CosmigError ? { why: error.why, hint: error.hint } : {};
  const cause = error instanceof Error && error.cause instanceof Error ? { cause: error.cause.stack } : {};
  say({ ended: true, exitCode, error: { ...shown, ...why, ...cause }, passings });
  process.exitCode = exitCode;
}
input.close();
