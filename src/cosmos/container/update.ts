/**
 * Changes a setting of the target to that of the source, while both are in use. Invariant: only the named setting is
 * changed; changes by other processes are kept; repeating the change has no further effect.
 */
import type { ContainerDefinition, RequestOptions } from '@azure/cosmos';
import { NotReadyError, ServiceError } from '../../lib/errors.ts';
import type { Account } from '../account/client.ts';
import { policyLike } from './settings.ts';
import { readContainer, type ContainerFacts } from './inspect.ts';
import { control, type ControlCall } from '../account/control-plane.ts';
import { replaceOffer, throughputText } from './throughput.ts';

/** The settings that the service allows to change after a container was created (fact SVC-46). */
export type Changeable = 'ttl' | 'indexing' | 'throughput';

/** The most attempts: other processes may change the definition as well, but not all the time. */
const TRIES_MAX = 5;

interface Sides {
  readonly source: ContainerFacts;
  readonly target: ContainerFacts;
}

/** Changes one setting of the target. `account` is that of the target. */
export async function makeLike(
  account: Account,
  { setting, source, target }: Sides & { readonly setting: Changeable },
  call: ControlCall,
): Promise<void> {
  if (setting === 'throughput') return followThroughput(account, { source, target }, call);
  for (let tried = 1; tried <= TRIES_MAX; tried += 1) {
    const now = await readContainer(account, target.name, call);
    if (now?.rid !== target.rid) throw gone(target);
    const wanted = definitionLike(now, source, setting);
    if (wanted === null || (await replace(account, { now, wanted }, call))) return;
  }
  throw new ServiceError('the definition of the target changes all the time', {
    why: `another process changed it between each of ${TRIES_MAX} reads and writes`,
    hint: 'find out which process does so, then run the same command again',
  });
}

/** Returns the definition to send; null if nothing has to change. */
function definitionLike(
  now: ContainerFacts,
  source: ContainerFacts,
  setting: 'ttl' | 'indexing',
): Readonly<Record<string, unknown>> | null {
  const { defaultTtl: _ttl, ...rest } = now.definition;
  if (setting === 'ttl') {
    if (now.defaultTtl === source.defaultTtl) return null;
    return source.defaultTtl === null ? rest : { ...rest, defaultTtl: source.defaultTtl };
  }
  const policy = policyLike('indexingPolicy', source, now);
  return policy.isSame ? null : { ...now.definition, indexingPolicy: policy.wanted };
}

/** Replaces the definition. Returns false if another process, or an attempt whose reply was lost, changed it first. */
async function replace(
  account: Account,
  { now, wanted }: { readonly now: ContainerFacts; readonly wanted: Readonly<Record<string, unknown>> },
  call: ControlCall,
): Promise<boolean> {
  const { database, container } = now.name;
  const work = async (options: RequestOptions): Promise<true> => {
    // The SDK changes its argument, so each attempt gets a copy.
    const body: unknown = structuredClone(wanted);
    const accessCondition = { type: 'IfMatch', condition: now.etag };
    await account.client
      .database(database)
      .container(container)
      .replace(body as ContainerDefinition, { ...options, accessCondition });
    return true;
  };
  const done = await control(account, { ...call, changes: true }, work, ({ status }) => status === 412);
  return done !== undefined;
}

async function followThroughput(
  account: Account,
  { source, target }: Sides,
  call: ControlCall,
): Promise<void> {
  const [from, to] = [source.throughput, target.throughput];
  if (from.kind !== to.kind || (from.kind !== 'manual' && from.kind !== 'autoscale')) {
    throw new NotReadyError('the throughput of the target cannot be changed to that of the source', {
      why: `it is ${throughputText(to)}, and that of the source is ${throughputText(from)}`,
      hint: 'change its kind with az cosmosdb sql container throughput migrate, or leave it as it is',
    });
  }
  await replaceOffer(account, { link: String(target.definition['_self']), throughput: from }, call);
}

function gone({ name: { database, container } }: ContainerFacts): NotReadyError {
  return new NotReadyError(`${database}/${container} is not the container it was`, {
    why: 'it was deleted, or deleted and created again, meanwhile',
    hint: 'check which container has this name before you change anything else',
  });
}
