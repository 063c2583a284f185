/** Reads and changes the throughput of a container, as far as the caller may. */
import type { OfferDefinition, RequestOptions } from '@azure/cosmos';
import { unreachable } from '../../lib/assert.ts';
import { formatCount } from '../../lib/counting.ts';
import { NotReadyError } from '../../lib/errors.ts';
import type { Trouble } from '../transport/trouble.ts';
import type { Account } from '../account/client.ts';
import { control, isForbidden, type ControlCall, type Controlled } from '../account/control-plane.ts';
import { memberOf } from '../../lib/json/json.ts';

/** A throughput that a container has itself, and that can be asked for. */
export type OwnThroughput =
  | { readonly kind: 'manual'; readonly ru: number }
  | { readonly kind: 'autoscale'; readonly ruMax: number };

export type Throughput =
  | OwnThroughput
  /** The throughput belongs to the database, for all its containers together. */
  | { readonly kind: 'shared' }
  /** Neither the container nor its database has a throughput. */
  | { readonly kind: 'serverless' }
  /** The caller may not read the throughput. */
  | { readonly kind: 'unknown' };

/** Returns the container's own RU/s; undefined if it has none, or if they are not known. */
export function ruOf(throughput: Throughput): number | undefined {
  if (throughput.kind === 'manual') return throughput.ru;
  return throughput.kind === 'autoscale' ? throughput.ruMax : undefined;
}

/** Returns the throughput in words for the operator. */
export function throughputText(throughput: Throughput): string {
  switch (throughput.kind) {
    case 'manual':
      return `${formatCount(throughput.ru)} RU/s`;
    case 'autoscale':
      return `autoscale to ${formatCount(throughput.ruMax)} RU/s`;
    case 'shared':
      return "its database's";
    case 'serverless':
      return 'serverless';
    case 'unknown':
      return 'not known';
    default:
      return unreachable(throughput);
  }
}

/** Reads the throughput of a container: its own, or that of its database. `container` and `database` are their links. */
export async function readThroughput(
  account: Account,
  { container, database }: { readonly container: string; readonly database: string },
  call: ControlCall,
): Promise<Throughput> {
  const own = await readOffer(account, container, call);
  if (own !== undefined) return own;
  const shared = await readOffer(account, database, call);
  if (shared === undefined) return { kind: 'serverless' };
  return shared.kind === 'unknown' ? shared : { kind: 'shared' };
}

/** Reads the throughput that a database or container has itself; undefined if it has none. */
export async function readOffer(
  account: Account,
  link: string,
  call: ControlCall,
): Promise<Throughput | undefined> {
  // An identity of Entra ID may read a container but not its throughput (fact SVC-37).
  const seen = await findOffer(account, link, call);
  if (seen === 'forbidden') return { kind: 'unknown' };
  if (seen === 'serverless') return { kind: 'serverless' };
  const content: unknown = seen.value[0]?.content;
  const ruMax = numberAt(memberOf(content, 'offerAutopilotSettings'), 'maxThroughput');
  if (ruMax !== undefined) return { kind: 'autoscale', ruMax };
  const ru = numberAt(content, 'offerThroughput');
  return ru === undefined ? undefined : { kind: 'manual', ru };
}

/** Changes the RU/s of a throughput, but not its kind. */
export async function replaceOffer(
  account: Account,
  { link, throughput }: { readonly link: string; readonly throughput: OwnThroughput },
  call: ControlCall,
): Promise<void> {
  const seen = await findOffer(account, link, call);
  const offer = typeof seen === 'string' ? undefined : seen.value[0];
  if (offer?.id === undefined) {
    throw new NotReadyError('the throughput of the container cannot be changed', {
      why: 'your identity may not read it, or the container has none of its own',
      hint: 'use an account key, or change it with az cosmosdb sql container throughput update',
    });
  }
  const content =
    throughput.kind === 'manual'
      ? { ...offer.content, offerThroughput: throughput.ru }
      : { ...offer.content, offerAutopilotSettings: { maxThroughput: throughput.ruMax } };
  const { id } = offer;
  const work = async (options: RequestOptions): Promise<unknown> => {
    // The SDK changes its argument, so each attempt gets a copy.
    const body: unknown = structuredClone({ ...offer, content });
    return account.client.offer(id).replace(body as OfferDefinition, options);
  };
  // The request contains the new throughput, and not a change of it, so repeating it does no harm.
  await control(account, { ...call, changes: true }, work);
}

/**
 * Finds the offer, the service's record of a throughput, for a link. The list is empty if there is none. A serverless
 * account answers 400 to the query.
 */
async function findOffer(
  account: Account,
  link: string,
  call: ControlCall,
): Promise<Controlled<readonly OfferDefinition[]> | 'forbidden' | 'serverless'> {
  const query = {
    query: 'SELECT * FROM root WHERE root.resource = @link',
    parameters: [{ name: '@link', value: link }],
  };
  const work = async (options: RequestOptions): Promise<readonly OfferDefinition[]> => {
    const { resources } = await account.client.offers.query<OfferDefinition>(query, options).fetchAll();
    return resources;
  };
  let refused: 'forbidden' | 'serverless' = 'forbidden';
  const isRefusal = (trouble: Trouble): boolean => {
    refused = isForbidden(trouble) ? 'forbidden' : 'serverless';
    return isForbidden(trouble) || trouble.status === 400;
  };
  return (await control(account, call, work, isRefusal)) ?? refused;
}

function numberAt(value: unknown, name: string): number | undefined {
  const number = memberOf(value, name);
  return typeof number === 'number' && number > 0 ? number : undefined;
}
