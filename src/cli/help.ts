/**
 * Renders the text of `--help` from the option tables that also define parsing. Invariants: the options of the
 * command itself come first, and no line is wider than the terminal.
 */
import { COMMON_OPTIONS, META_FLAGS } from '../commands/common-options.ts';
import { flagOf } from '../lib/flags.ts';
import { fillLines, wrapText } from '../report/format.ts';
import type { Command, CommandGroup, Option, OptionTable } from './command.ts';
import { EXIT_CODES, exitCodesOf, type ExitCode } from './exit-codes.ts';

/** The widest line, also on a wider terminal, since longer lines are hard to read. */
const WIDTH_MAX = 100;
/** The column where the description of an option begins. */
const TEXT_COLUMN = 30;

const PITCH = 'Move an Azure Cosmos DB container to another partition key while it is in use.';
const OWN_SECTION = 'This command';

export interface Names {
  readonly name: string;
  readonly summary: string;
}

/** The commands of a migration in their usual order, with what each means to a new operator. */
const USUAL_ORDER: ReadonlyArray<readonly [line: string, purpose: string]> = [
  ['cosmig plan', 'which key would be better? Writes to no container'],
  ['cosmig doctor', 'can this migration run?'],
  ['cosmig copy --dry-run', 'what will it do, cost and take? Writes nothing'],
  ['cosmig copy', 'copies all documents while the application writes'],
  ['cosmig tail', 'replicates what is written since; leave it running'],
  ['cosmig verify', 'are both sides equal? Compares every document'],
  ['cosmig cutover', 'switches the application, after a last proof'],
];

/** Returns what `cosmig` alone prints: where to begin. */
export function shortHelp(columns: number): string {
  return joined(columns, [
    [PITCH],
    ['A migration, in the usual order:', ...USUAL_ORDER.map(([line, purpose]) => rowOf(line, purpose))],
    [
      'At any time:',
      rowOf('cosmig status', 'how far is it, and what is next?'),
      rowOf('cosmig demo', 'a whole migration in a minute, without an account'),
      rowOf('cosmig --help', 'all commands; cosmig <command> --help for one'),
    ],
  ]);
}

/** Returns the help of cosmig itself. */
export function helpOfAll(commands: readonly Command[], columns: number): string {
  const names = commands.map(({ name, summary, group }) => group ?? { name, summary });
  const entries = names.filter(({ name }, at) => names.findIndex((other) => other.name === name) === at);
  return joined(columns, [
    ['cosmig <command> [options]'],
    [PITCH],
    ['Commands:', ...entryRows(entries)],
    ['Output:', ...optionRows(COMMON_OPTIONS), ...META_ROWS],
    exitCodeRows(EXIT_CODES),
    ['A migration is: plan, doctor, copy, tail, verify, cutover. To see one, run cosmig demo.'],
    ['See cosmig <command> --help.'],
  ]);
}

/** Returns the help of a group of commands. */
export function helpOfGroup(group: CommandGroup, members: readonly Command[], columns: number): string {
  const entries = members.map(({ name, summary }) => ({ name: lastWord(name), summary }));
  return joined(columns, [
    [`cosmig ${group.name} <command> [options]`],
    [group.description],
    ['Commands:', ...entryRows(entries)],
    [`See cosmig ${group.name} <command> --help.`],
  ]);
}

/** Returns the help of one command. */
export function helpOfCommand(command: Command, columns: number): string {
  const { name, operand, description, options, examples } = command;
  const sections = [OWN_SECTION, 'Run', 'Load', 'Migration'].flatMap((title) => {
    const own = Object.entries(options).filter(([, { section }]) => (section ?? OWN_SECTION) === title);
    const rows = optionRows(Object.fromEntries(own));
    return rows.length === 0 ? [] : [[`${title}:`, ...rows]];
  });
  const secrets = Object.values(options).flatMap((option) =>
    option.type === 'secret' ? [rowOf(option.env, option.help)] : [],
  );
  return joined(columns, [
    [`cosmig ${name}${operand === undefined ? '' : ` ${operand}`} [options]`],
    [description],
    ...sections,
    ['Output:', ...optionRows(COMMON_OPTIONS), ...META_ROWS],
    ...(secrets.length === 0 ? [] : [['Environment only:', ...secrets]]),
    ['Examples:', ...examples.flatMap(({ line, purpose }) => [...breakable(line), `      ${purpose}`])],
    exitCodeRows(exitCodesOf(command)),
  ]);
}

/** A line of text, or a line in two columns: `left` and `text`. */
type HelpRow = string | { readonly left: string; readonly text: string };

function rowOf(left: string, text: string): HelpRow {
  return { left: `  ${left}`, text };
}

const META_ROWS: readonly HelpRow[] = META_FLAGS.map((flag) =>
  rowOf(`${'alias' in flag ? `-${flag.alias}, ` : ''}--${flag.name}`, flag.help),
);

function entryRows(entries: readonly Names[]): HelpRow[] {
  return entries.map(({ name, summary }) => rowOf(name, summary));
}

function optionRows(table: OptionTable): HelpRow[] {
  return Object.entries(table).flatMap(([name, option]) =>
    option.type === 'secret' ? [] : [rowOf(flagText(name, option), optionText(option))],
  );
}

/** Returns an option as help shows it: `-c, --config FILE`. */
export function flagText(name: string, option: Option): string {
  const alias = option.type === 'raw' && option.alias !== undefined ? `-${option.alias}, ` : '';
  const value = placeholderOf(option);
  return `${alias}--${flagOf(name)}${value === '' ? '' : ` ${value}`}`;
}

function placeholderOf(option: Option): string {
  if (option.value !== undefined) return option.value;
  if (option.type === 'choice') return option.choices.length > 4 ? 'NAME' : option.choices.join('|');
  return option.type === 'raw' && option.switch === true ? '' : PLACEHOLDERS[option.type];
}

const PLACEHOLDERS = {
  boolean: '',
  secret: '',
  raw: 'TEXT',
  text: 'TEXT',
  number: 'N',
  duration: 'TIME',
  choices: 'NAMES',
} as const;

function optionText(option: Option): string {
  const isListed = 'choices' in option && !placeholderOf(option).includes('|');
  const choices = isListed ? `: ${option.choices.join(', ')}` : '';
  const value = defaultOf(option);
  const standard = value === undefined ? '' : ` ${unbroken(`[default: ${value}]`)}`;
  const env = option.env === undefined ? '' : ` ${unbroken(`[env: ${option.env}]`)}`;
  return `${option.help}${choices}${standard}${env}`;
}

/** Prevents a line break inside the text, since lines break at ordinary blanks only. */
function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00A0');
}

/** Returns the default as help and reference show it; undefined for an option without one. */
export function defaultOf(option: Option): string | undefined {
  return 'default' in option && option.default !== undefined ? String(option.default) : undefined;
}

function exitCodeRows(codes: readonly ExitCode[]): HelpRow[] {
  const text = codes.map(({ exitCode, summary }) => `${exitCode}\u00A0${summary}`).join(', ');
  return ['Exit codes:', { left: '  ', text }];
}

const EXAMPLE_COLUMNS = 70;

/** Breaks a long command line into rows that end with a backslash, so that a shell reads the rows as one command. */
function breakable(line: string): string[] {
  const rows = fillLines(line.split(/ (?=--)/), EXAMPLE_COLUMNS);
  return rows.map((row, at) => `${at === 0 ? '  ' : '        '}${row}${at < rows.length - 1 ? ' \\' : ''}`);
}

function joined(columns: number, blocks: ReadonlyArray<readonly HelpRow[]>): string {
  const width = Math.min(columns, WIDTH_MAX);
  return blocks
    .map((rows) =>
      rows.flatMap((row) => (typeof row === 'string' ? textRows(row, width) : twoColumns(row, width))),
    )
    .map((lines) => lines.join('\n'))
    .join('\n\n')
    .replaceAll('\u00A0', ' ');
}

/** Wraps a line of text, unless it is indented: an indented line has its final layout already. */
function textRows(row: string, width: number): string[] {
  return row.startsWith(' ') ? [row] : wrapText(row, width);
}

function twoColumns({ left, text }: Exclude<HelpRow, string>, width: number): string[] {
  const column = left === '  ' ? 2 : TEXT_COLUMN;
  const lines = wrapText(text, Math.max(20, width - column));
  const [first = '', ...rest] = lines;
  const isNarrow = left.length < column || left === '  ';
  const head = isNarrow ? [`${left.padEnd(column)}${first}`] : [left, `${' '.repeat(column)}${first}`];
  return [...head, ...rest.map((line) => `${' '.repeat(column)}${line}`)];
}

/** Returns the last word of a command's name: the name without that of its group. */
export function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(' ') + 1);
}
