/**
 * From two containers that follow each other to one that is in use (phases.ts draws the states):
 *
 *   gate      caught up, no open letters, a clean verify behind us         -> ready
 *   fence     writers are stopped; the ends of all ranges are read         -> fencing
 *   drain     everything up to the ends is in the target
 *   watch     the ends have not moved for a while; whoever moved them is   -> drained
 *             named, and the fence starts over
 *   prove     both sides are compared beside the tail, and repaired where
 *             no feed tells of deletes; the ends still have not moved      -> proven -> committed
 *   after     settings, hooks, a look at the source (cutover-after.ts)
 *
 * Watch and proof run side by side where everything that happens is told: what was proven counts only if nobody has moved
 * the ends from before the proof until after it. Elsewhere the proof follows the watch. What always holds: before
 * `committed` every way out leads back to tailing, with traffic on the source; a run that died on the way begins at the
 * gate again, and one that died after it goes on with what is left. Nothing but the operator's hooks touches the
 * application.
 */
import { ChildSignal, Deadline, DeadlinePassed, orAborted, sleep } from '../lib/abort.ts';
import { CosmigError, NotReadyError } from '../lib/errors.ts';
import { group } from '../lib/group.ts';
import {
  finish,
  seconds,
  told,
  type AfterParts,
  type Commitment,
  type CutoverResult,
} from './cutover-after.ts';
import { catchUp, passGate, refuseLetters, whyAll } from './cutover-gate.ts';
import { findStraggler, readFence, type Fence, type Straggler } from './fence.ts';
import { runLeases, type LeasesParts } from './leases.ts';
import type { Mover } from './mover.ts';
import { enter, phaseOf, type Phase } from './phases.ts';
import { repairEach, type Suspect } from './repair.ts';

export type { CutoverResult, SettingTold } from './cutover-after.ts';

/** What a comparison of both sides said. */
export interface Proof {
  readonly equal: boolean | null;
  readonly why: string;
  /** Documents to bring right before it is asked again; deletes that no feed has told of are among them. */
  readonly suspects: readonly Suspect[];
  /** These are all that differ, and every one of them is in the target and not in the source any more. */
  readonly areExtra?: boolean;
}

/**
 * What is compared: what has changed since the last clean verify, and everything only where the numbers differ; or all; or
 * what the comparison before has found to differ, and was brought right since.
 */
export type Scope = 'changes' | 'all' | 'what differed';

/** What a cutover is at, for whoever watches. */
export interface Step {
  readonly name:
    | 'catching up'
    | 'stopping writers'
    | 'draining'
    | 'watching the fence'
    | 'proving'
    | 'bringing right'
    | 'after the commit'
    | 'watching for late writes';
  /** Since when writers are stopped, by the run's clock; null while they may write. */
  readonly stoppedAtMs: number | null;
}

export interface CutoverParts extends AfterParts {
  /** Stops the application's writers; nothing to do if the operator has stopped them. */
  readonly stopWriters: (signal: AbortSignal) => Promise<void>;
  /** Called after every way back to tailing. */
  readonly onAbort: (why: string) => Promise<void>;
  /** When both sides were last found equal, by the whole comparison; null: never. */
  readonly lastCleanMs: () => number | null;
  readonly prove: (signal: AbortSignal, scope: Scope) => Promise<Proof>;
  /** From the stop of the writers to the commit; then it backs out. */
  readonly deadlineMs: number;
  readonly onStep?: (step: Step) => void;
}

/** Phases in which the application may be stopped. */
const HAVE_STOPPED: ReadonlySet<Phase> = new Set(['fencing', 'drained', 'proven']);

/** From the gate to the look at the source afterwards; or what is left of one that has died after its commit. */
export async function cutOver(leases: LeasesParts, parts: CutoverParts): Promise<CutoverResult> {
  const { mover, reading } = leases;
  if (phaseOf(mover) === 'committed') {
    leases.camera.rests = true;
    parts.say('committed already: going on with what is left');
    return finish(mover, parts, { fence: null, signal: reading });
  }
  const hasStopped = HAVE_STOPPED.has(phaseOf(mover));
  try {
    await passGate(leases, parts);
  } catch (error) {
    // One that died had the writers stopped, and nobody has let them on again.
    if (hasStopped && !mover.signal.aborted) await backOut(mover, parts, error);
    throw error;
  }
  const { fence, stoppedMs } = await commit(leases, parts);
  leases.camera.rests = true;
  parts.say(`committed: the target is in use from now on (writers were stopped for ${seconds(stoppedMs)})`);
  return finish(mover, parts, { fence, signal: reading });
}

/**
 * With writers stopped, up to the commit; every other end leads back to tailing, and at once: the application waits. What
 * the target has not answered then is under way still, and whoever ends the run waits for it, or gives it up.
 */
async function commit(leases: LeasesParts, parts: CutoverParts): Promise<Committed> {
  const { mover, reading } = leases;
  using deadline = new Deadline(parts.deadlineMs, 'the cutover', reading);
  const begun = { stoppedAtMs: mover.clock.now(), stopping: Promise.resolve(), unproven: null };
  const stopped: Stopped = { ...parts, ...begun };
  const work = settled(async () => untilCommitted({ ...leases, reading: deadline.signal }, stopped));
  mover.start(async () => void (await work));
  try {
    const end = await orAborted(work, deadline.signal);
    return end();
  } catch (error) {
    if (mover.signal.aborted) throw error;
    // In the very moment in which it was called off.
    if (phaseOf(mover) === 'committed') return (await work)();
    const thrown = deadline.signal.reason instanceof DeadlinePassed ? tooLate(stopped) : error;
    // Whoever stops the writers must not go on behind the one who lets them on again.
    await stopped.stopping;
    await backOut(mover, parts, thrown);
    throw thrown;
  }
}

interface Committed {
  readonly fence: Fence;
  readonly stoppedMs: number;
}

async function untilCommitted(leases: LeasesParts, parts: Stopped): Promise<Committed> {
  const { mover, reading } = leases;
  enter(mover, 'fencing');
  parts.say('stopping the writers');
  step(parts, 'stopping writers');
  leases.camera.rests = true;
  const stopping = settled(async () => parts.stopWriters(reading));
  parts.stopping = stopping;
  (await stopping)();
  leases.camera.rests = false;
  for (;;) {
    const fence = await fenceOff(leases, parts);
    if (fence === null) {
      if (phaseOf(mover) !== 'fencing') enter(mover, 'fencing');
      continue;
    }
    // Of what was written last, behind the gate.
    refuseLetters(mover);
    enter(mover, 'proven');
    const stoppedMs = mover.clock.now() - parts.stoppedAtMs;
    const commitment: Commitment = { stoppedMs, likeSource: parts.likeSource ?? [] };
    enter(mover, 'committed', commitment);
    mover.point('cut-over');
    return { fence, stoppedMs };
  }
}

interface Stopped extends CutoverParts {
  readonly stoppedAtMs: number;
  /** Until the writers are stopped, or that has failed. */
  stopping: Promise<unknown>;
  /** Why the last comparison was not enough; null: it was, or there was none. */
  unproven: string | null;
}

function step({ onStep, stoppedAtMs }: Stopped, name: Step['name']): void {
  onStep?.({ name, stoppedAtMs });
}

/** The ends that nobody has moved while both sides were found to hold the same; null: somebody has, or it is not certain. */
async function fenceOff(leases: LeasesParts, parts: Stopped): Promise<Fence | null> {
  const { mover, reading } = leases;
  step(parts, 'draining');
  const from = await readFence(mover, 'as told', reading);
  await catchUp(leases);
  const watch = async (): Promise<Fence | null> => {
    await sleep(parts.quietMs, reading);
    return endsUnmoved(leases, parts, from);
  };
  // Where nobody tells what was deleted and what has expired, that the ends have not moved is not known either.
  const isTold = mover.deletes === 'avad' || !mover.expires;
  const ends = await (isTold ? besideProof : beforeProof)(leases, parts, watch);
  if (ends === null) return null;
  // What has expired meanwhile.
  await catchUp(leases);
  return endsUnmoved(leases, parts, ends);
}

/** The ends as they are now; null when somebody has moved them, who is named. */
async function endsUnmoved(
  { mover, reading }: LeasesParts,
  parts: Stopped,
  from: Fence,
): Promise<Fence | null> {
  const to = await readFence(mover, 'newest', reading);
  const straggler = await findStraggler(mover, { from, to }, reading);
  if (straggler === null) return to;
  tell(mover, parts, straggler);
  return null;
}

/** Watches while both sides are compared. Whatever a comparison says beside somebody who writes is not listened to. */
async function besideProof(
  leases: LeasesParts,
  parts: Stopped,
  watch: () => Promise<Fence | null>,
): Promise<Fence | null> {
  const { mover, reading } = leases;
  using over = new ChildSignal(reading);
  let isWatching = true;
  const proving = settled(async () => {
    const isEqual = await prove({ ...leases, reading: over.signal }, parts);
    if (isWatching) step(parts, 'watching the fence');
    return isEqual;
  });
  let ends: Fence | null = null;
  try {
    ends = await watch();
    if (ends !== null) enter(mover, 'drained');
  } finally {
    isWatching = false;
    if (ends === null) over.abort(new Error('somebody still writes'));
    await proving;
  }
  const isEqual = await proving;
  return ends !== null && isEqual() ? ends : null;
}

/** Compares both sides when nobody has written for a while: of what was deleted in that while only the numbers tell. */
async function beforeProof(
  leases: LeasesParts,
  parts: Stopped,
  watch: () => Promise<Fence | null>,
): Promise<Fence | null> {
  step(parts, 'watching the fence');
  const ends = await watch();
  if (ends === null) return null;
  enter(leases.mover, 'drained');
  return (await prove(leases, parts)) ? ends : null;
}

/** Never rejects: whoever waits for it asks how it ended when it is time. */
async function settled<T>(work: () => Promise<T>): Promise<() => T> {
  try {
    const result = await work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/**
 * Whether both sides hold the same; what differs is brought right, and then it is asked again. A document that was brought
 * right and differs still is never passed over. Once everything was compared, only what differed is looked at again: nobody
 * writes, and where documents expire others are gone each time.
 */
async function prove(leases: LeasesParts, parts: Stopped): Promise<boolean> {
  const { mover, reading } = leases;
  const brought = new Set<string>();
  let scope: Scope = whyAll(mover) === null ? 'changes' : 'all';
  for (;;) {
    step(parts, 'proving');
    const proof = await compare(leases, parts, scope);
    const { equal, suspects, areExtra, why } = proof;
    parts.unproven = equal === true ? null : why;
    if (equal !== false) return equal === true;
    const names = suspects.map(({ name }) => JSON.stringify(name));
    if (names.length === 0 || names.some((name) => brought.has(name))) throw unproven(proof);
    const differ =
      names.length === 1 ? 'a document differs and is' : `${names.length} documents differ and are`;
    parts.say(`${differ} brought right`);
    step(parts, 'bringing right');
    await repairEach(mover, suspects, reading);
    reading.throwIfAborted();
    const hasOnlyGone = mover.expires && areExtra === true;
    if (scope !== 'changes') scope = 'what differed';
    else if (hasOnlyGone && brought.size > 0) scope = 'all';
    for (const name of names) brought.add(name);
  }
}

/** How often the tail looks while both sides are compared. */
const TAIL_EVERY_MS = 1000;

/** Nobody writes any more, and still documents expire: what a feed tells of that is brought over meanwhile. */
async function compare(leases: LeasesParts, parts: Stopped, scope: Scope): Promise<Proof> {
  return group(leases.reading, async (members) => {
    using over = new ChildSignal(members.signal);
    const reading = over.signal;
    members.start(async () => {
      while (!reading.aborted) {
        await runLeases('catch-up', { ...leases, reading, look: 'as told' });
        await sleep(TAIL_EVERY_MS, reading).catch((error: unknown) => {
          if (!reading.aborted) throw error;
        });
      }
    });
    try {
      return await parts.prove(members.signal, scope);
    } finally {
      over.abort(new Error('both sides were compared'));
    }
  });
}

function tell({ ledger, clock }: Mover, { say }: CutoverParts, straggler: Straggler): void {
  ledger.facts.note('straggler', { nowMs: clock.now(), details: straggler });
  if (straggler.what === 'split')
    return say(`range ${straggler.range} was split or merged; its ends are read again`);
  say(`somebody still writes: ${told(straggler)}; waiting until nobody does`);
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

function tooLate({ deadlineMs, unproven: why }: Stopped): NotReadyError {
  return new NotReadyError('the cutover was not done in time', {
    why: `--deadline is ${seconds(deadlineMs)}${why === null ? '' : `, and ${why}`}; the source stays in use`,
    hint: 'let the application write to the source again; before the next try run cosmig verify, so that less has to be compared, or give it a longer --deadline',
  });
}

function unproven({ why }: Proof): NotReadyError {
  return new NotReadyError('both sides do not hold the same', {
    why: `${why}; the source stays in use`,
    hint: 'run cosmig verify, which names the documents, and cosmig verify --repair',
  });
}
