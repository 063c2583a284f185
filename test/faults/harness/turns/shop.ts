/** An application that writes to either container, and the record of what the service has acknowledged. */
import type { Container } from '@azure/cosmos';
import { setTimeout as delay } from 'node:timers/promises';
import { must } from '../../../../src/lib/assert.ts';
import type { Random } from '../../../../src/lib/random.ts';
import type { Order } from '../../../helpers/migration/move.ts';

export type Side = 'source' | 'target';

/** A document as the application writes it to the side that is in use. */
interface Written extends Order {
  readonly customerId: string;
  readonly tenantId: string;
  readonly version: number;
  /** In the source the document has the derived key as well, before anything is derived. */
  readonly own: boolean;
}

/** Pauses between two writes. */
const PAUSE_MS = 4;

export class Shop {
  readonly #containers: Readonly<Record<Side, Container>>;
  readonly #random: Random;
  /** Whether documents of the target have a derived key. */
  readonly #derives: boolean;
  /** What is in the container that is in use, by id. */
  readonly #written = new Map<string, Written>();
  /** What has the derived key of its own in the source, by its place in the target, while the target is in use. */
  #owning: ReadonlySet<string> = new Set();
  #side: Side = 'source';
  #next = 0;

  constructor(
    containers: Readonly<Record<Side, Container>>,
    random: Random,
    { derives }: { derives: boolean },
  ) {
    this.#containers = containers;
    this.#random = random;
    this.#derives = derives;
  }

  /** Lets the application use a side from now on. It writes nothing meanwhile. */
  use(side: Side): void {
    const all = [...this.#written.values()];
    if (side === 'target') this.#owning = new Set(all.filter(({ own }) => own).map(placeOf));
    else
      for (const order of all)
        this.#written.set(order.id, { ...order, own: this.#owning.has(placeOf(order)) });
    this.#side = side;
  }

  async fill(documents: number): Promise<void> {
    for (let n = 0; n < documents; n += 1) await this.#create();
  }

  /** Writes until `signal` is aborted, one change after the other. */
  async write(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const chance = this.#random.below(100);
      if (chance < 30) await this.#create();
      else if (chance < 65) await this.#replace((order) => order);
      else if (chance < 80) await this.#replace((order) => this.#moved(order));
      else await this.#delete();
      await delay(PAUSE_MS);
    }
  }

  /** What the container in use must hold, as texts in order. */
  expected(): readonly string[] {
    return [...this.#written.values()].map((order) => shown(this.#stored(order))).toSorted();
  }

  /** What a container holds, as texts in order. */
  async read(side: Side): Promise<readonly string[]> {
    const { resources } = await this.#containers[side].items
      .query<Order>('SELECT * FROM c', { maxItemCount: 1000 })
      .fetchAll();
    return resources.map((order) => shown(order)).toSorted();
  }

  async #create(): Promise<void> {
    this.#next += 1;
    const order = {
      id: `o${this.#next}`,
      customerId: `c${this.#random.below(9)}`,
      tenantId: `t${this.#random.below(7)}`,
      version: 1,
      own: this.#derives && this.#next % 3 === 0,
    };
    await surely(async () => this.#containers[this.#side].items.create(this.#stored(order)));
    this.#written.set(order.id, order);
  }

  async #replace(change: (order: Written) => Written): Promise<void> {
    const before = this.#any();
    if (before === undefined) return;
    const order = { ...change(before), version: before.version + 1 };
    const [container, old] = [this.#containers[this.#side], this.#keyOf(before)];
    if (this.#keyOf(order) === old)
      await surely(async () => container.item(order.id, old).replace(this.#stored(order)));
    else {
      // The key of the container in use changes: to the service these are two documents.
      await surely(async () => container.item(order.id, old).delete());
      this.#written.delete(order.id);
      await surely(async () => container.items.create(this.#stored(order)));
    }
    this.#written.set(order.id, order);
  }

  async #delete(): Promise<void> {
    const order = this.#any();
    if (order === undefined || this.#written.size < 10) return;
    const item = this.#containers[this.#side].item(order.id, this.#keyOf(order));
    await surely(async () => item.delete());
    this.#written.delete(order.id);
  }

  /** Changes the key of the container that is not in use, which the migration has to follow, or of the other. */
  #moved(order: Written): Written {
    return this.#random.below(2) === 0
      ? { ...order, customerId: `c${this.#random.below(9)}` }
      : { ...order, tenantId: `t${this.#random.below(7)}` };
  }

  #any(): Written | undefined {
    const all = [...this.#written.values()];
    return all[this.#random.below(Math.max(1, all.length))];
  }

  #keyOf({ customerId, tenantId }: Written): string {
    if (this.#side === 'source') return customerId;
    return this.#derives ? derivedKey({ tenantId }) : tenantId;
  }

  #stored({ own, ...order }: Written): Order {
    const hasKey = this.#derives && (this.#side === 'target' || own);
    return hasKey ? { ...order, pk: derivedKey(order) } : order;
  }
}

function derivedKey({ tenantId }: Pick<Written, 'tenantId'>): string {
  return `${tenantId}-key`;
}

function placeOf(order: Written): string {
  return `${order.id} ${derivedKey(order)}`;
}

/** How often a request is sent again, and the wait before that. */
const [TRIES_MAX, AGAIN_MS] = [200, 25];
/** The service did nothing: a range is being split, or requests are throttled. */
const NOTHING_DONE: readonly unknown[] = [410, 429, 449, 503];

/** Repeats a request until it is carried out. A busy machine may close a connection that is idle. */
async function surely(work: () => Promise<unknown>): Promise<void> {
  let isInDoubt = false;
  for (let tries = 1; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      // An earlier request was carried out, and its reply was lost.
      if (isInDoubt && (code === 409 || code === 404)) return;
      if (code === 'ECONNRESET') isInDoubt = true;
      else if (!NOTHING_DONE.includes(code)) throw error;
      if (tries === TRIES_MAX) throw error;
      await delay(AGAIN_MS);
    }
  }
}

/** A document as text, without what belongs to the service, with its members in order. */
function shown(order: Order): string {
  const own = Object.entries(order).filter(([name]) => !name.startsWith('_'));
  const sorted = own.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(
    Object.fromEntries(sorted.map(([name, value]) => [name, must(value, 'it is stored')])),
  );
}
