/**
 * Ends the way back: no later run replicates to the container that was kept, and its time to live is restored. Invariant:
 * the end is recorded before anything is changed, so a crash leaves a way back that has ended, and never one that lacks
 * changes. Nothing is deleted.
 */
import { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { connectBoth } from '../cosmos/account/connect-both.ts';
import { readContainer } from '../cosmos/container/inspect.ts';
import type { RunParts } from '../engine/run.ts';
import { must } from '../lib/assert.ts';
import { NotReadyError } from '../lib/errors.ts';
import { formatTime } from '../lib/clock.ts';
import { inspectionCall } from '../preflight/inspect.ts';
import { servesAllVersions } from '../preflight/permissions.ts';
import { stepsLeft } from '../spec/refusals.ts';
import { leadsBack } from '../spec/turns/settings-of-turn.ts';
import { TIMING } from '../spec/timing.ts';
import { Ledger } from '../state/ledger.ts';
import { readTurns } from '../state/turns/chain.ts';
import { setTtl } from './way-back.ts';

type SideName = 'source' | 'target';

export interface Finished {
  readonly inUse: SideName;
  readonly kept: SideName;
  /** The default time to live that was restored in the container that was kept, in seconds; null: it has none. */
  readonly restoredTtl: number | null;
  /** Whether the container that is in use can be restored to an earlier moment; null: the service does not say. */
  readonly hasContinuousBackup: boolean | null;
}

/** A way back whose time is not over. */
export interface OpenWayBack {
  readonly kept: SideName;
  readonly keptUntilMs: number;
  /** The default time to live that would be restored in the container that is kept, in seconds; null: it has none. */
  readonly pausedTtl: number | null;
}

/**
 * Ends the way back of a migration. `parts` are those of its first turn. `beforeTime` is called before anything is
 * changed if the time is not over for which the way back was promised; it throws to keep the way back.
 */
export async function finishWayBack(
  parts: RunParts,
  beforeTime: (open: OpenWayBack) => void,
): Promise<Finished> {
  const { spec, clock, say = () => {} } = parts;
  const turns = readTurns(spec.ledger);
  const newest = must(turns.at(-1), 'a migration has a turn');
  const before = turns.at(-2);
  if (before === undefined || newest.from === null) throw nothingKept(newest.isCommitted);
  const kept: SideName = leadsBack(newest.number) ? 'source' : 'target';
  const inUse: SideName = kept === 'source' ? 'target' : 'source';
  if (newest.isCommitted) throw nothingKept(true);
  using ledger = Ledger.openForOperator(before.ledger);
  const next = must(ledger.nextTurn.read(), 'the turn was read before');
  // The steps that are left pause times to live.
  const unfinished = ledger.journal.unfinished();
  if (unfinished !== null) throw stepsLeft(leadsBack(before.number) ? 'rollback' : 'cutover', unfinished);
  const { keptUntilMs } = next;
  const nowMs = clock.now();
  if (next.endedAtMs === null && keptUntilMs > nowMs)
    beforeTime({ kept, keptUntilMs, pausedTtl: next.pausedTtl });
  // A run that replicates holds the lock of its ledger, so it has to be stopped first.
  using running = newest.hasBegun ? Ledger.openForOperator(newest.ledger) : null;
  running?.noteProgress();
  if (next.endedAtMs === null) {
    ledger.nextTurn.end(next, nowMs);
    say(`the way back has ended for good: to return to the ${kept} now takes a new copy`);
  } else {
    say(`the way back was ended at ${formatTime(next.endedAtMs)}`);
  }
  ledger.noteProgress();
  const { pausedTtl } = next;
  if (pausedTtl !== null) await setTtl(parts, { of: kept, ttl: pausedTtl }, parts.drain);
  return { inUse, kept, restoredTtl: pausedTtl, hasContinuousBackup: await isBackedUp(parts, inUse) };
}

/** Whether the account keeps every version of the documents, which it does only with continuous backup. */
async function isBackedUp(parts: RunParts, side: SideName): Promise<boolean | null> {
  const { spec, connections, clock, random, log, serviceTime, drain: signal } = parts;
  using accounts = await connectBoth(connections, { signal, clock, log, serviceTime });
  const { patience } = inspectionCall({ clock, random, signal, log });
  const facts = await readContainer(accounts[side], spec[side], { signal, patience });
  if (facts === undefined) return null;
  const requests = new ContainerRequests(accounts[side], facts.name);
  const { requestTimeoutMs: timeoutMs } = { ...TIMING, ...parts.timing };
  const served = await servesAllVersions({ requests, signal, timeoutMs, patience });
  return served === 'yes' ? true : null;
}

function nothingKept(isCommitted: boolean): NotReadyError {
  return new NotReadyError('there is no way back to end', {
    why: isCommitted
      ? 'the last cutover did not keep the other container'
      : 'the application still uses the source: no cutover has committed',
    hint: 'see cosmig status',
  });
}
