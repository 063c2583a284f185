/**
 * Everything that a command prints. Invariants: results go to stdout and messages to stderr. With --json stdout gets
 * exactly one JSON object (a list: one object per line), and stderr gets one JSON object per line. Texts of documents,
 * services and command lines reach the terminal through `printable` only.
 */
import { styleText } from 'node:util';
import { assert } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { safeStringify } from '../lib/json/json.ts';
import { printable } from '../lib/json/printable.ts';
import { createLog, type Log } from '../lib/log.ts';
import { fillLines } from '../report/format.ts';
import type { RenderLine, Reporter, Result } from './command.ts';
import { dissect, type Explanation } from './explain.ts';
import type { Live } from './live.ts';

/** A stream to which output is written. */
export interface Sink {
  write(text: string): unknown;
  /** Resolves when more can be written: to true, or to false when the reader has left. */
  drained?(): Promise<boolean>;
  readonly isTTY?: boolean;
  /** The width of the terminal; undefined when the stream is not a terminal. */
  readonly columns?: number;
}

/** Where output goes, and in which format. */
export interface OutputOptions {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly clock: Clock;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
  /** Present when stderr is a terminal that can change a line. */
  readonly live?: Live;
}

/**
 * The time between two lines of progress when there is no live line, a line of the terminal that changes in place. It
 * grows with the duration of the run, so that a long run does not fill a log.
 */
const PROGRESS_EVERY = { firstMs: 5000, longestMs: 60_000, ofRun: 1 / 60 } as const;

const HEAD = 'cosmig:';
/** Below `why` and `now`. */
const REASON_INDENT = '       ';
/** Below the time of a line of the log. */
const LOG_INDENT = '         ';
/** A message is not broken for a terminal that is narrower. */
const COLUMNS_MIN = 40;
/** On a wider terminal a message is as wide as the tables of results. */
const COLUMNS_MAX = 80;
/** A line of the Azure CLI, or a variable for the shell. */
const PASTED = /\baz (?:cosmosdb|rest)\b|^export /m;

export class Output implements Reporter {
  readonly log: Log;
  readonly #options: OutputOptions;
  readonly #messages: Log;
  readonly #beganMs: number;
  #progressAtMs: number;
  #resultWritten = false;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#beganMs = options.clock.monotonicMs();
    this.#progressAtMs = this.#beganMs;
    const { json, quiet, verbose, clock, stderr } = options;
    const write = (line: string): void => {
      stderr.write(json ? line : `${this.#fit(line.trimEnd(), LOG_INDENT)}\n`);
    };
    const format = json ? 'json' : 'text';
    const level = verbose ? 'debug' : quiet ? 'error' : 'warn';
    this.log = createLog({ level, format, clock, write });
    this.#messages = createLog({ level: 'info', format: 'json', clock, write });
  }

  note(text: string): void {
    const { json, quiet, stderr } = this.#options;
    if (quiet) return;
    if (json) this.#messages.info(text);
    else stderr.write(`${this.#fit(printable(text))}\n`);
  }

  progress(picture: Readonly<Record<string, unknown>>, render: RenderLine): void {
    const { json, quiet, stderr, clock, live } = this.#options;
    if (quiet) return;
    if (live !== undefined && !json) {
      live.show((columns) => printable(render(columns)).slice(0, columns));
      return;
    }
    const nowMs = clock.monotonicMs();
    const { firstMs, longestMs, ofRun } = PROGRESS_EVERY;
    const everyMs = Math.min(Math.max(firstMs, (nowMs - this.#beganMs) * ofRun), longestMs);
    if (nowMs - this.#progressAtMs < everyMs) return;
    this.#progressAtMs = nowMs;
    stderr.write(`${json ? safeStringify({ progress: picture }) : printable(render(Infinity))}\n`);
  }

  hideLive(): void {
    this.#options.live?.hide();
  }

  announce(result: Result): void {
    assert(!this.#resultWritten, 'a command has one result');
    this.#resultWritten = true;
    this.hideLive();
    const { json, quiet, stdout, stderr } = this.#options;
    const ofJson = (): string => (result.json === null ? '' : safeStringify(result.json));
    const text = json ? ofJson() : printable(result.text);
    if (text !== '') stdout.write(`${text}\n`);
    if (result.aside !== undefined && !json && !quiet)
      stderr.write(`${this.#fitAside(printable(result.aside))}\n`);
  }

  async line(text: string, json?: Result['json']): Promise<boolean> {
    const { stdout } = this.#options;
    if (this.#options.json && json === undefined) return true;
    stdout.write(`${this.#options.json ? safeStringify(json) : printable(text)}\n`);
    return stdout.drained === undefined || stdout.drained();
  }

  /**
   * Prints the error of a failed command. If the command has announced a result, that result stays the only object on
   * stdout.
   */
  failure(command: string | null, explanation: Explanation, thrown: unknown): void {
    this.hideLive();
    const { json, verbose, stderr, color } = this.#options;
    const { code, message, why, hint, problems } = explanation;
    const listed = problems.length > 0 ? { problems } : {};
    if (json && !this.#resultWritten) {
      this.announce({
        json: { command, complete: false, error: { code, message, hint, ...listed } },
        text: '',
      });
    }
    if (json) {
      const fields = { code, why, hint, ...listed };
      this.log.error(message, verbose ? { ...fields, error: thrown } : fields);
      return;
    }
    // The operator has asked for a stop, so it is not shown as a failure.
    const paint = color && stderr.isTTY === true && code !== 'canceled';
    const head = paint ? styleText('red', HEAD) : HEAD;
    const fitted = this.#fit(`${HEAD} ${message}`).slice(HEAD.length);
    const details =
      problems.length > 1
        ? problems.map((problem) => `- ${problem.message}\n${this.#reasons(problem.why, problem.hint)}`)
        : [this.#reasons(why, hint)];
    if (verbose) details.push(`${dissect(thrown)}\n`);
    stderr.write(`${head}${printable(`${fitted}\n${details.join('')}`)}`);
  }

  #reasons(why: string, hint: string): string {
    const indented = (text: string): string => this.#fit(text, REASON_INDENT);
    return `  why  ${indented(why)}\n  now  ${indented(hint)}\n`;
  }

  /** Breaks the lines of text of an aside. A line that is indented is a command, or part of a list. */
  #fitAside(text: string): string {
    const lines = text.split('\n');
    return lines.map((line) => (line.startsWith(' ') ? line : this.#fit(line))).join('\n');
  }

  /**
   * Breaks a message between words to fit a terminal and the tables above it. A log gets it whole, and so does a
   * command that is to be pasted.
   */
  #fit(text: string, indent = ''): string {
    const { isTTY, columns } = this.#options.stderr;
    if (isTTY !== true || columns === undefined || columns < COLUMNS_MIN || PASTED.test(text)) return text;
    return text
      .split('\n')
      .flatMap((line) => fillLines(line.split(' '), Math.min(columns, COLUMNS_MAX) - indent.length))
      .join(`\n${indent}`);
  }
}
