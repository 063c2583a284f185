/**
 * Runs the engine for a command: reads the spec, shows progress, and returns the result. Invariant: a run that fails
 * after it has begun still reports what it did.
 */
import type { Context, RenderLine, Reporter, Result } from '../../cli/command.ts';
import type { Goal, RunParts, RunSnapshot } from '../../engine/run.ts';
import { ServiceTime } from '../../cosmos/account/service-time.ts';
import { CanceledError, CosmigError, DeadLetterError } from '../../lib/errors.ts';
import { systemRandom } from '../../lib/random.ts';
import type { RunObserver } from '../../notify/notify.ts';
import { loadSpec, type SpecInput } from '../../spec/load.ts';
import type { MigrationSpec } from '../../spec/migration-spec.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import { migrationName } from '../../spec/migration-name.ts';
import { runJson, runText } from '../copy.ts';
import type { SKIPPED } from '../json/run-results.ts';
import type { TypeOf } from '../json/schema.ts';
import type { RunProgress } from '../json/results.ts';
import { withMetrics } from '../metrics/during.ts';
import { adviceAfter, nextStep } from '../status/next-step.ts';
import { reverseLine, runLine, Speed, type Rates } from '../live-line.ts';

/** The context of a command that needs the whole spec. The command may have other options as well. */
export type SpecContext = Omit<Context, 'options'> & Pick<SpecInput, 'options'>;

/**
 * Builds what the engine needs for a run from the context of a command: the spec, the signals, and the destination of
 * messages.
 */
export function runParts(context: SpecContext): RunParts {
  const { clock, signal, abortSignal, out, log } = context;
  const { spec, connections } = loadSpec(context);
  const [drain, abort] = [signal, abortSignal];
  const say = (text: string): void => out.note(text);
  const serviceTime = new ServiceTime(clock, log);
  return { spec, connections, clock, random: systemRandom, log, serviceTime, drain, abort, say };
}

/** Returns the result of a run that `--skip-if-running` has skipped, because another run holds the ledger. */
export function skippedResult(command: string, spec: MigrationSpec): Result {
  const json: TypeOf<typeof SKIPPED> = {
    command,
    migration: migrationName(spec),
    complete: false,
    skipped: true,
  };
  return { json, text: 'skipped: another cosmig is running with this ledger' };
}

/**
 * Runs the engine towards a goal. Open dead letters at the end are an error, since their documents are missing in the
 * target.
 */
export async function runToGoal(
  context: SpecContext,
  { command, goal, observer }: Omit<EngineRun, 'run' | 'view'> & { readonly goal: Goal },
): Promise<Result | undefined> {
  // Loaded on demand, since --help needs neither the SDK nor the database.
  const { run } = await import('../../engine/run.ts');
  let isDone = false;
  return withMetrics(context, command, async () => {
    try {
      const result = await runWithProgress(context, {
        command,
        observer,
        ...(command === 'reverse' ? { view: { ...MOVING, line: reverseLine } } : {}),
        run: async (parts) => {
          const snapshot = await run(goal, { ...parts, command: recordedAs(command, goal) });
          isDone = true;
          return snapshot;
        },
      });
      return result === undefined || !isDone ? result : { ...result, ...(await nextStep(context)) };
    } catch (error) {
      throw goal === 'tail' && error instanceof CanceledError ? await asPlannedEnd(error, context) : error;
    }
  });
}

/** A tail runs until the operator stops it, so its error says that this is how it ends, and what comes next. */
async function asPlannedEnd({ signal, why }: CanceledError, context: SpecContext): Promise<CanceledError> {
  const next = await adviceAfter(context);
  return new CanceledError(signal, {
    message: `stopped as asked (${signal}); nothing is lost`,
    why,
    ...(next === null ? {} : { hint: next }),
  });
}

/** Returns the name of a run in the ledger. */
function recordedAs(command: string, goal: Goal): string {
  return goal === 'catch-up' ? `${command} --until-caught-up` : command;
}

/** One run of the engine, and how its progress is shown. */
export interface EngineRun {
  /** The `command` member of the result. */
  readonly command: string;
  readonly run: (parts: RunParts) => Promise<RunSnapshot>;
  readonly view?: LiveView;
  /** Returns the result as text for people; by default all that a run of the engine does. */
  readonly text?: (snapshot: RunSnapshot) => string;
  /** Gets every snapshot as well. */
  readonly observer?: Pick<RunObserver, 'onSnapshot'> | undefined;
}

/** What the live line and the progress objects show. Without a view they show what the engine moves. */
export interface LiveView {
  readonly line: (snapshot: RunSnapshot, rates: Rates, columns: number) => string;
  readonly picture: () => Readonly<Record<string, unknown>>;
}

/** Shows what the engine moves. */
const MOVING: LiveView = { line: runLine, picture: () => ({}) };

export async function runWithProgress(
  context: SpecContext,
  { command, run, observer, view = MOVING, text = textOf(context) }: EngineRun,
): Promise<Result | undefined> {
  const parts = runParts(context);
  const { spec } = parts;
  const { Ledger } = await import('../../state/ledger.ts');
  if (spec.skipsIfRunning && Ledger.isRunning(spec.ledger)) return skippedResult(command, spec);
  const progress = new Progress(context.out, view);
  try {
    const onSnapshot = (taken: RunSnapshot): void => {
      observer?.onSnapshot(taken);
      progress.show(taken);
    };
    const snapshot = await run({ ...parts, onSnapshot });
    progress.last = snapshot;
    refuseOpenLetters(snapshot);
    return { json: runJson(command, snapshot), text: text(snapshot) };
  } catch (error) {
    // Another run has taken the lock after this run found it free.
    if (spec.skipsIfRunning && progress.last === undefined && Ledger.isRunning(spec.ledger))
      return skippedResult(command, spec);
    if (progress.last !== undefined) {
      const known = error instanceof CosmigError ? error : undefined;
      // A run that was refused before it read the first range has no figures to show.
      const shown = isIdle(progress.last) ? '' : text(progress.last);
      context.out.announce({ json: runJson(command, progress.last, known), text: shown });
    }
    throw error;
  }
}

function textOf({ turn = 0 }: SpecContext): (snapshot: RunSnapshot) => string {
  return (snapshot) => runText(snapshot, leadsBack(turn));
}

function isIdle({ ranges, documents: { read, written } }: RunSnapshot): boolean {
  return ranges.length === 0 && read + written === 0;
}

function refuseOpenLetters({ documents: { deadLettered } }: RunSnapshot): void {
  if (deadLettered === 0) return;
  const isOne = deadLettered === 1;
  const [are, them] = isOne ? ['document is', 'it'] : ['documents are', 'them'];
  throw new DeadLetterError(`${deadLettered} ${are} not in the target`, {
    why: isOne
      ? 'it is an open dead letter, with its reason'
      : 'they are open dead letters, each with its reason',
    hint: `cosmig dead-letters list shows ${them}; when you fix ${them} in the source, cosmig tail moves ${them}`,
  });
}

/** Passes each snapshot of the run to the reporter, and keeps the last one. */
class Progress {
  last: RunSnapshot | undefined;
  readonly #out: Reporter;
  readonly #speed = new Speed();
  readonly #view: LiveView;

  constructor(out: Reporter, view: LiveView) {
    this.#out = out;
    this.#view = view;
  }

  show(snapshot: RunSnapshot): void {
    this.last = snapshot;
    const { documents, ru, durationMs, outlook } = snapshot;
    const rates = this.#speed.measure({
      atMs: durationMs,
      documents: documents.read + outlook.uncommitted,
      ru: ru.target,
    });
    const { outlook: _outlook, load, ...shown } = snapshot;
    const { count: pages, ...age } = load.pages;
    const picture: RunProgress = { ...shown, inFlight: { documents: load.inFlight, pages, ...age } };
    const line: RenderLine = (columns) => this.#view.line(snapshot, rates, columns);
    this.#out.progress({ ...picture, ...this.#view.picture() }, line);
  }
}
