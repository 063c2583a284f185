/** Creates a container for a short time, and removes it. Invariant: a container that existed before is never removed. */
import type { ContainerRequest, RequestOptions } from '@azure/cosmos';
import { NotReadyError } from '../../lib/errors.ts';
import type { Account } from '../account/client.ts';
import { control, isAbsence, type ControlCall } from '../account/control-plane.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import type { AskedThroughput } from './create.ts';
import { readContainer } from './inspect.ts';

export interface ScratchPlan {
  readonly name: ContainerName;
  /** The definition without the name. */
  readonly definition: Readonly<Record<string, unknown>>;
  readonly throughput: AskedThroughput;
}

/** Creates a container. Throws a NotReadyError if there is one of that name. */
export async function createScratch(
  account: Account,
  { name, definition, throughput }: ScratchPlan,
  call: ControlCall,
): Promise<void> {
  if ((await readContainer(account, name, call)) !== undefined) throw alreadyThere(name);
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
  // For some minutes not every replica may know it (fact SVC-38).
  await control(account, call, async (options) => container.read(options));
}

/** Removes a container. One that does not exist counts as removed. */
export async function removeScratch(account: Account, name: ContainerName, call: ControlCall): Promise<void> {
  const container = account.client.database(name.database).container(name.container);
  await control(account, call, async (options) => container.delete(options), isAbsence);
}

function alreadyThere({ database, container }: ContainerName): NotReadyError {
  return new NotReadyError(`the container ${database}/${container} exists`, {
    why: 'cosmig removes the container that it tries things in, so it uses only one that it has created',
    hint: 'name another one; or remove it yourself if an earlier run of cosmig has left it',
  });
}
