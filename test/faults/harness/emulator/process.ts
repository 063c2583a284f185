/** An emulator in a process of its own, which a test may kill at any moment. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PUBLISHED_KEY } from '../../../../src/emulator/http/server.ts';
import { Admin, type AccountSettings } from '../../../helpers/emulator/admin.ts';
import { RawAccount } from '../../../helpers/emulator/raw.ts';
import { within } from '../../../helpers/wait.ts';
import { built } from '../../../helpers/process/built.ts';

const CHILD = built(new URL('emulator-child.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** A loaded machine compiles the sources slowly; a refused file lock takes 10 s by itself. */
const START_WITHIN_MS = 60_000;

/** How an emulator that did not start explained itself. */
export interface Refused {
  readonly ready: false;
  /** The code of the error, on which scripts may rely. */
  readonly code: string;
  readonly message: string;
  readonly exitCode: number | null;
}

export class EmulatorProcess implements AsyncDisposable {
  readonly endpoint: string;
  readonly key = PUBLISHED_KEY;
  readonly admin: Admin;
  readonly raw: RawAccount;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess, ended: Promise<unknown>, endpoint: string) {
    this.#child = child;
    this.#ended = ended;
    this.endpoint = endpoint;
    this.admin = new Admin(endpoint);
    this.raw = new RawAccount({ endpoint, key: this.key });
  }

  /** Starts one over a file, or returns why it did not start. */
  static async tryStart(data: string, settings: AccountSettings = {}): Promise<EmulatorProcess | Refused> {
    const child = spawn(process.execPath, [CHILD, data, JSON.stringify(settings)], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    // Only then has everything it said been heard.
    const ended = once(child, 'close');
    const line = await within(
      Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => [undefined])]),
      START_WITHIN_MS,
      'starting the emulator',
    );
    const text: unknown = line[0];
    if (typeof text !== 'string') throw new Error(`the emulator ended without a word: ${child.exitCode}`);
    const said = JSON.parse(text) as { ready: true; endpoint: string } | Omit<Refused, 'exitCode'>;
    if (said.ready) return new EmulatorProcess(child, ended, said.endpoint);
    await ended;
    return { ...said, exitCode: child.exitCode };
  }

  static async start(data: string, settings: AccountSettings = {}): Promise<EmulatorProcess> {
    const started = await EmulatorProcess.tryStart(data, settings);
    if (started instanceof EmulatorProcess) return started;
    throw new Error(`the emulator did not start: ${started.code}: ${started.message}`);
  }

  /** Ends it without warning, as a power cut to the process would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
    this.raw.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
