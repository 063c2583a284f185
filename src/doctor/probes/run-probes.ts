/**
 * Asks all probes in two scratch containers. Invariant: the containers are created here and removed in all cases, also
 * when the operator stops cosmig; if they cannot be removed, the error says how to do it.
 */
import { connect, type Account } from '../../cosmos/account/client.ts';
import type { ControlCall } from '../../cosmos/account/control-plane.ts';
import { readContainer, readDatabase } from '../../cosmos/container/inspect.ts';
import { createScratch, removeScratch, type ScratchPlan } from '../../cosmos/container/scratch.ts';
import { Patience, logWaits } from '../../cosmos/load/retry.ts';
import { ContainerRequests, type ContainerName } from '../../cosmos/transport/container-requests.ts';
import { CanceledError, InternalError, NotReadyError, ServiceError } from '../../lib/errors.ts';
import { must } from '../../lib/assert.ts';
import { forEachConcurrently } from '../../lib/group.ts';
import { INSPECTION_LIMITS } from '../../preflight/inspect.ts';
import { servesAllVersions } from '../../preflight/permissions.ts';
import { TIMING } from '../../spec/timing.ts';
import type { DoctorParts } from '../doctor.ts';
import { PROBES } from './all.ts';
import { resultOf, type Answer, type Probe, type ProbeResult } from './probe.ts';
import { FLAT_KEY, LEVEL_KEYS, ScratchContainer, UNIQUE, type ScratchPair } from './scratch.ts';

export interface ProbesParts extends Omit<DoctorParts, 'env' | 'onChecks'> {
  /** The first scratch container. The second has `-levels` after this name. */
  readonly name: ContainerName;
  /** Aborted when not even the containers can be removed. */
  readonly abortSignal: AbortSignal;
  readonly onResult: (result: ProbeResult) => void;
}

/** The throughput of each scratch container: the least that the service gives. */
export const SCRATCH_RU = 400;

/** Returns the names of the scratch containers. */
export function scratchNames({
  database,
  container,
}: ContainerName): readonly [ContainerName, ContainerName] {
  return [
    { database, container },
    { database, container: `${container}-levels` },
  ];
}

/** Asks the account of the source all probes. */
export async function runProbes(parts: ProbesParts): Promise<readonly ProbeResult[]> {
  const { connections, signal, spec, name } = parts;
  if (connections.source.signsInWith === 'entra-id') throw needsKey();
  using account = await connect(connections.source, { signal });
  const call = callOf(parts);
  if ((await readDatabase(account, name.database, call)) === undefined) throw noDatabase(name);
  const { database, container } = spec.source;
  const source = await readContainer(account, { database, container }, call);
  const isServerless = source?.throughput.kind === 'serverless';
  const throughput = isServerless ? { kind: 'none' as const } : { kind: 'manual' as const, ru: SCRATCH_RU };
  const plans = plansFor(name, throughput);
  const created: ContainerName[] = [];
  try {
    for (const plan of plans) {
      // A container whose creation was interrupted may exist, unless it was refused.
      created.push(plan.name);
      await createScratch(account, plan, call).catch((error: unknown) => {
        if (error instanceof NotReadyError) created.pop();
        throw error;
      });
    }
    return await askAll(await scratchOf(account, parts), parts);
  } finally {
    await removeAll(account, created, parts);
  }
}

async function askAll(
  scratch: ScratchPair,
  { onResult, signal }: ProbesParts,
): Promise<readonly ProbeResult[]> {
  const answered = new Map<Probe, ProbeResult>();
  const work = async (probe: Probe): Promise<readonly Probe[]> => {
    const result = resultOf(probe, await ask(probe, scratch));
    answered.set(probe, result);
    onResult(result);
    return [];
  };
  const waiting = PROBES.filter(({ waits = false }) => waits);
  // One after the other, since a probe that reads a feed must see its own changes only.
  for (const probe of PROBES) {
    signal.throwIfAborted();
    if (!waiting.includes(probe)) await work(probe);
  }
  await forEachConcurrently(waiting, { limit: waiting.length, signal, work });
  return PROBES.map((probe) => must(answered.get(probe), 'each probe was answered'));
}

/** Asks one probe. Trouble that prevents an answer is not an answer. */
async function ask(probe: Probe, scratch: ScratchPair): Promise<Answer> {
  try {
    return await probe.ask(scratch);
  } catch (error) {
    if (error instanceof CanceledError || error instanceof InternalError) throw error;
    if (!(error instanceof ServiceError)) throw error;
    return { notAsked: error.message };
  }
}

async function scratchOf(account: Account, parts: ProbesParts): Promise<ScratchPair> {
  const { clock, signal, name } = parts;
  const [flatName, levelsName] = scratchNames(name);
  const open = (of: ContainerName, keyPaths: ScratchContainer['keyPaths']): ScratchContainer =>
    new ScratchContainer({
      open: () => new ContainerRequests(account, of),
      keyPaths,
      clock,
      patience: callOf(parts).patience,
      signal,
      timeoutMs: TIMING.requestTimeoutMs,
    });
  const flat = open(flatName, [FLAT_KEY]);
  const served = await servesAllVersions({ requests: flat.requests, ...flat.waiting });
  return { flat, levels: open(levelsName, LEVEL_KEYS), hasAllVersions: served === 'yes' };
}

function plansFor(name: ContainerName, throughput: ScratchPlan['throughput']): readonly ScratchPlan[] {
  const [flat, levels] = scratchNames(name);
  const paths = LEVEL_KEYS.map((path) => `/${path.join('/')}`);
  return [
    {
      name: flat,
      throughput,
      definition: {
        partitionKey: { paths: [`/${FLAT_KEY.join('/')}`], kind: 'Hash', version: 2 },
        defaultTtl: -1,
        uniqueKeyPolicy: { uniqueKeys: [{ paths: [`/${UNIQUE}`] }] },
      },
    },
    {
      name: levels,
      throughput,
      definition: { partitionKey: { paths, kind: 'MultiHash', version: 2 } },
    },
  ];
}

/** Removes the containers. The first Ctrl-C does not stop this. */
async function removeAll(
  account: Account,
  names: readonly ContainerName[],
  parts: ProbesParts,
): Promise<void> {
  const left: string[] = [];
  let cause: unknown;
  for (const name of names) {
    try {
      await removeScratch(account, name, { ...callOf(parts), signal: parts.abortSignal });
    } catch (error) {
      cause = error;
      left.push(`${name.database}/${name.container}`);
    }
  }
  if (left.length === 0) return;
  const [account_] = new URL(account.endpoint).hostname.split('.');
  const commands = left.map((one) => {
    const [database, container] = one.split('/');
    return `az cosmosdb sql container delete --account-name ${account_} --resource-group GROUP --database-name ${database} --name ${container}`;
  });
  throw new ServiceError(
    `the scratch container${left.length > 1 ? 's' : ''} ${left.join(' and ')} could not be removed`,
    {
      why: cause instanceof Error ? cause.message : 'cosmig was stopped',
      hint: `they cost money until you remove them, with your resource group: ${commands.join(' && ')}`,
      cause,
    },
  );
}

function callOf({ clock, random, signal, log }: ProbesParts): ControlCall {
  return {
    signal,
    patience: new Patience({ clock, random, limits: INSPECTION_LIMITS, onWait: logWaits(log, clock) }),
  };
}

function needsKey(): NotReadyError {
  return new NotReadyError('an identity of Entra ID cannot create the scratch containers', {
    why: 'its roles cover documents; containers are created with the account key',
    hint: 'set the account key in COSMIG_SOURCE_KEY for cosmig doctor --probe',
  });
}

function noDatabase({ database }: ContainerName): NotReadyError {
  return new NotReadyError(`there is no database ${database} in the account of the source`, {
    why: 'a database may cost money, so cosmig does not create one',
    hint: 'give --probe the name of an existing database',
  });
}
