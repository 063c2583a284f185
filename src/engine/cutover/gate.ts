/**
 * What a cutover asks for before it has the writers stopped: the copy is through and the tail close behind, no document is
 * left out without a word, both sides were proven once, and the comparison may ask what it needs. What always holds:
 * nothing here stops anybody.
 */
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { countRange } from '../../cosmos/container/count.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import { retrying } from '../../cosmos/load/retry.ts';
import { must } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { seconds } from './after-commit.ts';
import type { CutoverParts } from './contract.ts';
import { runLeases, type LeasesParts } from '../leases/run-leases.ts';
import type { RunContext } from '../context.ts';
import { enter, isTailing, phaseOf } from '../phases.ts';
import { tokenOf } from '../../cosmos/side.ts';

/** A tail that lags more than this will not catch up while writers are stopped. */
const LAG_MAX_MS = 60_000;

/** Everything that can be asked before writers are stopped; a NotReadyError says what is missing. */
export async function passGate(
  leases: LeasesParts,
  { lastCleanMs, say, onStep }: CutoverParts,
): Promise<void> {
  const { context } = leases;
  const { clock } = context;
  const phase = phaseOf(context);
  if (!isTailing(phase)) throw tooEarly(phase);
  onStep?.({ name: 'catching up', stoppedAtMs: null });
  if (phase !== 'tailing') enter(context, 'tailing', { why: 'the last cutover was interrupted' });
  if (lastCleanMs() === null) {
    throw new NotReadyError('nobody has proven yet that both sides hold the same', {
      why: 'a cutover needs a verify that ended clean, with this spec and these containers, and none after it that found differences',
      hint: 'run cosmig verify beside a running cosmig tail, or cosmig verify --repair without one, then cosmig cutover',
    });
  }
  const why = whyAll(context);
  if (why !== null) say(why);
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
  refuseLetters(context);
  await askForNumbers(context, leases.reading);
  enter(context, 'ready');
}

/**
 * Why everything has to be compared with writers stopped, and not only what has changed; null where it need not. A delete
 * that nobody has told of is found by the numbers of both sides, and not if something else is missing in the target.
 */
export function whyAll({ ledger, deletes, expires }: RunContext): string | null {
  if (ledger.leases.live().some(({ sweepPending }) => sweepPending)) {
    return (
      'some deletes of the source were not told of: with writers stopped everything is compared; ' +
      'cosmig verify --repair before this makes that needless'
    );
  }
  // What marks its deletes may still delete without a mark.
  return deletes !== 'avad' && expires
    ? 'documents expire, and deletes are not told of: with writers stopped everything is compared'
    : null;
}

/** A comparison takes a letter for an explanation; the application that is switched over would miss the document. */
export function refuseLetters({ ledger }: RunContext): void {
  const open = ledger.letters.openCount();
  if (open === 0) return;
  throw new NotReadyError(
    open === 1 ? 'a document is not in the target' : `${open} documents are not in the target`,
    {
      why: 'dead letters are open, and the application would miss their documents after the cutover',
      hint: 'mend them in the source, or discard them by number: cosmig dead-letters list',
    },
  );
}

/** The comparison asks how many there are: whoever may not should know before the writers are stopped. */
async function askForNumbers(
  { sourceSide, targetSide, timing }: RunContext,
  signal: AbortSignal,
): Promise<void> {
  for (const side of [sourceSide, targetSide]) {
    const { lane, governor, patience, ranges } = side;
    const work = async (): Promise<unknown> => {
      const part = wholeOf(must(ranges.list[0], 'a container has a range'));
      const { id } = part.range;
      try {
        // Costs what a query costs that finds nothing.
        return await countRange(lane, part, {
          signal,
          timeoutMs: timing.requestTimeoutMs,
          governor,
          patience: patience.fresh(),
          sessionToken: tokenOf(side, id),
          where: 'false',
        });
      } catch (error) {
        if (troubleOf(error)?.kind === 'split') await ranges.refresh(id, signal);
        throw error;
      }
    };
    await retrying(work, { signal, patience: patience.fresh(), splits: 'waited-for' });
  }
}

/** All that there is when it begins. */
export async function catchUp(leases: LeasesParts): Promise<void> {
  // The fence knows where the end is.
  await runLeases('catch-up', { ...leases, look: 'as told' });
  // Stopped: there is nothing to be caught up with.
  leases.reading.throwIfAborted();
}

function tooEarly(phase: string): NotReadyError {
  return new NotReadyError('the copy has not ended', {
    why: `the migration is ${phase}`,
    hint: 'run cosmig copy, then cosmig tail, then cosmig verify',
  });
}
