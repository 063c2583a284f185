/** The command line as a process of its own: for tests that kill it, or that give it a disk that is full or read-only. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { built } from './built.ts';
import type { Ran } from '../run-cosmig.ts';

const CHILD = built(new URL('cosmig-child.ts', import.meta.url));
const COSMIG = [process.execPath, CHILD];

export type Env = Readonly<Record<string, string>>;

export interface CosmigProcess extends AsyncDisposable {
  /** The code is -1 when a signal ended it. */
  readonly ended: Promise<Ran>;
  kill(signal: NodeJS.Signals): void;
}

export function startCosmig(argv: readonly string[], env: Env = {}): CosmigProcess {
  return start([...COSMIG, ...argv], env);
}

/** Whether this machine lets us mount disks in a name space of our own. */
export function canMount(): boolean {
  try {
    execFileSync('unshare', ['-Urm', 'sh', '-c', 'mount -t tmpfs none /mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs a shell script that may mount what only it sees. In it "$0" is the folder, and `cosmig` the command line.
 * `set -e` is on.
 */
export function runMounted(script: string, folder: string, env: Env = {}): Promise<Ran> {
  return start(['unshare', '-Urm', 'sh', '-c', withCosmig(script), folder], env).ended;
}

/** Runs a shell script that sends output somewhere. */
export function runShell(script: string, env: Env = {}): Promise<Ran> {
  return start(['sh', '-c', withCosmig(script)], env).ended;
}

function withCosmig(script: string): string {
  const quoted = COSMIG.map((word) => `'${word}'`).join(' ');
  return `set -e\ncosmig() { ${quoted} "$@"; }\n${script}`;
}

function start([file = '', ...argv]: readonly string[], env: Env): CosmigProcess {
  const child = spawn(file, argv, {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const read = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const ended = read.then(([stdout, stderr]) => ({ stdout, stderr, code: child.exitCode ?? -1 }));
  return {
    ended,
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}
