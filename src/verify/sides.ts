/**
 * Opens both containers for a comparison. Invariant: nothing here writes, the containers are those with which the
 * ledger began, and every read counts against the budget of its side.
 */
import type { Account } from '../cosmos/account/client.ts';
import {
  differencesOf,
  unseenOf,
  type Described,
  type SettingDifference,
  type SettingName,
} from '../cosmos/container/settings.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import { FIRST_CONTACT, Patience, logWaits } from '../cosmos/load/retry.ts';
import { listScripts } from '../cosmos/container/scripts.ts';
import { openSide, type Side, type SideName } from '../cosmos/side.ts';
import { ruOf } from '../cosmos/container/throughput.ts';
import type { Clock } from '../lib/clock.ts';
import type { InFlightNow } from '../cosmos/load/flights.ts';
import type { NotReadyError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { MigrationSpec, ContainerAddress } from '../spec/migration-spec.ts';
import {
  containerMissing,
  containerRecreated,
  copyNotFinished,
  nothingCopied,
  sourceTtlChanged,
} from '../spec/refusals.ts';
import type { Moment } from './ledger-view.ts';

export interface Sides {
  readonly source: Side;
  readonly target: Side;
}

export interface SidesParts {
  readonly spec: MigrationSpec;
  readonly accounts: { readonly source: Account; readonly target: Account };
  readonly moment: Moment;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timeoutMs: number;
}

/** Returns what both sides have used so far, the RU/s allowed, and the requests in flight. */
export function loadOf({ source, target }: Sides): {
  readonly ru: number;
  readonly throttled: number;
  readonly budgetRu: number | null;
  readonly requests: InFlightNow;
} {
  const both = [source, target];
  const rates = both.map(({ governor, facts }) => governor.budget.rate ?? ruOf(facts.throughput));
  const [here, there] = [source.requests.inFlight.now, target.requests.inFlight.now];
  const ages = [here.oldestMs, there.oldestMs].filter((ageMs) => ageMs !== null);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    ru: sum(both.map(({ governor }) => governor.budget.spentRu)),
    throttled: sum(both.map(({ governor }) => governor.throttled)),
    budgetRu: rates.some((rate) => rate === undefined) ? null : sum(rates.map((rate) => rate ?? 0)),
    requests: {
      count: here.count + there.count,
      bytes: here.bytes + there.bytes,
      oldestMs: ages.length === 0 ? null : Math.max(...ages),
    },
  };
}

export interface Opened {
  readonly sides: Sides;
  readonly settings: readonly SettingDifference[];
  /** The settings that could not be compared, because one side did not allow cosmig to read them. */
  readonly settingsNotSeen: readonly SettingName[];
}

/** Opens both containers; refuses containers other than those in the ledger. */
export async function openSides(parts: SidesParts, signal: AbortSignal): Promise<Opened> {
  const { spec, accounts, moment, clock, random, log, timeoutMs } = parts;
  const waiting = { clock, random, onWait: logWaits(log, clock) };
  const patience = new Patience({ ...waiting, limits: FIRST_CONTACT });
  const read = async (is: SideName): Promise<ContainerFacts> => {
    const { database, container } = spec[is];
    const found = await readContainer(
      accounts[is],
      { database, container },
      { signal, patience: patience.fresh() },
    );
    if (found === undefined) throw missing(is, spec[is]);
    return found;
  };
  const [source, target] = await Promise.all([read('source'), read('target')]);
  refuseOthers(moment, { source, target });
  if (spec.ttl === 'remaining') refuseOtherTtl(moment, source);
  const scripts = async (is: SideName, { name }: ContainerFacts): ReturnType<typeof listScripts> =>
    listScripts(accounts[is], name, { signal, patience: patience.fresh() });
  const [sourceScripts, targetScripts] = await Promise.all([
    scripts('source', source),
    scripts('target', target),
  ]);
  const [from, to] = [
    { facts: source, scripts: sourceScripts },
    { facts: target, scripts: targetScripts },
  ];
  const open = async (is: SideName, { facts }: Described): Promise<Side> => {
    const budget = is === 'source' ? spec.sourceBudget : spec.targetBudget;
    return openSide(is, { account: accounts[is], facts, budget, ...waiting, timeoutMs }, signal);
  };
  const sides = { source: await open('source', from), target: await open('target', to) };
  seeTokens(sides, moment);
  return { sides, settings: differencesOf(from, to), settingsNotSeen: unseenOf(from, to) };
}

/**
 * Adds the ledger's session tokens to both sides. Later reads then see at least what the mover has read from the source
 * and committed in the target.
 */
export function seeTokens({ source, target }: Sides, { tokens, targetTokens, leases }: Moment): void {
  for (const { token } of targetTokens) target.sessions.add(token);
  for (const { token } of tokens) source.sessions.add(token);
  for (const { anchor } of leases) source.sessions.add(anchor?.session);
}

function refuseOthers(
  { migration }: Moment,
  { source, target }: { readonly source: ContainerFacts; readonly target: ContainerFacts },
): void {
  const { containers } = migration;
  if (containers === null) throw notCopied();
  for (const [is, was, now] of [
    ['source', containers.sourceRid, source.rid],
    ['target', containers.targetRid, target.rid],
  ] as const) {
    if (was === now) continue;
    throw containerRecreated(`${is} container`, { was, is: now });
  }
}

/**
 * Refuses a source whose TTL was changed. With the old TTL, the mover has computed when copies expire, and an
 * interrupted comparison may have used it too.
 */
function refuseOtherTtl({ migration: { containers } }: Moment, { defaultTtl }: ContainerFacts): void {
  if (containers !== null && containers.sourceTtl !== defaultTtl)
    throw sourceTtlChanged({ was: containers.sourceTtl, is: defaultTtl });
}

/**
 * Refuses to compare before the copy has finished: until then it is normal that documents are missing in the target.
 */
export function refuseUncopied({ leases }: Moment): void {
  if (leases.length === 0) throw notCopied();
  const open = leases.filter(({ phase }) => phase === 'copy').length;
  if (open === 0) return;
  throw copyNotFinished({
    why: `${open} of ${leases.length} ranges of the source are still being copied`,
    hint: 'let cosmig copy finish, then run cosmig verify',
  });
}

function notCopied(): NotReadyError {
  return nothingCopied('the ledger has no range of the source');
}

function missing(is: SideName, { database, container }: ContainerAddress): NotReadyError {
  return containerMissing(`${is} container ${database}/${container}`, {
    why: 'it was there when the migration began',
    hint: `check --${is}, and that the endpoint belongs to its account`,
  });
}
