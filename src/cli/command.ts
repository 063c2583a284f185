/**
 * What a command is, and what the program passes to a command. Commands are plain objects that import only types from
 * this module. Flags, environment variables, help and the reference are derived from the option table of each
 * command.
 */
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

/**
 * The section of help that lists an option which several commands share. Help lists the options of the command itself
 * above all sections.
 */
export type Section = 'Run' | 'Load' | 'Migration';

interface OptionParts {
  /** The purpose of the option, for help; begins in lower case and ends without a full stop. */
  readonly help: string;
  /** The placeholder that help shows for the value, such as `FILE`; in brackets if it may be left out. */
  readonly value?: string;
  /** The environment variable that is read when the flag is not given. */
  readonly env?: string;
  readonly section?: Section;
}

/** A flag that takes no value. It is off unless it is given. */
export interface BooleanOption extends OptionParts {
  readonly type: 'boolean';
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
  readonly default?: string;
}

/** Text that is not empty. */
export interface TextOption extends OptionParts {
  readonly type: 'text';
  /** The value of a flag that stands alone; absent: the flag needs a value. */
  readonly bare?: string;
  readonly default?: string;
}

/** One word of a list of choices. */
export interface ChoiceOption extends OptionParts {
  readonly type: 'choice';
  readonly choices: readonly string[];
  readonly default?: string;
}

/** Several words of a list of choices, separated by commas. */
export interface ChoicesOption extends OptionParts {
  readonly type: 'choices';
  readonly choices: readonly string[];
}

/**
 * An option whose texts reach the command unchecked. The settings of a migration are checked later, together with
 * those of the environment and of the config file (spec/load.ts). `env` and `default` only appear in help.
 */
export interface RawOption extends OptionParts {
  readonly type: 'raw';
  /** Whether the flag takes no value. The text of such an option is "true" or "false". */
  readonly switch?: boolean;
  /** The one letter of the short flag: `c` for `-c`. */
  readonly alias?: string;
  /** Whether the flag may be given several times, each time with another value. */
  readonly repeats?: boolean;
  /** Values that shell completion offers. One that ends with a slash is the beginning of a value. */
  readonly offered?: readonly string[];
  readonly default?: string;
}

/** A secret, which is read from its environment variable only. It is refused on the command line. */
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

/**
 * The options of a command by their camelCase names. The flag is the name in kebab case: `--certificate-out` for
 * `certificateOut`.
 */
export type OptionTable = Readonly<Record<string, Option>>;

type OrMissing<O extends Option, V> = O extends { readonly default: unknown } ? V : V | undefined;
type Value<O extends Option> = O extends BooleanOption
  ? boolean
  : O extends SecretOption
    ? undefined
    : O extends DurationOption
      ? OrMissing<O, number>
      : O extends NumberOption
        ? OrMissing<O, number>
        : O extends RawOption
          ? readonly string[]
          : O extends ChoicesOption
            ? ReadonlyArray<O['choices'][number]>
            : O extends ChoiceOption
              ? OrMissing<O, O['choices'][number]>
              : OrMissing<O, string>;

/** The checked values of the options in a table. */
export type Values<T extends OptionTable> = { readonly [K in keyof T]: Value<T[K]> };

/** What a command found or did, as an object for scripts and as text for people. */
export interface Result {
  /** Null when the command has printed its objects one by one. */
  readonly json: Readonly<Record<string, unknown>> | null;
  /** The text for stdout, without the last line end. Empty when the command has printed its lines one by one. */
  readonly text: string;
  /** Additional information for people. It is printed on stderr, but not with --quiet or --json. */
  readonly aside?: string;
}

/** Renders a line of at most `columns` characters; `columns` is Infinity when nothing has to be cut. */
export type RenderLine = (columns: number) => string;

/** How a command reports to the operator and to scripts while it runs. */
export interface Reporter {
  /** Prints a message for the operator on stderr; prints nothing with --quiet. */
  note(text: string): void;
  /**
   * Shows the progress of the command on stderr; prints nothing with --quiet. The command calls this as often as it
   * has new figures. A terminal shows one line that changes; other outputs get a line every few seconds, which is the
   * JSON of `picture` with --json.
   */
  progress(picture: Readonly<Record<string, unknown>>, render: RenderLine): void;
  /** Removes the line that shows progress from the terminal, since what it shows is over. The next progress shows it again. */
  hideLive(): void;
  /**
   * Prints the result before the command ends: of a server when it is ready, or of a command that will fail afterwards.
   * Called at most once.
   */
  announce(result: Result): void;
  /**
   * Prints one line of a result that may be too long for memory. With --json it prints `json` instead. A caller omits
   * `json` if the one object at the end contains the line; with --json nothing is printed for such a line. Resolves
   * when the caller may print the next line: to true, or to false when the reader of stdout has left (`| head`).
   */
  line(text: string, json?: Result['json']): Promise<boolean>;
}

/** Everything that a command gets from its surroundings. */
export interface Context<T extends OptionTable = OptionTable> {
  readonly options: Values<T>;
  /** The word after the name of the command, for a command that takes an operand. */
  readonly operand: string | undefined;
  readonly stdin: Input;
  /** Aborted when the command has to stop cleanly; the command then throws the reason of this signal. */
  readonly signal: AbortSignal;
  /** Aborted when the command has to stop at once, without waiting for work in flight. */
  readonly abortSignal: AbortSignal;
  readonly out: Reporter;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The turn of the migration in which the command works; absent: the first one (src/report/turns/in-turn.ts). */
  readonly turn?: number | undefined;
}

/** The standard input: bytes from a pipe or a file, or what the operator types. */
export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean;
}

/** Commands that share their first word. */
export interface CommandGroup {
  readonly name: string;
  /** The line of this group in the list of commands. */
  readonly summary: string;
  /** A few sentences for the help of the group. */
  readonly description: string;
}

/** The errors with which only some commands can end, by their code. A command can end with any other at any time. */
export type OwnErrorCode = 'mismatch' | 'dead-letters' | 'service' | 'ledger' | 'budget' | 'after-commit';

/** A command: its name, help, options, and the function that does its work. */
export interface Command<T extends OptionTable = OptionTable> {
  /** The name: one word, or two for a command of a group, of which the first is the name of the group. */
  readonly name: string;
  readonly group?: CommandGroup;
  /** The line of this command in the list of commands. */
  readonly summary: string;
  /** A few sentences for the help of the command. */
  readonly description: string;
  /** Two command lines that work, each with its purpose. */
  readonly examples: readonly [Example, Example];
  readonly options: T;
  /** The errors with which this command can end, and what each means here if the usual words do not say it. */
  readonly endsWith: Readonly<Partial<Record<OwnErrorCode, true | string>>>;
  /** The placeholder that help shows for the word after the name, such as `FILE`; in brackets if it may be left out. */
  readonly operand?: string;
  /**
   * Runs the command and returns its result, or undefined when it has announced a result. Every command line loads the
   * files of all commands, so `run` loads on demand what only its own command needs. This is a method, not a property,
   * so that a `Command` of any option table is assignable to `Command`.
   */
  run(context: Context<T>): Promise<Result | undefined>;
}

export interface Example {
  readonly line: string;
  readonly purpose: string;
}
