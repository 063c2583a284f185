/**
 * Runs the server under test on the first core, and the benchmark with its clients on the second. Neither takes time
 * from the other, so that figures are comparable. Without `taskset`, or with one core, the operating system chooses
 * the cores.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const SERVER_CORE = '0';
const OWN_CORE = '1';

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-c', SERVER_CORE, 'true']).status === 0;

export function pinSelf(): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', OWN_CORE, String(process.pid)]);
}

/**
 * Returns the command line that runs `command` on the core of the server. taskset replaces itself with `command`, so
 * the process id stays that of the command.
 */
export function pinnedCommand(command: readonly string[]): string[] {
  return canPin ? ['taskset', '-c', SERVER_CORE, ...command] : [...command];
}
