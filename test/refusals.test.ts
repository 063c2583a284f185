/**
 * Every refusal of the product, as it stands in the source: three lines that say something, in the same form, and that
 * name no command and no flag which does not exist. That none of them lacks a line is the compiler's to see (lib/errors.ts).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { OptionTable } from '../src/cli/command.ts';
import { commands } from '../src/commands/all.ts';
import { COMMON_OPTIONS } from '../src/commands/common-options.ts';
import { flagOf } from '../src/lib/flags.ts';

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url));

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);

/** Without comments, where a flag may be talked about that is no more. */
function codeOf(file: string): string {
  return readFileSync(join(SOURCES, file), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/.*$/gm, '');
}

const code = new Map(files.map((file) => [file, codeOf(file)]));

interface Said {
  readonly where: string;
  readonly line: 'what' | 'why' | 'hint';
  readonly text: string;
}

const KINDS = 'Usage|NotReady|Mismatch|DeadLetter|Service|Ledger|Budget|AfterCommit';
const QUOTED = /(?<quote>['"`])(?<text>(?:\\.|(?!\k<quote>)[^\\])*)\k<quote>/y;

/** What the refusals of a file say, as far as it is written there and not put together elsewhere. */
function saidIn(file: string, text: string): Said[] {
  const where = `src/${file}`;
  const found: Said[] = [];
  const read = (line: Said['line'], at: number): void => {
    QUOTED.lastIndex = at;
    const quoted = QUOTED.exec(text)?.groups?.['text'];
    if (quoted !== undefined) found.push({ where, line, text: quoted });
  };
  for (const { index, 0: head } of text.matchAll(new RegExp(`new (?:${KINDS})Error\\(\\s*`, 'g')))
    read('what', index + head.length);
  for (const { index, 0: head, 1: line } of text.matchAll(/\b(why|hint):\s*/g))
    read(line === 'why' ? 'why' : 'hint', index + head.length);
  return found;
}

const said = [...code].flatMap(([file, text]) => saidIn(file, text));
const lineOf = ({ where, line, text }: Said): string => `${where} ${line}: ${text}`;

describe('what refusals say', () => {
  test('is seen by this test', () => {
    const of = (line: Said['line']): number => said.filter((one) => one.line === line).length;
    expect(of('what')).toBeGreaterThan(100);
    expect(of('why')).toBeGreaterThan(90);
    expect(of('hint')).toBeGreaterThan(90);
  });

  test('is one line that says something, in small letters and without a full stop', () => {
    const wrong = said.filter(({ line, text }) => {
      const isOneLine = !/\n|\\n(?!"|')/.test(text);
      // What the operator has typed is quoted as it is, and some names begin with a capital.
      const begins = /^(?:[a-z0-9$'"/<~-]|Ctrl|TTL|Unicode)/.test(text);
      return text.length < (line === 'what' ? 5 : 4) || !isOneLine || !begins || /[.!]$/.test(text);
    });
    expect(wrong.map(lineOf)).toEqual([]);
  });
});

describe('what texts name', () => {
  /** Flags of other programs: the Azure CLI, npm, and Node. */
  const FOREIGN = new Set(
    (
      'account-name analytical-storage-ttl body cep conflict-resolution-policy database-name full-text-policy idx ' +
      'max-throughput method name partition-key-path partition-key-version resource-group throughput unique-key-policy url ' +
      'vector-embeddings foreground-scripts semi-space-growth-factor heap-growing-percent ' +
      'default-consistency-level'
    ).split(' '),
  );
  /** Words that follow the name of the program where it is talked about. */
  const PROSE = new Set(
    'a before cannot could database does expects has is knows makes may must once relies removes shows stores that was writes'.split(
      ' ',
    ),
  );

  test('every flag exists', () => {
    const tables: OptionTable[] = [COMMON_OPTIONS, ...commands.map(({ options }) => options)];
    const flags = new Set(['help', 'version', ...tables.flatMap((table) => Object.keys(table).map(flagOf))]);
    // In styles of a page, two dashes begin the name of a variable.
    const spoken = [...code].filter(
      ([file]) => !/^report\/(?:(?:plan|watch)\/style|svg\/theme)\.ts$/.test(file),
    );
    const wrong = spoken.flatMap(([file, text]) =>
      [...text.matchAll(/(?<![\w-])--([a-z][a-z-]*[a-z])(?!-?\.\.\.)/g)]
        .filter(([, flag = '']) => !flags.has(flag) && !FOREIGN.has(flag) && flag !== 'on')
        .map(([flag]) => `src/${file}: ${flag}`),
    );
    expect(wrong).toEqual([]);
  });

  test('every command exists', () => {
    const names = commands.map(({ name }) => name);
    const groups = new Set(commands.flatMap(({ group }) => (group === undefined ? [] : [group.name])));
    const wrong = [...code].flatMap(([file, text]) =>
      [...text.matchAll(/\bcosmig ([a-z][a-z-]*)(?: ([a-z]+))?/g)]
        .filter(([, first = '', second = '']) => {
          if (PROSE.has(first) || names.includes(first)) return false;
          return !groups.has(first) || (second !== '' && !names.includes(`${first} ${second}`));
        })
        .map(([command]) => `src/${file}: ${command}`),
    );
    expect(wrong).toEqual([]);
  });
});
