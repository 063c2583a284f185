/**
 * Commands of the operator that are run at a turn of the cutover. They get what they are about in variables, what they
 * print goes where talk goes, and one that fails is told with its exit code. They may be run more than once.
 */
import { spawn } from 'node:child_process';
import type { Reporter } from '../cli/command.ts';
import { NotReadyError } from '../lib/errors.ts';

export interface Hook {
  /** The flag it came with. */
  readonly flag: string;
  /** Run by the shell. */
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs it to its end; when it is called off it is ended. */
export async function runHook(
  { flag, command, env }: Hook,
  { out, signal }: { readonly out: Reporter; readonly signal?: AbortSignal },
): Promise<void> {
  const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = (): void => void child.kill();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => out.note(text.trimEnd()));
    }
    const [code, name] = await new Promise<readonly [number | null, string | null]>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exitCode, signalName) => resolve([exitCode, signalName]));
    });
    signal?.throwIfAborted();
    if (code === 0) return;
    throw new NotReadyError(`the command of ${flag} failed`, {
      why: code === null ? `it was ended by ${name ?? 'a signal'}` : `it ended with exit code ${code}`,
      hint: `run it by itself to see why: ${command}`,
    });
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}
