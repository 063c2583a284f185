/**
 * Turns a command line into a command and its checked options, or into a text to print. Invariants: a flag wins over
 * its environment variable, which wins over the default; an unknown or misplaced flag is refused.
 *
 * Why yargs-parser and not yargs: the text of help is ours (help.ts), and loading the rest of yargs takes as long as
 * starting Node.
 */
import parse from 'yargs-parser';
import { COMMON_OPTIONS } from '../commands/common-options.ts';
import { must, unreachable } from '../lib/assert.ts';
import { UsageError } from '../lib/errors.ts';
import { flagOf } from '../lib/flags.ts';
import { nearest } from '../lib/nearest.ts';
import { Invalid } from '../spec/input/given.ts';
import { readChoice, readDuration, readWhole, type Read } from '../spec/input/values.ts';
import type { Command, Option, OptionTable, RawOption, Values } from './command.ts';
import { helpOfAll, helpOfCommand, helpOfGroup, lastWord, shortHelp } from './help.ts';

type Env = Readonly<Record<string, string | undefined>>;
type OptionValue = string | number | boolean | readonly string[] | undefined;
/** The values that the parser has read, by the name of their flag. */
type Flags = Readonly<Record<string, unknown>>;

/** What the command line asks for: a text to print, or a command to run. */
export type Parsed =
  | { readonly kind: 'text'; readonly text: string; readonly exitCode: number }
  | {
      readonly kind: 'run';
      readonly command: Command;
      readonly options: Values<OptionTable>;
      readonly operand: string | undefined;
      readonly common: Values<typeof COMMON_OPTIONS>;
    };

interface Surroundings {
  readonly version: string;
  readonly env: Env;
  /** The width of the terminal that shows the help. */
  readonly columns?: number;
}

/** The width of help that is written to a file or a pipe, which often ends at a terminal: `| less`. */
const COLUMNS = 80;
/** The exit code of `cosmig` alone: nothing was done. */
const USAGE_EXIT = 2;

/** Parses a command line. Throws a UsageError when it is not valid. */
export function parseCommandLine(
  argv: readonly string[],
  commands: readonly Command[],
  { version, env, columns = COLUMNS }: Surroundings,
): Parsed {
  // A script whose variable with the command is empty must not take this for success.
  if (argv.length === 0 && !wantsJson(argv, env))
    return { kind: 'text', text: shortHelp(columns), exitCode: USAGE_EXIT };
  // `cosmig help copy` means `cosmig copy --help`: many operators type it first.
  const asked = argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv];
  // The command decides which of its flags take a value. It is found by a first pass that knows the common flags only.
  const found = findCommand(wordsOf(readFlags(asked, [COMMON_OPTIONS])), commands);
  const flags = readFlags(asked, [COMMON_OPTIONS, ...(found === undefined ? [] : [found.options])]);
  const words = wordsOf(flags);
  if (flags['help'] === true) return { kind: 'text', text: helpOf(words, commands, columns), exitCode: 0 };
  if (flags['version'] === true) return { kind: 'text', text: version, exitCode: 0 };
  return resolve(flags, { argv, words, commands, env });
}

/** Returns whether the output has to be JSON, also for a command line that cannot be parsed. */
export function wantsJson(argv: readonly string[], env: Env): boolean {
  if (argv.includes('--json')) return true;
  return ['1', 'true', 'yes'].includes(env['COSMIG_JSON'] ?? '');
}

function helpOf(words: readonly string[], commands: readonly Command[], columns: number): string {
  const command = findCommand(words, commands);
  if (command !== undefined) return helpOfCommand(command, columns);
  const members = membersOf(words[0], commands);
  const group = members[0]?.group;
  return group === undefined ? helpOfAll(commands, columns) : helpOfGroup(group, members, columns);
}

function membersOf(word: string | undefined, commands: readonly Command[]): readonly Command[] {
  return commands.filter(({ group }) => group !== undefined && group.name === word);
}

/** Reads the flags of a command line. A flag that no table contains is read as well, and refused later. */
function readFlags(argv: readonly string[], tables: readonly OptionTable[]): Flags {
  const options = tables
    .flatMap((table) => Object.entries(table))
    // No default is passed, because with a default the parser would not report whether the flag was given.
    .flatMap(([name, option]) => (option.type === 'secret' ? [] : [{ flag: flagOf(name), option }]));
  const switches = options.filter(({ option }) => isSwitch(option));
  return parse([...argv], {
    alias: {
      help: ['h'],
      ...Object.fromEntries(
        options.flatMap(({ flag, option }) =>
          option.type === 'raw' && option.alias !== undefined ? [[flag, [option.alias]]] : [],
        ),
      ),
    },
    boolean: ['help', 'version', ...switches.map(({ flag }) => flag)],
    string: options.filter((one) => !switches.includes(one)).map(({ flag }) => flag),
    configuration: {
      'camel-case-expansion': false,
      'dot-notation': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'boolean-negation': false,
    },
  });
}

/** Returns the words of a command line that belong to no flag. */
function wordsOf(flags: Flags): readonly string[] {
  return Array.isArray(flags['_']) ? flags['_'].map(String) : [];
}

function isSwitch(option: Option): boolean {
  return option.type === 'boolean' || (option.type === 'raw' && option.switch === true);
}

/** Returns the command whose name these words begin with. */
export function findCommand(words: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word));
}

interface CommandLine {
  readonly argv: readonly string[];
  readonly words: readonly string[];
  readonly commands: readonly Command[];
  readonly env: Env;
}

function resolve(flags: Flags, { argv, words, commands, env }: CommandLine): Parsed {
  const command = findCommand(words, commands);
  refuseSecrets(flags, commands);
  if (command === undefined) {
    if (words.length === 0) refuseUnknown(flags, undefined, commands);
    throw noCommand(words, commands);
  }
  const { name } = command;
  const rest = words.slice(name.split(' ').length);
  const operand = command.operand === undefined ? undefined : rest.shift();
  refuseUnknown(flags, command, commands);
  const [extra] = rest;
  if (extra !== undefined) {
    throw new UsageError(`unexpected argument: ${extra}`, {
      why: `cosmig ${name} takes ${command.operand === undefined ? 'options only' : `one ${command.operand.replaceAll(/[[\]]/g, '')} and options`}`,
      hint: `see cosmig ${name} --help`,
    });
  }
  refuseOddSwitches(argv, command);
  return {
    kind: 'run',
    command,
    options: readTable(command.options, flags, env),
    operand,
    common: readTable(COMMON_OPTIONS, flags, env) as Values<typeof COMMON_OPTIONS>,
  };
}

function noCommand([first, second]: readonly string[], commands: readonly Command[]): UsageError {
  const members = membersOf(first, commands);
  const isGroup = members.length > 0;
  const program = isGroup ? `cosmig ${first}` : 'cosmig';
  const word = isGroup ? second : first;
  const names = isGroup
    ? members.map(({ name }) => lastWord(name))
    : [...new Set(commands.map(({ name, group }) => group?.name ?? name))];
  const why = `available: ${names.join(', ')}`;
  const help = `see ${program} --help`;
  if (word === undefined) return new UsageError('missing command', { why, hint: help });
  return new UsageError(`unknown command: ${isGroup ? `${first} ` : ''}${word}`, {
    why,
    hint: didYouMean(nearest(word, names), help),
  });
}

/** Refuses a switch with a value other than true and false, since the parser reads any other value (`--yes=yes`) as false. */
function refuseOddSwitches(argv: readonly string[], command: Command): void {
  const table: OptionTable = { ...COMMON_OPTIONS, ...command.options };
  for (const [name, option] of Object.entries(table)) {
    const flag = `--${flagOf(name)}`;
    const odd = argv.find((word) => word.startsWith(`${flag}=`) && !/=(?:true|false)$/.test(word));
    if (!isSwitch(option) || odd === undefined) continue;
    throw new UsageError(`${odd} is not valid`, {
      why: 'it is on or off',
      hint: `write ${flag}, or ${flag}=false`,
    });
  }
}

/** Refuses a secret on the command line, without repeating the secret. */
function refuseSecrets(flags: Flags, commands: readonly Command[]): void {
  const options = commands.flatMap((command) => Object.entries<Option>(command.options));
  for (const [name, option] of options) {
    if (option.type !== 'secret' || flags[flagOf(name)] === undefined) continue;
    throw new UsageError(`--${flagOf(name)} is not accepted on the command line`, {
      why: 'every user of this machine can read a command line, and the shell writes it to its history',
      hint: `set ${option.env} instead, and renew the secret if others may have seen it`,
    });
  }
}

/**
 * Refuses an unknown flag. If the command is missing, the flags of all commands are accepted here, so that the error
 * reports the missing command.
 */
function refuseUnknown(flags: Flags, command: Command | undefined, commands: readonly Command[]): void {
  const program = command === undefined ? 'cosmig' : `cosmig ${command.name}`;
  const tables = command === undefined ? commands.map(({ options }) => options) : [command.options];
  const entries = [COMMON_OPTIONS, ...tables].flatMap((table) => Object.entries<Option>(table));
  const names = entries.filter(([, { type }]) => type !== 'secret').map(([name]) => flagOf(name));
  const aliases = entries.flatMap(([, option]) => (option.type === 'raw' ? [option.alias ?? ''] : []));
  const known = new Set([...names, ...aliases, 'help', 'h', 'version', '_', '$0']);
  for (const name of Object.keys(flags)) {
    if (known.has(name)) continue;
    const flag = name.length === 1 ? `-${name}` : `--${name}`;
    const owners = ownersOf(name, commands);
    if (owners !== '') {
      throw new UsageError(`${program} does not take ${flag}`, {
        why: 'each command takes only the options that it uses',
        hint: `${flag} belongs to cosmig ${owners}`,
      });
    }
    const near = nearest(name, [...new Set(names), 'help', 'version']);
    throw new UsageError(`unknown option: ${flag}`, {
      why: `${program} has no such option`,
      hint: didYouMean(near === undefined ? undefined : `--${near}`, `see ${program} --help`),
    });
  }
}

/** Returns the commands that take a flag, as text: `copy, tail and verify`. */
function ownersOf(flag: string, commands: readonly Command[]): string {
  const names = commands.flatMap(({ name, options }) =>
    Object.keys(options).some((option) => flagOf(option) === flag) ? [name] : [],
  );
  const [last = '', ...others] = names.toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(', ')} and ${last}`;
}

function didYouMean(near: string | undefined, otherwise: string): string {
  return near === undefined ? otherwise : `did you mean ${near}?`;
}

function readTable(table: OptionTable, flags: Flags, env: Env): Record<string, OptionValue> {
  return Object.fromEntries(
    Object.entries(table).map(([name, option]) => [name, readOption(name, option, flags, env)]),
  );
}

function readOption(name: string, option: Option, flags: Flags, env: Env): OptionValue {
  const flag = `--${flagOf(name)}`;
  const value = flags[flagOf(name)];
  if (option.type === 'raw') return rawTexts(option, value);
  if (option.type === 'secret') return undefined;
  if (value !== undefined) return check(flag, option, value);
  const fallback = option.env === undefined ? undefined : env[option.env];
  // An empty variable counts as unset.
  if (fallback !== undefined && fallback !== '')
    return check(must(option.env, 'it was read'), option, fallback);
  if (option.type === 'boolean') return false;
  if (option.type === 'choices') return [];
  if (option.type !== 'duration' || option.default === undefined) return option.default;
  return check(flag, option, option.default);
}

function rawTexts(option: RawOption, value: unknown): readonly string[] {
  if (value === undefined) return [];
  const texts = (Array.isArray(value) ? value : [value]).map(String);
  // The last of several equal switches counts.
  return option.switch === true ? texts.slice(-1) : texts;
}

/** Checks the value of an option; `from` is the flag or variable that gave the value. */
function check(
  from: string,
  option: Exclude<Option, { readonly type: 'raw' | 'secret' }>,
  value: unknown,
): OptionValue {
  if (option.type === 'boolean') return checkBoolean(from, value);
  if (typeof value !== 'string') {
    throw new UsageError(`${from} was given more than once`, {
      why: 'it has one value',
      hint: 'keep one of them',
    });
  }
  if (value === '' && option.type === 'text' && option.bare !== undefined) return option.bare;
  if (value === '') {
    throw new UsageError(`${from} has no value`, { why: 'it needs one', hint: `write ${from} VALUE` });
  }
  switch (option.type) {
    case 'text':
      return value;
    case 'choice':
      return valid(from, value, readChoice(option.choices));
    case 'choices':
      return value.split(',').map((one) => valid(from, value, readPart(one.trim(), option.choices)));
    case 'duration':
      return valid(from, value, readDuration, option.default);
    case 'number':
      return valid(from, value, readWhole(option.min, option.max), String(option.default ?? option.min));
    default:
      return unreachable(option);
  }
}

/**
 * Returns a reader for the text of a list that contains the name `part`. The whole text is not valid if the name is not
 * one of the choices.
 */
function readPart(part: string, choices: readonly string[]): Read<string> {
  if (choices.includes(part)) return () => part;
  const why = `${part === '' ? 'an empty name' : part} is not one of ${choices.join(', ')}`;
  return () => new Invalid(why, nearest(part, choices) ?? choices[0]);
}

/** Returns what `read` makes of a text; `example` is a valid text, by default that of `read`. */
function valid<T>(from: string, text: string, read: Read<T>, example?: string): T {
  const value = read(text);
  if (!(value instanceof Invalid)) return value;
  throw new UsageError(`${from} ${text} is not valid`, {
    why: value.why,
    hint: `for example ${from} ${example ?? value.example ?? ''}`,
  });
}

function checkBoolean(from: string, value: unknown): boolean {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  if (typeof last === 'boolean') return last;
  const text = String(last).toLowerCase();
  if (['1', 'true', 'yes'].includes(text)) return true;
  if (['0', 'false', 'no'].includes(text)) return false;
  throw new UsageError(`${from} ${text} is not valid`, {
    why: 'it is on or off',
    hint: `set ${from} to 1 or 0`,
  });
}
