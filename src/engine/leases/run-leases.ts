/**
 * Runs all leases of a migration. Leases whose ranges were split or merged since the last run are replaced first. The
 * tail begins when the copy of every range has ended and the copied documents are indexed.
 *
 *   new -> copying -> tailing
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NotReadyError } from '../../lib/errors.ts';
import { group, type Group } from '../../lib/group.ts';
import { leadsBack } from '../../spec/turns/settings-of-turn.ts';
import type { Lease } from '../../state/leases.ts';
import { readTurns, type TurnState } from '../../state/turns/chain.ts';
import { Reservation } from '../../preflight/reservation.ts';
import { adoptTarget } from '../map/adopt-target.ts';
import { anchorAll } from './anchor.ts';
import type { ProgressReporter } from '../progress/reporter.ts';
import { AllChanges, LatestChanges } from '../tail/change-reader.ts';
import { CopyReader } from '../copy/copy-reader.ts';
import { copyNotFinished, stepsLeft } from '../../spec/refusals.ts';
import type { ReplicaChoice } from '../cutover/source-ends.ts';
import { LeaseRun, replaceLease } from './lease-run.ts';
import type { RunContext } from '../context.ts';
import { mapTarget } from '../map/map-pass.ts';
import { searchForStrangers } from '../turn/strangers.ts';
import type { Phase } from '../../state/migration.ts';
import { enter, phaseOf } from '../phases.ts';
import { PageBudget } from './page-budget.ts';
import type { Goal } from '../progress/snapshot.ts';

/**
 * The bytes of all pages in memory, over all ranges. They hold about six thousand documents of 1 KB, which keep a
 * container of 1,000,000 RU/s busy for 40 ms. More documents would only wait, and would no longer be in the processor's
 * caches when they are sent. A target with hundreds of ranges needs more, so that each of them gets batches worth a request.
 */
const PAGES_BYTES_LEAST = 8 * 1024 * 1024;
const PAGES_BYTES_A_RANGE = 32 * 1024;
/** The largest page of the service. So large is the first page expected to be that a run reads. */
const PAGE_BYTES_MOST = 4 * 1024 * 1024;
/** From so many ranges on, a page of a thousand documents has too few for each of them to be worth a request. */
const RANGES_MANY = 32;

export interface LeasesParts {
  readonly context: RunContext;
  readonly reporter: ProgressReporter;
  /** Aborted when no more pages may be read. */
  readonly reading: AbortSignal;
  /** Which replica says where a feed ends, for a run that catches up with that end. */
  readonly look?: ReplicaChoice;
}

/** Runs the leases until the goal is reached, or until reading stops. */
export async function runLeases(goal: Goal, parts: LeasesParts): Promise<void> {
  const { context, reading } = parts;
  const { ledger, tasks, promoter } = context;
  refuseToRun(goal, context);
  if (context.spec.turn !== undefined && isCopying(phaseOf(context))) {
    await mapCopies(parts);
    if (reading.aborted) return;
  }
  const phase = phaseOf(context);
  if (ledger.leases.live().length === 0) await anchorAll(context, reading);
  replaceGone(context);
  if (phase === 'new') {
    if (ledger.journal.adoption() !== null) await adoptTarget(parts);
    enter(context, { phase: 'copying' });
  }
  tasks.start(async () => promoter.retryWaiting(reading));
  if (isCopying(phase)) {
    await runEach(parts, { untilCaughtUp: false, wanted: ({ phase: one }) => one === 'copy' });
    if (reading.aborted) return;
    await removeReservation(context);
    await buildIndexes(context, reading);
    enter(context, { phase: 'tailing', why: null });
    // With the index the ledger knows which document is in each slot, so more letters may succeed.
    tasks.start(async () => promoter.retryWaiting(reading));
    return;
  }
  await buildIndexes(context, reading);
  await runEach(parts, { untilCaughtUp: goal !== 'tail', wanted: () => true });
}

/**
 * Throws if the ledger says that this migration cannot run: a committed one, and a tail before the end of the copy. The
 * first run of a later turn finds the documents itself. Called before a run settles what an interrupted one has left, which
 * may take a request timeout, and before it reports progress.
 */
export function refuseToRun(goal: Goal, of: Pick<RunContext, 'spec' | 'ledger'>): void {
  if (goal !== 'copy' && of.spec.turn === undefined && isCopying(phaseOf(of)))
    throw copyNotFinished(TOO_EARLY);
  refuseCommitted(of);
}

/**
 * Throws for a committed migration: changes of the source could overwrite what the application has written to the
 * target.
 */
export function refuseCommitted(context: Pick<RunContext, 'spec' | 'ledger'>): void {
  if (phaseOf(context) !== 'committed') return;
  const unfinished = context.ledger.journal.unfinished();
  if (unfinished !== null) throw stepsLeft('cutover', unfinished);
  const rollback = rollbackAfter(context);
  if (rollback !== null) {
    if (rollback.unfinished !== null) throw stepsLeft('rollback', rollback.unfinished);
    throw new NotReadyError('the application was switched back to the source by cosmig rollback', {
      why: 'its documents were copied before, and cosmig knows each of them',
      hint: 'run cosmig tail: it resumes the migration from there, without a new copy',
    });
  }
  const next = context.ledger.nextTurn.read();
  throw new NotReadyError('this migration is committed: the target is in use', {
    why: 'changes of the source are no longer replicated: they might undo newer changes of the target',
    hint:
      next === null || next.endedAtMs !== null
        ? 'see cosmig status; begin another migration with --ledger if the source is to be moved again'
        : 'cosmig reverse keeps the source up to date, so that cosmig rollback can return to it; cosmig finish gives that up',
  });
}

/**
 * Returns the turn of the rollback that has followed the commit; null: none has. `cosmig copy` always works in the first
 * turn. The other commands work in the newest turn of their direction, which at most one turn has followed.
 */
function rollbackAfter({ spec }: Pick<RunContext, 'spec'>): TurnState | null {
  if (spec.turn !== undefined) return null;
  const turns = readTurns(spec.ledger);
  const newest = turns.at(-1);
  if (newest === undefined || leadsBack(newest.number) || newest.from?.endedAtMs != null) return null;
  return turns[newest.number - 1] ?? null;
}

function isCopying(phase: Phase): boolean {
  return phase === 'new' || phase === 'copying';
}

/**
 * Why a tail is refused before the end of the copy: it could not find the slots of documents that are not indexed yet.
 */
const TOO_EARLY = {
  why: 'the tail continues where the copy of every range has ended',
  hint: 'run cosmig copy until it ends, then cosmig tail',
};

/**
 * Maps the copies that the container which is written to has from the turn before, so that the tail knows the slot of
 * each document. Writes nothing to a container.
 */
async function mapCopies({ context, reading }: LeasesParts): Promise<void> {
  if (phaseOf(context) === 'new') enter(context, { phase: 'copying' });
  await mapTarget(context, { signal: reading, onProgress: () => {} });
  if (reading.aborted) return;
  await searchForStrangers(context, { isFirst: true }, reading);
  enter(context, { phase: 'tailing', why: null });
}

/** Replaces leases whose ranges were split or merged while no run was reading them. */
function replaceGone(context: RunContext): void {
  for (const lease of context.ledger.leases.live())
    if (context.sourceSide.ranges.find(lease.rangeId) === undefined) replaceLease(context, lease);
}

/**
 * Builds the index over the copied documents, in which the tail looks up every document. The build consists of small
 * steps with time for other work in between. A crash loses one step.
 */
async function buildIndexes({ ledger, points }: RunContext, signal: AbortSignal): Promise<void> {
  const indexIds = new Set(ledger.leases.live().map(({ indexId }) => indexId));
  for (const indexId of indexIds) {
    if (ledger.isIndexed(indexId)) continue;
    const build = ledger.buildIndex(indexId);
    while (build.step()) {
      points.reach('index-step');
      await nextTurn();
      signal.throwIfAborted();
    }
  }
}

/** Removes the reservation of the target. From now on the copied documents keep other migrations away. */
async function removeReservation({ ledger, targetSide, signal }: RunContext): Promise<void> {
  const { requests, facts, patience, timeoutMs } = targetSide;
  const reservation = new Reservation(requests, facts, { signal, timeoutMs, patience });
  await reservation.release(ledger.migration.read().ledgerName);
}

/** The readers and limits that all leases of a run share. */
export class LeaseRuns {
  readonly #context: RunContext;
  readonly #members: Group;
  readonly reporter: ProgressReporter;
  /** Aborted when no more pages may be read. Pages in flight are still finished. */
  readonly reading: AbortSignal;
  /**
   * If not false, a tail stops at the end that its feed had when the tail began. The value says which replica reports
   * this end.
   */
  readonly untilCaughtUp: ReplicaChoice | false;
  readonly budget: PageBudget;
  /** The size of the last page that was read from any range. */
  pageBytes = PAGE_BYTES_MOST;
  /** How many pages of the copy are being read now. */
  copyPages = 0;
  readonly copies: CopyReader;
  readonly latest: LatestChanges;
  readonly all: AllChanges;

  constructor(
    { context, reporter, reading }: LeasesParts,
    members: Group,
    untilCaughtUp: ReplicaChoice | false,
  ) {
    this.#context = context;
    this.#members = members;
    this.reporter = reporter;
    this.reading = reading;
    this.untilCaughtUp = untilCaughtUp;
    const ranges = context.targetSide.ranges.list.length;
    this.budget = new PageBudget(Math.max(PAGES_BYTES_LEAST, ranges * PAGES_BYTES_A_RANGE));
    if (ranges >= RANGES_MANY) context.slots.dispatcher.filling.expectsMore = () => this.copyPages > 0;
    this.copies = new CopyReader(context);
    this.latest = new LatestChanges(context);
    this.all = new AllChanges(context);
  }

  spawn(lease: Lease): void {
    this.#members.start(async () => new LeaseRun(this.#context, this, lease).run());
  }

  /**
   * Retries letters that wait for other documents. Called when a range that was read again has reached its new anchor.
   */
  retryLetters(): void {
    const { tasks, promoter } = this.#context;
    tasks.start(async () => promoter.retryWaiting(this.reading));
  }
}

async function runEach(
  parts: LeasesParts,
  { untilCaughtUp, wanted }: { readonly untilCaughtUp: boolean; readonly wanted: (lease: Lease) => boolean },
): Promise<void> {
  const { context, reporter, look = 'newest' } = parts;
  const leases = context.ledger.leases.live();
  for (const lease of leases) reporter.rangeOf(lease);
  await group(context.signal, async (members) => {
    const runs = new LeaseRuns(parts, members, untilCaughtUp ? look : false);
    for (const lease of leases.filter(wanted)) runs.spawn(lease);
  });
}
