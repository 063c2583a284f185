/**
 * Creates the target with the settings of the source and the new key. Invariant: after a crash at any point, another
 * call of `createTarget` creates what is missing; an existing container keeps its settings; nothing is replaced or
 * deleted.
 */
import type { ContainerRequest, RequestOptions } from '@azure/cosmos';
import { must, unreachable } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { parsePath } from '../../keys/path.ts';
import type { Connection } from '../../spec/connection.ts';
import type { Creation } from '../../spec/migration-spec.ts';
import { creationCommand } from './create-command.ts';
import type { Account } from '../account/client.ts';
import { cloneOf } from './clone.ts';
import type { Described } from './settings.ts';
import { readAccount, readContainer, readDatabase, type ContainerFacts } from './inspect.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import { control, type ControlCall } from '../account/control-plane.ts';
import { createScript } from './scripts.ts';
import type { OwnThroughput, Throughput } from './throughput.ts';

/** The throughput to ask for. `none`: the service's default, or what the database shares. */
export type AskedThroughput = OwnThroughput | { readonly kind: 'none' };

export interface TargetPlan {
  readonly name: ContainerName;
  readonly keyPaths: readonly string[];
  readonly like: Described;
  readonly creation: Creation;
  /** How cosmig signs in to the account. An identity of Entra ID may not create containers. */
  readonly connection: Connection;
}

/**
 * Checks that the target can be created, and returns the throughput to ask for. Throws a NotReadyError that says what
 * to run first. Writes nothing.
 */
export async function checkCreation(
  account: Account,
  plan: TargetPlan,
  call: ControlCall,
): Promise<AskedThroughput> {
  const { name, creation, like, connection } = plan;
  const database = await readDatabase(account, name.database, call);
  if (database === undefined) {
    throw new NotReadyError(`there is no database ${name.database} for the target`, {
      why: 'a database may cost money, so cosmig does not create one',
      hint: `create it, with your resource group: az cosmosdb sql database create --account-name ${accountName(connection)} --resource-group GROUP --name ${name.database}`,
    });
  }
  const asked = throughputFor(creation, like.facts.throughput, database.shared);
  if (connection.signsInWith === 'entra-id') {
    const definition = await definitionFor(account, plan, call);
    throw new NotReadyError(`an identity of Entra ID cannot create ${name.database}/${name.container}`, {
      why: 'its roles cover documents; containers are created with the account key or by Azure Resource Manager',
      hint: `run this with your resource group, then the same command again: ${creationCommand({ account: accountName(connection), name, definition, throughput: asked })}`,
    });
  }
  return asked;
}

/** Creates the container and its scripts, as far as they are missing; returns the target as it is then. */
export async function createTarget(
  account: Account,
  plan: TargetPlan,
  call: ControlCall,
): Promise<ContainerFacts> {
  const { name, connection, like } = plan;
  let target = await readContainer(account, name, call);
  if (target === undefined) {
    const throughput = await checkCreation(account, plan, call);
    await create(account, { plan, throughput }, call);
    target = must(await readCreated(account, name, call), 'a container that was created can be read');
  }
  refuseOtherKey(target, plan);
  if (connection.signsInWith === 'key') {
    for (const script of like.scripts ?? []) await createScript(account, name, { ...call, script });
  }
  return target;
}

/** Throws if the container has another key: another process may have created it meanwhile. */
function refuseOtherKey({ keyPaths }: ContainerFacts, { name, keyPaths: asked }: TargetPlan): void {
  const textOf = (paths: readonly string[]): string => JSON.stringify(paths.map(parsePath));
  if (textOf(keyPaths) === textOf(asked)) return;
  throw new NotReadyError(`${name.database}/${name.container} has the partition key ${keyPaths.join(', ')}`, {
    why: `it should be ${asked.join(', ')}, and is fixed when a container is created`,
    hint: 'name another target',
  });
}

/** Reads the new container. For some minutes not every replica may know it (fact SVC-38). */
async function readCreated(
  account: Account,
  name: ContainerName,
  call: ControlCall,
): Promise<ContainerFacts | undefined> {
  const container = account.client.database(name.database).container(name.container);
  await control(account, call, async (options) => container.read(options));
  return readContainer(account, name, call);
}

async function create(
  account: Account,
  { plan, throughput }: { readonly plan: TargetPlan; readonly throughput: AskedThroughput },
  call: ControlCall,
): Promise<void> {
  const { containers } = account.client.database(plan.name.database);
  const definition = await definitionFor(account, plan, call);
  const work = async (options: RequestOptions): Promise<unknown> => {
    // The SDK changes its argument, so each attempt gets a copy.
    const body: unknown = structuredClone({ ...definition, ...bodyOf(throughput) });
    return containers.create(body as ContainerRequest, options);
  };
  // 409: another process, or an attempt whose reply was lost, has created the container.
  await control(account, { ...call, changes: true }, work, ({ status }) => status === 409);
}

async function definitionFor(
  account: Account,
  { like, name, keyPaths }: TargetPlan,
  call: ControlCall,
): Promise<Readonly<Record<string, unknown>>> {
  const { id } = await readAccount(account, call);
  return cloneOf(like.facts, {
    name,
    keyPaths,
    isSameAccount: id !== null && id === like.facts.account.id,
  });
}

/** Returns the throughput to ask for. Throws a NotReadyError if no option gives it and the source has none to copy. */
export function throughputFor(
  creation: Creation,
  source: Throughput,
  shared: Throughput | undefined,
): AskedThroughput {
  if (creation.kind === 'manual' || creation.kind === 'autoscale') return creation;
  switch (source.kind) {
    case 'manual':
    case 'autoscale':
      return source;
    case 'serverless':
      return { kind: 'none' };
    case 'shared':
      if (shared !== undefined) return { kind: 'none' };
      throw new NotReadyError('the throughput of the target is not known', {
        why: "the source shares its database's throughput, and the target's database has none to share",
        hint: 'add --target-throughput N or --target-autoscale N',
      });
    case 'unknown':
      throw new NotReadyError('the throughput of the target is not known', {
        why: 'it should equal that of the source, which cosmig may not read',
        hint: 'add --target-throughput N or --target-autoscale N',
      });
    default:
      return unreachable(source);
  }
}

/** Returns the account's name, which is the first part of the host. */
function accountName({ endpoint }: Connection): string {
  return new URL(endpoint).hostname.split('.')[0] ?? '';
}

function bodyOf(asked: AskedThroughput): { throughput?: number; maxThroughput?: number } {
  if (asked.kind === 'manual') return { throughput: asked.ru };
  return asked.kind === 'autoscale' ? { maxThroughput: asked.ruMax } : {};
}
