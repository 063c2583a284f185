/**
 * The shop of the demo: its two containers, and orders of every kind that makes a migration hard. Invariant:
 * documents are JSON text here, since a JavaScript number cannot hold every integer beyond 2^53.
 */
import type { Account } from '../cosmos/account/client.ts';
import { ContainerRequests } from '../cosmos/transport/container-requests.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Random } from '../lib/random.ts';

export const DATABASE = 'shop';
/** The hint of an error that the operator cannot have caused. */
export const AGAIN = 'run cosmig demo again; if it fails again, report what --verbose prints';
/** The source is keyed by the tenant that sells. One tenant sells most. */
export const SOURCE = { container: 'orders', keyPath: '/tenantId', property: 'tenantId' } as const;
/** The target is keyed by the customer who buys. */
export const TARGET = {
  container: 'orders-by-customer',
  keyPath: '/customerId',
  property: 'customerId',
} as const;

/** The throughput of the source, which gives it one physical range before any split. */
export const THROUGHPUT_RU = 5000;
/** How often the fullest range is split before the demo begins: a key matters from about five ranges on. */
export const SPLITS = 4;
export const HOT_TENANT = 'amber';
/** How many of every hundred orders belong to the largest tenant. */
const HOT_PERCENT = 64;
const TENANTS = ['birch', 'cedar', 'dune', 'elm', 'fjord', 'grove', 'heath', 'iris', 'juniper'];
const CUSTOMERS = 240;

/**
 * Invoices that collide in the target. Each tenant numbers its invoices independently, so two invoices of one
 * customer can have the same id.
 */
export const COLLISIONS = [
  { id: 'invoice-7', customerId: 'c-042', tenants: [HOT_TENANT, 'birch'] },
  { id: 'invoice-9', customerId: 'c-117', tenants: [HOT_TENANT, 'cedar'] },
] as const;

/** A document with a 64-bit integer, as services in other languages write it. */
export const LONG = { id: 'traced-0', tenantId: HOT_TENANT, customerId: 'c-001', trace: '9007199254740993' };

export interface Order {
  readonly id: string;
  readonly tenantId: string;
  readonly customerId: string;
  readonly status: string;
  readonly total: number;
  /** A number that grows with every change of the order. */
  readonly version: number;
  readonly note: string;
}

/** Text that gives an order its usual size. */
const NOTE = 'left at the door, please ring twice; '.repeat(20);

export function newOrder(id: string, random: Random): Order {
  const tenantId = random.below(100) < HOT_PERCENT ? HOT_TENANT : pick(TENANTS, random);
  return {
    id: `${tenantId}-${id}`,
    tenantId,
    customerId: someCustomer(random),
    status: 'placed',
    total: 100 + random.below(50_000),
    version: 1,
    note: NOTE,
  };
}

export function someCustomer(random: Random): string {
  return customer(random.below(CUSTOMERS));
}

function customer(number: number): string {
  return `c-${String(number).padStart(3, '0')}`;
}

function pick(from: readonly string[], random: Random): string {
  return from[random.below(from.length)] ?? HOT_TENANT;
}

/** The documents with which the source is filled. Some documents of each kind that needs attention are among them. */
export interface Seed {
  readonly documents: readonly { readonly key: string; readonly json: string }[];
  /** The orders that the application changes. */
  readonly orders: readonly Order[];
  readonly kinds: Readonly<Record<'collisions' | 'withoutKey' | 'withTtl' | 'longIntegers', number>>;
}

export function makeSeed(count: number, random: Random): Seed {
  const documents: { key: string; json: string }[] = [];
  const orders: Order[] = [];
  const kinds = { collisions: COLLISIONS.length, withoutKey: 0, withTtl: 0, longIntegers: 0 };
  const put = (tenantId: string, json: string): void => void documents.push({ key: tenantId, json });
  for (const { id, customerId, tenants } of COLLISIONS)
    for (const tenantId of tenants)
      put(tenantId, JSON.stringify({ ...newOrder('', random), id, tenantId, customerId }));
  for (let number = 0; documents.length < count; number += 1) {
    const order = newOrder(String(number).padStart(6, '0'), random);
    const { customerId: _customerId, ...without } = order;
    switch (number % 50) {
      case 10:
        kinds.withoutKey += 1;
        put(order.tenantId, JSON.stringify(without));
        break;
      case 20:
        kinds.withTtl += 1;
        put(order.tenantId, JSON.stringify({ ...order, ttl: 3600 }));
        break;
      case 30: {
        const { id, tenantId, customerId } = { ...LONG, id: `traced-${kinds.longIntegers}` };
        kinds.longIntegers += 1;
        const json = JSON.stringify({ ...order, id, tenantId, customerId });
        put(tenantId, `${json.slice(0, -1)},"trace":${LONG.trace}}`);
        break;
      }
      default:
        orders.push(order);
        put(order.tenantId, JSON.stringify(order));
    }
  }
  return { documents, orders, kinds };
}

/** How many operations a batch has: the maximum of the service. */
const TOGETHER = 100;

/** Creates the source with one range, and fills it. */
export async function fill(account: Account, { documents }: Seed, signal: AbortSignal): Promise<void> {
  const { PartitionKeyKind, PartitionKeyDefinitionVersion } = await import('../cosmos/account/client.ts');
  const { database } = await account.client.databases.create({ id: DATABASE });
  await database.containers.create({
    id: SOURCE.container,
    partitionKey: {
      paths: [SOURCE.keyPath],
      kind: PartitionKeyKind.Hash,
      version: PartitionKeyDefinitionVersion.V2,
    },
    // TTL is on without a default, so documents expire only by their own `ttl`.
    defaultTtl: -1,
    throughput: THROUGHPUT_RU,
  });
  const requests = new ContainerRequests(account, { database: DATABASE, container: SOURCE.container });
  for (let from = 0; from < documents.length; from += TOGETHER) {
    const operations = documents.slice(from, from + TOGETHER).map(({ key, json }) => {
      const partitionKey = JSON.stringify(JSON.stringify([key]));
      return `{"operationType":"Create","partitionKey":${partitionKey},"resourceBody":${json}}`;
    });
    const body = Buffer.from(`[${operations.join(',')}]`);
    const exchange = await requests.batch({ rangeId: '0', body, minimalReply: true, signal });
    if (!exchange.ok) {
      throw new ServiceError('the shop of the demo cannot be filled', {
        why: exchange.trouble.what,
        hint: AGAIN,
      });
    }
    exchange.reply.free();
  }
}
