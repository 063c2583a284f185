/**
 * Where a fault run of a cutover takes place: two containers, an application that can be stopped and let on again, and
 * cosmig as processes of their own, with the operator's hooks. Invariant: every process that is started is waited
 * for or ended.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { GatedOrder } from './application-child.ts';
import type { ChildOrder } from './cutover-child.ts';
import type { Blow, Hook } from './scenario.ts';
import type { EmulatorProcess } from '../emulator/process.ts';
import { MigrationProcess } from '../migration/process.ts';
import { templateOf, type Scenario } from '../migration/scenario.ts';
import { until } from '../../../helpers/wait.ts';
import { WireContainer } from '../../../helpers/emulator/wire-container.ts';
import { built } from '../../../helpers/process/built.ts';

const DATABASE = 'shop';
const CHILD = built(new URL('cutover-child.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const START_WITHIN_MS = 60_000;
const PAUSE_WITHIN_MS = 60_000;

export interface Ended {
  readonly command: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process of cosmig. */
export interface Running extends AsyncDisposable {
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
}

export class CutoverStage implements AsyncDisposable {
  readonly source: WireContainer;
  readonly target: WireContainer;
  readonly ledger: string;
  readonly versions: string;
  readonly #scenario: Scenario;
  readonly #emulator: EmulatorProcess;
  readonly #folder: string;
  #application: MigrationProcess | undefined;

  constructor(scenario: Scenario, emulator: EmulatorProcess, folder: string) {
    this.#scenario = scenario;
    this.#emulator = emulator;
    this.#folder = folder;
    this.source = new WireContainer(emulator.raw, DATABASE, 'source');
    this.target = new WireContainer(emulator.raw, DATABASE, 'target');
    this.ledger = join(folder, 'ledger.db');
    this.versions = join(folder, 'versions.jsonl');
  }

  async prepare(): Promise<void> {
    const { deletes, pageBytes, sourceKey, key, sourceRanges, targetRanges, uniqueKeys, ttl, defaultTtl } =
      this.#scenario;
    const { admin, raw } = this.#emulator;
    await admin.account({ avad: deletes === 'avad', pageBytes, ttlPurgeDelayMs: 500 });
    const post = async (path: string, body: object): Promise<void> => {
      const reply = await raw.send('POST', path, { body: JSON.stringify(body) });
      if (reply.status !== 201) throw new Error(`${path}: ${reply.status} ${reply.text}`);
    };
    await post('/dbs', { id: DATABASE });
    const unique = uniqueKeys ? { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/unique'] }] } } : {};
    const sides = [
      { wire: this.source, id: 'source', paths: sourceKey, ranges: sourceRanges, more: {} },
      { wire: this.target, id: 'target', paths: key.partitionKey, ranges: targetRanges, more: unique },
    ];
    for (const { wire, id, paths, ranges, more } of sides) {
      const kind = paths.length > 1 ? 'MultiHash' : 'Hash';
      const lifetime = ttl === 'none' ? {} : { defaultTtl };
      const definition = { id, partitionKey: { paths, kind, version: 2 }, ...lifetime, ...more };
      await post(`/dbs/${DATABASE}/colls`, definition);
      for (let list = await wire.ranges(); list.length < ranges; list = await wire.ranges())
        await admin.split(wire.adminPath, { rangeId: list[0]?.id ?? '' });
    }
  }

  /** The application fills the source and writes on. */
  async startApplication(seed: number): Promise<void> {
    const order: GatedOrder = {
      endpoint: this.#emulator.endpoint,
      key: this.#emulator.key,
      database: DATABASE,
      container: 'source',
      seed,
      log: this.versions,
      off: this.#file('off'),
      isOff: this.#file('is-off'),
    };
    const log = this.#file('application.log');
    this.#application = new MigrationProcess(new URL('application-child.ts', import.meta.url), order, log);
    const line = await this.#application.line((each) => each === 'writing', START_WITHIN_MS);
    if (line === undefined) throw new Error(`the application did not start, see ${log}`);
  }

  get isWriting(): boolean {
    return !existsSync(this.#file('off'));
  }

  /** None of its writes is in flight when this resolves. */
  async stopWriters(): Promise<void> {
    writeFileSync(this.#file('off'), '');
    await until(() => existsSync(this.#file('is-off')), {
      what: 'the application to stop writing',
      timeoutMs: PAUSE_WITHIN_MS,
    });
  }

  letWritersOn(): void {
    rmSync(this.#file('off'), { force: true });
  }

  /** A command with the migration's spec. */
  spec(command: string): string[] {
    const { key, missingKey, deletes, ttl } = this.#scenario;
    const each = (flag: string, values: readonly string[]): string[] =>
      values.flatMap((value) => [flag, value]);
    const fixed = {
      '--source': `${DATABASE}/source`,
      '--target': `${DATABASE}/target`,
      '--source-endpoint': this.#emulator.endpoint,
      '--ledger': this.ledger,
      '--missing-key': missingKey,
      '--deletes': deletes === 'marker' ? 'marker:/isDeleted' : deletes,
      '--ttl': ttl === 'remaining' ? 'remaining' : 'restart',
    };
    return [
      command,
      ...(command === 'copy' ? ['--yes'] : []),
      ...Object.entries(fixed).flat(),
      ...each('--partition-key', key.partitionKey),
      ...each('--derive', key.derive.map(templateOf)),
      ...(key.keepSourceKeyAs === undefined ? [] : ['--keep-source-key-as', key.keepSourceKeyAs]),
    ];
  }

  /** The operator's three scripts; one of them may end cosmig, or fail. */
  hooks(blow: Blow | null, fails?: Hook): string[] {
    const [off, isOff, log] = [this.#file('off'), this.#file('is-off'), this.#file('hooks.log')];
    const work: Readonly<Record<Hook, string>> = {
      fence: `touch ${off}; while [ ! -e ${isOff} ]; do sleep 0.05; done`,
      commit: ':',
      abort: `rm -f ${off}`,
    };
    return (['fence', 'commit', 'abort'] as const).flatMap((hook) => {
      const kill = (when: 'before' | 'after'): string =>
        blow?.by === 'hook' && blow.hook === hook && blow.when === when ? 'kill -9 $PPID; ' : '';
      const end = fails === hook ? '; exit 7' : '';
      return [
        `--on-${hook}`,
        `${kill('before')}echo ${hook} >> ${log}; ${work[hook]}; ${kill('after')}true${end}`,
      ];
    });
  }

  /** Begins a command; what it says goes to a log as well. */
  start(argv: readonly string[], blow: Blow | null = null): Running {
    const order: ChildOrder = {
      requestTimeoutMs: this.#scenario.requestTimeoutMs,
      ...(blow?.by === 'strike' ? { strike: blow.strike } : {}),
    };
    const child = spawn(process.execPath, [CHILD, ...argv], {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        COSMIG_SOURCE_KEY: this.#emulator.key,
        CHILD_ORDER: JSON.stringify(order),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const read = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    const command = argv[0] ?? '';
    const ended = read.then(([stdout, stderr]): Ended => {
      const { exitCode: code, signalCode: signal } = child;
      const how = `${new Date().toISOString()} $ ${argv.join(' ')} -> ${code ?? signal}`;
      appendFileSync(this.#file('cosmig.log'), `${how}\n${stdout}${stderr}\n`);
      return { command, code, signal, stdout, stderr };
    });
    const timer =
      blow?.by === 'time' ? setTimeout(() => child.kill('SIGKILL'), blow.afterMs).unref() : undefined;
    return {
      ended: ended.finally(() => clearTimeout(timer)),
      kill: (signal) => void child.kill(signal),
      async [Symbol.asyncDispose]() {
        if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
        await ended;
      },
    };
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#application?.[Symbol.asyncDispose]();
  }
}
