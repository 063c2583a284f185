/** The emulator as its user starts it: the built program in a process of its own. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pinnedCommand } from './pinning.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const START_MS = 30_000;
const STOP_MS = 20_000;
/** Of what it says on stderr, the end is kept for the case that it dies. */
const LAST_WORDS_CHARS = 2000;

export class EmulatorProcess implements AsyncDisposable {
  readonly endpoint: string;
  readonly key: string;
  readonly #child: ChildProcess;
  readonly #lastWords: () => string;

  private constructor(child: ChildProcess, connectionString: string, lastWords: () => string) {
    this.#child = child;
    this.#lastWords = lastWords;
    this.endpoint = /AccountEndpoint=([^;]+)/.exec(connectionString)?.[1] ?? '';
    this.key = /AccountKey=([^;]+)/.exec(connectionString)?.[1] ?? '';
  }

  static async start(profileDir: string | undefined): Promise<EmulatorProcess> {
    refuseStaleBuild();
    const profile = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
    const [command = '', ...args] = pinnedCommand([
      process.execPath,
      ...profile,
      join(ROOT, 'bin/cosmig.js'),
      'emulator',
      '--port',
      '0',
      '--json',
    ]);
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-LAST_WORDS_CHARS);
    });
    const lastWords = (): string => said;
    try {
      const line = await firstLine(child);
      const { connectionString } = JSON.parse(line) as { connectionString: string };
      return new EmulatorProcess(child, connectionString, lastWords);
    } catch (error) {
      child.kill('SIGKILL');
      throw new Error(`the emulator did not start: ${lastWords()}`, { cause: error });
    }
  }

  /** CPU time of all its threads so far, in milliseconds. */
  cpuMs(): number {
    const tasks = `/proc/${this.#child.pid}/task`;
    if (!existsSync(tasks)) return Number.NaN;
    let nanoseconds = 0;
    for (const task of readdirSync(tasks)) {
      nanoseconds += Number(readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')[0]);
    }
    return nanoseconds / 1e6;
  }

  /** Its memory now, and at most so far. */
  memory(): { readonly nowBytes: number; readonly peakBytes: number } {
    const path = `/proc/${this.#child.pid}/status`;
    const status = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const field = (name: string): number =>
      Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) * 1024;
    return { nowBytes: field('VmRSS'), peakBytes: field('VmHWM') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
      console.error(`the emulator died: ${this.#lastWords()}`);
      return;
    }
    const ended = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.kill('SIGTERM');
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(killer);
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('the emulator did not get ready')), START_MS);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the emulator ended with exit code ${code}`)));
    if (child.stdout === null) throw new Error('the emulator has no stdout');
    createInterface({ input: child.stdout }).once('line', (line) => {
      clearTimeout(late);
      resolve(line);
    });
  });
}

/** A figure for yesterday's code is worse than none. */
function refuseStaleBuild(): void {
  const built = statSync(join(ROOT, 'dist/cli/main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const changed = sources.find((path) => statSync(join(ROOT, 'src', path)).mtimeMs > built);
  if (changed !== undefined) throw new Error(`dist is older than src/${changed}: run npm run build first`);
}
