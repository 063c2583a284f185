/** Runs cosmig as its user does, in a process of its own on the core of the benchmark. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { StatusResult } from '../src/report/json/ledger-results.ts';
import type { Build } from './build.ts';
import type { ServerProcess } from './server-process.ts';

/** The migration of a benchmark. Both containers are in one account, and the partition key of the target is /id. */
export interface Migration {
  readonly database: string;
  readonly source?: string;
  readonly target?: string;
}

/** The parts of a `--json` result that a benchmark reads. */
export interface Outcome {
  readonly complete: boolean;
  readonly documents: { readonly read: number; readonly written: number };
  readonly durationMs: number;
  readonly lagSeconds: number | null;
  /** How long a cutover kept the writers stopped; absent for other commands. */
  readonly stoppedMs?: number;
}

const OUTPUT_CHARS_MAX = 3000;

export class CosmigProcess implements Disposable {
  readonly #build: Build;
  readonly #connectionString: string;
  readonly #places: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), 'cosmig-bench-ledger-'));
  #child: ChildProcess | undefined;

  constructor(
    build: Build,
    { connectionString }: Pick<ServerProcess, 'connectionString'>,
    { database, source = 'source', target = 'target' }: Migration,
  ) {
    this.#build = build;
    this.#connectionString = connectionString;
    this.#places = ['--source', `${database}/${source}`, '--target', `${database}/${target}`];
  }

  get ledger(): string {
    return join(this.#folder, 'ledger.db');
  }

  /** Runs a command to its end and returns its result. */
  async run(
    command: 'copy' | 'tail' | 'verify' | 'cutover' | 'reverse' | 'rollback',
    ...more: readonly string[]
  ): Promise<Outcome> {
    this.#stopped = false;
    const args = [
      ...this.#places,
      '--partition-key',
      '/id',
      '--json',
      ...(command === 'copy' ? ['--yes'] : []),
    ];
    const child = spawn(
      process.execPath,
      [this.#build.path('bin/cosmig.js'), command, ...args, '--ledger', this.ledger, ...more],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: this.#folder,
        env: { ...process.env, COSMIG_SOURCE_CONNECTION_STRING: this.#connectionString },
      },
    );
    this.#child = child;
    const [result, said] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    if (child.exitCode !== 0 && child.signalCode === null && !this.#stopped)
      throw new Error(
        `cosmig ${command} ended with ${child.exitCode}: ${said.slice(-OUTPUT_CHARS_MAX)}${result}`,
      );
    return JSON.parse(result) as Outcome;
  }

  /** Returns what `cosmig status` says of the migration. */
  status(): StatusResult {
    const args = [this.#build.path('bin/cosmig.js'), 'status', '--json', '--ledger', this.ledger];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as StatusResult;
  }

  /** Returns the CPU time of the running command in milliseconds; NaN where the system does not say. */
  cpuMs(): number {
    try {
      // The name of the program, in parentheses, may have spaces. The clock ticks a hundred times a second.
      const [, fields = ''] = readFileSync(`/proc/${this.#child?.pid}/stat`, 'utf8').split(') ');
      const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
      return (user + system) * 10;
    } catch {
      return Number.NaN;
    }
  }

  #stopped = false;

  /** Asks the running command to stop. `run` resolves when it has stopped. */
  stop(): void {
    this.#stopped = true;
    this.#child?.kill('SIGTERM');
  }

  [Symbol.dispose](): void {
    if (this.#child?.exitCode === null) this.#child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
