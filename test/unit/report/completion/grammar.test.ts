import { describe, expect, test } from 'vitest';
import type { Command, OptionTable } from '../../../../src/cli/command.ts';
import { prefixesOf, type Flag, type Name, type Prefix } from '../../../../src/report/completion/grammar.ts';

const NONE = { options: {}, meta: [] };

function command(name: string, options: OptionTable, rest: Partial<Command> = {}): Command {
  return {
    name,
    summary: `${name} things`,
    description: '',
    examples: [
      { line: '', purpose: '' },
      { line: '', purpose: '' },
    ],
    options,
    endsWith: {},
    run: async () => undefined,
    ...rest,
  };
}

function flagsOf(options: OptionTable): readonly Flag[] {
  return prefixesOf([command('run', options)], NONE)[1]?.flags ?? [];
}

describe('prefixes', () => {
  test('commands, a group, operands -> the words that lead to each, and those that follow', () => {
    const group = { name: 'letters', summary: 'see letters', description: '' };
    const known = [
      command('run', {}, { operand: '[FILE]' }),
      command('letters list', {}, { group }),
      command('letters show', {}, { group, operand: 'NUMBER' }),
      command('shell', {}, { operand: 'bash|zsh' }),
    ];
    const word = (name: string): Name => ({ word: name, about: `letters ${name} things` });
    expect(prefixesOf(known, NONE)).toEqual([
      {
        words: '',
        names: [
          { word: 'run', about: 'run things' },
          { word: 'letters', about: 'see letters' },
          { word: 'shell', about: 'shell things' },
        ],
        flags: [],
      },
      { words: 'letters', names: [word('list'), word('show')], flags: [] },
      { words: 'run', names: [], flags: [], operand: { kind: 'file', name: 'FILE' } },
      { words: 'letters list', names: [], flags: [] },
      { words: 'letters show', names: [], flags: [], operand: { kind: 'text', name: 'NUMBER' } },
      {
        words: 'shell',
        names: [],
        flags: [],
        operand: { kind: 'word', name: 'bash|zsh', offered: ['bash', 'zsh'] },
      },
    ] satisfies Prefix[]);
  });

  test('common flags -> follow everywhere', () => {
    const common = {
      options: { json: { type: 'boolean', help: 'print JSON' } },
      meta: [{ name: 'help', alias: 'h', help: 'show help' }],
    } as const;
    const flags = [
      { long: '--json', about: 'print JSON', repeats: false },
      { long: '--help', short: '-h', about: 'show help', repeats: false },
    ];
    expect(prefixesOf([command('run', {})], common).map((prefix) => prefix.flags)).toEqual([flags, flags]);
  });
});

describe('flags', () => {
  test.each<readonly [string, OptionTable[string], object | undefined]>([
    ['a switch', { type: 'boolean', help: 'x' }, undefined],
    ['a raw switch', { type: 'raw', switch: true, help: 'x' }, undefined],
    ['a path', { type: 'text', value: 'FILE', help: 'x' }, { kind: 'file', name: 'FILE' }],
    ['a raw path', { type: 'raw', value: '[FILE]', help: 'x' }, { kind: 'file', name: 'FILE' }],
    ['a script', { type: 'text', value: 'COMMAND', help: 'x' }, { kind: 'file', name: 'COMMAND' }],
    ['a text', { type: 'text', value: 'PATH', help: 'x' }, { kind: 'text', name: 'PATH' }],
    ['a number', { type: 'number', min: 1, max: 2, help: 'x' }, { kind: 'text', name: 'N' }],
    ['a duration', { type: 'duration', help: 'x' }, { kind: 'text', name: 'TIME' }],
    [
      'a choice',
      { type: 'choice', choices: ['a', 'b'], help: 'x' },
      { kind: 'word', name: 'a|b', offered: ['a', 'b'] },
    ],
    [
      'a long choice',
      { type: 'choice', choices: ['a', 'b', 'c', 'd', 'e'], help: 'x' },
      { kind: 'word', name: 'NAME', offered: ['a', 'b', 'c', 'd', 'e'] },
    ],
    [
      'choices',
      { type: 'choices', choices: ['a', 'b'], help: 'x' },
      { kind: 'words', name: 'NAMES', offered: ['a', 'b'] },
    ],
    [
      'a text with offers',
      { type: 'raw', value: 'MODE', offered: ['auto', 'marker:/'], help: 'x' },
      { kind: 'word', name: 'auto|marker:/', offered: ['auto', 'marker:/'] },
    ],
  ])('%s -> its kind of value', (_name, option, value) => {
    expect(flagsOf({ anOption: option })).toEqual([
      { long: '--an-option', about: 'x', repeats: false, ...(value === undefined ? {} : { value }) },
    ]);
  });

  test('a secret -> is not offered', () => {
    expect(flagsOf({ sourceKey: { type: 'secret', env: 'COSMIG_SOURCE_KEY', help: 'x' } })).toEqual([]);
  });

  test('a list with a short flag and a long help -> repeats, has both names and the first part of the help', () => {
    expect(
      flagsOf({ key: { type: 'raw', alias: 'k', repeats: true, help: 'a key; repeat it; as you like' } }),
    ).toEqual([
      { long: '--key', short: '-k', about: 'a key', value: { kind: 'text', name: 'TEXT' }, repeats: true },
    ]);
  });

  test('one name with two kinds of value -> is refused, since a flag may stand before its command', () => {
    const known = [
      command('one', { all: { type: 'boolean', help: 'x' } }),
      command('two', { all: { type: 'text', help: 'x' } }),
    ];
    expect(() => prefixesOf(known, NONE)).toThrow('--all takes one kind of value in all commands');
  });

  test('a word that would need quotes -> is refused', () => {
    expect(() => flagsOf({ mode: { type: 'choice', choices: ['a b'], help: 'x' } })).toThrow(
      'needs no quotes',
    );
  });
});
