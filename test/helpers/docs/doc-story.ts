/**
 * Follows a document as a reader would, in its order and in a folder of its own: saves files, and runs commands against
 * an emulator. Replaced are only what a reader has and a test has not: the account (its name, key and connection
 * string), the port, kubectl, and long times. Everything else is done as it is written.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/lib/clock.ts';
import { commandsIn, wordsOf, type Block } from './doc-blocks.ts';
import { CosmigRun, type Ran } from '../run-cosmig.ts';
import { until } from '../wait.ts';
import { built } from '../process/built.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Placeholders that a reader replaces by values of the account. */
const CONNECTION = '<the connection string>';
const ENDPOINT = 'https://myaccount.documents.azure.com:443/';

/** Commands that run until they are stopped: the reader has a terminal for each. */
const NEVER_END = [/^cosmig emulator\b/, /^cosmig (?:tail|reverse)$/, /^node app(?:-after)?\.mjs\b/];
const REPLICATING = ['tail', 'reverse'];
/** Before these, what replicates has to end, as the text says. */
const ALONE = /^cosmig (?:cutover|rollback|dead-letters retry|verify --repair)\b/;
/** Commands that take too long for a test, and what is run in their place. */
const SHORTER: ReadonlyArray<readonly [RegExp, string]> = [
  [/^npm ci && npm run demo$/, 'cosmig demo --fast'],
  // This test is part of it.
  [/^npm ci && npm test$/, 'true'],
  // Not the package of the registry, but the command that it puts on the PATH.
  // The test gives its programs the client of this repository.
  [/^npm install @azure\/cosmos$/, 'true'],
  [/^npm ci && npm link --ignore-scripts$/, 'cosmig --version'],
  [/(?<=^cosmig (?:cutover|rollback)\b.*) --watch-writes 5s/, ' --quiet-for 1s --watch-writes 1s'],
  [/^cosmig cutover\b(?!.*--watch)/, 'cosmig cutover --quiet-for 1s --watch-writes 1s'],
  [/^cosmig rollback\b/, 'cosmig rollback --quiet-for 1s --watch-writes 1s'],
];

export interface Step {
  readonly at: string;
  readonly line: string;
  readonly code: number;
  /** The exit code in a comment after the command (`# exit code 5`), otherwise 0. */
  readonly expected: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Account {
  readonly endpoint: string;
  readonly key: string;
  readonly connectionString: string;
}

export class Story implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'cosmig-story-'));
  readonly steps: Step[] = [];
  readonly #before = process.cwd();
  readonly #temporary = process.env['TMPDIR'];
  readonly #env: Record<string, string>;
  readonly #runs: Array<{ readonly name: string; readonly run: CosmigRun }> = [];
  readonly #children: ChildProcess[] = [];
  #account: Account | undefined;

  constructor(account?: Account) {
    this.#account = account;
    const bin = join(this.folder, 'bin');
    mkdirSync(bin);
    // Used by commands that need a shell; simple commands run in this process.
    const main = `import { main } from ${JSON.stringify(built(`${ROOT}src/cli/main.ts`))}; await main();`;
    writeFileSync(join(bin, 'main.mjs'), main);
    const node = `exec "${process.execPath}"`;
    script(join(bin, 'cosmig'), `${node} "${join(bin, 'main.mjs')}" "$@"`);
    script(join(bin, 'node-with-sources'), `${node} "$@"`);
    script(join(bin, 'kubectl'), 'echo "$@"');
    // What a reader has installed; the library is that of this tree.
    const modules = join(this.folder, 'node_modules');
    mkdirSync(join(modules, 'cosmig'), { recursive: true });
    writeFileSync(join(modules, 'cosmig/package.json'), '{ "type": "module", "exports": "./index.js" }');
    writeFileSync(
      join(modules, 'cosmig/index.js'),
      `export * from ${JSON.stringify(built(`${ROOT}src/index.ts`))};`,
    );
    symlinkSync(join(ROOT, 'node_modules/@azure'), join(modules, '@azure'));
    this.#env = {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: this.folder,
      COSMIG_EMULATOR_PORT: '0',
      NO_COLOR: '1',
    };
    process.chdir(this.folder);
    // The demo leaves pages in the folder of temporary files.
    process.env['TMPDIR'] = this.folder;
  }

  /** Saves or runs a block. */
  async follow(block: Block): Promise<void> {
    if (block.file !== undefined) return this.save(block.file, block.text);
    for (const line of commandsIn(block.text)) await this.run(line, block.at);
  }

  save(file: string, content: string): void {
    writeFileSync(join(this.folder, file), this.#filled(content));
    if (file.endsWith('.sh')) chmodSync(join(this.folder, file), 0o755);
  }

  async run(line: string, at: string): Promise<void> {
    const expected = Number(/# exit code (\d+)$/.exec(line)?.[1] ?? 0);
    const command = line.replace(/\s*# exit code \d+$/, '');
    if (ALONE.test(command)) await this.#stop(...REPLICATING);
    const [from, to] = SHORTER.find(([pattern]) => pattern.test(command)) ?? [command, command];
    const ran = await this.#do(this.#filled(command.replace(from, to)), at);
    if (ran !== undefined) this.steps.push({ at, line: command, expected, ...ran });
  }

  get last(): Step | undefined {
    return this.steps.at(-1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill();
    await this.#stop(...REPLICATING);
    await this.#stop('emulator');
    process.chdir(this.#before);
    if (this.#temporary === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = this.#temporary;
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #do(line: string, at: string): Promise<Ran | undefined> {
    const [, name = '', value] = /^export ([A-Z_]+)=(.*)$/.exec(line) ?? [];
    if (value !== undefined) {
      this.#env[name] = wordsOf(value)?.[0] ?? '';
      return undefined;
    }
    const words = wordsOf(line);
    const neverEnds = NEVER_END.some((pattern) => pattern.test(line));
    if (words?.[0] !== 'cosmig') return this.#shell(line, neverEnds);
    const run = new CosmigRun(words.slice(1), { env: this.#env, clock: systemClock });
    if (!neverEnds) return run.ended;
    const subcommand = words[1] ?? '';
    this.#runs.push({ name: subcommand, run });
    if (subcommand !== 'emulator') {
      // A reader needs seconds to type the next command.
      await until(() => this.#isReplicating(), { what: `${line} of ${at}` });
      return undefined;
    }
    await until(() => run.stdout.includes('\n'), { what: `the emulator of ${at}` });
    this.#account = accountOf(run.stdout.trim());
    return undefined;
  }

  async #isReplicating(): Promise<boolean> {
    const { stdout } = await new CosmigRun(['status', '--json'], { env: this.#env, clock: systemClock })
      .ended;
    return stdout.includes('"phase":"tailing"') && stdout.includes('"running":{');
  }

  async #shell(line: string, neverEnds: boolean): Promise<Ran | undefined> {
    const around = { cwd: this.folder, env: this.#env };
    if (neverEnds) {
      const child = spawn('sh', ['-c', `exec ${line}`], { ...around, stdio: ['ignore', 'pipe', 'inherit'] });
      this.#children.push(child);
      // Its first output shows that it has started.
      await once(child.stdout, 'data');
      child.stdout.resume();
      return undefined;
    }
    const child = spawn('sh', ['-c', line], { ...around, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    return { code: typeof code === 'number' ? code : -1, stdout, stderr };
  }

  /** Ctrl-C in its terminal. */
  async #stop(...names: string[]): Promise<void> {
    for (const { name, run } of this.#runs) {
      if (!names.includes(name)) continue;
      run.press('SIGINT');
      const { code, stderr } = await run.ended;
      if (code !== 130) throw new Error(`${name} was stopped and ended with ${code}: ${stderr}`);
    }
    this.#runs.splice(0, this.#runs.length, ...this.#runs.filter(({ name }) => !names.includes(name)));
  }

  #filled(written: string): string {
    const { connectionString = CONNECTION, endpoint = ENDPOINT } = this.#account ?? {};
    return written.replaceAll(CONNECTION, connectionString).replaceAll(ENDPOINT, endpoint);
  }
}

function accountOf(connectionString: string): Account {
  const [, endpoint = '', key = ''] =
    /AccountEndpoint=([^;]+);AccountKey=([^;]+)/.exec(connectionString) ?? [];
  return { endpoint, key, connectionString };
}

function script(path: string, line: string): void {
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
}

/** The lines without what differs from run to run: numbers, times and blanks. */
export function outline(printed: string): string[] {
  return printed
    .trimEnd()
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\b\d[\d,.:-]*/g, 'N')
        .replaceAll(/N (?:ms|s|min|h|d)\b/g, 'N s')
        .replaceAll(/\s+/g, ' ')
        .trimEnd(),
    );
}
