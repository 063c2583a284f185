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
import type { Camera } from '../progress/reporter.ts';
import { AllChanges, LatestChanges } from '../tail/change-reader.ts';
import { CopyReader } from '../copy/flat-page.ts';
import type { Look } from '../cutover/source-ends.ts';
import { buildIndexes } from './indexing.ts';
import { LeaseRun, type Control } from './lease-run.ts';
import type { Mover } from '../context.ts';
import { enter, phaseOf, type Phase } from '../phases.ts';
import type { Promoter } from '../letters/promoter.ts';
import { Room } from './page-budget.ts';
import type { Goal } from '../progress/snapshot.ts';

/**
 * Documents in memory, over all ranges, by the size of their pages. Six thousand of 1 KB keep a container of 1,000,000 RU/s
 * busy through 40 ms; more only wait, and what waits long has left the processor's caches when its turn comes.
 */
const ROOM_BYTES = 8 * 1024 * 1024;

export interface LeasesParts {
  readonly mover: Mover;
  readonly promoter: Promoter;
  readonly camera: Camera;
  /** Aborted when no more pages are to be read. */
  readonly reading: AbortSignal;
  /** How the end is read that is to be caught up with. */
  readonly look?: Look;
}

/** Runs them until the goal is reached, or nobody reads any more. */
export async function runLeases(goal: Goal, parts: LeasesParts): Promise<void> {
  const { mover, promoter, reading } = parts;
  const { ledger } = mover;
  const phase = phaseOf(mover);
  refuseCommitted(mover);
  if (goal !== 'copy' && isCopying(phase)) throw tooEarly();
  if (ledger.leases.live().length === 0) await anchorAll(mover, reading);
  replaceGone(mover);
  if (phase === 'new') enter(mover, 'copying');
  mover.start(async () => promoter.retryWaiting(reading));
  if (isCopying(phase)) {
    await runEach(parts, { untilCaughtUp: false, wanted: ({ phase: one }) => one === 'copy' });
    if (reading.aborted) return;
    await buildIndexes(mover, reading);
    enter(mover, 'tailing');
    // Who holds a place is known for certain from here on.
    mover.start(async () => promoter.retryWaiting(reading));
    return;
  }
  await buildIndexes(mover, reading);
  await runEach(parts, { untilCaughtUp: goal !== 'tail', wanted: () => true });
}

/** What is written to the source now would take back what the application has written to the target. */
export function refuseCommitted(mover: Mover): void {
  if (phaseOf(mover) !== 'committed') return;
  throw new NotReadyError('this migration is committed: the target is in use', {
    why: 'changes of the source are not brought over any more, they might undo newer ones of the target',
    hint: 'see cosmig status; begin another migration with --ledger if the source is to be moved again',
  });
}

function isCopying(phase: Phase): boolean {
  return phase === 'new' || phase === 'copying';
}

/** A tail before the copy has ended would miss what it is asked about. */
function tooEarly(): NotReadyError {
  return new NotReadyError('the copy has not ended', {
    why: 'the tail goes on where the copy of every range has ended',
    hint: 'run cosmig copy until it ends, then cosmig tail',
  });
}

/** Ranges that were split or merged while nobody was looking. */
function replaceGone({ ledger, sourceSide, point }: Mover): void {
  for (const { number, tree: _tree, documents: _documents, ...lease } of ledger.leases.live()) {
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
  { mover, promoter, camera, reading, look = 'newest' }: LeasesParts,
  { untilCaughtUp, wanted }: { readonly untilCaughtUp: boolean; readonly wanted: (lease: Lease) => boolean },
): Promise<void> {
  const copies = new CopyReader(mover);
  const latest = new LatestChanges(mover);
  const all = new AllChanges(mover);
  const room = new Room(ROOM_BYTES);
  for (const lease of mover.ledger.leases.live()) camera.pictureOf(lease);
  await group(mover.signal, async (members) => {
    const spawn = (lease: Lease): void =>
      members.start(async () => new LeaseRun(mover, control, lease).run());
    const control: Control = {
      reading,
      untilCaughtUp: untilCaughtUp ? look : false,
      room,
      copies,
      latest,
      all,
      spawn,
      caughtUp: () => mover.start(async () => promoter.retryWaiting(reading)),
      pictureOf: (lease) => camera.pictureOf(lease),
    };
    for (const lease of mover.ledger.leases.live().filter(wanted)) spawn(lease);
  });
}
