/** A child of a fault run: its lines are read, it can be asked to stop, and it is always waited for. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { within } from '../../../helpers/wait.ts';
import { built } from '../../../helpers/process/built.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class MigrationProcess implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #name: string;
  #onLine: (() => void) | undefined;

  /** `script` is the module to run. Its stderr is appended to the file `log`. */
  constructor(script: URL, order: unknown, log: string) {
    const path = built(script);
    this.#name = basename(path);
    this.#child = spawn(process.execPath, [path, JSON.stringify(order)], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const { stdout, stderr, stdin } = this.#child;
    if (stdout === null || stderr === null || stdin === null) throw new Error('a child without pipes');
    // It may have been killed when it is asked to stop.
    stdin.on('error', () => undefined);
    const written = createWriteStream(log, { flags: 'a' });
    stderr.pipe(written, { end: false });
    createInterface(stdout).on('line', (line) => {
      this.lines.push(line);
      written.write(`${line}\n`);
      this.#onLine?.();
    });
    const child = this.#child;
    this.ended = once(child, 'close').then(() => {
      written.end();
      return { code: child.exitCode, signal: child.signalCode };
    });
  }

  /** Its first line that passes; undefined when it ended before. */
  async line(passes: (line: string) => boolean, timeoutMs: number): Promise<string | undefined> {
    const heard = new Promise<string | undefined>((resolve) => {
      this.#onLine = () => {
        const found = this.lines.find(passes);
        if (found !== undefined) resolve(found);
      };
      this.#onLine();
      void this.ended.then(() => resolve(this.lines.find(passes))); // the child's end is waited for below
    });
    return within(heard, timeoutMs, `a line of ${this.#name}`);
  }

  stop(): void {
    this.#child.stdin?.write('stop\n');
  }

  async kill(): Promise<Ended> {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.ended;
  }
}
