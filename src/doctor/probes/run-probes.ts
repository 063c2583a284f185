/**
 * Asks all probes in scratch containers. Invariant: the containers are created here and removed in all cases, also when
 * the operator stops cosmig; if they cannot be removed, the error says how to do it. If a run is killed, the next run
 * with the same name removes its containers.
 */
import { connect, type Account } from '../../cosmos/account/client.ts';
import { describeAccount } from '../../cosmos/account/describe.ts';
import { readDatabase } from '../../cosmos/container/inspect.ts';
import { createScratch, removeScratch, type ScratchPlan } from '../../cosmos/container/scratch.ts';
import { ContainerRequests, type ContainerName } from '../../cosmos/transport/container-requests.ts';
import { CanceledError, InternalError, NotReadyError, ServiceError } from '../../lib/errors.ts';
import { must } from '../../lib/assert.ts';
import { forEachConcurrently } from '../../lib/group.ts';
import { inspectionCall } from '../../preflight/inspect.ts';
import { servesAllVersions } from '../../preflight/permissions.ts';
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import type { Connection } from '../../spec/connection.ts';
import { TIMING } from '../../spec/timing.ts';
import type { DoctorParts } from '../doctor.ts';
import { PROBES } from './all.ts';
import { resultOf, type Answer, type Probe, type ProbeResult } from './probe.ts';
import { FLAT_KEY, LEVEL_KEYS, ScratchContainer, UNIQUE, type ScratchContainers } from './scratch.ts';

export interface ProbesParts extends Pick<DoctorParts, 'clock' | 'random' | 'log' | 'signal'> {
  /** The account that is asked. */
  readonly connection: Connection;
  /** The name of the first scratch container. The others have this name with a word added. */
  readonly name: ContainerName;
  /** Aborted when cosmig has to stop at once, so that not even the containers can be removed. */
  readonly abortSignal: AbortSignal;
  /** Called with the name of a scratch container that an earlier run left and this one removed. */
  readonly onLeftover: (name: ContainerName) => void;
  readonly onResult: (result: ProbeResult) => void;
  /** Called with all answers before the containers are removed, since the removal may fail. */
  readonly onProbed: (probed: Probed) => void;
}

/** What is reported of the account, since answers may depend on it. Contains no names. */
export interface ProbedAccount {
  readonly throughput: 'provisioned' | 'serverless';
  /** Null if the key may not read it. */
  readonly consistency: string | null;
  readonly regions: number;
  readonly multiWrite: boolean;
  readonly allVersions: boolean;
}

export interface Probed {
  readonly account: ProbedAccount;
  readonly results: readonly ProbeResult[];
}

/** The throughput of each scratch container: the least that the service gives. */
export const SCRATCH_RU = 400;

/** Returns the names of the scratch containers. */
export function scratchNames({ database, container }: ContainerName): readonly ContainerName[] {
  return ['', '-levels', '-expiring'].map((end) => ({ database, container: container + end }));
}

/** Consistency levels with which an account refuses reads with session consistency (fact SVC-68). */
const TOO_WEAK: ReadonlySet<string> = new Set(['Eventual', 'ConsistentPrefix']);

/** Asks an account all probes. */
export async function runProbes(parts: ProbesParts): Promise<Probed> {
  const { connection, clock, signal, name } = parts;
  if (connection.signsInWith === 'entra-id') throw needsKey();
  using account = await connect(connection, { signal, clock });
  const call = inspectionCall(parts);
  const described = await describeAccount(account, call);
  const consistency = described?.consistency ?? null;
  if (consistency !== null && TOO_WEAK.has(consistency)) throw tooWeak(consistency);
  const database = await readDatabase(account, name.database, call);
  if (database === undefined) throw noDatabase(name);
  const isServerless = database.shared?.kind === 'serverless';
  const throughput = isServerless ? { kind: 'none' as const } : { kind: 'manual' as const, ru: SCRATCH_RU };
  const created: ContainerName[] = [];
  try {
    for (const plan of plansFor(name, throughput)) {
      // The name is added before the creation, because a container whose creation was interrupted may exist. After a
      // refusal no container exists.
      created.push(plan.name);
      const wasLeft = await createScratch(account, plan, call).catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
        created.pop();
        throw troubleOf(error)?.kind === 'denied' ? mayNotCreate(plan.name, error) : error;
      });
      if (wasLeft) parts.onLeftover(plan.name);
    }
    const scratch = await scratchOf(account, parts);
    const results = await askAll(scratch, parts);
    const probed: Probed = {
      account: {
        throughput: isServerless ? 'serverless' : 'provisioned',
        consistency,
        regions: described?.regions.length ?? 0,
        multiWrite: described?.multiWrite ?? false,
        allVersions: scratch.hasAllVersions,
      },
      results,
    };
    parts.onProbed(probed);
    return probed;
  } finally {
    await removeAll(account, created, parts);
  }
}

/** Whether the service has refused to create a container, so that there is none to remove. */
function isRefusal(error: unknown): boolean {
  const kind = troubleOf(error)?.kind;
  return error instanceof NotReadyError || kind === 'denied' || kind === 'fatal';
}

async function askAll(
  scratch: ScratchContainers,
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

/**
 * Asks one probe. Trouble that prevents an answer is not an answer. Its words are left out, since the service writes names
 * and addresses into them, and the answers are published.
 */
async function ask(probe: Probe, scratch: ScratchContainers): Promise<Answer> {
  try {
    return await probe.ask(scratch);
  } catch (error) {
    if (error instanceof CanceledError || error instanceof InternalError) throw error;
    if (!(error instanceof ServiceError)) throw error;
    const trouble = troubleOf(error);
    if (trouble === undefined) return { notAsked: 'the answer could not be understood' };
    const { status, substatus } = trouble;
    if (status === 0) return { notAsked: 'the service did not answer' };
    return { notAsked: `the service answered ${status}${substatus === 0 ? '' : `/${substatus}`}` };
  }
}

async function scratchOf(account: Account, parts: ProbesParts): Promise<ScratchContainers> {
  const { clock, signal, name } = parts;
  const [flatName, levelsName, expiringName] = scratchNames(name);
  const open = (of: ContainerName | undefined, keyPaths: ScratchContainer['keyPaths']): ScratchContainer =>
    new ScratchContainer({
      open: () => new ContainerRequests(account, must(of, 'each container has a name')),
      keyPaths,
      clock,
      patience: inspectionCall(parts).patience,
      signal,
      timeoutMs: TIMING.requestTimeoutMs,
    });
  const flat = open(flatName, [FLAT_KEY]);
  const served = await servesAllVersions({ requests: flat.requests, ...flat.waiting });
  return {
    flat,
    levels: open(levelsName, LEVEL_KEYS),
    expiring: open(expiringName, [FLAT_KEY]),
    hasAllVersions: served === 'yes',
  };
}

function plansFor(name: ContainerName, throughput: ScratchPlan['throughput']): readonly ScratchPlan[] {
  const flat = [`/${FLAT_KEY.join('/')}`];
  const levels = LEVEL_KEYS.map((path) => `/${path.join('/')}`);
  const hash = { paths: flat, kind: 'Hash', version: 2 };
  const definitions = [
    {
      partitionKey: hash,
      defaultTtl: -1,
      uniqueKeyPolicy: { uniqueKeys: [{ paths: [`/${UNIQUE}`] }] },
    },
    { partitionKey: { paths: levels, kind: 'MultiHash', version: 2 } },
    { partitionKey: hash, defaultTtl: 1 },
  ];
  return scratchNames(name).map((one, at) => {
    const definition = must(definitions[at], 'each container has a definition');
    return { name: one, keyPaths: definition.partitionKey.paths, throughput, definition };
  });
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
      await removeScratch(account, name, { ...inspectionCall(parts), signal: parts.abortSignal });
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

function mayNotCreate({ database, container }: ContainerName, cause: unknown): NotReadyError {
  return new NotReadyError(`the account does not allow this key to create ${database}/${container}`, {
    why: 'the key is read-only or wrong, or a firewall blocks this machine; nothing was created',
    hint: 'set a read-write key of the account in COSMIG_SOURCE_KEY for cosmig doctor --probe',
    cause,
  });
}

function needsKey(): NotReadyError {
  return new NotReadyError('an identity of Entra ID cannot create the scratch containers', {
    why: 'its roles cover documents; containers are created with the account key',
    hint: 'set the account key in COSMIG_SOURCE_KEY for cosmig doctor --probe',
  });
}

function tooWeak(consistency: string): NotReadyError {
  return new NotReadyError('the account refuses reads with session consistency', {
    why: `its default consistency is ${consistency}, and a migration needs session consistency, as most of the questions do; nothing was created`,
    hint: 'set the default to Session, with which requests cost the same: az cosmosdb update --name ACCOUNT --resource-group GROUP --default-consistency-level Session',
  });
}

function noDatabase({ database }: ContainerName): NotReadyError {
  return new NotReadyError(`there is no database ${database} in the account`, {
    why: 'a database may cost money, so cosmig does not create one',
    hint: 'give --probe the name of an existing database',
  });
}
