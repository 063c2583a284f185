/**
 * All leases of a run: those whose ranges have changed meanwhile become others first, then each is run; the tail
 * begins when the copy of every range has ended and is indexed.
 *
 *   new -> copying -> tailing
 */
import { remap } from '../../cosmos/feed/ranges.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { group } from '../../lib/group.ts';
import type { Lease } from '../../state/leases.ts';
import { anchorAll } from './anchor.ts';
import type { ProgressReporter } from '../progress/reporter.ts';
import { AllChanges, LatestChanges } from '../tail/change-reader.ts';
import { CopyReader } from '../copy/flat-page.ts';
import { copyNotFinished } from '../../spec/refusals.ts';
import type { ReplicaChoice } from '../cutover/source-ends.ts';
import { buildIndexes } from './indexing.ts';
import { LeaseRun, type Control } from './lease-run.ts';
import type { RunContext } from '../context.ts';
import type { Phase } from '../../state/migration.ts';
import { enter, phaseOf } from '../phases.ts';
import type { Promoter } from '../letters/promoter.ts';
import { PageBudget } from './page-budget.ts';
import type { Goal } from '../progress/snapshot.ts';

/**
 * Documents in memory, over all ranges, by the size of their pages. Six thousand of 1 KB keep a container of 1,000,000 RU/s
 * busy through 40 ms; more only wait, and what waits long has left the processor's caches when its turn comes.
 */
const ROOM_BYTES = 8 * 1024 * 1024;

export interface LeasesParts {
  readonly context: RunContext;
  readonly promoter: Promoter;
  readonly reporter: ProgressReporter;
  /** Aborted when no more pages are to be read. */
  readonly reading: AbortSignal;
  /** How the end is read that is to be caught up with. */
  readonly look?: ReplicaChoice;
}

/** Runs them until the goal is reached, or nobody reads any more. */
export async function runLeases(goal: Goal, parts: LeasesParts): Promise<void> {
  const { context, promoter, reading } = parts;
  const { ledger } = context;
  const phase = phaseOf(context);
  refuseCommitted(context);
  if (goal !== 'copy' && isCopying(phase)) throw copyNotFinished(TOO_EARLY);
  if (ledger.leases.live().length === 0) await anchorAll(context, reading);
  replaceGone(context);
  if (phase === 'new') enter(context, { phase: 'copying' });
  context.start(async () => promoter.retryWaiting(reading));
  if (isCopying(phase)) {
    await runEach(parts, { untilCaughtUp: false, wanted: ({ phase: one }) => one === 'copy' });
    if (reading.aborted) return;
    await buildIndexes(context, reading);
    enter(context, { phase: 'tailing', why: null });
    // Who holds a place is known for certain from here on.
    context.start(async () => promoter.retryWaiting(reading));
    return;
  }
  await buildIndexes(context, reading);
  await runEach(parts, { untilCaughtUp: goal !== 'tail', wanted: () => true });
}

/** What is written to the source now would take back what the application has written to the target. */
export function refuseCommitted(context: RunContext): void {
  if (phaseOf(context) !== 'committed') return;
  throw new NotReadyError('this migration is committed: the target is in use', {
    why: 'changes of the source are not brought over any more, they might undo newer ones of the target',
    hint: 'see cosmig status; begin another migration with --ledger if the source is to be moved again',
  });
}

function isCopying(phase: Phase): boolean {
  return phase === 'new' || phase === 'copying';
}

/** A tail before the end of the copy would miss documents that it does not know yet. */
const TOO_EARLY = {
  why: 'the tail continues where the copy of every range has ended',
  hint: 'run cosmig copy until it ends, then cosmig tail',
};

/** Ranges that were split or merged while nobody was looking. */
function replaceGone({ ledger, sourceSide, point }: RunContext): void {
  for (const { number, indexId: _indexId, documents: _documents, ...lease } of ledger.leases.live()) {
    const { rangeId, min, max } = lease;
    if (sourceSide.ranges.find(rangeId) !== undefined) continue;
    const gone = { range: { id: rangeId, min, max, parents: [] }, min, max };
    const children = remap(sourceSide.ranges.list, gone).readers.map(({ range, ...part }) => ({
      ...lease,
      ...part,
      rangeId: range.id,
    }));
    ledger.leases.replace([number], children);
    point('lease-replaced');
  }
}

async function runEach(
  { context, promoter, reporter, reading, look = 'newest' }: LeasesParts,
  { untilCaughtUp, wanted }: { readonly untilCaughtUp: boolean; readonly wanted: (lease: Lease) => boolean },
): Promise<void> {
  const copies = new CopyReader(context);
  const latest = new LatestChanges(context);
  const all = new AllChanges(context);
  const room = new PageBudget(ROOM_BYTES);
  for (const lease of context.ledger.leases.live()) reporter.rangeOf(lease);
  await group(context.signal, async (members) => {
    const spawn = (lease: Lease): void =>
      members.start(async () => new LeaseRun(context, control, lease).run());
    const control: Control = {
      reading,
      untilCaughtUp: untilCaughtUp ? look : false,
      room,
      copies,
      latest,
      all,
      spawn,
      caughtUp: () => context.start(async () => promoter.retryWaiting(reading)),
      progressOf: (lease) => reporter.rangeOf(lease),
    };
    for (const lease of context.ledger.leases.live().filter(wanted)) spawn(lease);
  });
}
