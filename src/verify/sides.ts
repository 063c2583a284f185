/**
 * The two containers as verify sees them: where to read, what was seen, what may be spent. What always holds: nothing
 * here writes, the containers are those that the ledger was begun with, and every read counts against its side's budget.
 */
import type { Account } from '../cosmos/account/client.ts';
import { ContainerLane } from '../cosmos/transport/container-requests.ts';
import { differencesOf, unseenOf, type Difference, type SettingName } from '../cosmos/container/settings.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import { Governor } from '../cosmos/load/governor.ts';
import { LiveRanges } from '../cosmos/feed/live-ranges.ts';
import type { FeedRange, PhysicalRange } from '../cosmos/feed/ranges.ts';
import { AT_THE_DOOR, Patience, tellWaits, type PatienceParts } from '../cosmos/load/retry.ts';
import { allowedRu } from '../cosmos/load/ru-budget.ts';
import { listScripts } from '../cosmos/container/scripts.ts';
import { Sessions } from '../cosmos/feed/session-tokens.ts';
import { ruOf } from '../cosmos/container/throughput.ts';
import type { Clock } from '../lib/clock.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { Budget, MigrationSpec, Place } from '../spec/migration-spec.ts';
import { copyNotFinished } from '../spec/refusals.ts';
import type { Moment } from './ledger-view.ts';

export type SideName = 'source' | 'target';

export interface Side {
  readonly is: SideName;
  readonly lane: ContainerLane;
  readonly facts: ContainerFacts;
  readonly ranges: LiveRanges;
  readonly sessions: Sessions;
  readonly governor: Governor;
  /** `fresh()` for each who asks. */
  readonly patience: Patience;
  readonly timeoutMs: number;
}

export interface Sides {
  readonly source: Side;
  readonly target: Side;
}

export interface SidesParts {
  readonly spec: MigrationSpec;
  readonly accounts: { readonly source: Account; readonly target: Account };
  /** What the ledger says now. */
  readonly moment: Moment;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timeoutMs: number;
}

/** What it has cost so far, and what it may. */
export function loadOf({ source, target }: Sides): {
  readonly ru: number;
  readonly throttled: number;
  readonly budgetRu: number | null;
} {
  const both = [source, target];
  const rates = both.map(({ governor, facts }) => governor.budget.rate ?? ruOf(facts.throughput));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    ru: sum(both.map(({ governor }) => governor.budget.spentRu)),
    throttled: sum(both.map(({ governor }) => governor.throttled)),
    budgetRu: rates.some((rate) => rate === undefined) ? null : sum(rates.map((rate) => rate ?? 0)),
  };
}

export interface Opened {
  readonly sides: Sides;
  readonly settings: readonly Difference[];
  /** Of these nobody can say whether they differ. */
  readonly settingsNotSeen: readonly SettingName[];
}

/** Both containers, checked against the ledger. */
export async function openSides(parts: SidesParts, signal: AbortSignal): Promise<Opened> {
  const { spec, accounts, moment } = parts;
  const patience = patienceOf(parts, AT_THE_DOOR);
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
  const sides = {
    source: await makeSide('source', { facts: source, budget: spec.sourceBudget, parts }, signal),
    target: await makeSide('target', { facts: target, budget: spec.targetBudget, parts }, signal),
  };
  seeTokens(sides, moment);
  return { sides, settings: differencesOf(from, to), settingsNotSeen: unseenOf(from, to) };
}

/** What the mover has seen of the source, and what it has committed to the target, is the floor of every read here. */
export function seeTokens({ source, target }: Sides, { tokens, targetTokens, leases }: Moment): void {
  for (const { token } of targetTokens) target.sessions.add(token);
  for (const { token } of tokens) source.sessions.add(token);
  for (const { anchor } of leases) source.sessions.add(anchor?.session);
}

/** What a range is asked with, so that nothing older answers than what was seen. */
export function tokenOf({ ranges, sessions }: Side, range: string): string | undefined {
  return sessions.of(ranges.find(range) ?? { id: range, parents: [] });
}

/** The parts of the ranges there are now that lie in an interval. */
export function partsOf(
  { ranges }: Side,
  { min, max }: { readonly min: string; readonly max: string },
): readonly FeedRange[] {
  return ranges.list
    .filter((range) => range.min < max && range.max > min)
    .map((range: PhysicalRange) => ({
      range,
      min: range.min > min ? range.min : min,
      max: range.max < max ? range.max : max,
    }));
}

function patienceOf(
  { clock, random, log }: Pick<SidesParts, 'clock' | 'random' | 'log'>,
  limits?: PatienceParts['limits'],
): Patience {
  const onWait = tellWaits(log, clock);
  return new Patience({ clock, random, onWait, ...(limits === undefined ? {} : { limits }) });
}

async function makeSide(
  is: SideName,
  {
    facts,
    budget,
    parts,
  }: { readonly facts: ContainerFacts; readonly budget: Budget; readonly parts: SidesParts },
  signal: AbortSignal,
): Promise<Side> {
  const { accounts, clock, random, timeoutMs } = parts;
  const lane = new ContainerLane(accounts[is], facts.name, facts.rid);
  const patience = patienceOf(parts);
  const governor = new Governor({
    clock,
    random,
    ruPerSecond: allowedRu(is, budget, ruOf(facts.throughput)),
  });
  const onChange = (gone: string, children: readonly string[]): void => governor.replace(gone, children);
  const ranges = await LiveRanges.read({ lane, patience, onChange, timeoutMs }, signal);
  return { is, lane, facts, ranges, sessions: new Sessions(), governor, patience, timeoutMs };
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
    throw new NotReadyError(`the ${is} container was deleted and created again`, {
      why: `its _rid was ${was} when the migration began and is ${now} now, so there is nothing to compare`,
      hint: 'begin a new migration with --ledger and an empty target',
      details: { side: is, was, is: now },
    });
  }
}

/** Before the end of the copy nearly everything is missing, and that is no difference. */
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
  return new NotReadyError('nothing was copied yet', {
    why: 'the ledger knows of no range of the source',
    hint: 'run cosmig copy first',
  });
}

function missing(is: SideName, { database, container }: Place): NotReadyError {
  return new NotReadyError(`there is no ${is} container ${database}/${container}`, {
    why: 'it was there when the migration began',
    hint: `check --${is}, and that the endpoint is of its account`,
  });
}
