/**
 * What a command is, and what it gets. Commands are plain objects and know this module by its types
 * only; flags, environment names and help are all derived from their option tables.
 */
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

interface OptionParts {
  /** What it is for; begins in lower case, ends without a full stop. */
  readonly help: string;
  /** The variable that is asked when the flag is not given. */
  readonly env?: string;
}

/** A flag that is there or not. Its default is the value it has when nobody says anything. */
export interface BooleanOption extends OptionParts {
  readonly type: 'boolean';
  readonly default: boolean;
}

/** A whole number within bounds. */
export interface NumberOption extends OptionParts {
  readonly type: 'number';
  readonly default?: number;
  readonly min: number;
  readonly max: number;
}

/** Text that is not empty. */
export interface TextOption extends OptionParts {
  readonly type: 'text';
  readonly default?: string;
}

/** One word of a few. */
export interface ChoiceOption extends OptionParts {
  readonly type: 'choice';
  readonly choices: readonly string[];
  readonly default: string;
}

/** Paths, given one by one in an order that matters; in their variable separated by commas. */
export interface ListOption extends OptionParts {
  readonly type: 'list';
}

/**
 * Text as it was given, once for each time, unchecked: for options that are checked together with values from
 * elsewhere. Its reader asks the variable and knows the default; both stand here for the help.
 */
export interface RawOption extends OptionParts {
  readonly type: 'raw';
  /** The flag stands alone; its text is "true" or "false". */
  readonly switch?: boolean;
  /** One letter. */
  readonly alias?: string;
  readonly default?: string;
}

/** A value that has a variable and no flag: whoever types it as one is told why. Its reader asks the variable. */
export interface SecretOption extends OptionParts {
  readonly type: 'secret';
  readonly env: string;
}

/** One row of an option table. */
export type Option =
  | BooleanOption
  | NumberOption
  | TextOption
  | ChoiceOption
  | ListOption
  | RawOption
  | SecretOption;

/** The options of a command by their camelCase names; the flag of `certificateOut` is `--certificate-out`. */
export type OptionTable = Readonly<Record<string, Option>>;

type Given<O extends Option, V> = O extends { readonly default: unknown } ? V : V | undefined;
type Value<O extends Option> = O extends BooleanOption
  ? boolean
  : O extends SecretOption
    ? undefined
    : O extends NumberOption
      ? Given<O, number>
      : O extends ListOption | RawOption
        ? readonly string[]
        : O extends ChoiceOption
          ? O['choices'][number]
          : Given<O, string>;

/** The values of an option table, checked. */
export type Values<T extends OptionTable> = { readonly [K in keyof T]: Value<T[K]> };

/** What a command found or did: for scripts, and for people. */
export interface Result {
  readonly json: Readonly<Record<string, unknown>>;
  /** Lines for stdout, without the last line end; empty when all has been said line by line. */
  readonly text: string;
  /** What a person wants to know besides: stderr, silent with --quiet and --json. */
  readonly aside?: string;
}

/** One line of at most so many columns; Infinity where nothing is cut. */
export type Tell = (columns: number) => string;

/** How a command speaks while it runs. */
export interface Reporter {
  /** Talk for the person who watches: stderr, silent with --quiet. */
  note(text: string): void;
  /**
   * How far it is, said as often as it is known: on a terminal `tell` makes the line that stays in its place, elsewhere
   * a line once in a while; for who parses, `picture`. On stderr, and not with --quiet.
   */
  progress(picture: Readonly<Record<string, unknown>>, tell: Tell): void;
  /** The result of a command that goes on after it (a server that is ready). At most once, instead of returning one. */
  announce(result: Result): void;
  /**
   * One line of a result too long to be kept. With --json it is `json` instead, or nothing where the one object of
   * the end has to do. Resolves when there is room for the next: true, or false when nobody reads on (`| head`).
   */
  line(text: string, json?: Result['json']): Promise<boolean>;
}

/** All that a command may know of the world around it. */
export interface Context<T extends OptionTable = OptionTable> {
  readonly options: Values<T>;
  /** The word after the command's name, for a command that takes one. */
  readonly operand: string | undefined;
  /** What is piped in. */
  readonly stdin: Input;
  /** Aborted when the command shall come to an end in good order; its reason is what to throw then. */
  readonly signal: AbortSignal;
  /** Aborted when there is no time left for order. */
  readonly abortSignal: AbortSignal;
  readonly out: Reporter;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Bytes that somebody else writes, and whether that is a person who may not know that we wait for them. */
export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean;
}

/** What commands that share their first word are called together. */
export interface Group {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** A few sentences for its own help. */
  readonly description: string;
}

/** A command: what it is called, how it is told about, and what it does. */
export interface Command<T extends OptionTable = OptionTable> {
  /** One word; in a group two, of which the first is the group's. */
  readonly name: string;
  readonly group?: Group;
  /** One line for the list of commands. */
  readonly summary: string;
  /** A few sentences for its own help. */
  readonly description: string;
  /** Two command lines that work, each with what it is good for. */
  readonly examples: readonly [Example, Example];
  readonly options: T;
  /** What help calls the one word that may follow the name, as `FILE`. */
  readonly operand?: string;
  /** Returns its result, or nothing when it has announced one. A method, so that any command fits a list of them. */
  run(context: Context<T>): Promise<Result | undefined>;
}

/** A command line somebody would really type. */
export interface Example {
  readonly line: string;
  readonly purpose: string;
}

/** The flags that every command has. */
export const COMMON_OPTIONS = {
  json: {
    type: 'boolean',
    default: false,
    env: 'COSMIG_JSON',
    help: 'print one JSON object on stdout, also on failure',
  },
  quiet: {
    type: 'boolean',
    default: false,
    env: 'COSMIG_QUIET',
    help: 'say nothing but the result and errors',
  },
  verbose: {
    type: 'boolean',
    default: false,
    env: 'COSMIG_VERBOSE',
    help: 'log details and show where errors arose',
  },
  noColor: {
    type: 'boolean',
    default: false,
    env: 'COSMIG_NO_COLOR',
    help: 'plain text; NO_COLOR does the same',
  },
} as const satisfies OptionTable;
