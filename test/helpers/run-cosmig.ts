import { EventEmitter } from 'node:events';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { exitCodesOf } from '../../src/cli/exit-codes.ts';
import type { Command } from '../../src/cli/command.ts';
import { runCommandLine } from '../../src/cli/main.ts';
import type { StopSignal } from '../../src/lib/errors.ts';
import { commands as shippedCommands } from '../../src/commands/all.ts';
import { type Clock } from '../../src/lib/clock.ts';
import { VirtualClock } from './clock.ts';

/** What a run left behind. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What surrounds a run in a test; nothing of the real environment leaks in. */
export interface Around {
  readonly env?: Readonly<Record<string, string>>;
  readonly commands?: readonly Command[];
  readonly clock?: Clock;
  /** What is piped in, in the pieces in which it arrives. */
  readonly stdin?: Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>;
  /** Whether an operator sits at the keyboard. */
  readonly isTerminal?: boolean;
}

/** A command that runs in this process, and the hands on its keyboard. */
export class CosmigRun {
  readonly ended: Promise<Ran>;
  readonly #signals = new EventEmitter();
  #stdout = '';
  #stderr = '';
  #left: number | undefined;

  constructor(argv: readonly string[], around: Around = {}) {
    const {
      env = {},
      commands = shippedCommands,
      clock = new VirtualClock(),
      stdin = [],
      isTerminal = false,
    } = around;
    const stdout = { write: (text: string) => (this.#stdout += text) };
    const stderr = { write: (text: string) => (this.#stderr += text) };
    const leave = (exitCode: number): void => {
      this.#left = exitCode;
    };
    const code = runCommandLine(
      {
        argv,
        env,
        stdout,
        stderr,
        stdin: Object.assign(pieces(stdin), { isTTY: isTerminal }),
        signals: this.#signals,
        clock,
        leave,
      },
      commands,
    );
    this.ended = code.then((exitCode) => {
      if (commands === shippedCommands) expectListed(argv, env, exitCode);
      return { code: exitCode, stdout: this.#stdout, stderr: this.#stderr };
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** The code it would have left the process with at once. */
  get left(): number | undefined {
    return this.#left;
  }

  /** How many listeners it has on the process. */
  get listening(): number {
    return this.#signals.eventNames().reduce((sum, name) => sum + this.#signals.listenerCount(name), 0);
  }

  press(name: StopSignal): void {
    this.#signals.emit(name, name);
  }
}

/** Every command that a test runs ends with an exit code that its help lists. */
function expectListed(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  exitCode: number,
): void {
  // A command line that cannot be parsed ends with 2, which each help lists.
  if (exitCode === 2) return;
  const parsed = parseCommandLine(argv, shippedCommands, { version: '', env });
  if (parsed.kind !== 'run') return;
  const listed = exitCodesOf(parsed.command).map((one) => one.exitCode);
  if (!listed.includes(exitCode))
    throw new Error(`cosmig ${parsed.command.name} ended with ${exitCode}, which its help does not list`);
}

/** Runs a command line in this process to its end. */
export function runCosmig(argv: readonly string[], around?: Around): Promise<Ran> {
  return new CosmigRun(argv, around).ended;
}

async function* pieces(
  texts: Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield typeof text === 'string' ? Buffer.from(text) : text;
}
