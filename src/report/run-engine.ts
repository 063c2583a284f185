/**
 * What copy, tail and the retry of letters have in common: the spec, a run of the engine, what is said while it lasts,
 * and how its end is told. What always holds: a run that ends badly still tells what it has done.
 */
import type { Context, Reporter, Result } from '../cli/command.ts';
import { CosmigError, DeadLetterError } from '../lib/errors.ts';
import { systemRandom } from '../lib/random.ts';
import { loadSpec } from '../spec/load.ts';
import { migrationName } from '../spec/migration-name.ts';
import type { SPEC_OPTIONS } from '../spec/fields.ts';
import type { Goal, RunParts, Snapshot } from '../engine/run.ts';
import { moveLine, Pace } from './live-line.ts';
import { moveJson, moveText } from './copy.ts';

export type MoveContext = Context<typeof SPEC_OPTIONS>;
type MoveRun = (parts: RunParts) => Promise<Snapshot>;

/** Runs the engine towards a goal. Open letters are a bad end, since documents are missing in the target. */
export async function move(command: string, goal: Goal, context: MoveContext): Promise<Result | undefined> {
  // Loaded here: help needs neither the SDK nor the database.
  const { run } = await import('../engine/run.ts');
  return moveBy(context, { command, run: async (parts) => run(goal, parts) });
}

export interface Moving {
  /** What it is called in its result. */
  readonly command: string;
  readonly run: MoveRun;
  /** What is said while it lasts, where that is more than what is moved. */
  readonly shown?: Shown;
}

interface Shown {
  readonly tell: typeof moveLine;
  readonly picture: () => Readonly<Record<string, unknown>>;
}

export async function moveBy(
  context: MoveContext,
  { command, run, shown = { tell: moveLine, picture: () => ({}) } }: Moving,
): Promise<Result | undefined> {
  const { options, env, clock, signal, abortSignal, out, log } = context;
  const { spec, connections } = loadSpec({ options, env, clock });
  const { Ledger } = await import('../state/ledger.ts');
  const skipped = (): Result => {
    const json = { command, migration: migrationName(spec), complete: false, skipped: true };
    return { json, text: 'another cosmig is working with this ledger; nothing was done' };
  };
  if (spec.skipsIfRunning && Ledger.isRunning(spec.ledger)) return skipped();
  const progress = new Progress(out, shown);
  const parts = {
    spec,
    connections,
    clock,
    random: systemRandom,
    log,
    drain: signal,
    abort: abortSignal,
    say: (text: string) => out.note(text),
    onSnapshot: (snapshot: Snapshot) => progress.see(snapshot),
  };
  try {
    const snapshot = await run(parts);
    progress.last = snapshot;
    refuseOpenLetters(snapshot);
    return { json: moveJson(command, snapshot), text: moveText(snapshot) };
  } catch (error) {
    // It was begun between the question and the lock.
    if (spec.skipsIfRunning && progress.last === undefined && Ledger.isRunning(spec.ledger)) return skipped();
    if (progress.last !== undefined) {
      const told = error instanceof CosmigError ? error : undefined;
      // What was refused before a range was read has nothing to tell but the refusal.
      const text = isIdle(progress.last) ? '' : moveText(progress.last);
      out.announce({ json: moveJson(command, progress.last, told), text });
    }
    throw error;
  }
}

function isIdle({ ranges, documents: { read, written } }: Snapshot): boolean {
  return ranges.length === 0 && read + written === 0;
}

function refuseOpenLetters({ documents: { deadLettered } }: Snapshot): void {
  if (deadLettered === 0) return;
  const isOne = deadLettered === 1;
  const [are, them] = isOne ? ['document is', 'it'] : ['documents are', 'them'];
  throw new DeadLetterError(`${deadLettered} ${are} not in the target`, {
    why: isOne
      ? 'it is in the dead letters, with its reason'
      : 'they are in the dead letters, each with its reason',
    hint: `see cosmig dead-letters list; mend ${them} in the source, or discard ${them} by number`,
  });
}

/** Says how it goes. */
class Progress {
  last: Snapshot | undefined;
  readonly #out: Reporter;
  readonly #pace = new Pace();
  readonly #shown: Shown;

  constructor(out: Reporter, shown: Shown) {
    this.#out = out;
    this.#shown = shown;
  }

  see(snapshot: Snapshot): void {
    this.last = snapshot;
    const { documents, ru, durationMs, outlook } = snapshot;
    const rates = this.#pace.see({
      atMs: durationMs,
      documents: documents.read + outlook.underWay,
      ru: ru.target,
    });
    const { outlook: _outlook, ...picture } = snapshot;
    this.#out.progress({ ...picture, ...this.#shown.picture() }, (columns) =>
      this.#shown.tell(snapshot, rates, columns),
    );
  }
}
