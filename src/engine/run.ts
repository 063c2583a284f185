/**
 * One run, from an open ledger to a last snapshot:
 *
 *   prepare -> settle what the last run left -> anchors, once -> every lease -> index -> every lease of the tail
 *
 * A run stops reading when the operator asks for it, when its time is over, when there are too many dead letters, or
 * when a document cannot be moved and the spec says to fail. Pages in flight are then finished and committed, as long
 * as requests succeed. Only the abort signal and errors that waiting cannot cure end a run at once; the next run then
 * settles what is in doubt.
 */
import { connectBoth } from '../cosmos/account/connect-both.ts';
import type { ServiceTime } from '../cosmos/account/service-time.ts';
import { abortReason, ChildSignal } from '../lib/abort.ts';
import { must } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { CanceledError, CosmigError, InternalError, NotReadyError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Connections } from '../spec/connection.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { failedAfterCommit } from '../spec/refusals.ts';
import { Ledger } from '../state/ledger.ts';
import { ProgressReporter } from './progress/reporter.ts';
import type { CutoverOptions, CutoverResult, Step } from './cutover/contract.ts';
import { cutOver } from './cutover/cutover.ts';
import { refuseCommitted, refuseToRun, runLeases, type LeasesParts } from './leases/run-leases.ts';
import { checkRestored } from './restored-ledger.ts';
import { enter, isCuttingOver, phaseOf } from './phases.ts';
import { makeContext } from './assemble.ts';
import type { RunContext } from './context.ts';
import type { CrashPoint } from './unit/crash-points.ts';
import { prepare, type Prepared } from './prepare.ts';
import type { Accounts } from '../preflight/inspect.ts';
import { runWatched } from './turn/watch-closed.ts';
import { repairEach, type Suspect } from './letters/repair.ts';
import { withLooks } from './letters/looks.ts';
import { noteUnusable, noteUsable } from './unusable-ranges.ts';
import { settleAll } from './unit/settle.ts';
import type { Goal, RunSnapshot } from './progress/snapshot.ts';
import { finishTasks, RunStop, Tasks } from './progress/stopping.ts';
import { TIMING, type Timing } from '../spec/timing.ts';
import { ServiceWaits } from './progress/stall.ts';

export type { Goal, RunSnapshot } from './progress/snapshot.ts';

export interface RunParts {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Ends the run cleanly: no new work begins, and what is in flight is finished. */
  readonly drain: AbortSignal;
  /** The reason to drain after which the run has done what it was for. */
  readonly enough?: CanceledError;
  /** Ends the run at once. */
  readonly abort: AbortSignal;
  /** The service's time, shared by all connections of a command; absent: each connection has its own. */
  readonly serviceTime?: ServiceTime | undefined;
  /** Whether a copy may begin with a target that is not empty (`--adopt-target`). Default: no. */
  readonly adoptsTarget?: boolean;
  /** The command, as the ledger records it. */
  readonly command?: string;
  /** Prints a message to the operator. */
  readonly say?: (text: string) => void;
  /** Called about once a second, and at the end. */
  readonly onSnapshot?: (snapshot: RunSnapshot) => void;
  readonly timing?: Partial<Timing>;
  /** False: each document of the copy is read value by value. Only tests ask for that. */
  readonly packsPages?: boolean;
  readonly onPoint?: (point: CrashPoint) => void;
}

/** Runs until the goal is reached. If the run stops for another reason, throws this reason. */
export async function run(goal: Goal, parts: RunParts): Promise<RunSnapshot> {
  return withLedger(goal, parts, async (prepared, accounts) => {
    refuseToRun(goal, { ...parts, ...prepared });
    return work(goal, { ...parts, ...prepared, accounts }, async (leases) => {
      const { context } = leases;
      if (isCuttingOver(phaseOf(context))) {
        if (context.ledger.journal.mayWritersBeStopped()) parts.say?.(STOPPED);
        enter(context, { phase: 'tailing', why: 'the last cutover was interrupted' });
      }
      await withLooks(goal, leases, async () => runWatched(goal, leases));
    });
  });
}

const STOPPED =
  'a cutover was interrupted, and the application may still be stopped: ' +
  'let it write to the source, or run cosmig cutover again';

/** Retries dead letters, without reading the feeds. */
export async function retryLetters(
  parts: RunParts,
  which: 'all' | readonly number[],
): Promise<RunSnapshot & { readonly retried: number; readonly closed: number }> {
  return withLedger('catch-up', { command: 'dead-letters retry', ...parts }, async (prepared, accounts) => {
    const before = prepared.ledger.letters.openCount();
    let retried = 0;
    const all = { ...parts, ...prepared, accounts };
    const snapshot = await work('catch-up', all, async ({ context, reading }) => {
      refuseCommitted(context);
      retried = await context.promoter.retryAll(which === 'all' ? which : new Set(which), reading);
    });
    return { ...snapshot, retried, closed: Math.max(0, before - snapshot.documents.deadLettered) };
  });
}

/**
 * Catches up with the source, then repairs documents that a comparison has found to differ. Returns how many the repair
 * has written and deleted, and the ids of those that it has deleted.
 */
export async function repairAll(
  parts: RunParts,
  suspects: readonly Suspect[],
): Promise<Readonly<Record<'written' | 'deleted', number>> & { readonly deletedIds: readonly string[] }> {
  return withLedger('catch-up', { command: 'verify --repair', ...parts }, async (prepared, accounts) => {
    let before = { written: 0, deleted: 0 };
    let deletedIds: readonly string[] = [];
    const all = { ...parts, ...prepared, accounts, overwrites: true };
    const { documents } = await work('catch-up', all, async (leases) => {
      await runLeases('catch-up', leases);
      const { tally } = leases.context;
      before = { written: tally.get('documentsWritten'), deleted: tally.get('documentsDeleted') };
      const deleted = await repairEach(leases.context, suspects, leases.reading);
      deletedIds = deleted.map(([id]) => id ?? '""');
    });
    return {
      written: documents.written - before.written,
      deleted: documents.deleted - before.deleted,
      deletedIds,
    };
  });
}

/** Moves the application to the target; see cutover/cutover.ts. */
export async function runCutover(
  parts: RunParts,
  cutover: CutoverOptions,
): Promise<RunSnapshot & CutoverResult> {
  try {
    return await withLedger('catch-up', { command: 'cutover', ...parts }, async (prepared, accounts) => {
      let result: CutoverResult | undefined;
      const snapshot = await work('catch-up', { ...parts, ...prepared, accounts }, async (leases) => {
        const onStep = (step: Step): void => {
          leases.reporter.steps.push({ name: step.name, atMs: parts.clock.now() });
          cutover.onStep?.(step);
        };
        result = await cutOver(leases, { ...cutover, onStep });
      });
      return { ...snapshot, ...must(result, 'a cutover that was not refused has come to its end') };
    });
  } catch (error) {
    // A script must not take an error after the commit for a cutover that backed out, so such an error has an exit code
    // of its own.
    const canSaySo =
      error instanceof CosmigError && !(error instanceof InternalError || error instanceof CanceledError);
    throw canSaySo && isCommitted(parts.spec.ledger) ? failedAfterCommit(error) : error;
  }
}

/** Whether the migration of a ledger is committed; false if the ledger cannot be read. */
function isCommitted(path: string): boolean {
  try {
    using ledger = Ledger.openReadonly(path);
    return ledger.migration.read().phase === 'committed';
  } catch (error) {
    if (error instanceof CosmigError) return false;
    throw error;
  }
}

async function withLedger<T>(
  goal: Goal,
  parts: RunParts,
  body: (prepared: Prepared, accounts: Accounts) => Promise<T>,
): Promise<T> {
  const { connections, drain, clock, log, serviceTime } = parts;
  const { command = COMMANDS[goal], say = (text) => log.info(text) } = parts;
  using accounts = await connectBoth(connections, { signal: drain, clock, log, serviceTime });
  const prepared = await prepare(goal, { ...parts, accounts, signal: drain, say });
  const { ledger } = prepared;
  warnOfAge(ledger, parts);
  let number: number;
  try {
    checkRestored(ledger, { nowMs: clock.now(), log });
    number = ledger.runs.begin({ command, pid: process.pid, nowMs: clock.now() });
    ledger.noteProgress();
  } catch (error) {
    ledger.close();
    throw error;
  }
  try {
    const result = await body(prepared, accounts);
    ledger.runs.end(number, { outcome: 'done', nowMs: clock.now() });
    return result;
  } catch (error) {
    if (error === parts.enough) ledger.runs.end(number, { outcome: 'done', nowMs: clock.now() });
    else endBadly(ledger, { number, error, nowMs: clock.now() });
    throw error;
  } finally {
    ledger.close();
  }
}

/** The command that the ledger records for each goal. */
const COMMANDS: Readonly<Record<Goal, string>> = {
  copy: 'copy',
  tail: 'tail',
  'catch-up': 'tail --until-caught-up',
};

/**
 * A run warns if the last one ended longer ago than this: half of the 7 days for which the shortest continuous backup
 * keeps deletes (fact SVC-19).
 */
const AGE_MAX_MS = 3.5 * 24 * 3600 * 1000;

function warnOfAge({ runs, migration }: Ledger, { clock, log }: RunParts): void {
  const last = runs.last();
  if (last === null || migration.read().deletes !== 'avad') return;
  const days = (clock.now() - (last.endedAtMs ?? last.startedAtMs)) / (24 * 3600 * 1000);
  if (days * 24 * 3600 * 1000 < AGE_MAX_MS) return;
  log.warn(
    `nothing was replicated for ${days.toFixed(1)} days, and the source remembers deletes for 7 or 30`,
    {
      now: 'run cosmig tail more often',
    },
  );
}

interface BadEnd {
  readonly number: number;
  readonly error: unknown;
  readonly nowMs: number;
}

/** Records how a failed run ended. If the ledger cannot be written, the first error is still the one to report. */
function endBadly(ledger: Ledger, { number, error, nowMs }: BadEnd): void {
  const [outcome, why] = error instanceof CosmigError ? [error.code, error.message] : ['internal', null];
  try {
    noteUnusable(ledger, error, nowMs);
    ledger.runs.end(number, { outcome, why, nowMs });
  } catch (late) {
    if (!(late instanceof CosmigError)) throw late;
  }
}

type WorkParts = Omit<RunParts, 'connections'> &
  Prepared & {
    readonly accounts: Accounts;
    /** Whether the operator asked to replace what other processes have written. */
    readonly overwrites?: boolean;
  };
type Body = (leases: LeasesParts) => Promise<void>;

export async function work(goal: Goal, parts: WorkParts, body: Body): Promise<RunSnapshot> {
  const { spec, clock, random, log, ledger, containers, accounts, drain, abort, onPoint = () => {} } = parts;
  const say = parts.say ?? ((text: string) => log.info(text));
  const timing = { ...TIMING, ...parts.timing };
  const waits = new ServiceWaits(clock);
  const stopping = new RunStop(drain);
  let reporter: ProgressReporter | undefined;
  let isOver = false;
  try {
    return await group(abort, async (members) => {
      const tasks = new Tasks(members);
      const context = await makeContext({
        spec,
        accounts,
        containers,
        ledger,
        clock,
        random,
        log,
        timing,
        signal: members.signal,
        tasks,
        stopping,
        onPoint,
        overwrites: parts.overwrites,
        packsPages: parts.packsPages,
        onWait: (side, wait) => waits.record(side, wait),
      });
      noteUsable(ledger, clock.now());
      const onSnapshot = (snapshot: RunSnapshot): void => {
        if (!isOver) remember(context, snapshot, { isLast: false });
        parts.onSnapshot?.(snapshot);
      };
      const current = (reporter = new ProgressReporter({ context, goal, containers, waits, onSnapshot }));
      const over = new ChildSignal(members.signal);
      members.start(async (signal) => context.slots.dispatcher.run(signal));
      members.start(async (signal) => context.source.reads.dispatcher.run(signal));
      members.start(async () => current.run(over.signal));
      members.start(async () =>
        stopping.atDeadline(spec, {
          clock,
          signal: over.signal,
          say,
          drainMs: () => context.backlog.drainMs,
        }),
      );
      // Some tasks watch only `stopping`. They have to end as well when the members are aborted.
      members.signal.addEventListener('abort', () => stopping.stop(abortReason(members.signal)), {
        once: true,
      });
      const reading = stopping.signal;
      const finish = async (): Promise<void> => {
        const { slots, source } = context;
        // The number of completed operations shows progress. The number of waiting operations may stay the same
        // although the run moves.
        const progress = (): string =>
          [
            tasks.running,
            slots.dispatcher.finished,
            slots.writesInDoubt,
            source.reads.dispatcher.finished,
          ].join(' ');
        await finishTasks(tasks, {
          stop: reading,
          isOverdue: () => stopping.isOverdue(),
          signal: members.signal,
          clock,
          log,
          progress,
          requestTimeoutMs: timing.requestTimeoutMs,
        });
      };
      tasks.start(async () => {
        await settleAll(context, {
          signal: members.signal,
          say,
          show: (text) => (current.settling = text),
          onWait: (isWaiting) => (current.isPaused = isWaiting),
        });
      });
      await finish();
      try {
        await body({ context, reporter: current, reading });
      } catch (error) {
        if (members.signal.aborted) throw error;
        // After a stop or a refusal, pages in flight are still finished, so that the next run has nothing to settle.
        if (error instanceof NotReadyError) stopping.stop(error);
        else if (error !== stopping.signal.reason) throw error;
      }
      await finish();
      current.complete = !stopping.signal.aborted || (goal === 'tail' && current.haveAllCaughtUp());
      over.abort(new Error('the run is over'));
      context.slots.dispatcher.drain();
      context.source.reads.dispatcher.drain();
      remember(context, current.snapshot(), { isLast: true });
      stopping.throwIfStopped(current.complete);
      return current.snapshot();
    });
  } finally {
    stopping[Symbol.dispose]();
    isOver = true;
    reporter?.reportLast();
  }
}

/**
 * Snapshots that come in a shorter time than this are not recorded, except the last one of a run: a scheduled run may
 * take less time altogether.
 */
const REMEMBER_EVERY_MS = 900;

/** Records the progress for readers of the ledger, such as `cosmig status` and `cosmig watch`. */
function remember(
  { ledger, clock, totals: costs }: Pick<RunContext, 'ledger' | 'clock' | 'totals'>,
  snapshot: RunSnapshot,
  { isLast }: { readonly isLast: boolean },
): void {
  const { runs, history, counters, units } = ledger;
  const { lagSeconds, waitsFor, documents, outlook, load } = snapshot;
  const atMs = clock.now();
  const last = runs.last();
  const isSoon = Math.abs(atMs - (last?.report?.atMs ?? 0)) < REMEMBER_EVERY_MS;
  if (last === null || (isSoon && !isLast)) return;
  // Reading costs also where nothing has changed, and no unit of work records that.
  units.commit([], { counters: costs.newCosts() });
  runs.report({ atMs, lagSeconds, waitsFor, expected: outlook.documents, ...load });
  const totals = counters.all();
  const total = (name: string): number => totals[name] ?? 0;
  history.add({
    atMs,
    command: last.command,
    read: total('documentsRead'),
    written: total('documentsWritten'),
    deleted: total('documentsDeleted'),
    moved: total('documentsMoved'),
    sourceRu: total('ruSource'),
    targetRu: total('ruTarget'),
    throttled: total('throttled'),
    openLetters: documents.deadLettered,
    lagSeconds,
  });
}
