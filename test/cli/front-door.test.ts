import { describe, expect, test } from 'vitest';
import type { Command, OptionTable, Values } from '../../src/cli/command.ts';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { commands } from '../../src/commands/all.ts';
import { whenAborted } from '../../src/lib/abort.ts';
import * as errors from '../../src/lib/errors.ts';
import { flagOf } from '../../src/lib/flags.ts';
import { CosmigRun, runCosmig } from '../helpers/run-cosmig.ts';

const KEY = Buffer.alloc(64, 0xab).toString('base64');

const OPTIONS = {
  pageSize: {
    type: 'number',
    default: 10,
    min: 1,
    max: 100,
    env: 'SAMPLE_PAGE_SIZE',
    help: 'documents a page',
  },
  wait: { type: 'boolean', env: 'SAMPLE_WAIT', help: 'until stopped' },
  label: { type: 'text', help: 'any text' },
  patience: { type: 'duration', default: '2m', help: 'how long to wait' },
  parts: { type: 'choices', choices: ['head', 'body'], help: 'which parts' },
  mode: { type: 'choice', choices: ['keep', 'fail'], default: 'keep', help: 'what to do' },
} as const satisfies OptionTable;

/** As a list of commands names them: a group once. */
const NAMES = [...new Set(commands.map(({ name, group }) => group?.name ?? name))].join(', ');

/** A command whose body a test supplies. */
function sample(run: Command<typeof OPTIONS>['run']): Command<typeof OPTIONS> {
  return {
    name: 'sample',
    summary: 'do a sample',
    description: 'Does a sample.',
    examples: [
      { line: 'cosmig sample', purpose: 'one' },
      { line: 'cosmig sample --wait', purpose: 'two' },
    ],
    options: OPTIONS,
    endsWith: {},
    operand: '[FILE]',
    run,
  };
}

const fails = (error: unknown): Command<typeof OPTIONS> =>
  sample(() => {
    throw error;
  });

describe('help and version', () => {
  test('--version -> the version of the package', async () => {
    const { default: manifest } = await import('../../package.json', { with: { type: 'json' } });
    await expect(runCosmig(['--version'])).resolves.toEqual({
      code: 0,
      stdout: `${manifest.version}\n`,
      stderr: '',
    });
  });

  test('no command -> the usual order of commands, and the exit code of wrong usage', async () => {
    const { code, stdout, stderr } = await runCosmig([]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    const order = ['plan', 'doctor', 'copy --dry-run', 'copy', 'tail', 'verify', 'cutover', 'status', 'demo'];
    const shown = [...stdout.matchAll(/^ {2}cosmig (\S.*?) {2,}/gm)].map(([, line]) => line);
    expect(shown).toEqual([...order, '--help']);
    expect((await runCosmig([], { env: { COSMIG_JSON: '1' } })).stdout).toContain('"code":"usage"');
  });

  test('--help or -h -> every command is listed', async () => {
    const { code, stdout, stderr } = await runCosmig(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const shown = commands.map(({ name, summary, group }) => group ?? { name, summary });
    // Help breaks lines where it must.
    const flowing = stdout.replaceAll(/\n {30}(?=\S)/g, ' ');
    for (const { name, summary } of shown) expect(flowing).toMatch(new RegExp(`^  ${name} +${summary}`, 'm'));
    expect((await runCosmig(['-h'])).stdout).toBe(stdout);
  });

  test.each(commands.map((command) => [command.name, command] as const))(
    '%s --help -> its flags, their variables and two examples',
    async (name, command) => {
      const { code, stdout } = await runCosmig([...name.split(' '), '--help']);
      // Help breaks lines where it must.
      const flowing = stdout.replaceAll(/\s*\\?\s+/g, ' ');
      expect(code).toBe(0);
      for (const [option, { type, env, help }] of Object.entries<OptionTable[string]>(command.options)) {
        // A secret has a variable and no flag.
        expect(flowing).toContain(type === 'secret' ? `${env} ` : `--${flagOf(option)} `);
        expect(flowing).toContain(help.split(' ')[0]);
        expect(flowing).toContain(env === undefined ? help.slice(0, 20) : env);
      }
      for (const { line } of command.examples) expect(flowing).toContain(line);
    },
  );

  test.each(commands.map(({ name }) => name))('%s --help, 80 columns -> no longer line', async (name) => {
    const argv = [...name.split(' '), '--help'];
    const parsed = parseCommandLine(argv, commands, { version: '1', env: {}, columns: 80 });
    const text = parsed.kind === 'text' ? parsed.text : '';
    expect(text).toContain(`cosmig ${name}`);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(text).not.toMatch(/\[(?:string|boolean)\]/);
  });

  test.each([
    ['plan', '4 no candidate will do', '5 dead letters'],
    ['emulator', '7 data file', '4 differences'],
    ['completion', '70 bug in cosmig', '6 service'],
  ])('%s --help -> the exit codes that it can end with, and what they mean', async (name, listed, other) => {
    const { stdout } = await runCosmig([name, '--help']);
    const shown = stdout.slice(stdout.indexOf('Exit codes:'));
    // A code stays on one line with its meaning.
    expect(shown).not.toMatch(/\d$/m);
    const codes = shown.replaceAll(/\s+/g, ' ');
    expect(codes).toContain(listed);
    expect(codes).not.toContain(other);
  });

  test('help in a pipe -> fits into 80 columns, as it often ends at a terminal', async () => {
    const { stdout } = await runCosmig(['cutover', '--help']);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test('examples of every command -> parsed without an error', async () => {
    const codes: Array<readonly [line: string, code: number]> = [];
    for (const { examples, name } of commands) {
      for (const { line } of examples) {
        const stand = { ...sample(async () => ({ json: {}, text: 'read' })), name };
        const options = commands.find((command) => command.name === name)?.options ?? {};
        const argv = line.split(' ').slice(1);
        const { code } = await runCosmig(argv, { commands: [{ ...stand, options }] });
        codes.push([line, code]);
      }
    }
    expect(codes).toEqual(codes.map(([line]) => [line, 0]));
  });
});

describe('command groups', () => {
  const group = { name: 'letters', summary: 'see letters', description: 'Sees letters.' };
  const member = (name: string): Command<typeof OPTIONS> => ({
    ...sample(async ({ operand }) => ({ json: { name, operand }, text: `${name} ${operand ?? 'all'}` })),
    name: `letters ${name}`,
    summary: `${name} letters`,
    group,
  });
  const { operand: _none, ...list } = member('list');
  const around = { commands: [fails(new Error('not asked')), list, member('show')] };
  const ask = (line: string) => runCosmig(line.split(' '), around);

  test('two words -> the command; a third word -> its operand', async () => {
    await expect(ask('letters list --wait')).resolves.toEqual({ code: 0, stdout: 'list all\n', stderr: '' });
    await expect(ask('letters --quiet show --wait 12')).resolves.toMatchObject({ stdout: 'show 12\n' });
  });

  test('--help -> one line for the group; the group and each command have a help', async () => {
    const { stdout } = await ask('--help');
    expect(stdout).toMatch(/^ {2}letters +see letters$/m);
    expect(stdout).not.toContain('letters list');
    const together = (await ask('letters --help')).stdout;
    expect(together).toContain('cosmig letters <command> [options]\n\nSees letters.\n');
    expect(together).toMatch(/\n {2}list +list letters\n {2}show +show letters\n/);
    const alone = (await ask('letters show --help')).stdout;
    expect(alone).toContain('cosmig letters show [FILE] [options]\n\nDoes a sample.\n');
    expect(alone).toContain('--page-size');
  });

  test.each([
    ['letters', 'missing command', 'available: list, show'],
    ['letters shw', 'unknown command: letters shw', 'available: list, show'],
    ['leters list', 'unknown command: leters', 'available: sample, letters'],
    ['letters list 5', 'unexpected argument: 5', 'cosmig letters list takes options only'],
    ['letters list --wiat', 'unknown option: --wiat', 'cosmig letters list has no such option'],
  ])('%s -> an error of three lines', async (line, what, why) => {
    const { code, stderr } = await ask(line);
    expect(code).toBe(2);
    expect(stderr).toContain(`cosmig: ${what}\n  why  ${why}\n  now  `);
    expect(stderr).toMatch(
      /now {2}(?:see cosmig letters (?:list )?--help|did you mean (?:show|letters|--wait)\?)\n/,
    );
  });

  test.each(['help letters show', 'letters show -h'])('%s -> the help of the command', async (line) => {
    expect((await ask(line)).stdout).toContain('cosmig letters show [FILE] [options]');
  });

  test('a failure with --json -> the full name of the command', async () => {
    const { stdout } = await ask('letters show --wiat --json');
    expect(JSON.parse(stdout)).toMatchObject({ command: 'letters show', complete: false });
  });
});

describe('wrong command lines', () => {
  test.each([
    [['emulatr'], 'unknown command: emulatr', `available: ${NAMES}`, 'did you mean emulator?'],
    [['--vresion'], 'unknown option: --vresion', 'cosmig has no such option', 'did you mean --version?'],
    [['--source', 'a/b'], 'missing command', `available: ${NAMES}`, 'see cosmig --help'],
    [['cpoy', '--sorce', 'a/b'], 'unknown command: cpoy', `available: ${NAMES}`, 'did you mean copy?'],
    [['paint'], 'unknown command: paint', `available: ${NAMES}`, 'see cosmig --help'],
    [
      ['emulator', '--prot', '1'],
      'unknown option: --prot',
      'cosmig emulator has no such option',
      'did you mean --port?',
    ],
    [
      ['emulator', '--frobnicate'],
      'unknown option: --frobnicate',
      'cosmig emulator has no such option',
      'see cosmig emulator --help',
    ],
    [['emulator', '--port'], '--port has no value', 'it needs one', 'write --port VALUE'],
    [
      ['emulator', '--port', '1e3'],
      '--port 1e3 is not valid',
      'it is a whole number from 0 to 65535',
      'for example --port 8081',
    ],
    [
      ['emulator', '--port', '65536'],
      '--port 65536 is not valid',
      'it is a whole number from 0 to 65535',
      'for example --port 8081',
    ],
    [
      ['emulator', '--port', '1', '--port', '2'],
      '--port was given more than once',
      'it has one value',
      'keep one of them',
    ],
    [
      ['emulator', '--https=yes'],
      '--https=yes is not valid',
      'it is on or off',
      'write --https, or --https=false',
    ],
    [['demo', 'now'], 'unexpected argument: now', 'cosmig demo takes options only', 'see cosmig demo --help'],
    [
      ['emulator', '--certificate-out', 'a.pem'],
      '--certificate-out needs --https',
      'only a server with TLS has a certificate',
      'add --https, or remove --certificate-out',
    ],
    [
      ['emulator', '--allow-host', 'good,http://bad'],
      '--allow-host has no name in "http://bad"',
      'it takes names or addresses of hosts, without scheme and port',
      'for example --allow-host emulator,emulator.example.com',
    ],
  ])('%j -> an error of three lines', async (argv, what, why, now) => {
    await expect(runCosmig(argv)).resolves.toEqual({
      code: 2,
      stdout: '',
      stderr: `cosmig: ${what}\n  why  ${why}\n  now  ${now}\n`,
    });
  });
});

describe('options', () => {
  async function read(
    argv: string[],
    env: Record<string, string> = {},
  ): Promise<Values<typeof OPTIONS> | string> {
    let seen: Values<typeof OPTIONS> | undefined;
    const command = sample(async ({ options }) => {
      seen = options;
      return { json: {}, text: '' };
    });
    const { stderr } = await runCosmig(['sample', ...argv], { env, commands: [command] });
    return seen ?? stderr;
  }

  test('flag, variable and default -> the flag wins, then the variable', async () => {
    const env = { SAMPLE_PAGE_SIZE: '20', SAMPLE_WAIT: 'yes' };
    const unsaid = { label: undefined, patience: 120_000, parts: [], mode: 'keep' };
    await expect(read([])).resolves.toEqual({ pageSize: 10, wait: false, ...unsaid });
    await expect(read([], env)).resolves.toEqual({ pageSize: 20, wait: true, ...unsaid });
    await expect(read(['--page-size', '30', '--wait=false', '--label=x y'], env)).resolves.toEqual({
      pageSize: 30,
      wait: false,
      ...unsaid,
      label: 'x y',
    });
    await expect(read([], { SAMPLE_PAGE_SIZE: '' })).resolves.toMatchObject({ pageSize: 10 });
  });

  test('a duration -> milliseconds', async () => {
    await expect(read(['--patience', '1h30m'])).resolves.toMatchObject({ patience: 5_400_000 });
    await expect(read(['--patience', 'soon'])).resolves.toBe(
      'cosmig: --patience soon is not valid\n' +
        '  why  it is a time like 90s, 30m, 2h or 1h30m, of at most 20d\n  now  for example --patience 2m\n',
    );
  });

  test('several choices -> separated by commas', async () => {
    await expect(read(['--parts', 'head, body'])).resolves.toMatchObject({ parts: ['head', 'body'] });
    await expect(read(['--parts', 'head,boby'])).resolves.toBe(
      'cosmig: --parts head,boby is not valid\n  why  boby is not one of head, body\n  now  for example --parts body\n',
    );
  });

  test('a choice -> one of its words, or refused', async () => {
    await expect(read(['--mode', 'fail'])).resolves.toMatchObject({ mode: 'fail' });
    await expect(read(['--mode', 'fial'])).resolves.toBe(
      'cosmig: --mode fial is not valid\n  why  it is one of keep, fail\n  now  for example --mode fail\n',
    );
    await expect(read(['--mode', 'x', '--mode', 'y'])).resolves.toContain('--mode was given more than once');
  });

  test('a second operand -> refused', async () => {
    let seen: string | undefined;
    const command = sample(async ({ operand }) => {
      seen = operand;
      return { json: {}, text: '' };
    });
    const around = { commands: [command] };
    await runCosmig(['sample', '--wait', 'a.json'], around);
    expect(seen).toBe('a.json');
    await runCosmig(['sample', '-'], around);
    expect(seen).toBe('-');
    await expect(runCosmig(['sample', 'a', 'b'], around)).resolves.toMatchObject({
      code: 2,
      stderr:
        'cosmig: unexpected argument: b\n  why  cosmig sample takes one FILE and options\n' +
        '  now  see cosmig sample --help\n',
    });
  });

  test('an invalid variable -> named in the error', async () => {
    await expect(read([], { SAMPLE_PAGE_SIZE: '0' })).resolves.toContain('SAMPLE_PAGE_SIZE 0 is not valid');
    await expect(read([], { SAMPLE_WAIT: 'maybe' })).resolves.toContain('SAMPLE_WAIT maybe is not valid');
  });
});

describe('results and errors', () => {
  test('a result -> text for people, one object for scripts', async () => {
    const command = sample(async ({ out }) => {
      out.note('working');
      return { json: { done: 3 }, text: 'done  3' };
    });
    const around = { commands: [command] };
    await expect(runCosmig(['sample'], around)).resolves.toEqual({
      code: 0,
      stdout: 'done  3\n',
      stderr: 'working\n',
    });
    await expect(runCosmig(['sample', '--quiet'], around)).resolves.toMatchObject({ stderr: '' });
    await expect(runCosmig(['sample', '--json'], around)).resolves.toEqual({
      code: 0,
      stdout: '{"done":3}\n',
      stderr: '{"time":"2026-01-01T00:00:00.000Z","level":"info","message":"working"}\n',
    });
  });

  test('result lines without an object -> printed for people only', async () => {
    const command = sample(async ({ out }) => {
      expect(await out.line('one')).toBe(true);
      expect(await out.line('two')).toBe(true);
      return { json: { lines: 2 }, text: '', aside: '2 lines' };
    });
    const around = { commands: [command] };
    await expect(runCosmig(['sample'], around)).resolves.toEqual({
      code: 0,
      stdout: 'one\ntwo\n',
      stderr: '2 lines\n',
    });
    await expect(runCosmig(['sample', '--quiet'], around)).resolves.toMatchObject({ stderr: '' });
    await expect(runCosmig(['sample', '--json'], around)).resolves.toEqual({
      code: 0,
      stdout: '{"lines":2}\n',
      stderr: '',
    });
  });

  test('a list that fails -> one object per line, the failure last', async () => {
    const command = sample(async ({ out }) => {
      await out.line('one', { id: 1 });
      await out.line('two', { id: 2 });
      throw new errors.LedgerError('m', { why: 'w', hint: 'h' });
    });
    const around = { commands: [command] };
    await expect(runCosmig(['sample'], around)).resolves.toMatchObject({ code: 7, stdout: 'one\ntwo\n' });
    const { stdout } = await runCosmig(['sample', '--json'], around);
    expect(
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { id: 1 },
      { id: 2 },
      { command: 'sample', complete: false, error: { code: 'ledger', message: 'm', hint: 'h' } },
    ]);
  });

  test.each([
    [new errors.UsageError('m', { why: 'w', hint: 'h' }), 2, 'usage'],
    [new errors.NotReadyError('m', { why: 'w', hint: 'h' }), 3, 'not-ready'],
    [new errors.MismatchError('m', { why: 'w', hint: 'h' }), 4, 'mismatch'],
    [new errors.DeadLetterError('m', { why: 'w', hint: 'h' }), 5, 'dead-letters'],
    [new errors.ServiceError('m', { why: 'w', hint: 'h' }), 6, 'service'],
    [new errors.LedgerError('m', { why: 'w', hint: 'h' }), 7, 'ledger'],
    [new errors.BudgetError('m', { why: 'w', hint: 'h' }), 8, 'budget'],
    [new errors.InternalError('m', { why: 'w', hint: 'h' }), 70, 'internal'],
  ])('%s -> its exit code, and one JSON object on stdout', async (error, exitCode, code) => {
    const { stdout, ...rest } = await runCosmig(['sample', '--json'], {
      commands: [fails(error)],
    });
    expect(rest.code).toBe(exitCode);
    expect(stdout).toBe(
      `{"command":"sample","complete":false,"error":{"code":"${code}","message":"m","hint":"h"}}\n`,
    );
  });

  test('a wrong command line with --json -> one JSON object', async () => {
    const expected = {
      command: 'demo',
      complete: false,
      error: { code: 'usage', message: 'unknown option: --jason', hint: 'did you mean --json?' },
    };
    const flag = await runCosmig(['demo', '--jason', '--json']);
    const variable = await runCosmig(['demo', '--jason'], { env: { COSMIG_JSON: '1' } });
    expect(JSON.parse(flag.stdout)).toEqual(expected);
    expect(variable).toEqual(flag);
  });

  test('an unexpected error -> reported as a bug in three lines, without secrets', async () => {
    const error = new TypeError(`cannot read\n  AccountKey=${KEY}`);
    const around = { commands: [fails(error)] };
    await expect(runCosmig(['sample'], around)).resolves.toEqual({
      code: 70,
      stdout: '',
      stderr:
        'cosmig: TypeError: cannot read AccountKey=[redacted]\n' +
        '  why  this is a bug in cosmig: an unexpected error occurred\n' +
        '  now  run it again with --verbose and report what it prints\n',
    });
    const { stderr } = await runCosmig(['sample', '--verbose'], around);
    expect(stderr).toContain('front-door.test.ts');
    expect(stderr).not.toContain(KEY);
  });

  test('a thrown string -> reported like an error', async () => {
    const { code, stderr } = await runCosmig(['sample'], { commands: [fails('a string')] });
    expect(code).toBe(70);
    expect(stderr).toContain('cosmig: a string\n');
  });

  test('a failure after the result -> stdout keeps one object', async () => {
    const command = sample(async ({ out }) => {
      out.announce({ json: { ready: true }, text: 'ready' });
      throw new errors.ServiceError('gone', { why: 'w', hint: 'h' });
    });
    const { code, stdout } = await runCosmig(['sample', '--json'], { commands: [command] });
    expect({ code, stdout }).toEqual({ code: 6, stdout: '{"ready":true}\n' });
  });
});

describe('signals', () => {
  const drains = sample(async ({ signal }) => {
    await whenAborted(signal);
    signal.throwIfAborted();
    return undefined;
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('the first %s -> drains and ends with %i in three lines', async (name, code) => {
    const run = new CosmigRun(['sample'], { commands: [drains] });
    await untilListening(run);
    run.press(name);
    const ran = await run.ended;
    expect(ran.code).toBe(code);
    expect(ran.stderr).toMatch(
      /^stopping after .*\ncosmig: stopped by SIG\w+\n {2}why {2}.*\n {2}now {2}.*\n$/,
    );
    expect(run.listening).toBe(0);
  });

  test('the second signal -> aborts; errors after it count as the stop', async () => {
    const stubborn = sample(async ({ abortSignal }) => {
      await whenAborted(abortSignal);
      throw new Error('socket hang up');
    });
    const run = new CosmigRun(['sample'], { commands: [stubborn] });
    await untilListening(run);
    run.press('SIGINT');
    run.press('SIGTERM');
    expect((await run.ended).code).toBe(143);
  });

  test('SIGHUP more than once -> only drains', async () => {
    const slow = sample(async ({ signal, abortSignal }) => {
      await whenAborted(signal);
      await new Promise((resolve) => setImmediate(resolve));
      abortSignal.throwIfAborted();
      return { json: {}, text: 'in order' };
    });
    const run = new CosmigRun(['sample'], { commands: [slow] });
    await untilListening(run);
    for (let time = 0; time < 3; time += 1) run.press('SIGHUP');
    await expect(run.ended).resolves.toMatchObject({ code: 0, stdout: 'in order\n' });
    expect(run.left).toBeUndefined();
  });

  test('the third signal -> ends the process', async () => {
    const finish = new AbortController();
    const deaf = sample(async () => {
      await whenAborted(finish.signal);
      return { json: {}, text: '' };
    });
    const run = new CosmigRun(['sample'], { commands: [deaf] });
    await untilListening(run);
    for (let time = 0; time < 3; time += 1) run.press('SIGINT');
    expect(run.left).toBe(130);
    finish.abort();
    await run.ended;
  });

  test('a command that finishes after a signal -> exit code 0', async () => {
    const quick = sample(async ({ signal }) => {
      await whenAborted(signal);
      return { json: {}, text: 'done' };
    });
    const run = new CosmigRun(['sample'], { commands: [quick] });
    await untilListening(run);
    run.press('SIGINT');
    await expect(run.ended).resolves.toMatchObject({ code: 0, stdout: 'done\n' });
  });

  /** The command line is read asynchronously; there is nothing to wait for but the listeners. */
  async function untilListening(run: CosmigRun): Promise<void> {
    while (run.listening === 0) await new Promise((resolve) => setImmediate(resolve));
  }
});
