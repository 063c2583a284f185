/**
 * The way back after a cutover: checks it before the writers are stopped, pauses the time to live of the container that
 * is kept, and restores it. Invariant: a time to live is restored to what the ledger says it was, whatever it is now.
 */
import { connectBoth, type BothAccounts } from '../cosmos/account/connect-both.ts';
import type { ControlCall } from '../cosmos/account/control-plane.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import { makeLike } from '../cosmos/container/update.ts';
import { Patience } from '../cosmos/load/retry.ts';
import type { CutoverOptions, TtlChanges } from '../engine/cutover/contract.ts';
import type { RunParts } from '../engine/run.ts';
import type { KeptSource } from '../engine/turn/next-turn.ts';
import { must } from '../lib/assert.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { TurnSpec } from '../spec/migration-spec.ts';
import { containerMissing } from '../spec/refusals.ts';
import { leadsBack } from '../spec/turns/settings-of-turn.ts';
import { TIMING } from '../spec/timing.ts';
import { inspectionCall, readBoth } from '../preflight/inspect.ts';
import { checkWayBack } from '../preflight/way-back.ts';
import { Ledger } from '../state/ledger.ts';

/**
 * Returns the check of a cutover that makes a way back; null if the operator wants none. A rollback always tries to make
 * one, so that the migration can be resumed without a new copy. It does not fail if there is none: the application has
 * to return.
 */
export function wayBack(parts: RunParts): CutoverOptions['keepSource'] {
  const { keepSourceForMs, turn } = parts.spec;
  if (turn === undefined || !leadsBack(turn.number))
    return keepSourceForMs === null ? null : checkFor(parts, keepSourceForMs);
  const check = checkFor(parts, keepSourceForMs ?? givenAtCommit(turn));
  return async (signal) => {
    try {
      return await check(signal);
    } catch (error) {
      if (!(error instanceof NotReadyError)) throw error;
      parts.say?.(`the migration cannot be resumed after this without a new copy: ${error.why}`);
      return null;
    }
  };
}

/** Returns for how long the cutover of the turn before was asked to keep the other container, in whole seconds. */
function givenAtCommit({ previous }: TurnSpec): number {
  using ledger = Ledger.openReadonly(previous);
  const { keptUntilMs } = must(ledger.nextTurn.read(), 'a turn follows what a commit has left');
  const { atMs } = must(ledger.journal.commit(), 'a next turn follows a commit');
  // The commit is recorded a moment after its time was computed.
  return Math.ceil((keptUntilMs - atMs) / 1000) * 1000;
}

type Check = (signal: AbortSignal) => Promise<KeptSource>;

function checkFor(parts: RunParts, forMs: number): Check {
  const { spec, connections, clock, random, log, say = () => {} } = parts;
  const { requestTimeoutMs: timeoutMs } = { ...TIMING, ...parts.timing };
  return async (signal) => {
    using accounts = await connected(parts, signal);
    const call = { clock, random, signal, log };
    const { source, target } = await readBoth({ spec, accounts, ...call, hasBegun: true });
    using ledger = Ledger.openReadonly(spec.ledger);
    const { notes, ...found } = await checkWayBack({
      spec,
      connections,
      accounts,
      source,
      target: must(target, 'a migration that has passed the gate has its target'),
      ledger,
      asking: () => ({ clock, random, signal, timeoutMs, patience: inspectionCall(call).patience }),
    });
    for (const note of notes) say(note);
    return { ...found, forMs };
  };
}

/**
 * Returns how a cutover changes times to live after its commit. `previous`: the ledger of the turn before, in which the
 * target was the container that was kept.
 */
export function ttlChanges(parts: RunParts): TtlChanges {
  const { spec } = parts;
  return {
    restore: async (signal) => {
      const ttl = spec.turn === undefined ? null : pausedTtlIn(spec.turn.previous);
      if (ttl !== null) await setTtl(parts, { of: 'target', ttl }, signal);
      return ttl !== null;
    },
    pause: async (signal) => {
      const hasTtl = pausedTtlIn(spec.ledger) !== null;
      if (hasTtl) await setTtl(parts, { of: 'source', ttl: null }, signal);
      return hasTtl;
    },
  };
}

function pausedTtlIn(path: string): number | null {
  using ledger = Ledger.openReadonly(path);
  return ledger.nextTurn.read()?.pausedTtl ?? null;
}

/** Sets the default time to live of a container in seconds; null: documents do not expire. */
export async function setTtl(
  parts: RunParts,
  { of, ttl }: { readonly of: 'source' | 'target'; readonly ttl: number | null },
  signal: AbortSignal,
): Promise<void> {
  using accounts = await connected(parts, signal);
  const call: ControlCall = { signal, patience: new Patience(parts) };
  const name = parts.spec[of];
  const facts = await readContainer(accounts[of], name, call);
  if (facts === undefined) {
    throw containerMissing(`${of} container ${name.database}/${name.container}`, {
      why: 'it was there when the migration was committed',
      hint: 'there is no time to live to change',
    });
  }
  const wanted: ContainerFacts = { ...facts, defaultTtl: ttl };
  await makeLike(accounts[of], { setting: 'ttl', source: wanted, target: facts }, call);
}

async function connected(
  { connections, clock, log, serviceTime }: RunParts,
  signal: AbortSignal,
): Promise<BothAccounts> {
  return connectBoth(connections, { signal, clock, log, serviceTime });
}
