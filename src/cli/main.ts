/**
 * Runs a command line and ends with its exit code. Invariant: every error is explained once, in this module, and the
 * exit code is that of the error's class.
 */
import { commands as allCommands } from '../commands/all.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { CanceledError, codeOf, CosmigError, UsageError } from '../lib/errors.ts';
import { describeFsError } from '../lib/fs-error.ts';
import { readVersion } from '../lib/version.ts';
import { withSameFlags } from '../spec/same-flags.ts';
import type { Command, Input } from './command.ts';
import { explain } from './explain.ts';
import { LiveLine, type Live } from './live.ts';
import { Output, type Sink } from './output.ts';
import { StopSignals, type SignalSource } from './signals.ts';
import { findCommand, parseCommandLine, wantsJson, type Parsed } from './command-line.ts';

/** The surroundings of one run: those of the process, or those that a test provides. */
export interface Terminal {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly stdin: Input;
  readonly signals: SignalSource;
  readonly clock: Clock;
  /** Creates the live line. Present when stderr is a terminal that can change a line. */
  readonly live?: (look: { readonly color: boolean }) => Live;
  /** Ends the process at once. */
  readonly leave: (exitCode: number) => void;
}

/** Runs one command line; returns the exit code and never throws. */
export async function runCommandLine(
  terminal: Terminal,
  commands: readonly Command[] = allCommands,
): Promise<number> {
  const { argv, env, stdout } = terminal;
  let parsed: Parsed;
  try {
    const { columns } = stdout;
    const around = { version: readVersion(), env, ...(columns === undefined ? {} : { columns }) };
    parsed = parseCommandLine(argv, commands, around);
  } catch (error) {
    const words = argv.filter((argument) => !argument.startsWith('-'));
    return fail(terminal, error, findCommand(words, commands)?.name);
  }
  if (parsed.kind === 'text') {
    stdout.write(`${parsed.text}\n`);
    return parsed.exitCode;
  }
  return runCommand(terminal, parsed);
}

/** Prints an error that arose outside of a command; returns its exit code. */
function fail(terminal: Terminal, thrown: unknown, command: string | null = null): number {
  const explanation = explain(thrown);
  outputOf(terminal).failure(command, explanation, thrown);
  return explanation.exitCode;
}

/**
 * Returns the output for errors and warnings that arise outside of a command, in the format that the command line asks
 * for.
 */
function outputOf(terminal: Terminal): Output {
  const { argv, env } = terminal;
  const json = wantsJson(argv, env);
  return output(terminal, { json, quiet: false, verbose: argv.includes('--verbose'), noColor: false });
}

async function runCommand(terminal: Terminal, parsed: Extract<Parsed, { kind: 'run' }>): Promise<number> {
  const { command, options, operand, common } = parsed;
  const out = output(terminal, common);
  using stopping = new StopSignals(terminal.signals, {
    say: (text) => out.note(text),
    leave: terminal.leave,
  });
  try {
    const result = await command.run({
      options,
      operand,
      get stdin() {
        return terminal.stdin;
      },
      signal: stopping.drain,
      abortSignal: stopping.abort,
      out,
      log: out.log,
      env: terminal.env,
      clock: terminal.clock,
    });
    if (result !== undefined) {
      const { aside } = result;
      out.announce(aside === undefined ? result : { ...result, aside: withSameFlags(aside, options) });
    }
    return 0;
  } catch (error) {
    const thrown = orCanceled(error, stopping);
    const explained = explain(thrown);
    const explanation = { ...explained, hint: withSameFlags(explained.hint, options) };
    out.failure(command.name, explanation, thrown);
    return explanation.exitCode;
  } finally {
    out.hideLive();
  }
}

/**
 * Returns the reason of the stop instead of an error that cosmig did not throw itself: after the second signal, such
 * an error is a consequence of the stop.
 */
function orCanceled(error: unknown, stopping: StopSignals): unknown {
  const reason: unknown = stopping.abort.reason;
  return reason instanceof CanceledError && !(error instanceof CosmigError) ? reason : error;
}

type Look = Pick<Extract<Parsed, { kind: 'run' }>['common'], 'json' | 'quiet' | 'verbose' | 'noColor'>;

function output({ stdout, stderr, clock, env, live }: Terminal, look: Look): Output {
  const { json, quiet, verbose } = look;
  const color = !look.noColor && (env['NO_COLOR'] ?? '') === '';
  const line = live === undefined ? {} : { live: live({ color }) };
  return new Output({ stdout, stderr, clock, json, quiet, verbose, color, ...line });
}

/** Runs the command line of this process and ends the process when all output is written. Called by bin/cosmig.js. */
export async function main(): Promise<void> {
  const { stdout, stderr, env } = process;
  // Without a listener, Node would throw when the reader of a pipe leaves early (`cosmig ... | head`).
  for (const stream of [stdout, stderr]) stream.on('error', (error) => failures.set(stream, error));
  const leave = (exitCode: number): never => process.exit(exitCode);
  // An error that no caller has caught is a bug in cosmig. It is explained like every other error.
  process.on('uncaughtException', (error) => leave(fail(terminal, error)));
  const terminal: Terminal = {
    argv: process.argv.slice(2),
    env,
    stdout: sinkOf(stdout),
    stderr,
    // Opened only when a command reads it, since reading from a terminal keeps the process alive.
    get stdin() {
      return process.stdin;
    },
    signals: process,
    ...(canChangeLines(stderr, env)
      ? { live: ({ color }) => new LiveLine(stderr, { color, reflows: reflows(env) }) }
      : {}),
    clock: systemClock,
    leave,
  };
  // Node would print its warnings as text, also between lines of JSON.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => outputOf(terminal).log.warn(`Node.js: ${message}`, { name }));
  const exitCode = await runCommandLine(terminal);
  // A pipe may not have accepted all output yet.
  await Promise.all([flushed(stdout), flushed(stderr)]);
  const lost = lossOf(stdout);
  if (lost === undefined || exitCode !== 0) return leave(exitCode);
  // Output was lost although the command succeeded. A script that reads stdout must not see this as success.
  fail(terminal, lost);
  await flushed(stderr);
  leave(lost.exitCode);
}

/**
 * Whether the stream can show a line that changes. The log of a CI service keeps every version of the line, and a dumb
 * terminal cannot move its cursor. A terminal that reports the width 0 (in a container, or under `script`) does not
 * say where a line has to be cut.
 */
function canChangeLines({ isTTY, columns }: NodeJS.WriteStream, env: Terminal['env']): boolean {
  return isTTY && columns !== 0 && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === '';
}

/**
 * Whether the terminal wraps long lines after a resize. The terminals named here cut the line instead, so that the
 * row above it contains other output and must not be cleared.
 */
function reflows(env: Terminal['env']): boolean {
  return env['XTERM_VERSION'] === undefined && env['STY'] === undefined && env['TERM'] !== 'linux';
}

/** Wraps a stream whose reader may be slow or may have left, or whose disk may be full. */
function sinkOf(stream: NodeJS.WriteStream): Sink {
  return {
    isTTY: stream.isTTY,
    ...(stream.isTTY && stream.columns > 0 ? { columns: stream.columns } : {}),
    write: (text) => stream.write(text),
    async drained() {
      if (stream.writableNeedDrain) await flushed(stream);
      const lost = lossOf(stream);
      if (lost !== undefined) throw lost;
      return stream.writable;
    },
  };
}

/** The last failure of each stream. Node keeps stdout open after a failure and soon forgets the error. */
const failures = new WeakMap<NodeJS.WriteStream, Error>();

/**
 * Returns an error when output was lost, as on a full disk. A reader that left (EPIPE) had read what it needed, so
 * nothing counts as lost.
 */
function lossOf(stream: NodeJS.WriteStream): UsageError | undefined {
  const failure = stream.errored ?? failures.get(stream);
  if (failure === undefined || codeOf(failure) === 'EPIPE') return undefined;
  return new UsageError('the output cannot be written', {
    why: describeFsError(failure),
    cause: failure,
    hint: 'free some disk space, or write it elsewhere',
  });
}

async function flushed(stream: NodeJS.WriteStream): Promise<void> {
  await new Promise<void>((resolve) => {
    stream.write('', () => resolve());
  });
}
