/**
 * The server under test gets the first core, we take the second: then neither steals time from the other, and a
 * figure means the same each time. Without `taskset`, or with one core, everything runs where the system puts it.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const SERVER_CORE = '0';
const OWN_CORE = '1';

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-c', SERVER_CORE, 'true']).status === 0;

export function pinSelf(): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', OWN_CORE, String(process.pid)]);
}

/** The command that runs `command` on the server's core; taskset becomes the command, so the process id is its own. */
export function pinnedCommand(command: readonly string[]): string[] {
  return canPin ? ['taskset', '-c', SERVER_CORE, ...command] : [...command];
}
