/**
 * The application of the demo: it continuously creates, updates, moves and deletes orders through Microsoft's SDK. It
 * knows nothing about the migration, except that it can be stopped and switched to the target. Invariant: it makes one
 * change at a time, and remembers of an order the version that the service has last acknowledged.
 */
import type { Account } from '../cosmos/account/client.ts';
import { sleep } from '../lib/abort.ts';
import { must } from '../lib/assert.ts';
import type { Random } from '../lib/random.ts';
import { COLLISIONS, DATABASE, newOrder, SOURCE, someCustomer, TARGET, type Order } from './shop.ts';

/** How many orders the application remembers. Beyond this, a new order replaces an older one in its memory. */
const ORDERS_MAX = 400;
/** The pause between two writes, which gives about seventy writes per second. */
const PAUSE_MS = 12;
/** The wait after a 429 that does not contain a retry time. */
const RETRY_MS = 50;

type ShopSide = typeof SOURCE | typeof TARGET;

export interface Written {
  created: number;
  updated: number;
  moved: number;
  deleted: number;
  /** How many replies were a 429. */
  throttled: number;
}

export class Application {
  readonly written: Written = { created: 0, updated: 0, moved: 0, deleted: 0, throttled: 0 };
  readonly #account: Account;
  readonly #random: Random;
  readonly #orders: Order[];
  #side: ShopSide = SOURCE;
  #number = 0;
  #isStopped = false;
  /** The change that is in flight. */
  #work: Promise<void> = Promise.resolve();

  constructor(account: Account, orders: readonly Order[], random: Random) {
    this.#account = account;
    this.#orders = orders.slice(-ORDERS_MAX);
    this.#random = random;
  }

  /** Writes until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        if (!this.#isStopped) {
          this.#work = this.#write(signal);
          await this.#work;
        }
        await sleep(PAUSE_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Stops writing. Resolves when no change is in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#work;
  }

  resume(): void {
    this.#isStopped = false;
  }

  /** Switches the application to another container and lets it resume. */
  switchTo(side: ShopSide): void {
    this.#side = side;
    this.resume();
  }

  /** Resolves a collision by giving one of the two invoices to another customer. */
  async resolveCollision(at: 0 | 1, signal: AbortSignal): Promise<void> {
    const { id, tenants } = COLLISIONS[at];
    for (const tenantId of tenants.slice(1)) {
      await this.#patiently(signal, async () => {
        const item = this.#container.item(id, tenantId);
        const { resource } = await item.read<Order>();
        const order = must(resource, 'invoices are not deleted');
        await item.replace({ ...order, customerId: `c-04${3 + at}`, version: order.version + 1 });
      });
    }
  }

  /** Counts the orders that the application remembers, and how many of them its container holds in their last version. */
  async findAll(signal: AbortSignal): Promise<{ readonly known: number; readonly found: number }> {
    let found = 0;
    for (const order of this.#orders) {
      await this.#patiently(signal, async () => {
        const { resource } = await this.#container.item(order.id, order[this.#side.property]).read<Order>();
        if (resource?.version === order.version) found += 1;
      });
    }
    return { known: this.#orders.length, found };
  }

  get #container() {
    return this.#account.client.database(DATABASE).container(this.#side.container);
  }

  async #write(signal: AbortSignal): Promise<void> {
    const chance = this.#random.below(100);
    const at = this.#random.below(this.#orders.length);
    const order = must(this.#orders[at], 'there are always some');
    if (chance < 35) await this.#create(signal);
    else if (chance < 70) await this.#update(at, { ...order, status: 'paid' }, signal);
    else if (chance < 85) await this.#move(at, { ...order, customerId: someCustomer(this.#random) }, signal);
    // Nothing is deleted when few orders are left, so that the other changes still find orders.
    else if (this.#orders.length > ORDERS_MAX / 8) await this.#delete(at, signal);
  }

  async #create(signal: AbortSignal): Promise<void> {
    this.#number += 1;
    const order = newOrder(`new-${String(this.#number).padStart(5, '0')}`, this.#random);
    await this.#patiently(signal, async () => this.#container.items.create(order));
    this.written.created += 1;
    if (this.#orders.length < ORDERS_MAX) this.#orders.push(order);
    else this.#orders[this.#random.below(ORDERS_MAX)] = order;
  }

  async #update(at: number, order: Order, signal: AbortSignal): Promise<void> {
    const changed = { ...order, version: order.version + 1 };
    const key = changed[this.#side.property];
    await this.#patiently(signal, async () => this.#container.item(changed.id, key).replace(changed));
    this.#orders[at] = changed;
    this.written.updated += 1;
  }

  /**
   * Gives an order to another customer. In the source, which is keyed by tenant, this is an update. In the target,
   * which is keyed by customer, it is a create and a delete.
   */
  async #move(at: number, order: Order, signal: AbortSignal): Promise<void> {
    const before = must(this.#orders[at], 'it was chosen from these');
    if (this.#side === SOURCE || before.customerId === order.customerId) {
      await this.#update(at, order, signal);
      this.written.updated -= 1;
    } else {
      const changed = { ...order, version: order.version + 1 };
      await this.#patiently(signal, async () => this.#container.items.create(changed));
      const old = this.#container.item(before.id, before.customerId);
      await this.#patiently(signal, async () => old.delete());
      this.#orders[at] = changed;
    }
    this.written.moved += 1;
  }

  async #delete(at: number, signal: AbortSignal): Promise<void> {
    const order = must(this.#orders[at], 'it was chosen from these');
    const key = order[this.#side.property];
    await this.#patiently(signal, async () => this.#container.item(order.id, key).delete());
    this.#orders.splice(at, 1);
    this.written.deleted += 1;
  }

  async #patiently(signal: AbortSignal, work: () => Promise<unknown>): Promise<void> {
    await patiently(work, { signal, onThrottled: () => (this.written.throttled += 1) });
  }
}

/** Repeats `work` while the service answers 429, as Microsoft's SDK does by default. */
export async function patiently<T>(
  work: () => Promise<T>,
  { signal, onThrottled }: { readonly signal: AbortSignal; readonly onThrottled?: () => void },
): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 429) throw error;
      onThrottled?.();
      const delayMs = 'retryAfterInMs' in error ? Number(error.retryAfterInMs) : RETRY_MS;
      await sleep(Number.isFinite(delayMs) ? delayMs : RETRY_MS, signal);
    }
  }
}
