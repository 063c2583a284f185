/**
 * Checks what a cutover requires before it stops the writers: the copy is complete, the tail is close to the end of the
 * source, no dead letter is open, a clean verify is on record, and the comparison has its permissions. Invariant:
 * nothing here stops a writer.
 */
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { countRange } from '../../cosmos/container/count.ts';
import { wholeOf } from '../../cosmos/feed/ranges.ts';
import { retrying } from '../../cosmos/load/retry.ts';
import { tokenOf } from '../../cosmos/side.ts';
import { must } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { catchUp } from './catch-up.ts';
import type { CutoverOptions } from './contract.ts';
import { reasonToCompareAll } from './proof.ts';
import { describeChanges } from '../../state/source-change.ts';
import { formatSeconds } from './wording.ts';
import { lookOnce } from '../letters/looks.ts';
import { searchForStrangers } from '../turn/strangers.ts';
import type { LeasesParts } from '../leases/run-leases.ts';
import type { RunContext } from '../context.ts';
import type { KeptSource } from '../turn/next-turn.ts';
import { enter, isTailing, phaseOf } from '../phases.ts';
import { copyNotFinished, turnNotBegun } from '../../spec/refusals.ts';
import { LAG_MAX_MS } from '../../spec/timing.ts';

/**
 * Throws a NotReadyError that says which requirement is not met. Returns how the source is kept after the commit; null:
 * there is no way back.
 */
export async function passGate(leases: LeasesParts, options: CutoverOptions): Promise<KeptSource | null> {
  const { context } = leases;
  const { clock } = context;
  const { lastCleanMs, say, onStep } = options;
  const phase = phaseOf(context);
  const { turn } = context.spec;
  if (phase === 'new' && turn !== undefined)
    throw turnNotBegun(turn.number, 'run cosmig tail, then cosmig verify');
  if (!isTailing(phase)) {
    throw copyNotFinished({
      why: `the migration is ${phase}`,
      hint: 'run cosmig copy, then cosmig tail, then cosmig verify',
    });
  }
  onStep?.({ name: 'catching up', stoppedAtMs: null });
  if (phase !== 'tailing') enter(context, { phase: 'tailing', why: 'the last cutover was interrupted' });
  const cleanMs = lastCleanMs();
  if (cleanMs === null) {
    refuseFound(context, 0);
    options.refuseDifferences?.();
    throw new NotReadyError('no clean verification on record', {
      why: 'it needs a cosmig verify that found both sides equal, with these settings and containers, and no later one that found differences',
      hint: 'run cosmig verify while cosmig tail runs, or cosmig verify --repair while it does not run; then run cosmig cutover',
    });
  }
  announceComparison(context, options);
  say('catching up');
  await catchUp(leases);
  // A second round shows how long it takes to replicate what arrived during the first.
  const beganMs = clock.monotonicMs();
  await catchUp(leases);
  const lagMs = clock.monotonicMs() - beganMs;
  if (lagMs > LAG_MAX_MS) {
    throw new NotReadyError('the tail is too far behind for a short stop of the writers', {
      why: `it needed ${formatSeconds(lagMs)} for what had arrived meanwhile; the limit is ${formatSeconds(LAG_MAX_MS)}`,
      hint: 'let cosmig tail catch up, with more RU/s for the target, then run cosmig cutover again',
    });
  }
  await lookOnce(leases);
  leases.reading.throwIfAborted();
  refuseOpenLetters(context);
  await refuseStrangers(leases, cleanMs - (options.compareAllMs?.() ?? 0));
  await requireCountPermission(context, leases.reading);
  const kept = (await options.keepSource?.(leases.reading)) ?? null;
  if (kept === null) say(NO_WAY_BACK);
  enter(context, { phase: 'ready' });
  return kept;
}

const NO_WAY_BACK =
  'there will be no way back: after the commit the source is not kept up to date (--keep-source-for makes one)';

const EXPIRED =
  'documents expire: if some have expired and are not purged yet, all documents will be compared with writers stopped';

/**
 * Reports what will be compared while the writers are stopped. Throws if all documents have to be compared, and this is
 * known to take longer than the writers may be stopped.
 */
function announceComparison(context: RunContext, { compareAllMs, deadlineMs, say }: CutoverOptions): void {
  const reason = reasonToCompareAll(context);
  const knownMs = compareAllMs?.() ?? null;
  const takesMs = knownMs ?? 0;
  const advice = reason === null || reason.advice === null ? '' : `; ${reason.advice}`;
  const readIn = `the last comparison of all documents read both sides in ${formatSeconds(takesMs)}`;
  const took = `${readIn}, and --deadline is ${formatSeconds(deadlineMs)}`;
  const isTooLong = takesMs > deadlineMs;
  const estimate = knownMs === null ? '' : `; ${readIn}`;
  if (reason === null) {
    // Documents that have expired and are not purged are in the ledger's numbers, and not in those of the service.
    if (context.expires)
      say(EXPIRED + (isTooLong ? `, and the cutover will not finish in time; ${took}` : estimate));
    else if (isTooLong)
      say(`if a side has lost documents unnoticed, the cutover will not finish in time: ${took}`);
    return;
  }
  if (!isTooLong) {
    say(`${reason.why}: all documents will be compared with writers stopped${estimate}${advice}`);
    return;
  }
  throw new NotReadyError('the comparison would take longer than the writers may be stopped', {
    why: `${reason.why}, so all documents must be compared with writers stopped; ${took}`,
    hint: `set a longer --deadline, or give cosmig verify and cutover more RU/s${advice}`,
  });
}

/**
 * Throws if a dead letter is open. A comparison accepts a dead letter as the explanation of a difference, but after the
 * cutover the application would miss the document.
 */
export function refuseOpenLetters({ ledger }: RunContext): void {
  const open = ledger.letters.openCount();
  if (open === 0) return;
  throw new NotReadyError(
    open === 1 ? 'a document is not in the target' : `${open} documents are not in the target`,
    {
      why: 'dead letters are open, and the application would miss their documents in the target',
      hint: 'fix the documents in the source and let cosmig tail move them, or discard the letters by number: see cosmig dead-letters list',
    },
  );
}

/**
 * Throws if another process has written to the container to which the application returns, unless a whole comparison has
 * found both sides equal since. `comparedFromMs`: when the last such comparison began to read.
 */
async function refuseStrangers({ context, reading }: LeasesParts, comparedFromMs: number): Promise<void> {
  await searchForStrangers(context, { isFirst: false }, reading);
  refuseFound(context, comparedFromMs);
}

/** Throws if the journal names writes of another process to the target since then. */
function refuseFound(context: RunContext, comparedFromMs: number): void {
  const found = context.ledger.journal
    .writtenByOthers(NAMED_MAX)
    .filter(({ atMs }) => atMs >= comparedFromMs);
  if (found.length === 0) return;
  throw new NotReadyError('another process has written to the target', {
    why: `${describeChanges(found)}; cosmig does not know whether this may be replaced`,
    hint: 'stop that process, then run cosmig verify --repair, which makes the target equal to the source: what that process created is deleted there, what it changed is overwritten; copy it first if you need it; then this command again',
  });
}

/** How many findings a refusal names. */
const NAMED_MAX = 10;

/** Counts documents once on each side, so that a missing permission shows before the writers are stopped. */
async function requireCountPermission(
  { sourceSide, targetSide, timing }: RunContext,
  signal: AbortSignal,
): Promise<void> {
  for (const side of [sourceSide, targetSide]) {
    const { requests, governor, patience, ranges } = side;
    const work = async (): Promise<unknown> => {
      const part = wholeOf(must(ranges.list[0], 'a container has a range'));
      const { id } = part.range;
      try {
        // The filter is always false, so the count costs as little as a query without results.
        return await countRange(requests, part, {
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
