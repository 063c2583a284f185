/** `cosmig completion` in real shells: what Tab offers, what it shows, and that it starts no process. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Command, OptionTable } from '../../../src/cli/command.ts';
import { commands } from '../../../src/commands/all.ts';
import { completionOf } from '../../../src/commands/completion.ts';
import { COMMON_OPTIONS } from '../../../src/commands/common-options.ts';
import { flagOf } from '../../../src/lib/flags.ts';
import { fieldOf, FIELD_NAMES } from '../../../src/spec/fields.ts';
import { runCosmig } from '../../helpers/run-cosmig.ts';
import { install, isHere, menusOf, offersOf, type ShellName } from '../../helpers/shells/shells.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SHELLS = ['bash', 'zsh', 'fish'] as const;

const TOP = [...new Set(commands.map(({ name, group }) => group?.name ?? name))].toSorted();
const FILES = ['a file.json', '$(touch hacked).json', "o'x.yaml", 'orders.json', 'sub'];

const CASES: ReadonlyArray<readonly [line: string, offers: readonly string[]]> = [
  ['cosmig ', TOP],
  ['cosmig pl', ['plan']],
  ['cosmig dead-letters ', ['discard', 'list', 'retry', 'show']],
  ['cosmig dead-letters li', ['list']],
  ['cosmig completion ', ['bash', 'fish', 'zsh']],
  ['cosmig nonsense ', []],
  // Options belong to their command.
  ['cosmig copy --dele', ['--deletes']],
  ['cosmig status --dele', []],
  ['cosmig status --create', []],
  ['cosmig copy --source-k', []],
  ['cosmig copy --source-conn', []],
  // Values.
  ['cosmig copy --deletes ', ['auto', 'avad', 'marker:/', 'reconcile']],
  ['cosmig copy --deletes a', ['auto', 'avad']],
  ['cosmig copy --deletes=a', ['auto', 'avad']],
  ['cosmig copy --deletes marker:', ['marker:/']],
  ['cosmig copy --deletes=marker:', ['marker:/']],
  ['cosmig copy --create-target --ttl ', ['remaining', 'restart']],
  ['cosmig dead-letters list --state=', ['any', 'closed', 'discarded', 'open']],
  ['cosmig cutover --like-source ', ['indexing', 'throughput', 'ttl']],
  ['cosmig cutover --like-source ttl,i', ['ttl,indexing']],
  ['cosmig cutover --like-source=ttl,', ['ttl,indexing', 'ttl,throughput']],
  ['cosmig copy --source ', []],
  ['cosmig copy --for ', []],
  ['cosmig dead-letters show ', []],
  // Files and folders.
  ['cosmig copy --config ', FILES],
  ['cosmig copy -c ', FILES],
  ['cosmig copy --ledger=', FILES],
  ['cosmig copy --ledger=ord', ['orders.json']],
  ['cosmig copy --ledger a', ['a file.json']],
  ['cosmig key ', FILES],
  ['cosmig cutover --on-fence ', FILES],
  ['cosmig key orders.json --expl', ['--explain']],
  // What stands before does not mislead it.
  ['cosmig --json stat', ['status']],
  ['cosmig --ledger copy stat', ['status']],
  ['cosmig status --ledger copy --back', ['--backup']],
  ['cosmig dead-letters --ledger=x dis', ['discard']],
  ["cosmig copy --derive '/pk={a|month} x' --on-c", ['--on-collision']],
  ["cosmig copy --derive '/a={b}' --deri", ['--derive']],
  ['COSMIG_JSON=1 cosmig stat', ['status']],
  ['true && cosmig stat', ['status']],
];

/** The flags and fixed values of each command, from the tables and not from the code under test. */
const tables = commands.map(({ name, options }): readonly [string, OptionTable] => [
  name,
  { ...options, ...COMMON_OPTIONS },
]);
const FLAGS = tables.map(([name, table]): readonly [string, readonly string[]] => [
  `cosmig ${name} --`,
  [...Object.keys(table).filter((option) => table[option]?.type !== 'secret'), 'help', 'version']
    .map((option) => `--${flagOf(option)}`)
    .toSorted(),
]);
const VALUES = tables.flatMap(([name, table]) =>
  Object.entries(table).flatMap(([option, row]): Array<readonly [string, readonly string[]]> => {
    const field = row.type === 'raw' ? FIELD_NAMES.find((known) => known === option) : undefined;
    const choices = 'choices' in row ? row.choices : field === undefined ? undefined : fieldOf(field).choices;
    return choices === undefined ? [] : [[`cosmig ${name} --${flagOf(option)} `, choices.toSorted()]];
  }),
);

/** Every character that has a meaning in a shell, in one of its patterns, or in a prompt. */
const HOSTILE =
  'it\'s "x" $(touch hacked) `touch hacked` [a]:b \\ \\n %d %F{red} {c,d} !! * ~ | & > hacked # <(ls) $HOME ()';
/** A bar would separate words. */
const PLACEHOLDER = HOSTILE.replaceAll('|', '');
const hostile: Command = {
  name: 'hostile',
  summary: HOSTILE,
  description: HOSTILE,
  examples: [
    { line: 'x', purpose: 'x' },
    { line: 'x', purpose: 'x' },
  ],
  options: {
    switched: { type: 'boolean', help: HOSTILE },
    valued: { type: 'text', value: PLACEHOLDER, help: HOSTILE },
    filed: { type: 'text', value: 'FILE', help: HOSTILE },
    chosen: { type: 'choice', choices: ['one', 'two'], help: HOSTILE },
  },
  endsWith: {},
  operand: PLACEHOLDER,
  run: async () => undefined,
};

async function scriptOf(shell: ShellName, known: readonly Command[] = commands): Promise<string> {
  return (await runCosmig(['completion', shell], { commands: known })).stdout;
}

describe.each(SHELLS)('completion: %s (skipped where it is missing)', (shell) => {
  describe.skipIf(!isHere(shell))('in the shell', () => {
    let base: string;
    let folder: string;
    let homes = 0;

    beforeAll(() => {
      base = mkdtempSync(join(tmpdir(), 'cosmig-completion-'));
      folder = join(base, 'folder');
      mkdirSync(join(folder, 'sub'), { recursive: true });
      for (const name of FILES.slice(0, -1)) writeFileSync(join(folder, name), '');
    });

    afterAll(() => {
      rmSync(base, { recursive: true, force: true });
    });

    function newHome(): string {
      homes += 1;
      const home = join(base, `home${homes}`);
      mkdirSync(home);
      return home;
    }

    function homeWith(script: string): string {
      const home = newHome();
      install(shell, home, script);
      return home;
    }

    test('lines as an operator types them -> words, options, values and files that fit', async () => {
      const home = homeWith(await scriptOf(shell));
      const offers = await offersOf(shell, { home, folder, lines: CASES.map(([line]) => line) });
      expect(CASES.map(([line], at) => [line, offers[at]])).toEqual(
        CASES.map(([line, words]) => [line, words.toSorted()]),
      );
    });

    test('each command -> its options and no others, each fixed value', async () => {
      const cases = [...FLAGS, ...VALUES];
      expect(VALUES.length).toBeGreaterThan(20);
      const home = homeWith(await scriptOf(shell));
      const offers = await offersOf(shell, { home, folder, lines: cases.map(([line]) => line) });
      expect(cases.map(([line], at) => [line, offers[at]])).toEqual(cases);
    });

    test('help with every special character -> nothing is executed', async () => {
      const known = [hostile, completionOf([hostile])];
      const home = homeWith(await scriptOf(shell, known));
      const lines = [
        'cosmig ',
        'cosmig hostile --switched --',
        'cosmig hostile --chosen ',
        'cosmig hostile --valued ',
      ];
      const offers = await offersOf(shell, { home, folder, lines });
      expect(offers).toEqual([
        ['completion', 'hostile'],
        expect.arrayContaining(['--chosen', '--filed', '--json', '--valued']),
        ['one', 'two'],
        [],
      ]);
      expect(existsSync(join(folder, 'hacked'))).toBe(false);
      expect(existsSync(join(home, 'hacked'))).toBe(false);
    });

    test.skipIf(shell === 'fish')(
      'options that were given -> are not offered again, but for lists',
      async () => {
        const home = homeWith(await scriptOf(shell));
        const given = '--config x --partition-key /a --json --ttl=restart';
        const [all = [], left = [], short = []] = await offersOf(shell, {
          home,
          folder,
          lines: ['cosmig copy --', `cosmig copy ${given} --`, 'cosmig copy -c x --conf'],
        });
        expect(all.filter((flag) => !left.includes(flag))).toEqual(['--config', '--json', '--ttl']);
        expect(short).toEqual([]);
      },
    );

    test.skipIf(shell === 'bash')('a menu -> descriptions, as help has them', async () => {
      const known = [hostile, completionOf([hostile])];
      const home = homeWith(await scriptOf(shell, known));
      const lines = ['cosmig ', 'cosmig hostile --'];
      const [names, flags] = await menusOf(shell === 'zsh' ? 'zsh' : 'fish', { home, folder, lines });
      expect([names?.get('hostile'), names?.get('completion')]).toEqual([
        HOSTILE,
        'print the script for Tab in bash, zsh or fish',
      ]);
      expect(['--switched', '--valued', '--quiet'].map((flag) => flags?.get(flag))).toEqual([
        HOSTILE,
        HOSTILE,
        'print only the result and errors',
      ]);
      expect(existsSync(join(folder, 'hacked'))).toBe(false);
    });

    test('the line in getting-started.md -> a new shell completes', async () => {
      const home = newHome();
      const bin = join(base, 'bin');
      mkdirSync(bin, { recursive: true });
      writeFileSync(
        join(bin, 'cosmig'),
        `#!/bin/sh\nexec '${process.execPath}' '${ROOT}bin/cosmig.js' "$@"\n`,
      );
      chmodSync(join(bin, 'cosmig'), 0o755);
      const path = `${bin}:${process.env['PATH'] ?? ''}`;
      const guide = readFileSync(join(ROOT, 'docs/getting-started.md'), 'utf8');
      const row = new RegExp(`^\\| ${shell} +\\| \`(.+?)\` +\\|$`, 'm').exec(guide);
      execFileSync('sh', ['-c', row?.[1] ?? 'false'], { env: { PATH: path, HOME: home } });
      const lines = ['cosmig ver', 'cosmig verify --lev', 'cosmig verify --level '];
      await expect(offersOf(shell, { home, folder, lines, path })).resolves.toEqual([
        ['verify'],
        ['--level'],
        ['count', 'digest'],
      ]);
    });

    test.runIf(shell === 'zsh')('as the file _cosmig in a folder of fpath -> completes', async () => {
      const home = homeWith('fpath=(~/functions $fpath)\nautoload -Uz compinit && compinit -i\n');
      mkdirSync(join(home, 'functions'));
      writeFileSync(join(home, 'functions', '_cosmig'), await scriptOf(shell));
      const lines = ['cosmig ver', 'cosmig verify --lev'];
      await expect(offersOf(shell, { home, folder, lines })).resolves.toEqual([['verify'], ['--level']]);
    });
  });
});
