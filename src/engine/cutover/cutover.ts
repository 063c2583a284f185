/**
 * Moves the application from the source to the target (phases.ts draws the phases):
 *
 *   gate      caught up, no open dead letters, a clean verify on record   -> ready
 *   stop      writers are stopped, by a hook or by the operator           -> fencing
 *   fence     the ends of all source ranges are read and the tail drains
 *             up to them; then the ends must not move for a while         -> drained
 *   prove     both sides are compared, and differences repaired, until
 *             both sides are equal; the ends still have not moved, and
 *             nothing is being written                                    -> proven -> committed
 *   after     settings, the commit hook, a watch for late writes
 *
 * A write after the fence is reported, and the fence starts from scratch. Invariant: before `committed` every exit leads
 * back to `tailing`, and the application stays on the source. If a cutover crashes before the commit, the next one starts
 * at the gate. If it crashes later, the next one does the steps that are left. Only the operator's hooks touch the
 * application.
 */
import { Deadline, DeadlinePassed, orAborted } from '../../lib/abort.ts';
import { CanceledError } from '../../lib/errors.ts';
import { captureOutcome } from '../../lib/group.ts';
import { finishAfterCommit } from './after-commit.ts';
import { Attempt } from './attempt.ts';
import { backOut, isCanceled } from './back-out.ts';
import type { CutoverOptions, CutoverResult } from './contract.ts';
import { provenEnds } from './fence.ts';
import { passGate, refuseOpenLetters } from './gate.ts';
import type { SourceEnds } from './source-ends.ts';
import { formatSeconds } from './wording.ts';
import type { RunContext } from '../context.ts';
import type { LeasesParts } from '../leases/run-leases.ts';
import { enter, phaseOf } from '../phases.ts';
import { nextTurn, type KeptSource } from '../turn/next-turn.ts';

/** Does the whole cutover, or the rest of a cutover that crashed after its commit. */
export async function cutOver(leases: LeasesParts, options: CutoverOptions): Promise<CutoverResult> {
  const { context, reading } = leases;
  if (phaseOf(context) === 'committed') {
    leases.reporter.isPaused = true;
    options.say('committed already: resuming with what is left');
    return finishAfterCommit(context, options, { ends: null, signal: reading });
  }
  const mayHaveStopped = context.ledger.journal.mayWritersBeStopped();
  let kept: KeptSource | null;
  try {
    kept = await passGate(leases, options);
  } catch (error) {
    // If an earlier cutover stopped the writers and crashed, and the writers have not resumed since, they resume now.
    if (mayHaveStopped && !isCanceled(context)) await backOut(context, options, error);
    if (!mayHaveStopped && error instanceof CanceledError)
      options.say('no writer was stopped, and nothing was committed');
    throw error;
  }
  const { ends, stoppedMs } = await commitOrBackOut(leases, options, kept);
  leases.reporter.isPaused = true;
  options.say(
    `committed: the target is in use from now on (writers were stopped for ${formatSeconds(stoppedMs)})`,
  );
  return finishAfterCommit(context, options, { ends, signal: reading });
}

interface Committed {
  readonly ends: SourceEnds;
  readonly stoppedMs: number;
}

/**
 * Stops the writers and commits. Any other end backs out at once, because the application waits. Requests that are still
 * in flight to the target are finished or given up at the end of the run.
 */
async function commitOrBackOut(
  leases: LeasesParts,
  options: CutoverOptions,
  kept: KeptSource | null,
): Promise<Committed> {
  const { context } = leases;
  using deadline = new Deadline(options.deadlineMs, 'the cutover', leases.reading);
  const attempt = new Attempt({ ...leases, reading: deadline.signal }, options, kept);
  const work = captureOutcome(async () => commit(attempt));
  context.tasks.start(async () => void (await work));
  try {
    const end = await orAborted(work, deadline.signal);
    return end();
  } catch (error) {
    if (isCanceled(context)) throw error;
    // The commit may have been done before the abort took effect.
    if (phaseOf(context) === 'committed') return (await work)();
    const reason = deadline.signal.reason instanceof DeadlinePassed ? attempt.tooLate() : error;
    // The hook that stops writers must have ended before the hook that lets them resume begins.
    await attempt.stopping;
    await backOut(context, options, reason);
    throw reason;
  }
}

async function commit(attempt: Attempt): Promise<Committed> {
  const { context, reading, options } = attempt;
  enter(context, { phase: 'fencing' });
  await stopWriters(attempt);
  for (;;) {
    const ends = await provenEnds(attempt);
    if (ends === null || isApplying(context)) {
      if (phaseOf(context) !== 'fencing') enter(context, { phase: 'fencing' });
      continue;
    }
    // After an abort nothing is committed, because the back-out may already have let writers resume.
    reading.throwIfAborted();
    // A write that arrived after the gate may have opened a dead letter.
    refuseOpenLetters(context);
    enter(context, { phase: 'proven' });
    const stoppedMs = context.clock.monotonicMs() - attempt.stoppedAtMs;
    const { anchors, kept } = attempt;
    enter(
      context,
      {
        phase: 'committed',
        stoppedMs,
        likeSource: options.likeSource ?? [],
        proof: attempt.basis,
        repaired: attempt.repairs,
        hasHook: options.onCommit !== null,
      },
      kept === null ? null : nextTurn(context, kept, { anchors, ends }),
    );
    context.points.reach('cut-over');
    return { ends, stoppedMs };
  }
}

/**
 * Whether a document is still being written, as by a retry of a dead letter that a page of the tail has closed meanwhile.
 * After the commit such a write could replace a newer version of the application.
 */
function isApplying({ sequencer, ledger }: RunContext): boolean {
  return sequencer.holding + sequencer.waiting > 0 || ledger.units.unsettled().length > 0;
}

async function stopWriters(attempt: Attempt): Promise<void> {
  const { leases, reading, options } = attempt;
  const { stopWriters: stop } = options;
  options.say(stop === null ? 'the writers are stopped (--writers-stopped)' : 'stopping the writers');
  attempt.begin('stopping writers');
  leases.reporter.isPaused = true;
  const stopping = captureOutcome(async () => stop?.(reading));
  attempt.stopping = stopping;
  (await stopping)();
  attempt.haveStopped = true;
  leases.reporter.isPaused = false;
}
