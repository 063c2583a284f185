/**
 * Makes the target: the source's settings under the new key. What always holds: it may be called again after a crash
 * at any point and does what is missing; a container that is there already keeps its settings, and nothing is ever
 * replaced or dropped.
 */
import type { ContainerRequest, RequestOptions } from '@azure/cosmos';
import { must, unreachable } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import { parsePath } from '../../keys/path.ts';
import type { Connection } from '../../spec/connection.ts';
import type { Creation } from '../../spec/migration-spec.ts';
import { creationCommand } from './create-command.ts';
import type { Account } from '../account/client.ts';
import { cloneOf, type Described } from './settings.ts';
import { readAccount, readContainer, readDatabase, type ContainerFacts } from './inspect.ts';
import type { ContainerName } from '../transport/container-requests.ts';
import { controlUnless, type ControlCall } from '../account/control-plane.ts';
import { createScript } from './scripts.ts';
import type { Throughput } from './throughput.ts';

/** The throughput that a create asks for; `none`: what the service gives, or the database shares. */
export type AskedThroughput =
  | { readonly kind: 'manual'; readonly ru: number }
  | { readonly kind: 'autoscale'; readonly ruMax: number }
  | { readonly kind: 'none' };

export interface TargetPlan {
  readonly name: ContainerName;
  readonly keyPaths: readonly string[];
  readonly like: Described;
  readonly creation: Creation;
  /** How the account is signed in to: Entra ID may make no containers. */
  readonly connection: Connection;
}

/**
 * Whether the target may be made, and with which throughput; a NotReadyError says what to run first. Writes nothing.
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
      why: 'a database may be paid for, so cosmig makes none by itself',
      hint: `make it, with your resource group: az cosmosdb sql database create --account-name ${accountName(connection)} --resource-group GROUP --name ${name.database}`,
    });
  }
  const asked = throughputFor(creation, like.facts.throughput, database.shared);
  if (connection.signsInWith === 'entra-id') {
    const definition = await definitionFor(account, plan, call);
    throw new NotReadyError(`an identity of Entra ID cannot create ${name.database}/${name.container}`, {
      why: 'its roles are for documents; containers are made with the account key or by Azure Resource Manager',
      hint: `run this with your resource group, then the same command again: ${creationCommand({ account: accountName(connection), name, definition, throughput: asked })}`,
    });
  }
  return asked;
}

/** The target as it is then; makes the container and the scripts that are not there. */
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
    target = must(await readMade(account, name, call), 'a container that was made is there');
  }
  refuseOtherKey(target, plan);
  if (connection.signsInWith === 'key') {
    for (const script of like.scripts ?? []) await createScript(account, name, { ...call, script });
  }
  return target;
}

/** Somebody may have made another one meanwhile. */
function refuseOtherKey({ keyPaths }: ContainerFacts, { name, keyPaths: asked }: TargetPlan): void {
  const textOf = (paths: readonly string[]): string => JSON.stringify(paths.map(parsePath));
  if (textOf(keyPaths) === textOf(asked)) return;
  throw new NotReadyError(`${name.database}/${name.container} has the partition key ${keyPaths.join(', ')}`, {
    why: `it should be ${asked.join(', ')}, and is fixed when a container is made`,
    hint: 'name another target',
  });
}

/** For some minutes a new container may not be known everywhere (fact SVC-38). */
async function readMade(
  account: Account,
  name: ContainerName,
  call: ControlCall,
): Promise<ContainerFacts | undefined> {
  const container = account.client.database(name.database).container(name.container);
  await controlUnless(
    account,
    call,
    async (options) => container.read(options),
    () => false,
  );
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
    // The SDK changes what it is given, so that each attempt has its own.
    const body: unknown = structuredClone({ ...definition, ...bodyOf(throughput) });
    return containers.create(body as ContainerRequest, options);
  };
  // An attempt whose reply was lost, or somebody else, has made it.
  await controlUnless(account, call, work, ({ status }) => status === 409);
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

/** What to ask for; a NotReadyError where nobody has said it and the source cannot be followed. */
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
        why: 'it should be that of the source, which cosmig may not read',
        hint: 'add --target-throughput N or --target-autoscale N',
      });
    default:
      return unreachable(source);
  }
}

/** The first part of the host is the account's name. */
function accountName({ endpoint }: Connection): string {
  return new URL(endpoint).hostname.split('.')[0] ?? '';
}

function bodyOf(throughput: AskedThroughput): { throughput?: number; maxThroughput?: number } {
  switch (throughput.kind) {
    case 'manual':
      return { throughput: throughput.ru };
    case 'autoscale':
      return { maxThroughput: throughput.ruMax };
    case 'none':
      return {};
    default:
      return unreachable(throughput);
  }
}
