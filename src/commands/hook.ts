/**
 * Commands of the operator that are run at a turn of the cutover. They get what they are about in variables, what they
 * print goes where talk goes, and one that fails is told with its exit code. They may be run more than once.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Reporter } from '../cli/command.ts';
import { sleep } from '../lib/abort.ts';
import { NotReadyError } from '../lib/errors.ts';

export interface Hook {
  /** The flag it came with. */
  readonly flag: string;
  /** Run by the shell. */
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** For one that does not heed that it is ended. */
const KILL_AFTER_MS = 5000;
/** What a command has printed is there when it has ended, or very soon. */
const OUTPUT_WITHIN_MS = 500;

/** Runs it to its end; when it is called off it is ended, and all that it has started. */
export async function runHook(
  { flag, command, env }: Hook,
  { out, signal }: { readonly out: Reporter; readonly signal?: AbortSignal },
): Promise<void> {
  signal?.throwIfAborted();
  // A group of its own: whom the shell has started is called off with it.
  const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const over = new AbortController();
  const stop = (): void => void callOff(child, over.signal);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => out.note(text.trimEnd()));
    }
    const [code, name] = await endOf(child, over.signal);
    signal?.throwIfAborted();
    if (code === 0) return;
    throw new NotReadyError(`the command of ${flag} failed`, {
      why: code === null ? `it was ended by ${name ?? 'a signal'}` : `it ended with exit code ${code}`,
      hint: `run it by itself to see why: ${command}`,
    });
  } finally {
    over.abort(new Error('the command has ended'));
    // Whoever of them is left would go on behind what is done instead.
    if (signal?.aborted === true) end(child, 'SIGKILL');
    signal?.removeEventListener('abort', stop);
  }
}

/** Its end is that of the command itself: what that has left running may keep its output open for days. */
async function endOf(
  child: ChildProcess,
  over: AbortSignal,
): Promise<readonly [number | null, string | null]> {
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const ended = await new Promise<readonly [number | null, string | null]>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, name) => resolve([code, name]));
  });
  await Promise.race([closed, sleep(OUTPUT_WITHIN_MS, over)]);
  return ended;
}

async function callOff(child: ChildProcess, over: AbortSignal): Promise<void> {
  end(child, 'SIGTERM');
  try {
    await sleep(KILL_AFTER_MS, over);
  } catch {
    return; // it has ended
  }
  end(child, 'SIGKILL');
}

function end({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
