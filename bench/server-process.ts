/** A server in a process and on a core of its own: the emulator as its user starts it, or the null service. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Build } from './build.ts';
import { pinnedCommand } from './pinning.ts';
import type { BenchOptions } from './run.ts';

const START_MS = 30_000;
const STOP_MS = 20_000;
/** How many characters of the end of stderr are kept for the message when the server dies. */
const LAST_WORDS_CHARS = 2000;

interface Program {
  readonly name: string;
  /** The file that Node runs, and its arguments. */
  readonly args: readonly string[];
  /** The folder for a CPU profile; undefined when no profile is wanted. */
  readonly profileDir: string | undefined;
  /** The file into which the program writes its certificate; undefined if it speaks plain http. */
  readonly certificateFile?: string | undefined;
}

export function startEmulator(build: Build, profileDir?: string): Promise<ServerProcess> {
  const args = [build.path('bin/cosmig.js'), 'emulator', '--port', '0', '--json'];
  return ServerProcess.start({ name: 'the emulator', args, profileDir });
}

export function startNullService(
  build: Build,
  { profileDir, isPlain }: Pick<BenchOptions, 'profileDir' | 'isPlain'>,
): Promise<ServerProcess> {
  const certificateFile = isPlain ? undefined : build.path('null-service.pem');
  const args = [
    build.path('bench/null-service.js'),
    ...(certificateFile === undefined ? [] : [certificateFile]),
  ];
  return ServerProcess.start({ name: 'the null service', args, profileDir, certificateFile });
}

export class ServerProcess implements AsyncDisposable {
  readonly endpoint: string;
  readonly key: string;
  readonly connectionString: string;
  /** The certificate that a client has to trust; undefined if the server speaks plain http. */
  readonly certificateFile: string | undefined;
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #lastWords: () => string;

  private constructor(
    { name, certificateFile }: Program,
    child: ChildProcess,
    connectionString: string,
    lastWords: () => string,
  ) {
    this.#name = name;
    this.certificateFile = certificateFile;
    this.#child = child;
    this.#lastWords = lastWords;
    this.connectionString = connectionString;
    this.endpoint = /AccountEndpoint=([^;]+)/.exec(connectionString)?.[1] ?? '';
    this.key = /AccountKey=([^;]+)/.exec(connectionString)?.[1] ?? '';
  }

  /**
   * Starts a server and waits until it prints a line of JSON with its connection string. `name` is its name in
   * messages.
   */
  static async start(program: Program): Promise<ServerProcess> {
    const { name, args, profileDir } = program;
    const profile = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
    const [command = '', ...rest] = pinnedCommand([process.execPath, ...profile, ...args]);
    const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-LAST_WORDS_CHARS);
    });
    const lastWords = (): string => said;
    try {
      const line = await firstLine(child);
      const { connectionString } = JSON.parse(line) as { connectionString: string };
      return new ServerProcess(program, child, connectionString, lastWords);
    } catch (error) {
      child.kill('SIGKILL');
      throw new Error(`${name} did not start: ${lastWords()}`, { cause: error });
    }
  }

  /** Returns the CPU time of all threads of the server so far, in milliseconds. */
  cpuMs(): number {
    const tasks = `/proc/${this.#child.pid}/task`;
    if (!existsSync(tasks)) return Number.NaN;
    let nanoseconds = 0;
    for (const task of readdirSync(tasks)) {
      nanoseconds += Number(readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')[0]);
    }
    return nanoseconds / 1e6;
  }

  /** Returns the memory that the server uses now, and the highest value so far. */
  memory(): { readonly nowBytes: number; readonly peakBytes: number } {
    const path = `/proc/${this.#child.pid}/status`;
    const status = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const field = (name: string): number =>
      Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) * 1024;
    return { nowBytes: field('VmRSS'), peakBytes: field('VmHWM') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
      console.error(`${this.#name} died: ${this.#lastWords()}`);
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
    const late = setTimeout(() => reject(new Error('it did not get ready')), START_MS);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`it ended with exit code ${code}`)));
    if (child.stdout === null) throw new Error('it has no stdout');
    createInterface({ input: child.stdout }).once('line', (line) => {
      clearTimeout(late);
      resolve(line);
    });
  });
}
