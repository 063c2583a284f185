/**
 * What a command is, and what it is given. Commands are plain objects that import only types from here; flags, environment
 * variables, help and the reference are derived from their option tables.
 */
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

/** Where help lists an option that several commands share; their own options come first. */
export type Section = 'Run' | 'Load' | 'Migration';

interface OptionParts {
  /** What it is for; begins in lower case, ends without a full stop. */
  readonly help: string;
  /** What help writes in place of a value: `FILE`. */
  readonly value?: string;
  /** The variable that is read when the flag is not given. */
  readonly env?: string;
  readonly section?: Section;
}

/** A flag without a value. */
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

/** A duration such as 90s or 1h30m, read as milliseconds. */
export interface DurationOption extends OptionParts {
  readonly type: 'duration';
  readonly default: string;
}

/** Text that is not empty. */
export interface TextOption extends OptionParts {
  readonly type: 'text';
  readonly default?: string;
}

/** One word out of a few. */
export interface ChoiceOption extends OptionParts {
  readonly type: 'choice';
  readonly choices: readonly string[];
  readonly default?: string;
}

/** Several words out of a few, separated by commas. */
export interface ChoicesOption extends OptionParts {
  readonly type: 'choices';
  readonly choices: readonly string[];
}

/**
 * The texts as they were given, unchecked: for the settings of a migration, which are checked together with those of the
 * environment and of the config file (spec/load.ts). `env` and `default` are here for the help only.
 */
export interface RawOption extends OptionParts {
  readonly type: 'raw';
  /** The flag has no value; its text is "true" or "false". */
  readonly switch?: boolean;
  /** One letter. */
  readonly alias?: string;
  readonly default?: string;
}

/** A secret, read from its variable only; typed as a flag it is refused. */
export interface SecretOption extends OptionParts {
  readonly type: 'secret';
  readonly env: string;
}

/** One row of an option table. */
export type Option =
  | BooleanOption
  | NumberOption
  | DurationOption
  | TextOption
  | ChoiceOption
  | ChoicesOption
  | RawOption
  | SecretOption;

/** The options of a command by their camelCase names; the flag of `certificateOut` is `--certificate-out`. */
export type OptionTable = Readonly<Record<string, Option>>;

type OrMissing<O extends Option, V> = O extends { readonly default: unknown } ? V : V | undefined;
type Value<O extends Option> = O extends BooleanOption
  ? boolean
  : O extends SecretOption
    ? undefined
    : O extends DurationOption
      ? number
      : O extends NumberOption
        ? OrMissing<O, number>
        : O extends RawOption
          ? readonly string[]
          : O extends ChoicesOption
            ? ReadonlyArray<O['choices'][number]>
            : O extends ChoiceOption
              ? OrMissing<O, O['choices'][number]>
              : OrMissing<O, string>;

/** The values of an option table, checked. */
export type Values<T extends OptionTable> = { readonly [K in keyof T]: Value<T[K]> };

/** What a command found or did: for scripts, and for people. */
export interface Result {
  readonly json: Readonly<Record<string, unknown>>;
  /** Lines for stdout, without the last line end; empty when the lines were printed one by one. */
  readonly text: string;
  /** Additional information for people: stderr, silent with --quiet and --json. */
  readonly aside?: string;
}

/** Renders a line of at most `columns`; Infinity where nothing has to be cut. */
export type RenderLine = (columns: number) => string;

/** How a command speaks while it runs. */
export interface Reporter {
  /** A message for the person who watches: stderr, silent with --quiet. */
  note(text: string): void;
  /**
   * How far it is, called as often as that is known: on a terminal one line that changes, elsewhere a line every few
   * seconds; with --json it is `picture`. On stderr, and not with --quiet.
   */
  progress(picture: Readonly<Record<string, unknown>>, render: RenderLine): void;
  /** The result of a command that keeps running (a server that is ready), or that fails after it. At most once. */
  announce(result: Result): void;
  /**
   * One line of a result that may be too long for memory. With --json it is `json` instead, or nothing where the one
   * object at the end contains it. Resolves when the next line may be written: true, or false when the reader of stdout
   * is gone (`| head`).
   */
  line(text: string, json?: Result['json']): Promise<boolean>;
}

/** All that a command may know of the world around it. */
export interface Context<T extends OptionTable = OptionTable> {
  readonly options: Values<T>;
  /** The word after the command's name, for a command that takes one. */
  readonly operand: string | undefined;
  readonly stdin: Input;
  /** Aborted when the command has to stop cleanly; its reason is the error to throw then. */
  readonly signal: AbortSignal;
  /** Aborted when the command has to stop at once. */
  readonly abortSignal: AbortSignal;
  readonly out: Reporter;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** What is piped in or typed. */
export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean;
}

/** Commands that share their first word. */
export interface CommandGroup {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** A few sentences for the help of the group. */
  readonly description: string;
}

/** A command: its name, its help, its options, and what it does. */
export interface Command<T extends OptionTable = OptionTable> {
  /** One word; in a group two, of which the first is the group's. */
  readonly name: string;
  readonly group?: CommandGroup;
  /** One line for the list of commands. */
  readonly summary: string;
  /** A few sentences for its own help. */
  readonly description: string;
  /** Two command lines that work, each with what it is good for. */
  readonly examples: readonly [Example, Example];
  readonly options: T;
  /** What help calls the one word that may follow the name, as `FILE`. */
  readonly operand?: string;
  /** Returns its result, or nothing when it announced one. A method, so that any command fits a list of them. */
  run(context: Context<T>): Promise<Result | undefined>;
}

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
    help: 'print only the result and errors',
  },
  verbose: {
    type: 'boolean',
    default: false,
    env: 'COSMIG_VERBOSE',
    help: 'log details, and show where errors arose',
  },
  noColor: {
    type: 'boolean',
    default: false,
    env: 'COSMIG_NO_COLOR',
    help: 'plain text; NO_COLOR does the same',
  },
} as const satisfies OptionTable;
