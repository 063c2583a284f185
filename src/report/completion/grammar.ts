/**
 * What can stand on a command line of cosmig, from the option tables that also make `--help`. The scripts for the
 * shells are made from this grammar. Invariant: completion offers nothing that needs an account or a ledger, and no
 * name of a secret.
 */
import type { Command, Option, OptionTable } from '../../cli/command.ts';
import { assert } from '../../lib/assert.ts';
import { flagOf } from '../../lib/flags.ts';

/** The value of an option or of an operand, and what a shell offers for it. */
export type Argument =
  | { readonly kind: 'text'; readonly name: string }
  | { readonly kind: 'file'; readonly name: string }
  /** One of these words, or several of them separated by commas. */
  | { readonly kind: 'word' | 'words'; readonly name: string; readonly offered: readonly string[] };

/** An option as it is typed: `--config FILE`, or `-c FILE`. */
export interface Flag {
  readonly long: string;
  readonly short?: string;
  /** The purpose; long texts are cut by the shell at the edge of the terminal. */
  readonly about: string;
  /** Undefined for a flag that takes no value. */
  readonly value?: Argument;
  readonly repeats: boolean;
}

/** A word that names a command or a group of commands. */
export interface Name {
  readonly word: string;
  readonly about: string;
}

/** The words at the beginning of a line that name a command or a group of commands, and what may follow them. */
export interface Prefix {
  /** `dead-letters list`, without cosmig; empty for cosmig alone. */
  readonly words: string;
  /** The words that may follow: those of commands. */
  readonly names: readonly Name[];
  readonly flags: readonly Flag[];
  readonly operand?: Argument;
}

/** The flags that every command has. */
export interface CommonFlags {
  readonly options: OptionTable;
  readonly meta: ReadonlyArray<{ readonly name: string; readonly alias?: string; readonly help: string }>;
}

/** Returns all prefixes of the command line; the first is cosmig alone. */
export function prefixesOf(commands: readonly Command[], common: CommonFlags): readonly Prefix[] {
  const everywhere: Flag[] = [
    ...flagsOf(common.options),
    ...common.meta.map(({ name, alias, help }) => ({
      long: `--${name}`,
      ...(alias === undefined ? {} : { short: `-${alias}` }),
      about: help,
      repeats: false,
    })),
  ];
  const groups = new Map(commands.flatMap(({ group }) => (group === undefined ? [] : [[group.name, group]])));
  const tops = new Map(
    commands.map(({ name, summary, group }) => [group?.name ?? name, group?.summary ?? summary]),
  );
  const prefixes: Prefix[] = [
    { words: '', names: namesOf(tops), flags: everywhere },
    ...[...groups.keys()].map((group) => {
      const members = commands.filter((command) => command.group?.name === group);
      const names = new Map(members.map(({ name, summary }) => [name.slice(group.length + 1), summary]));
      return { words: group, names: namesOf(names), flags: everywhere };
    }),
    ...commands.map(({ name, options, operand }) => ({
      words: name,
      names: [],
      flags: [...flagsOf(options), ...everywhere],
      ...(operand === undefined ? {} : { operand: valueOf(operand) }),
    })),
  ];
  checkValues(prefixes);
  return prefixes;
}

/** Checks that an option takes the same kind of value everywhere, since options may stand before the command. */
function checkValues(prefixes: readonly Prefix[]): void {
  const known = new Map<string, string>();
  for (const { long, value } of prefixes.flatMap(({ flags }) => flags)) {
    const kind = JSON.stringify(value === undefined || value.kind === 'text' ? value?.kind : value) ?? '';
    assert((known.get(long) ?? kind) === kind, `${long} takes one kind of value in all commands`);
    known.set(long, kind);
  }
}

function namesOf(names: ReadonlyMap<string, string>): Name[] {
  return [...names].map(([word, about]) => ({ word, about }));
}

function flagsOf(table: OptionTable): Flag[] {
  return Object.entries(table).flatMap(([name, option]) => {
    if (option.type === 'secret') return [];
    const raw = option.type === 'raw' ? option : undefined;
    const value = isSwitch(option) ? {} : { value: valueOfOption(option) };
    const short = raw?.alias === undefined ? {} : { short: `-${raw.alias}` };
    const about = aboutOf(option);
    return [{ long: `--${flagOf(name)}`, ...short, about, ...value, repeats: raw?.repeats === true }];
  });
}

function isSwitch(option: Option): boolean {
  return option.type === 'boolean' || (option.type === 'raw' && option.switch === true);
}

/** Returns the first part of the help: the rest explains the values, which a line of a menu has no space for. */
function aboutOf({ help }: Option): string {
  const [first = help] = help.split('; ');
  return first;
}

function valueOfOption(option: Option): Argument {
  const { value = option.type === 'duration' ? 'TIME' : option.type === 'number' ? 'N' : 'TEXT' } = option;
  if (option.type === 'choice') return offering('word', option.choices);
  if (option.type === 'choices') return offering('words', option.choices);
  if (option.type === 'raw' && option.offered !== undefined) return offering('word', option.offered);
  return valueOf(value);
}

/**
 * Returns what a placeholder of help stands for: FILE is always a path, COMMAND is mostly a script, and `a|b` is one
 * of two words.
 */
function valueOf(placeholder: string): Argument {
  const name = placeholder.replaceAll(/[[\]]/g, '');
  if (name.includes('|')) return offering('word', name.split('|'));
  return { kind: name === 'FILE' || name === 'COMMAND' ? 'file' : 'text', name };
}

/** As in help, a longer list of words has a placeholder. */
const WORDS_SHOWN_MAX = 4;

/** The scripts contain these words without quotes. */
const PLAIN = /^[\w:/.-]+$/;

function offering(kind: 'word' | 'words', offered: readonly string[]): Argument {
  for (const word of offered) assert(PLAIN.test(word), 'a word that completion offers needs no quotes');
  const name = kind === 'words' ? 'NAMES' : offered.length > WORDS_SHOWN_MAX ? 'NAME' : offered.join('|');
  return { kind, name, offered };
}

/** Returns text between single quotes for bash and zsh, in which no character has a meaning. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
