/**
 * Inspects both containers before a migration writes its first byte. Invariant: an inspection writes nothing, not even
 * a ledger. A setting that cannot work is refused with an alternative; a possible mistake becomes a warning.
 */
import { differencesOf, type Described, type SettingDifference } from '../cosmos/container/settings.ts';
import { readContainer, type ContainerFacts } from '../cosmos/container/inspect.ts';
import { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import type { Account } from '../cosmos/account/client.ts';
import type { ControlCall } from '../cosmos/account/control-plane.ts';
import {
  checkCreation,
  createTarget,
  type AskedThroughput,
  type TargetPlan,
} from '../cosmos/container/create.ts';
import { Governor } from '../cosmos/load/governor.ts';
import { Patience, logWaits } from '../cosmos/load/retry.ts';
import { allowedRu } from '../cosmos/load/ru-budget.ts';
import { listScripts } from '../cosmos/container/scripts.ts';
import { ruOf, type Throughput } from '../cosmos/container/throughput.ts';
import { NotReadyError, UsageError } from '../lib/errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { RekeyOptions } from '../keys/rekey.ts';
import type { Connections } from '../spec/connection.ts';
import type { Budget, MigrationSpec } from '../spec/migration-spec.ts';
import { rekeyOptionsOf } from '../spec/rekey-options.ts';
import type { DeleteMode } from '../state/migration.ts';
import { Reservation, type ReservationText } from './reservation.ts';
import { deletesFor } from './delete-mode.ts';
import { estimate, indexedBy, type Estimate } from './estimate.ts';
import { notesOf, warningsOf, type Warning } from './findings.ts';
import type { Asking } from './occupied.ts';
import { probe } from './permissions.ts';
import { missingContainer } from './missing-container.ts';
import { CREATE_HINT, SOURCE_HINT, refuseOccupied, refuseOtherKey, refuseSame } from './refusals.ts';
import { takeSample, type SourceSample } from './sample.ts';
import { TIMING, type Timing } from '../spec/timing.ts';

export type { Estimate } from './estimate.ts';
export type { Warning } from './findings.ts';
export type { SourceSample } from './sample.ts';

export interface Accounts {
  readonly source: Account;
  /** The account of the target: the same object as `source`, if both containers are in one account. */
  readonly target: Account;
}

export interface InspectParts {
  readonly spec: MigrationSpec;
  readonly connections: Connections;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly timing?: Partial<Timing>;
  /** Whether the migration has begun: a ledger exists, and the target holds copies. Default: false. */
  readonly hasBegun?: boolean;
  /** Whether a target that is not empty is accepted. Default: false. */
  readonly adoptsTarget?: boolean;
  /** The name of the ledger in the reservation of the target, if the ledger exists. */
  readonly ledgerName?: string | undefined;
  /** How many documents to sample. Default: 5,000, fewer with a small RU budget. */
  readonly sampleMax?: number;
}

/** The result of an inspection in which nothing was refused. */
export interface Inspection {
  readonly source: ContainerFacts;
  /** The target container; null: it does not exist and will be created with `throughput`. */
  readonly target: ContainerFacts | null;
  readonly throughput: AskedThroughput | null;
  readonly rekey: RekeyOptions;
  /** How deletes will be found. */
  readonly deletes: DeleteMode;
  readonly differences: readonly SettingDifference[];
  readonly warnings: readonly Warning[];
  readonly notes: readonly string[];
  readonly sample: SourceSample;
  readonly estimate: Estimate;
  /** The description of the source, from which a missing target is created. */
  readonly like: Described;
}

/**
 * How long requests are retried before the trouble is reported. Shorter than in a migration, because the operator is
 * waiting. A refusal by the service is reported at once.
 */
export const INSPECTION_LIMITS = {
  throttled: { firstMs: 100, longestMs: 5000, totalMs: 120_000 },
  transient: { firstMs: 100, longestMs: 2000, totalMs: 20_000 },
  split: { firstMs: 100, longestMs: 5000, totalMs: 300_000 },
} as const;

export async function inspect(parts: InspectParts): Promise<Inspection> {
  const { spec, connections, accounts, random, log } = parts;
  const call = inspectionCall(parts);
  const { source, target } = await readBoth(parts);
  if (target !== null) refuseSame(source, target, spec);
  const rekey = rekeyOptionsOf(spec, source, target);
  if (target === null && spec.creation.kind === 'none') {
    const { target: account } = accounts;
    const missing = { side: 'target', account, address: spec.target, hint: CREATE_HINT } as const;
    throw await missingContainer({ ...missing, hasBegun: parts.hasBegun === true }, call);
  }
  if (target !== null) refuseOtherKey(target, rekey.plan, spec);
  const like = { facts: source, scripts: await listScripts(accounts.source, spec.source, call) };
  const throughput =
    target === null ? await checkCreation(accounts.target, planOf({ spec, connections, like }), call) : null;
  const own = throughput === null ? target?.throughput : throughput;
  const rates = {
    sourceRuPerSecond: rateOf('source', spec.sourceBudget, source.throughput),
    // Without a throughput to ask for, the service chooses one.
    targetRuPerSecond: rateOf('target', spec.targetBudget, own?.kind === 'none' ? undefined : own),
  };
  log.debug('both containers were read', { source: source.rid, target: target?.rid ?? null });

  const requests = new ContainerRequests(accounts.source, source.name);
  const { clock } = parts;
  const asking = askingOf(parts);
  await probe({ side: 'source', requests, facts: source, connection: connections.source, ...asking() });
  if (target !== null) {
    const there = new ContainerRequests(accounts.target, target.name);
    const { target: connection } = connections;
    await probe({ side: 'target', requests: there, facts: target, connection, ...asking() });
    const from = { account: accounts.source, facts: source };
    if (parts.hasBegun !== true && parts.adoptsTarget !== true) {
      await new Reservation(there, target, asking()).refuseOther(parts.ledgerName);
      await refuseOccupied({ spec, source: from, target: there, rekey }, asking());
    }
  }
  const deletes = await deletesFor(spec, source, { requests, ...asking() });
  log.debug('permissions and feeds were tried', { deletes });

  const sourceRu = rates.sourceRuPerSecond;
  const sample = await takeSample(requests, rekey, {
    ...asking(),
    source: { account: accounts.source, facts: source },
    governor: new Governor({ clock, random, ruPerSecond: sourceRu }),
    containerRu: ruOf(source.throughput),
    documentsMax: sampleSize(parts.sampleMax, sourceRu),
  });
  const differences = target === null ? [] : await settingsOf({ spec, like, target, accounts }, call);
  const found = { spec, source, target, sample, differences };
  return {
    source,
    target,
    throughput,
    rekey,
    deletes: deletes.mode,
    differences,
    warnings: warningsOf(found),
    notes: [...deletes.notes, ...notesOf(found)],
    sample,
    estimate: estimate({
      sample,
      // The count of the service is not up to date. If the sample has all documents, its count is exact.
      documents: sample.isWhole ? sample.documents : source.documentCount,
      ...rates,
      indexed: indexedBy((target ?? source).settings.indexingPolicy),
    }),
    like,
  };
}

/**
 * The sample has at most `most` documents, at least `least`, and in between as many as the RU budget allows in
 * `seconds`: with a small budget a full sample would take minutes.
 */
const SAMPLE = { most: 5000, least: 500, seconds: 5 } as const;

export function sampleSize(asked: number | undefined, ruPerSecond: number | undefined): number {
  if (asked !== undefined || ruPerSecond === undefined) return asked ?? SAMPLE.most;
  return Math.min(SAMPLE.most, Math.max(SAMPLE.least, Math.round(ruPerSecond * SAMPLE.seconds)));
}

/** Refuses to continue if there are warnings and the operator has not accepted them. */
export function refuseWarnings({ warnings }: Pick<Inspection, 'warnings'>, spec: MigrationSpec): void {
  const [first, ...more] = warnings;
  if (spec.acceptsWarnings || first === undefined) return;
  const accept = 'or add --yes to proceed';
  if (more.length === 0)
    throw new NotReadyError(first.message, { why: first.why, hint: `${first.hint}, ${accept}` });
  throw new NotReadyError(`the preflight has ${warnings.length} warnings`, {
    problems: warnings.map(({ kind, message, why, hint }) => {
      return { from: kind, message, why, hint: `${hint}, ${accept}` };
    }),
    why: warnings.map(({ message }) => message).join('; '),
    hint: `see each of them, ${accept}`,
  });
}

/** Creates the target as inspected, or completes a target that a crash left unfinished. */
export async function makeTarget(
  parts: Pick<InspectParts, 'spec' | 'connections' | 'accounts' | 'clock' | 'random' | 'signal' | 'log'>,
  { like }: Pick<Inspection, 'like'>,
): Promise<ContainerFacts> {
  return createTarget(parts.accounts.target, planOf({ ...parts, like }), inspectionCall(parts));
}

/**
 * Reserves the target for a ledger, and looks again whether the target is empty, because another copy may have begun since
 * the inspection.
 */
export async function reserveTarget(
  parts: InspectParts,
  { source, target }: { readonly source: ContainerFacts; readonly target: ContainerFacts },
  text: ReservationText,
): Promise<void> {
  const { spec, accounts } = parts;
  const asking = askingOf(parts);
  const there = new ContainerRequests(accounts.target, target.name, { rid: target.rid, is: 'target' });
  const reservation = new Reservation(there, target, asking());
  await reservation.take(text);
  const rekey = rekeyOptionsOf(spec, source, target);
  const from = { account: accounts.source, facts: source };
  try {
    await refuseOccupied({ spec, source: from, target: there, rekey }, asking());
  } catch (error) {
    await reservation.release(text.ledger);
    throw error;
  }
}

/** Returns what the reservation of the target says; undefined if there is none. */
export async function reservationIn(
  parts: InspectParts,
  target: ContainerFacts,
): Promise<ReservationText | undefined> {
  const there = new ContainerRequests(parts.accounts.target, target.name, { rid: target.rid, is: 'target' });
  return new Reservation(there, target, askingOf(parts)()).read();
}

/** Returns a function that gives each piece of work what it needs for its requests, with a patience of its own. */
function askingOf(parts: InspectParts): () => Asking {
  const { clock, random, signal } = parts;
  const { requestTimeoutMs: timeoutMs } = { ...TIMING, ...parts.timing };
  const { patience } = inspectionCall(parts);
  return () => ({ clock, random, signal, timeoutMs, patience: patience.fresh() });
}

/** Reads the facts of both containers. Refuses a missing source; returns null for a missing target. */
export async function readBoth(
  parts: Pick<InspectParts, 'spec' | 'accounts' | 'clock' | 'random' | 'signal' | 'log' | 'hasBegun'>,
): Promise<{ readonly source: ContainerFacts; readonly target: ContainerFacts | null }> {
  const { spec, accounts } = parts;
  const call = inspectionCall(parts);
  const source = await readContainer(accounts.source, spec.source, call);
  if (source === undefined) {
    const { source: account } = accounts;
    const missing = { side: 'source', account, address: spec.source, hint: SOURCE_HINT } as const;
    throw await missingContainer({ ...missing, hasBegun: parts.hasBegun === true }, call);
  }
  const target = await readContainer(accounts.target, spec.target, call);
  return { source, target: target ?? null };
}

/** Returns what a request of an inspection needs, with a patience of its own. */
export function inspectionCall({
  clock,
  random,
  signal,
  log,
}: Pick<InspectParts, 'clock' | 'random' | 'signal' | 'log'>): ControlCall {
  return {
    signal,
    patience: new Patience({ clock, random, limits: INSPECTION_LIMITS, onWait: logWaits(log, clock) }),
  };
}

/** Returns how the target would be created. */
export function planOf({
  spec,
  connections,
  like,
}: Pick<InspectParts, 'spec' | 'connections'> & { readonly like: Described }): TargetPlan {
  return {
    name: spec.target,
    keyPaths: spec.partitionKey,
    like,
    creation: spec.creation,
    connection: connections.target,
  };
}

/** Returns the RU/s that the migration may use on a side. Refuses a percentage of a throughput that is not known. */
export function rateOf(
  side: 'source' | 'target',
  budget: Budget,
  paid: Throughput | undefined,
): number | undefined {
  const containerRu = paid === undefined ? undefined : ruOf(paid);
  if (budget.kind === 'percent' && paid?.kind === 'unknown') {
    throw new UsageError(`--${side}-ru ${budget.percent}% is not valid`, {
      why: `this identity may not read the throughput of the ${side}`,
      hint: `give RU/s instead of a percentage, for example --${side}-ru 4000`,
    });
  }
  return allowedRu(side, budget, containerRu) ?? containerRu;
}

async function settingsOf(
  parts: Pick<InspectParts, 'spec' | 'accounts'> & {
    readonly like: Described;
    readonly target: ContainerFacts;
  },
  call: ControlCall,
): Promise<readonly SettingDifference[]> {
  const { spec, accounts, like, target } = parts;
  const scripts = await listScripts(accounts.target, target.name, call);
  const all = differencesOf(like, { facts: target, scripts });
  if (spec.creation.kind === 'none') return all;
  // A target that a crash left unfinished has no scripts yet, and already has the requested throughput.
  return all.filter(({ setting }) => setting !== 'scripts' && setting !== 'throughput');
}
