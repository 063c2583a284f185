/**
 * The only module that knows yargs. It turns a command line into a command and its checked options, or
 * into a text to print. What always holds: a flag wins over its environment variable, which wins over
 * the default; nothing unknown is passed over in silence.
 */
import yargs, { type Argv } from 'yargs';
import { must, unreachable } from '../lib/assert.ts';
import { UsageError } from '../lib/errors.ts';
import { flagOf, listOf } from '../lib/flags.ts';
import { nearest } from '../lib/nearest.ts';
import {
  COMMON_OPTIONS,
  type Command,
  type Group,
  type Option,
  type OptionTable,
  type RawOption,
  type Values,
} from './command.ts';

type Env = Readonly<Record<string, string | undefined>>;
type Given = string | number | boolean | readonly string[] | undefined;

/** What a command line asks for. */
export type Parsed =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'run';
      readonly command: Command;
      readonly options: Values<OptionTable>;
      readonly operand: string | undefined;
      readonly common: Values<typeof COMMON_OPTIONS>;
    };

/** Wider lines are hard to read. */
const WIDTH_MAX = 100;
/** yargs names a type behind each option, which says nothing that the text does not. */
const TYPES = /\[(?:string|boolean)\] (?=\[)|\s*\[(?:string|boolean)\](?! \[)/g;

const EXIT_CODES = `Exit codes:
  0 done, 2 usage, 3 not ready, 4 differences, 5 dead letters, 6 service, 7 ledger or data file,
  8 time budget over, 70 our bug, 130/143 stopped by a signal`;

interface Surroundings {
  readonly version: string;
  readonly env: Env;
  /** How wide the terminal is that help is shown on. */
  readonly columns?: number;
}

/** Reads a command line. */
export async function parseCommandLine(
  argv: readonly string[],
  commands: readonly Command[],
  { version, env, columns = WIDTH_MAX }: Surroundings,
): Promise<Parsed> {
  const parser = buildParser(commands, version, Math.min(columns, WIDTH_MAX));
  let failure: Error | undefined;
  let text = '';
  // With a callback yargs neither prints nor exits; help and version arrive as text.
  const given: unknown = await parser.parse(asHelp(argv), {}, (error, _argv, output) => {
    failure = error ?? undefined;
    text = output;
  });
  if (failure !== undefined) {
    throw new UsageError(failure.message, { why: 'the command line is wrong', hint: 'see cosmig --help' });
  }
  if (text !== '') return { kind: 'text', text: text.replaceAll(TYPES, '') };
  const parsed = resolve(given as Readonly<Record<string, unknown>>, commands, env);
  if (parsed.kind === 'run') refuseOddSwitches(argv, parsed.command);
  return parsed;
}

/** `cosmig help copy` is what many type first. */
function asHelp(argv: readonly string[]): string[] {
  const [first, ...rest] = argv;
  return first === 'help' ? [...rest, '--help'] : [...argv];
}

/** Whether somebody who could not type the rest right asked for JSON. */
export function wantsJson(argv: readonly string[], env: Env): boolean {
  if (argv.includes('--json')) return true;
  return ['1', 'true', 'yes'].includes(env['COSMIG_JSON'] ?? '');
}

function buildParser(commands: readonly Command[], version: string, width: number): Argv {
  const parser = yargs()
    .scriptName('cosmig')
    .locale('en')
    .wrap(width)
    .parserConfiguration({
      'camel-case-expansion': false,
      'dot-notation': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'boolean-negation': false,
    })
    .usage(
      '$0 <command> [options]\n\nMove an Azure Cosmos DB container to another partition key while it is in use.',
    )
    .version(version)
    .help()
    .alias('help', 'h')
    .showHelpOnFail(false)
    .exitProcess(false)
    .epilogue(EXIT_CODES);
  addOptions(parser, COMMON_OPTIONS);
  // A group stands where its first command does.
  for (const command of commands) {
    const members = commands.filter(({ group }) => group !== undefined && group === command.group);
    if (command.group === undefined) addCommand(parser, command);
    else if (members[0] === command) addGroup(parser, command.group, members);
  }
  return parser;
}

function addGroup(parser: Argv, group: Group, members: readonly Command[]): void {
  parser.command({
    command: group.name,
    describe: group.summary,
    builder: (own: Argv) => {
      own.usage(`$0 ${group.name} <command> [options]\n\n${group.description}`);
      for (const member of members) addCommand(own, member);
      return own;
    },
    handler: () => {},
  });
}

function addCommand(parser: Argv, command: Command): void {
  parser.command({
    command: lastWord(command.name),
    describe: command.summary,
    builder: (own: Argv) => {
      const operand = command.operand === undefined ? '' : ` [${command.operand}]`;
      own.usage(`$0 ${command.name}${operand} [options]\n\n${command.description}`);
      // yargs' own examples stand in two columns, where a long line breaks and nobody can copy it.
      const examples = command.examples.map(
        ({ line, purpose }) => `\n  ${breakable(line)}\n      ${purpose}`,
      );
      const variables = describeVariables(command.options);
      const rest = variables === undefined ? '' : `\n\n${variables}\n\n${EXIT_CODES}`;
      own.epilogue(`Examples:${examples.join('')}${rest}`);
      return addOptions(own, command.options);
    },
    handler: () => {},
  });
}

/** Within a narrow terminal; a shell reads it back as one line. */
const EXAMPLE_COLUMNS = 76;

function breakable(line: string): string {
  const rows: string[] = [];
  for (const part of line.split(/ (?=--)/)) {
    const last = rows.at(-1);
    if (last === undefined || last.length + 1 + part.length > EXAMPLE_COLUMNS - 6) rows.push(part);
    else rows[rows.length - 1] = `${last} ${part}`;
  }
  return rows.join(' \\\n        ');
}

function addOptions(parser: Argv, table: OptionTable): Argv {
  for (const [name, option] of Object.entries(table)) {
    if (option.type === 'secret') continue;
    const help = option.type === 'choice' ? `${option.help}: ${option.choices.join(', ')}` : option.help;
    const description = option.env === undefined ? help : `${help} [env: ${option.env}]`;
    // No `default` here: yargs could not tell then whether the flag was given. The description shows it.
    parser.option(flagOf(name), {
      description,
      ...(isSwitch(option) ? { boolean: true } : { string: true }),
      ...(option.type === 'raw' && option.alias !== undefined ? { alias: option.alias } : {}),
      ...('default' in option && option.default !== false
        ? { defaultDescription: String(option.default) }
        : {}),
    });
  }
  return parser;
}

function isSwitch(option: Option): boolean {
  return option.type === 'boolean' || (option.type === 'raw' && option.switch === true);
}

/** The part of a command's help about values that have no flag. */
function describeVariables(table: OptionTable): string | undefined {
  const lines = Object.values(table).flatMap((option) =>
    option.type === 'secret' ? [`  ${option.env}  ${option.help}`] : [],
  );
  return lines.length === 0 ? undefined : ['Environment only:', ...lines].join('\n');
}

/** The command that these words begin with. */
export function findCommand(said: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, index) => said[index] === word));
}

function resolve(given: Readonly<Record<string, unknown>>, commands: readonly Command[], env: Env): Parsed {
  const said = words(given['_']);
  const command = findCommand(said, commands);
  if (command === undefined) {
    // Those of commands are not wrong; what is missing is the command.
    const known = commands.flatMap(({ options }) => Object.entries(options));
    if (said.length === 0)
      refuseUnknown(given, 'cosmig', { ...COMMON_OPTIONS, ...Object.fromEntries(known) });
    throw noCommand(said, commands);
  }
  const { name } = command;
  const rest = said.slice(name.split(' ').length);
  const operand = command.operand === undefined ? undefined : rest.shift();
  refuseSecrets(given, command);
  const [extra] = rest;
  if (extra !== undefined) {
    throw new UsageError(`${extra} is one word too many`, {
      why: `cosmig ${name} takes ${command.operand === undefined ? 'options only' : `one ${command.operand} and options`}`,
      hint: `see cosmig ${name} --help`,
    });
  }
  refuseUnknown(given, `cosmig ${name}`, { ...COMMON_OPTIONS, ...command.options });
  return {
    kind: 'run',
    command,
    options: readTable(command.options, given, env),
    operand,
    common: readTable(COMMON_OPTIONS, given, env) as Values<typeof COMMON_OPTIONS>,
  };
}

function noCommand([first, second]: readonly string[], commands: readonly Command[]): UsageError {
  const members = commands.filter(({ group }) => group !== undefined && group.name === first);
  const isGroup = members.length > 0;
  const program = isGroup ? `cosmig ${first}` : 'cosmig';
  const word = isGroup ? second : first;
  const names = isGroup
    ? members.map(({ name }) => lastWord(name))
    : [...new Set(commands.map(({ name, group }) => group?.name ?? name))];
  const help = `see ${program} --help`;
  if (word === undefined) {
    const why = `${program} needs to be told what to do: ${names.join(', ')}`;
    return new UsageError('no command was given', { why, hint: help });
  }
  return new UsageError(`there is no command ${isGroup ? `${first} ` : ''}${word}`, {
    why: `${program} has ${names.join(', ')}`,
    hint: hintAt(nearest(word, names), help),
  });
}

/** A command's own word, without that of its group. */
function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(' ') + 1);
}

function words(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** yargs takes whatever follows `--yes=` for no, unless it is `true`. */
function refuseOddSwitches(argv: readonly string[], command: Command): void {
  const table: OptionTable = { ...COMMON_OPTIONS, ...command.options };
  for (const [name, option] of Object.entries(table)) {
    const flag = `--${flagOf(name)}`;
    const odd = argv.find((word) => word.startsWith(`${flag}=`) && !/=(?:true|false)$/.test(word));
    if (!isSwitch(option) || odd === undefined) continue;
    throw new UsageError(`${odd} is not possible`, {
      why: 'it is on or off',
      hint: `write ${flag}, or ${flag}=false`,
    });
  }
}

/** A secret that has been typed is said to be one, and never repeated. */
function refuseSecrets(given: Readonly<Record<string, unknown>>, command: Command): void {
  for (const [name, option] of Object.entries(command.options)) {
    if (option.type !== 'secret' || given[flagOf(name)] === undefined) continue;
    throw new UsageError(`--${flagOf(name)} is not taken from the command line`, {
      why: 'everyone on this machine can read a command line, and the shell writes it to its history',
      hint: `set ${option.env} instead, and renew the secret if others may have seen it`,
    });
  }
}

function refuseUnknown(
  given: Readonly<Record<string, unknown>>,
  program: string,
  options: OptionTable,
): void {
  const entries = Object.entries(options).filter(([, { type }]) => type !== 'secret');
  const names = entries.map(([name]) => flagOf(name));
  const aliases = entries.flatMap(([, option]) => (option.type === 'raw' ? [option.alias ?? ''] : []));
  const known = new Set([...names, ...aliases, 'help', 'h', 'version', '_', '$0']);
  for (const name of Object.keys(given)) {
    if (known.has(name)) continue;
    const flag = name.length === 1 ? `-${name}` : `--${name}`;
    const near = nearest(name, [...names, 'help', 'version']);
    throw new UsageError(`there is no flag ${flag}`, {
      why: `${program} does not know it`,
      hint: hintAt(near === undefined ? undefined : `--${near}`, `see ${program} --help`),
    });
  }
}

function hintAt(near: string | undefined, otherwise: string): string {
  return near === undefined ? otherwise : `did you mean ${near}?`;
}

function readTable(
  table: OptionTable,
  given: Readonly<Record<string, unknown>>,
  env: Env,
): Record<string, Given> {
  return Object.fromEntries(
    Object.entries(table).map(([name, option]) => [name, readOption(name, option, given, env)]),
  );
}

function readOption(name: string, option: Option, given: Readonly<Record<string, unknown>>, env: Env): Given {
  const flag = `--${flagOf(name)}`;
  const value = given[flagOf(name)];
  if (option.type === 'raw') return rawTexts(option, value);
  // Its reader asks the variable, and keeps what it says to itself.
  if (option.type === 'secret') return undefined;
  if (value !== undefined) return check(flag, option, value);
  const fallback = option.env === undefined ? undefined : env[option.env];
  // An empty variable is one that was taken away.
  if (fallback !== undefined && fallback !== '') {
    const texts = option.type === 'list' ? listOf(fallback) : fallback;
    return check(must(option.env, 'it was read'), option, texts);
  }
  return option.type === 'list' ? [] : option.default;
}

function rawTexts(option: RawOption, value: unknown): readonly string[] {
  if (value === undefined) return [];
  const texts = (Array.isArray(value) ? value : [value]).map(String);
  // A switch that is repeated says the same thing again; the last one counts.
  return option.switch === true ? texts.slice(-1) : texts;
}

type CheckedOption = Exclude<Option, { readonly type: 'raw' | 'secret' }>;

/** The value of an option; `from` is the flag or variable it was given by. */
function check(from: string, option: CheckedOption, value: unknown): Given {
  if (option.type === 'boolean') return checkBoolean(from, value);
  if (option.type === 'list') {
    const texts = (Array.isArray(value) ? value : [value]).map(String);
    return texts.map((text) => (text === '' ? refuseEmpty(from) : text));
  }
  if (typeof value !== 'string') {
    throw new UsageError(`${from} was given more than once`, {
      why: 'it has one value',
      hint: 'keep one of them',
    });
  }
  if (value === '') return refuseEmpty(from);
  switch (option.type) {
    case 'text':
      return value;
    case 'choice':
      if (option.choices.includes(value)) return value;
      throw new UsageError(`${from} ${value} is not possible`, {
        why: `it is one of ${option.choices.join(', ')}`,
        hint: hintAt(nearest(value, option.choices), `write for instance ${from} ${option.default}`),
      });
    case 'number': {
      const number = /^\d+$/.test(value) ? Number(value) : NaN;
      if (number >= option.min && number <= option.max) return number;
      throw new UsageError(`${from} ${value} is not possible`, {
        why: `it is a whole number from ${option.min} to ${option.max}`,
        hint: `write for instance ${from} ${option.default ?? option.min}`,
      });
    }
    default:
      return unreachable(option);
  }
}

function refuseEmpty(from: string): never {
  throw new UsageError(`${from} has no value`, { why: 'it needs one', hint: `write ${from} VALUE` });
}

function checkBoolean(from: string, value: unknown): boolean {
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  if (typeof last === 'boolean') return last;
  const text = String(last).toLowerCase();
  if (['1', 'true', 'yes'].includes(text)) return true;
  if (['0', 'false', 'no'].includes(text)) return false;
  throw new UsageError(`${from} ${text} is not possible`, {
    why: 'it is on or off',
    hint: `set ${from} to 1 or 0`,
  });
}
