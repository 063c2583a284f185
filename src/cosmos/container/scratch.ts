/**
 * Creates a container for a short time, and removes it. Invariant: a container that existed before is removed only if it
 * has the name and the key paths that cosmig gives to its scratch containers, which an application would not choose.
 */
import type { ContainerRequest, RequestOptions } from '@azure/cosmos';
import { NotReadyError } from '../../lib/errors.ts';
import type { Account } from '../account/client.ts';
import { control, isAbsence, type ControlCall } from '../account/control-plane.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import type { AskedThroughput } from './create.ts';
import { readContainer, type ContainerFacts } from './inspect.ts';

export interface ScratchPlan {
  readonly name: ContainerName;
  /** cosmig recognises a container that an interrupted run has left by its name and by these key paths. */
  readonly keyPaths: readonly string[];
  /** The definition without the name. */
  readonly definition: Readonly<Record<string, unknown>>;
  readonly throughput: AskedThroughput;
}

/** A run needs about a minute. A scratch container that is younger than this may belong to a run that has not ended. */
const IN_USE_MINUTES = 10;

/**
 * Creates a container, after it has removed one that an interrupted run left. Returns whether there was one. Throws a
 * NotReadyError if another container has the name, or if another run may still use the scratch container.
 */
export async function createScratch(
  account: Account,
  { name, keyPaths, definition, throughput }: ScratchPlan,
  call: ControlCall,
): Promise<boolean> {
  const there = await readContainer(account, name, call);
  const wasLeft = there !== undefined && there.keyPaths.join() === keyPaths.join();
  if (there !== undefined && !wasLeft) throw alreadyThere(name);
  if (wasLeft && isYoung(there, account.serviceTime.nowTs())) throw mayBeInUse(name);
  if (wasLeft) await removeScratch(account, name, call);
  const { containers } = account.client.database(name.database);
  const ru = throughput.kind === 'manual' ? { throughput: throughput.ru } : {};
  let attempts = 0;
  const work = async (options: RequestOptions): Promise<true> => {
    attempts += 1;
    // The SDK changes its argument, so each attempt gets a copy.
    const body: unknown = structuredClone({ ...definition, id: name.container, ...ru });
    await containers.create(body as ContainerRequest, options);
    return true;
  };
  const made = await control(account, call, work, ({ status }) => status === 409);
  // After a lost reply, 409 may mean the container of an earlier attempt. Otherwise another process has created it.
  if (made === undefined && attempts === 1) throw alreadyThere(name);
  const container = account.client.database(name.database).container(name.container);
  // For some minutes not every replica may know the new container (fact SVC-38).
  await control(account, call, async (options) => container.read(options));
  return wasLeft;
}

/** Removes a container. One that does not exist counts as removed. */
export async function removeScratch(account: Account, name: ContainerName, call: ControlCall): Promise<void> {
  const container = account.client.database(name.database).container(name.container);
  await control(account, call, async (options) => container.delete(options), isAbsence);
}

/** Whether a scratch container may belong to a run that has not ended, by its time of creation. */
function isYoung({ definition }: ContainerFacts, nowTs: number): boolean {
  const { _ts: createdTs } = definition;
  return typeof createdTs === 'number' && nowTs - createdTs < IN_USE_MINUTES * 60;
}

function mayBeInUse({ database, container }: ContainerName): NotReadyError {
  return new NotReadyError(`another cosmig doctor --probe may be using ${database}/${container}`, {
    why: `the scratch container is less than ${IN_USE_MINUTES} minutes old`,
    hint: `let that run end, or choose another name, for example --probe ${database}/cosmig-probe-2; if a run was killed, the next one after ${IN_USE_MINUTES} minutes removes the container`,
  });
}

function alreadyThere({ database, container }: ContainerName): NotReadyError {
  return new NotReadyError(`the container ${database}/${container} exists`, {
    why: 'it is not a scratch container of cosmig, and others are never removed',
    hint: 'choose another name, for example --probe DB/cosmig-probe-2',
  });
}
