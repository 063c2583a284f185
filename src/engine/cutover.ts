/**
 * From two containers that follow each other to one that is in use (phases.ts draws the states):
 *
 *   gate      caught up, no open letters, a clean verify behind us         -> ready
 *   fence     writers are stopped; the ends of all ranges are read         -> fencing
 *   drain     everything up to the ends is in the target, and the ends     -> drained
 *             have not moved for a while; whoever moved them is named,
 *             and the fence starts over
 *   prove     both sides are compared, and repaired where no feed tells
 *             of deletes; the ends still have not moved                    -> proven -> committed
 *   watch     the source is looked at for late writes
 *
 * What always holds: before `committed` every way out leads back to tailing, with traffic on the source; a run that
 * died on the way begins at the gate again. Nothing but the operator's hooks touches the application.
 */
import { ChildSignal, Deadline, DeadlinePassed, sleep } from '../lib/abort.ts';
import { CosmigError, NotReadyError } from '../lib/errors.ts';
import { findStraggler, readFence, type Fence, type Straggler } from './fence.ts';
import { runLeases, type LeasesParts } from './leases.ts';
import type { Mover } from './mover.ts';
import { enter, isTailing, phaseOf } from './phases.ts';
import { repairEach, type Suspect } from './repair.ts';

/** What a comparison of both sides said. */
export interface Proof {
  readonly equal: boolean | null;
  readonly why: string;
  /** Documents to bring right before it is asked again; deletes that no feed has told of are among them. */
  readonly suspects: readonly Suspect[];
}

export interface CutoverParts {
  /** Stops the application's writers; nothing to do if the operator has stopped them. */
  readonly stopWriters: (signal: AbortSignal) => Promise<void>;
  /** Called after the commit. */
  readonly onCommit: (signal: AbortSignal) => Promise<void>;
  /** Called after every way back to tailing. */
  readonly onAbort: (why: string) => Promise<void>;
  /** When both sides were last found equal, by the whole comparison; null: never. */
  readonly lastCleanMs: () => number | null;
  readonly prove: (signal: AbortSignal) => Promise<Proof>;
  readonly say: (text: string) => void;
  /** From the stop of the writers to the commit; then it backs out. */
  readonly deadlineMs: number;
  /** How long nobody may have written. */
  readonly quietMs: number;
  /** How long the source is watched afterwards. */
  readonly watchMs: number;
}

export interface CutoverResult {
  readonly stoppedMs: number;
  readonly lateWrites: readonly Straggler[];
}

/** A tail that lags more than this will not catch up while writers are stopped. */
const LAG_MAX_MS = 60_000;

export async function cutOver(leases: LeasesParts, parts: CutoverParts): Promise<CutoverResult> {
  const { mover, reading } = leases;
  const { clock } = mover;
  await passGate(leases, parts);
  const stoppedAtMs = clock.now();
  const fence = await commit(leases, parts);
  const stoppedMs = clock.now() - stoppedAtMs;
  parts.say(`committed: the target is in use from now on (writers were stopped for ${seconds(stoppedMs)})`);
  await parts.onCommit(reading);
  return { stoppedMs, lateWrites: await watch(mover, parts, { fence, signal: reading }) };
}

async function passGate(leases: LeasesParts, { lastCleanMs, say }: CutoverParts): Promise<void> {
  const { mover } = leases;
  const { ledger, clock } = mover;
  const phase = phaseOf(mover);
  if (!isTailing(phase)) throw tooEarly(phase);
  if (phase !== 'tailing') enter(mover, 'tailing', { why: 'the last cutover was interrupted' });
  if (lastCleanMs() === null) {
    throw new NotReadyError('nobody has proven yet that both sides hold the same', {
      why: 'a cutover needs a verify that ended clean, with this spec and these containers',
      hint: 'run cosmig verify beside a running cosmig tail, then cosmig cutover',
    });
  }
  say('catching up');
  await catchUp(leases);
  // What comes in while catching up must not take long to bring over.
  const beganMs = clock.now();
  await catchUp(leases);
  const lagMs = clock.now() - beganMs;
  if (lagMs > LAG_MAX_MS) {
    throw new NotReadyError('the tail is too far behind for a short stop of the writers', {
      why: `it needed ${seconds(lagMs)} for what had come in meanwhile; ${seconds(LAG_MAX_MS)} is the limit`,
      hint: 'let cosmig tail catch up, with more RU/s for the target, then run cosmig cutover again',
    });
  }
  const open = ledger.letters.openCount();
  if (open > 0) {
    throw new NotReadyError(
      open === 1 ? 'a document is not in the target' : `${open} documents are not in the target`,
      {
        why: 'dead letters are open, and the application would miss their documents after the cutover',
        hint: 'mend them in the source, or discard them by number: cosmig dead-letters list',
      },
    );
  }
  enter(mover, 'ready');
}

/** With writers stopped, up to the commit; every other end leads back to tailing. */
async function commit(leases: LeasesParts, parts: CutoverParts): Promise<Fence> {
  const { mover, reading } = leases;
  using deadline = new Deadline(parts.deadlineMs, 'the cutover', reading);
  using stop = new ChildSignal(deadline.signal);
  try {
    enter(mover, 'fencing');
    parts.say('stopping the writers');
    await parts.stopWriters(stop.signal);
    for (;;) {
      const fence = await fenceOff({ ...leases, reading: stop.signal }, parts);
      enter(mover, 'drained');
      if (!(await prove({ ...leases, reading: stop.signal }, parts))) {
        enter(mover, 'fencing');
        continue;
      }
      const straggler = await strayed(mover, fence, stop.signal);
      if (straggler !== null) {
        tell(mover, parts, straggler);
        enter(mover, 'fencing');
        continue;
      }
      enter(mover, 'proven');
      enter(mover, 'committed');
      mover.point('cut-over');
      return fence;
    }
  } catch (error) {
    if (mover.signal.aborted) throw error;
    const thrown = deadline.signal.reason instanceof DeadlinePassed ? tooLate(parts) : error;
    await backOut(mover, parts, thrown);
    throw thrown;
  }
}

/** Until everything is over and nobody has written for a while. */
async function fenceOff(leases: LeasesParts, parts: CutoverParts): Promise<Fence> {
  const { mover, reading } = leases;
  for (;;) {
    const from = await readFence(mover, reading);
    await catchUp(leases);
    await sleep(parts.quietMs, reading);
    const to = await readFence(mover, reading);
    const straggler = await findStraggler(mover, { from, to }, reading);
    if (straggler === null) {
      await catchUp(leases);
      return to;
    }
    tell(mover, parts, straggler);
  }
}

/** Whether both sides hold the same; what differs is brought right once, and then it is asked again. */
async function prove(leases: LeasesParts, parts: CutoverParts): Promise<boolean> {
  const { mover, reading } = leases;
  const first = await parts.prove(reading);
  if (first.equal === true) return true;
  if (first.suspects.length === 0) {
    if (first.equal === false) throw unproven(first);
    return false;
  }
  parts.say(`${first.suspects.length} documents differ; they are brought right`);
  await repairEach(mover, first.suspects);
  const second = await parts.prove(reading);
  if (second.equal === false) throw unproven(second);
  return second.equal === true;
}

async function strayed(mover: Mover, from: Fence, signal: AbortSignal): Promise<Straggler | null> {
  return findStraggler(mover, { from, to: await readFence(mover, signal) }, signal);
}

/** Late writes are lost to the application: nothing brings them over any more. */
async function watch(
  mover: Mover,
  { watchMs, quietMs, say }: CutoverParts,
  { fence, signal }: { readonly fence: Fence; readonly signal: AbortSignal },
): Promise<Straggler[]> {
  const late: Straggler[] = [];
  // What is written while it is looked at is seen once more the next time.
  const named = new Set<string>();
  let from = fence;
  for (const endMs = mover.clock.now() + watchMs; mover.clock.now() < endMs;) {
    await sleep(Math.max(1, Math.min(quietMs, endMs - mover.clock.now())), signal);
    const to = await readFence(mover, signal);
    const straggler = await findStraggler(mover, { from, to }, signal);
    from = to;
    if (straggler === null || straggler.what === 'split') continue;
    if (straggler.ids.length > 0 && straggler.ids.every((id) => named.has(id))) continue;
    for (const id of straggler.ids) named.add(id);
    late.push(straggler);
    say(`LATE WRITE after the commit, not in the target: ${told(straggler)}`);
    mover.ledger.facts.note('late write', { nowMs: mover.clock.now(), details: straggler });
  }
  return late;
}

async function catchUp(leases: LeasesParts): Promise<void> {
  await runLeases('catch-up', leases);
  // Stopped: there is nothing to be caught up with.
  leases.reading.throwIfAborted();
}

function tell({ ledger, clock }: Mover, { say }: CutoverParts, straggler: Straggler): void {
  ledger.facts.note('straggler', { nowMs: clock.now(), details: straggler });
  if (straggler.what === 'split')
    return say(`range ${straggler.range} was split or merged; its ends are read again`);
  say(`somebody still writes: ${told(straggler)}; waiting until nobody does`);
}

function told({ range, ids, what }: Straggler): string {
  const named = ids.length === 0 ? 'documents' : ids.join(', ');
  return `${named} ${what} in range ${range}`;
}

/** Traffic stays on the source. */
async function backOut(mover: Mover, { onAbort, say }: CutoverParts, reason: unknown): Promise<void> {
  const why = reason instanceof Error ? reason.message : String(reason);
  if (phaseOf(mover) !== 'tailing') enter(mover, 'tailing', { why });
  say(`backed out: ${why}; the source stays in use`);
  try {
    await onAbort(why);
  } catch (error) {
    if (!(error instanceof CosmigError)) throw error;
    // The reason is more important than the hook that is told of it.
    say(`the hook that is told of it failed as well: ${error.message}`);
  }
}

function tooLate({ deadlineMs }: CutoverParts): NotReadyError {
  return new NotReadyError('the cutover was not done in time, and has backed out', {
    why: `--deadline is ${seconds(deadlineMs)}; the source stays in use`,
    hint: 'let the application write to the source again; see the journal of cosmig status for what took so long',
  });
}

function unproven({ why }: Proof): NotReadyError {
  return new NotReadyError('both sides do not hold the same', {
    why: `${why}; the source stays in use`,
    hint: 'run cosmig verify, which names the documents, and cosmig verify --repair',
  });
}

function tooEarly(phase: string): NotReadyError {
  if (phase === 'committed') {
    return new NotReadyError('this migration is committed already', {
      why: 'the target is in use',
      hint: 'nothing is left to do; keep the source for as long as you may want to look back',
    });
  }
  return new NotReadyError('the copy has not ended', {
    why: `the migration is ${phase}`,
    hint: 'run cosmig copy, then cosmig tail, then cosmig verify',
  });
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
