/**
 * Runs the commands of the operator: --on-fence, --on-commit and --on-abort of a cutover, and --notify-command.
 * Invariants: the environment variables of a command name the migration and hold no secret of cosmig, the output of a
 * command goes where messages go, a failed command becomes an error that names the exit code, and stopping a command
 * stops every process that it has started.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Reporter } from '../cli/command.ts';
import type { CutoverOptions } from '../engine/cutover/contract.ts';
import { orAborted, sleep } from '../lib/abort.ts';
import { codeOf, NotReadyError } from '../lib/errors.ts';
import { FIELDS } from '../spec/fields.ts';
import { containerText, migrationName, type Ends } from '../spec/migration-name.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';

export interface Hook {
  /** The flag by which the operator gave the command. */
  readonly flag: string;
  /** The command line, which the shell runs. */
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the command gets on stdin; absent: nothing. */
  readonly input?: string;
}

/** Why a command may fail here that succeeds in the operator's shell. */
const WITHOUT_SECRETS =
  'it is run without COSMIG_*_KEY and COSMIG_*_CONNECTION_STRING, so if it needs the account, give it a variable of another name';

/** Returns the commands of the operator as the functions that the cutover calls. */
export function operatorHooks(
  commands: Readonly<Record<'onFence' | 'onCommit' | 'onAbort', string | undefined>>,
  {
    spec,
    env,
    out,
  }: {
    readonly spec: Pick<MigrationSpec, 'source' | 'target'>;
    readonly env: Hook['env'];
    readonly out: Reporter;
  },
): Pick<CutoverOptions, 'stopWriters' | 'onCommit' | 'onAbort'> {
  const about = hookEnvironment(env, spec);
  const call = async (
    hook: Pick<Hook, 'flag' | 'command'>,
    { reason = '', signal }: { readonly reason?: string; readonly signal?: AbortSignal },
  ): Promise<void> => {
    const env = { ...about, COSMIG_REASON: reason };
    await runHook({ ...hook, env }, signal === undefined ? { out } : { out, signal });
  };
  const { onFence, onCommit, onAbort } = commands;
  return {
    stopWriters:
      onFence === undefined
        ? null
        : async (signal) => call({ flag: '--on-fence', command: onFence }, { signal }),
    onCommit:
      onCommit === undefined
        ? null
        : async (signal) => call({ flag: '--on-commit', command: onCommit }, { signal }),
    onAbort:
      onAbort === undefined
        ? null
        : async (reason) => call({ flag: '--on-abort', command: onAbort }, { reason }),
  };
}

/** The variables of notifications that hold a secret. The URL of a webhook is often all that a sender needs. */
const NOTIFY_SECRETS: readonly string[] = ['COSMIG_NOTIFY', 'COSMIG_NOTIFY_SECRET'];

/**
 * Returns the environment of a command: that of cosmig without the variables in which cosmig takes secrets, since a
 * command rarely needs them, and with those that name the migration; null: it is not known yet.
 */
export function hookEnvironment(env: Hook['env'], ends: Ends | null): Hook['env'] {
  const secrets = Object.values(FIELDS).flatMap((field) => (field.type === 'secret' ? [field.env] : []));
  const isSecret = (name: string): boolean =>
    NOTIFY_SECRETS.includes(name) || secrets.some((secret) => secret === name);
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name))),
    ...(ends === null
      ? {}
      : {
          COSMIG_MIGRATION: migrationName(ends),
          COSMIG_SOURCE: containerText(ends.source),
          COSMIG_TARGET: containerText(ends.target),
        }),
  };
}

/** How long a command may run after SIGTERM before it gets SIGKILL. */
const KILL_AFTER_MS = 5000;
/** How long to wait for remaining output after a command has ended. */
const OUTPUT_WITHIN_MS = 500;
/** The longest line in characters. A longer line is printed in parts. */
const LINE_MAX = 64 * 1024;

/**
 * Runs a command to its end. If `signal` is aborted, the command is terminated together with every process that it
 * has started.
 */
export async function runHook(
  { flag, command, env, input }: Hook,
  { out, signal }: { readonly out: Pick<Reporter, 'note'>; readonly signal?: AbortSignal },
): Promise<void> {
  signal?.throwIfAborted();
  const child = await start({ flag, command, env });
  // A command need not read its input: writing to one that has ended fails.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const exited = new AbortController();
  const unkillable = new AbortController();
  const stop = (): void =>
    void terminate(child, { exited: exited.signal, unkillable, reason: signal?.reason });
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop, { once: true });
  const flushes = [child.stdout, child.stderr].map((stream) => forwardLines(stream, out));
  try {
    const [code, name] = await orAborted(exitOf(child, exited.signal), unkillable.signal);
    signal?.throwIfAborted();
    if (code === 0) return;
    throw new NotReadyError(`the command of ${flag} failed`, {
      why: code === null ? `it was ended by ${name ?? 'a signal'}` : `it ended with exit code ${code}`,
      hint: `run the command of ${flag} by itself to see why; ${WITHOUT_SECRETS}`,
    });
  } finally {
    exited.abort(new Error('the command has ended'));
    for (const flush of flushes) flush();
    // After an abort, processes that the command has started may still run. They are killed, because they could
    // interfere with what the cutover does next.
    if (signal?.aborted === true && !kill(child, 'SIGKILL'))
      out.note(`the command of ${flag} cannot be stopped, since it runs as another user; it may still run`);
    signal?.removeEventListener('abort', stop);
  }
}

type SpawnedHook = ChildProcess & {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

/** Starts the command in a process group of its own, so that one signal reaches every process of the command. */
async function start({ flag, command, env }: Omit<Hook, 'input'>): Promise<SpawnedHook> {
  try {
    const child = spawn(command, { shell: true, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    // A child without a process id could not be started; its error event follows.
    if (child.pid === undefined) throw await once(child, 'error').then(([error]: unknown[]) => error);
    return child;
  } catch (error) {
    // Either the shell is missing, or this machine has no memory or no processes left. No part of the command has run.
    throw new NotReadyError(`the command of ${flag} could not be started`, {
      why: error instanceof Error ? error.message : String(error),
      hint: 'fix what keeps this machine from starting it, then run the same command again',
      cause: error,
    });
  }
}

/** Prints each line of a stream as a note. The returned function prints the last line, which may have no line end. */
function forwardLines(stream: Readable, out: Pick<Reporter, 'note'>): () => void {
  let rest = '';
  const flush = (): void => {
    if (rest !== '') out.note(rest);
    rest = '';
  };
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) out.note(line);
    if (rest.length > LINE_MAX) flush();
  });
  return flush;
}

/**
 * Waits for the exit of the command itself, and not for the end of its output: a process in the background may keep
 * the output open for days.
 */
async function exitOf(
  child: ChildProcess,
  exited: AbortSignal,
): Promise<readonly [number | null, string | null]> {
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const ended = await new Promise<readonly [number | null, string | null]>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, name) => resolve([code, name]));
  });
  await Promise.race([closed, sleep(OUTPUT_WITHIN_MS, exited)]);
  return ended;
}

interface Termination {
  readonly exited: AbortSignal;
  /** Aborted when the process cannot be killed, so that the caller stops waiting for its exit. */
  readonly unkillable: AbortController;
  readonly reason: unknown;
}

async function terminate(child: ChildProcess, { exited, unkillable, reason }: Termination): Promise<void> {
  kill(child, 'SIGTERM');
  try {
    await sleep(KILL_AFTER_MS, exited);
  } catch {
    return; // The process has exited.
  }
  if (!kill(child, 'SIGKILL')) unkillable.abort(reason);
}

/**
 * Sends a signal to the process group of the child. Returns false when the process belongs to another user, as after
 * sudo.
 */
function kill({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  if (pid === undefined) return true;
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EPERM') return false;
    // ESRCH: the process has already exited.
    if (code === 'ESRCH') return true;
    throw error;
  }
}
