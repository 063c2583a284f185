/**
 * Commands of the operator that are run at a turn of the cutover. They get what they are about in variables, what they
 * print goes where talk goes, and one that fails is told with its exit code. They may be run more than once.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Reporter } from '../cli/command.ts';
import { orAborted, sleep } from '../lib/abort.ts';
import { NotReadyError } from '../lib/errors.ts';

export interface Hook {
  /** The flag it came with. */
  readonly flag: string;
  /** Run by the shell. */
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where more is to be known of its failure than that: what was done before it, and what to do when it is mended. */
  readonly context?: { readonly before: string; readonly next: string };
}

/** For one that does not heed that it is ended. */
const KILL_AFTER_MS = 5000;
/** What a command has printed is there when it has ended, or very soon. */
const OUTPUT_WITHIN_MS = 500;
/** Nobody reads a longer one. */
const LINE_MAX = 64 * 1024;

/** Runs it to its end; when it is called off it is ended, and all that it has started. */
export async function runHook(
  { flag, command, env, context }: Hook,
  { out, signal }: { readonly out: Reporter; readonly signal?: AbortSignal },
): Promise<void> {
  signal?.throwIfAborted();
  const child = await begin({ flag, command, env });
  const over = new AbortController();
  const lost = new AbortController();
  const stop = (): void => void callOff(child, { over: over.signal, lost, reason: signal?.reason });
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop, { once: true });
  const endings = [child.stdout, child.stderr].map((stream) => tell(stream, out));
  try {
    const [code, name] = await orAborted(endOf(child, over.signal), lost.signal);
    signal?.throwIfAborted();
    if (code === 0) return;
    const failed = `the command of ${flag} failed`;
    throw new NotReadyError(context === undefined ? failed : `${context.before}, and ${failed}`, {
      why: code === null ? `it was ended by ${name ?? 'a signal'}` : `it ended with exit code ${code}`,
      hint:
        context === undefined
          ? `run it by itself to see why: ${command}`
          : `see why it fails (${command}), ${context.next}`,
    });
  } finally {
    over.abort(new Error('the command has ended'));
    for (const end of endings) end();
    // Whoever of them is left would go on behind what is done instead.
    if (signal?.aborted === true && !end(child, 'SIGKILL'))
      out.note(`the command of ${flag} cannot be ended, since it runs as another user; it may go on`);
    signal?.removeEventListener('abort', stop);
  }
}

type Begun = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };

/** A group of its own: whom the shell has started is called off with it. */
async function begin({ flag, command, env }: Hook): Promise<Begun> {
  try {
    const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    // Without a process there is an error instead, and soon.
    if (child.pid === undefined) throw await once(child, 'error').then(([error]: unknown[]) => error);
    return child;
  } catch (error) {
    // No shell, no memory, no room for another process: nothing of it has run.
    throw new NotReadyError(`the command of ${flag} could not be started`, {
      why: error instanceof Error ? error.message : String(error),
      hint: 'see what this machine lacks, then run the same cosmig cutover again',
      cause: error,
    });
  }
}

/** Line by line; gives what says the last one, which may have no end. */
function tell(stream: Readable, out: Reporter): () => void {
  let rest = '';
  const end = (): void => {
    if (rest !== '') out.note(rest);
    rest = '';
  };
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const said = (rest + text).split('\n');
    rest = said.pop() ?? '';
    for (const line of said) out.note(line);
    if (rest.length > LINE_MAX) end();
  });
  return end;
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

interface Called {
  readonly over: AbortSignal;
  /** Aborted when there is no way to end it; nobody waits for it then. */
  readonly lost: AbortController;
  readonly reason: unknown;
}

async function callOff(child: ChildProcess, { over, lost, reason }: Called): Promise<void> {
  end(child, 'SIGTERM');
  try {
    await sleep(KILL_AFTER_MS, over);
  } catch {
    return; // it has ended
  }
  if (!end(child, 'SIGKILL')) lost.abort(reason);
}

/** False when it is not ours to end, as with sudo. */
function end({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  if (pid === undefined) return true;
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EPERM') return false;
    // It has ended by itself.
    if (code === 'ESRCH') return true;
    throw error;
  }
}
