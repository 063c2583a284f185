/**
 * From a command line to an exit code. What always holds: every error leaves by this one door, explained
 * once, and the exit code is the one its class has in the public contract.
 */
import { readFileSync } from 'node:fs';
import { commands as allCommands } from '../commands/all.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { CanceledError, CosmigError, UsageError } from '../lib/errors.ts';
import { fileTrouble } from '../lib/fs-error.ts';
import { withSameFlags } from '../spec/same-flags.ts';
import type { Command, Input } from './command.ts';
import { explain } from './explain.ts';
import { LiveLine, type Live } from './live.ts';
import { Output, type Sink } from './output.ts';
import { Stopping, type SignalSource } from './signals.ts';
import { findCommand, parseCommandLine, wantsJson, type Parsed } from './yargs.ts';

/** The world around a run: the real one, or a test's. */
export interface Terminal {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly stdin: Input;
  readonly signals: SignalSource;
  readonly clock: Clock;
  /** A line of stderr that changes, where there can be one. */
  readonly live?: (look: { readonly color: boolean }) => Live;
  /** Ends the process at once. */
  readonly leave: (exitCode: number) => void;
}

/** Runs one command line; gives the exit code and never throws. */
export async function runCommandLine(
  terminal: Terminal,
  commands: readonly Command[] = allCommands,
): Promise<number> {
  const { argv, env, stdout } = terminal;
  let parsed: Parsed;
  try {
    const { columns } = stdout;
    const around = { version: readVersion(), env, ...(columns === undefined ? {} : { columns }) };
    parsed = await parseCommandLine(argv, commands, around);
  } catch (error) {
    const explanation = explain(error);
    const words = argv.filter((argument) => !argument.startsWith('-'));
    const command = findCommand(words, commands)?.name ?? null;
    const verbose = argv.includes('--verbose');
    output(terminal, { json: wantsJson(argv, env), quiet: false, verbose, noColor: false }).failure(
      command,
      explanation,
      error,
    );
    return explanation.exitCode;
  }
  if (parsed.kind === 'text') {
    stdout.write(`${parsed.text}\n`);
    return 0;
  }
  return runCommand(terminal, parsed);
}

async function runCommand(terminal: Terminal, parsed: Extract<Parsed, { kind: 'run' }>): Promise<number> {
  const { command, options, operand, common } = parsed;
  const out = output(terminal, common);
  using stopping = new Stopping(terminal.signals, {
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
    if (result !== undefined) out.announce(result);
    return 0;
  } catch (error) {
    const thrown = orCanceled(error, stopping);
    const explained = explain(thrown);
    const explanation = { ...explained, hint: withSameFlags(explained.hint, options) };
    out.failure(command.name, explanation, thrown);
    return explanation.exitCode;
  } finally {
    out.rest();
  }
}

/** Once the operator has said "now", whatever foreign error that causes is the stop itself. */
function orCanceled(error: unknown, stopping: Stopping): unknown {
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

function readVersion(): string {
  // The same two steps up from src/cli and from dist/cli.
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The real thing, called by bin/cosmig.js: leaves with the exit code once all output is out. */
export async function main(): Promise<void> {
  const { stdout, stderr, env } = process;
  // Whoever reads us may go first (`cosmig ... | head`); that is no failure of ours.
  for (const stream of [stdout, stderr]) stream.on('error', (error) => failures.set(stream, error));
  const leave = (exitCode: number): never => process.exit(exitCode);
  // A promise or a callback that nobody owned: our bug, told like every other error.
  process.on('uncaughtException', (error) => {
    const explanation = explain(error);
    const json = wantsJson(process.argv, env);
    const look = { json, quiet: false, verbose: process.argv.includes('--verbose'), noColor: false };
    output(terminal, look).failure(null, explanation, error);
    leave(explanation.exitCode);
  });
  const terminal: Terminal = {
    argv: process.argv.slice(2),
    env,
    stdout: sinkOf(stdout),
    stderr,
    // Not opened before a command asks: a terminal that is read from keeps the process alive.
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
  const exitCode = await runCommandLine(terminal);
  // A pipe may still be taking what was written.
  await Promise.all([flushed(stdout), flushed(stderr)]);
  const lost = whyLost(stdout);
  if (lost === undefined || exitCode !== 0) return leave(exitCode);
  // No success for a script that reads what is not there.
  const json = wantsJson(process.argv, env);
  output(terminal, { json, quiet: false, verbose: false, noColor: false }).failure(null, explain(lost), lost);
  await flushed(stderr);
  leave(lost.exitCode);
}

/** A terminal that is watched: CI services keep every line, and a dumb terminal cannot go back. */
function canChangeLines({ isTTY }: NodeJS.WriteStream, env: Terminal['env']): boolean {
  return isTTY && env['TERM'] !== 'dumb' && (env['CI'] ?? '') === '';
}

/** These cut what is too long, and a row above it is somebody else's. */
function reflows(env: Terminal['env']): boolean {
  return env['XTERM_VERSION'] === undefined && env['STY'] === undefined && env['TERM'] !== 'linux';
}

/** Writing to a stream that may be slow, gone, or full. */
function sinkOf(stream: NodeJS.WriteStream): Sink {
  return {
    isTTY: stream.isTTY,
    ...(stream.isTTY ? { columns: stream.columns } : {}),
    write: (text) => stream.write(text),
    async room() {
      if (stream.writableNeedDrain) await flushed(stream);
      const lost = whyLost(stream);
      if (lost !== undefined) throw lost;
      return stream.writable;
    },
  };
}

/** The last of each: Node keeps stdout open whatever happens to it, and so forgets in a moment that it has failed. */
const failures = new WeakMap<NodeJS.WriteStream, Error>();

/** A reader who leaves (EPIPE) has what it wanted; a full disk has not. */
function whyLost(stream: NodeJS.WriteStream): UsageError | undefined {
  const failure = stream.errored ?? failures.get(stream);
  if (failure === undefined || ('code' in failure && failure.code === 'EPIPE')) return undefined;
  return new UsageError('the output cannot be written', {
    why: fileTrouble(failure),
    cause: failure,
    hint: 'make room, or send it elsewhere',
  });
}

async function flushed(stream: NodeJS.WriteStream): Promise<void> {
  await new Promise<void>((resolve) => {
    stream.write('', () => resolve());
  });
}
