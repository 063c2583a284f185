/** What a container's throughput is, as far as it can be told. */
import type { OfferDefinition, RequestOptions } from '@azure/cosmos';
import { unreachable } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import type { Trouble } from '../transport/trouble.ts';
import type { Account } from '../account/client.ts';
import { controlUnless, isForbidden, type ControlCall, type Controlled } from '../account/control-plane.ts';
import { memberOf } from '../../lib/json.ts';

export type Throughput =
  | { readonly kind: 'manual'; readonly ru: number }
  | { readonly kind: 'autoscale'; readonly ruMax: number }
  /** The database has it, for all its containers together. */
  | { readonly kind: 'shared' }
  /** Neither the container nor its database has any, or the account knows of none. */
  | { readonly kind: 'serverless' }
  /** Whoever asks may not know. */
  | { readonly kind: 'unknown' };

/** The RU/s that are a container's own; nothing for those that have none. */
export function ruOf(throughput: Throughput): number | undefined {
  switch (throughput.kind) {
    case 'manual':
      return throughput.ru;
    case 'autoscale':
      return throughput.ruMax;
    case 'shared':
    case 'serverless':
    case 'unknown':
      return undefined;
    default:
      return unreachable(throughput);
  }
}

/** In words, for people. */
export function throughputText(throughput: Throughput): string {
  switch (throughput.kind) {
    case 'manual':
      return `${throughput.ru} RU/s`;
    case 'autoscale':
      return `autoscale to ${throughput.ruMax} RU/s`;
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

/** Of the container with these links; `database` is its database's. */
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

/** What the database or container with this link pays for; nothing when it pays for nothing. */
export async function readOffer(
  account: Account,
  link: string,
  call: ControlCall,
): Promise<Throughput | undefined> {
  // An identity of Entra ID may read a container without its throughput (fact SVC-37).
  const seen = await findOffer(account, link, call);
  if (seen === 'forbidden') return { kind: 'unknown' };
  if (seen === 'serverless') return { kind: 'serverless' };
  const content: unknown = seen.value[0]?.content;
  const ruMax = numberAt(memberOf(content, 'offerAutopilotSettings'), 'maxThroughput');
  if (ruMax !== undefined) return { kind: 'autoscale', ruMax };
  const ru = numberAt(content, 'offerThroughput');
  return ru === undefined ? undefined : { kind: 'manual', ru };
}

/** Pays for so much from now on; the kind stays what it is. */
export async function replaceOffer(
  account: Account,
  {
    link,
    throughput,
  }: {
    readonly link: string;
    readonly throughput: Extract<Throughput, { kind: 'manual' | 'autoscale' }>;
  },
  call: ControlCall,
): Promise<void> {
  const seen = await findOffer(account, link, call);
  const offer = typeof seen === 'string' ? undefined : seen.value[0];
  if (offer?.id === undefined) {
    throw new NotReadyError('the throughput of the container cannot be changed', {
      why: 'whoever is signed in may not see it, or the container has none of its own',
      hint: 'sign in with an account key, or change it with az cosmosdb sql container throughput update',
    });
  }
  const content =
    throughput.kind === 'manual'
      ? { ...offer.content, offerThroughput: throughput.ru }
      : { ...offer.content, offerAutopilotSettings: { maxThroughput: throughput.ruMax } };
  const { id } = offer;
  const work = async (options: RequestOptions): Promise<unknown> => {
    // The SDK changes what it is given, so that each attempt has its own.
    const body: unknown = structuredClone({ ...offer, content });
    return account.client.offer(id).replace(body as OfferDefinition, options);
  };
  // It says what there will be, so that a second time does no harm.
  await controlUnless(account, call, work, () => false);
}

/** A serverless account answers 400 to whoever asks for throughput, and a container without any is an empty list. */
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
  return (await controlUnless(account, call, work, isRefusal)) ?? refused;
}

function numberAt(value: unknown, name: string): number | undefined {
  const number = memberOf(value, name);
  return typeof number === 'number' && number > 0 ? number : undefined;
}
