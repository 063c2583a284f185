/**
 * Everything a command prints. What always holds: results go to stdout and talk to stderr; with --json
 * stdout gets exactly one JSON object (of a list one a line), and stderr one JSON object a line.
 */
import { styleText } from 'node:util';
import { assert } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { safeStringify } from '../lib/json.ts';
import { createLog, type Log } from '../lib/log.ts';
import type { Reporter, Result, Tell } from './command.ts';
import { dissect, type Explanation } from './explain.ts';
import type { Live } from './live.ts';

/** A stream we write to. */
export interface Sink {
  write(text: string): unknown;
  /** Resolves when what was written is on its way: true, or false when nobody reads any more. */
  room?(): Promise<boolean>;
  readonly isTTY?: boolean;
  /** Of a terminal. */
  readonly columns?: number;
}

/** Where output goes, and in which shape. */
export interface OutputOptions {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly clock: Clock;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
  /** Where stderr is a terminal that can change a line. */
  readonly live?: Live;
}

/** Between two lines of progress, where they stay: fewer the longer it takes, so that a service does not fill its log. */
const SAY_EVERY = { firstMs: 5000, longestMs: 60_000, ofRun: 1 / 60 } as const;

/** See the module. */
export class Output implements Reporter {
  readonly log: Log;
  readonly #options: OutputOptions;
  readonly #talk: Log;
  readonly #beganMs: number;
  #saidMs: number;
  #resultWritten = false;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#beganMs = options.clock.now();
    this.#saidMs = this.#beganMs;
    const { json, quiet, verbose, clock, stderr } = options;
    const write = (line: string): void => {
      stderr.write(line);
    };
    const format = json ? 'json' : 'text';
    const level = verbose ? 'debug' : quiet ? 'error' : 'warn';
    this.log = createLog({ level, format, clock, write });
    this.#talk = createLog({ level: 'info', format: 'json', clock, write });
  }

  note(text: string): void {
    const { json, quiet, stderr } = this.#options;
    if (quiet) return;
    if (json) this.#talk.info(text);
    else stderr.write(`${text}\n`);
  }

  progress(picture: Readonly<Record<string, unknown>>, tell: Tell): void {
    const { json, quiet, stderr, clock, live } = this.#options;
    if (quiet) return;
    if (live !== undefined && !json) {
      live.show(tell);
      return;
    }
    const nowMs = clock.now();
    const { firstMs, longestMs, ofRun } = SAY_EVERY;
    const everyMs = Math.min(Math.max(firstMs, (nowMs - this.#beganMs) * ofRun), longestMs);
    if (nowMs - this.#saidMs < everyMs) return;
    this.#saidMs = nowMs;
    stderr.write(`${json ? safeStringify({ progress: picture }) : tell(Infinity)}\n`);
  }

  /** What changes has nothing more to say; what is written from now on stays. */
  rest(): void {
    this.#options.live?.hide();
  }

  announce(result: Result): void {
    assert(!this.#resultWritten, 'a command has one result');
    this.#resultWritten = true;
    this.rest();
    const { json, quiet, stdout, stderr } = this.#options;
    const text = json ? safeStringify(result.json) : result.text;
    if (text !== '') stdout.write(`${text}\n`);
    if (result.aside !== undefined && !json && !quiet) stderr.write(`${result.aside}\n`);
  }

  async line(text: string, json?: Result['json']): Promise<boolean> {
    const { stdout } = this.#options;
    if (this.#options.json && json === undefined) return true;
    stdout.write(`${this.#options.json ? safeStringify(json) : text}\n`);
    return stdout.room === undefined || stdout.room();
  }

  /** The end of a command that failed. A result that is out already stays the only object on stdout. */
  failure(command: string | null, explanation: Explanation, thrown: unknown): void {
    this.rest();
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
      const said = { code, why, hint, ...listed };
      this.log.error(message, verbose ? { ...said, error: thrown } : said);
      return;
    }
    const paint = color && stderr.isTTY === true;
    const head = paint ? styleText('red', 'cosmig:') : 'cosmig:';
    stderr.write(problems.length > 1 ? `${head} ${message}\n` : `${head} ${message}\n${reasons(why, hint)}`);
    if (problems.length > 1) {
      for (const problem of problems) {
        stderr.write(`- ${problem.message}\n${reasons(problem.why, problem.hint)}`);
      }
    }
    if (verbose) stderr.write(`${dissect(thrown)}\n`);
  }
}

function reasons(why: string, hint: string): string {
  return `  why  ${why}\n  now  ${hint}\n`;
}
