/**
 * From two containers that follow each other to one that is in use (phases.ts draws the states):
 *
 *   gate      caught up, no open letters, a clean verify behind us         -> ready
 *   fence     writers are stopped; the ends of all ranges are read         -> fencing
 *   drain     everything up to the ends is in the target
 *   watch     the ends have not moved for a while; whoever moved them is   -> drained
 *             named, and the fence starts over (fence.ts)
 *   prove     both sides are compared beside the tail, and repaired where
 *             no feed tells of deletes (proof.ts); the ends still
 *             have not moved                                               -> proven -> committed
 *   after     settings, hooks, a look at the source (after-commit.ts)
 *
 * What always holds: before `committed` every way out leads back to tailing, with traffic on the source; a run that died on
 * the way begins at the gate again, and one that died after it goes on with what is left. Nothing but the operator's hooks
 * touches the application.
 */
import { Deadline, DeadlinePassed, orAborted } from '../../lib/abort.ts';
import { CanceledError, CosmigError, LedgerError, NotReadyError } from '../../lib/errors.ts';
import { settled } from '../../lib/outcome.ts';
import { finish, seconds, type Commitment } from './after-commit.ts';
import { fenceOff } from './fence.ts';
import { passGate, refuseLetters } from './gate.ts';
import { step, type CutoverParts, type CutoverResult, type Stopped } from './contract.ts';
import type { Fence } from './source-ends.ts';
import type { LeasesParts } from '../leases/run-leases.ts';
import type { RunContext } from '../context.ts';
import { enter, LET_ON, mayBeStopped, phaseOf } from '../phases.ts';

/** From the gate to the look at the source afterwards; or what is left of one that has died after its commit. */
export async function cutOver(leases: LeasesParts, parts: CutoverParts): Promise<CutoverResult> {
  const { context, reading } = leases;
  if (phaseOf(context) === 'committed') {
    leases.camera.rests = true;
    parts.say('committed already: going on with what is left');
    return finish(context, parts, { fence: null, signal: reading });
  }
  const hasStopped = mayBeStopped(context);
  try {
    await passGate(leases, parts);
  } catch (error) {
    // One that died had the writers stopped, and nobody has let them on again.
    if (hasStopped && !isCalledOff(context)) await backOut(context, parts, error);
    throw error;
  }
  const { fence, stoppedMs } = await commit(leases, parts);
  leases.camera.rests = true;
  parts.say(`committed: the target is in use from now on (writers were stopped for ${seconds(stoppedMs)})`);
  return finish(context, parts, { fence, signal: reading });
}

/**
 * With writers stopped, up to the commit; every other end leads back to tailing, and at once: the application waits. What
 * the target has not answered then is under way still, and whoever ends the run waits for it, or gives it up.
 */
async function commit(leases: LeasesParts, parts: CutoverParts): Promise<Committed> {
  const { context, reading } = leases;
  using deadline = new Deadline(parts.deadlineMs, 'the cutover', reading);
  const begun = { stoppedAtMs: context.clock.now(), stopping: Promise.resolve(), haveStopped: false };
  const stopped: Stopped = { ...parts, ...begun, at: 'stopping writers', stillWritten: null, unproven: null };
  const work = settled(async () => untilCommitted({ ...leases, reading: deadline.signal }, stopped));
  context.start(async () => void (await work));
  try {
    const end = await orAborted(work, deadline.signal);
    return end();
  } catch (error) {
    if (isCalledOff(context)) throw error;
    // In the very moment in which it was called off.
    if (phaseOf(context) === 'committed') return (await work)();
    const thrown = deadline.signal.reason instanceof DeadlinePassed ? tooLate(stopped) : error;
    // Whoever stops the writers must not go on behind the one who lets them on again.
    await stopped.stopping;
    await backOut(context, parts, thrown);
    throw thrown;
  }
}

/** By the operator, who has no time left for order. Whatever else fails, the application waits to be let on again. */
function isCalledOff({ signal }: RunContext): boolean {
  return signal.aborted && signal.reason instanceof CanceledError;
}

interface Committed {
  readonly fence: Fence;
  readonly stoppedMs: number;
}

async function untilCommitted(leases: LeasesParts, parts: Stopped): Promise<Committed> {
  const { context, reading } = leases;
  enter(context, 'fencing');
  parts.say('stopping the writers');
  step(parts, 'stopping writers');
  leases.camera.rests = true;
  const stopping = settled(async () => parts.stopWriters(reading));
  parts.stopping = stopping;
  (await stopping)();
  parts.haveStopped = true;
  leases.camera.rests = false;
  for (;;) {
    const fence = await fenceOff(leases, parts);
    if (fence === null) {
      if (phaseOf(context) !== 'fencing') enter(context, 'fencing');
      continue;
    }
    // Who is called off may have let the writers on again.
    reading.throwIfAborted();
    // Of what was written last, behind the gate.
    refuseLetters(context);
    enter(context, 'proven');
    const stoppedMs = context.clock.now() - parts.stoppedAtMs;
    const commitment: Commitment = { stoppedMs, likeSource: parts.likeSource ?? [] };
    enter(context, 'committed', commitment);
    context.point('cut-over');
    return { fence, stoppedMs };
  }
}

/** Traffic stays on the source. */
async function backOut(
  context: RunContext,
  { onAbort, say, onStep }: CutoverParts,
  reason: unknown,
): Promise<void> {
  const { ledger, clock, log } = context;
  const why = reason instanceof Error ? reason.message : String(reason);
  const kept = reason instanceof CosmigError ? `${why}: ${reason.why}` : why;
  // What keeps the ledger from being written keeps nobody from being let on: the next run finds the fence in its journal.
  ifItCan(() => phaseOf(context) !== 'tailing' && enter(context, 'tailing', { why: kept }));
  say(`backed out: ${why}; the source stays in use`);
  if (onAbort === null) {
    say('let the application write to the source again yourself: there is no --on-abort that does so');
    return;
  }
  onStep?.({ name: 'letting writers on', stoppedAtMs: null });
  try {
    await onAbort(why);
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    // The reason is what is thrown; this is told as loudly, since nobody else lets the application on.
    log.error(`${error.message} as well (${error.why}): let the application write to the source yourself`);
    return;
  }
  ifItCan(() => ledger.facts.note(LET_ON, { nowMs: clock.now() }));
}

function ifItCan(write: () => unknown): void {
  try {
    write();
  } catch (error) {
    // Full or damaged; or another program keeps it locked.
    if (!(error instanceof LedgerError || error instanceof NotReadyError)) throw error;
  }
}

function tooLate(stopped: Stopped): NotReadyError {
  const { why, next } = whatWasLeft(stopped);
  return new NotReadyError('the cutover was not done in time', {
    why: `--deadline is ${seconds(stopped.deadlineMs)}, and ${why}; the source stays in use`,
    hint: `let the application write to the source again; before the next try ${next}`,
  });
}

function whatWasLeft({ haveStopped, at, stillWritten, unproven }: Stopped): {
  readonly why: string;
  readonly next: string;
} {
  if (!haveStopped)
    return {
      why: 'the command of --on-fence had not ended',
      next: 'see why it takes so long, or give it a longer --deadline',
    };
  if (stillWritten !== null)
    return { why: `somebody still wrote: ${stillWritten}`, next: 'see to it that all writers are stopped' };
  if (unproven === null && (at === 'draining' || at === 'watching the fence'))
    return {
      why: at === 'draining' ? 'it was still catching up' : 'it still waited for quiet',
      next: 'see whether both accounts answer as they should, or give it a longer --deadline',
    };
  return {
    why: unproven ?? 'both sides were still being compared',
    next: 'run cosmig verify, so that less has to be compared, or give it a longer --deadline',
  };
}
