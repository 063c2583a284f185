/** A migration on a fresh emulator: two containers, a ledger in a folder of its own, and runs of the engine. */
import { CosmosClient, type Container, type ContainerRequest } from '@azure/cosmos';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, type Goal, type RunParts, type RunSnapshot } from '../../../src/engine/run.ts';
import type { Suspect } from '../../../src/engine/letters/repair.ts';
import type { Timing } from '../../../src/spec/timing.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { loadSpec } from '../../../src/spec/load.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { packsPages } from './packing.ts';
import { startTestEmulator, type TestEmulator, type TestEmulatorOptions } from '../emulator/emulator.ts';
import type { Admin } from '../emulator/admin.ts';

export interface Order {
  readonly id: string;
  readonly [property: string]: unknown;
}

export interface MoveOptions extends TestEmulatorOptions {
  readonly source?: Partial<ContainerRequest>;
  readonly target?: Partial<ContainerRequest>;
  /** What the command line would say; source, target and ledger are known. */
  readonly flags?: Readonly<Record<string, readonly string[]>>;
  /** One that runs elsewhere already, instead of one in this process; it is closed in the end. */
  readonly emulator?: TestEmulator;
}

/** Replies take milliseconds here, so what was lost is lost soon. */
export const REQUEST_TIMEOUT_MS = 300;
const TIMING: Partial<Timing> = { requestTimeoutMs: REQUEST_TIMEOUT_MS, pollMs: 50, showMs: 100 };

export class Move implements AsyncDisposable {
  readonly emulator: TestEmulator;
  readonly client: CosmosClient;
  readonly source: Container;
  readonly target: Container;
  readonly ledgerPath: string;
  readonly lines: string[] = [];
  /** How runs reach the account; a test may put something between. */
  connectionString: string;
  readonly #folder: string;
  readonly #flags: Readonly<Record<string, readonly string[]>>;

  private constructor(emulator: TestEmulator, flags: Readonly<Record<string, readonly string[]>>) {
    this.emulator = emulator;
    this.connectionString = emulator.connectionString;
    this.#flags = flags;
    this.client = new CosmosClient({ endpoint: emulator.endpoint, key: emulator.key });
    this.source = this.client.database('shop').container('orders');
    this.target = this.client.database('shop').container('by-tenant');
    this.#folder = mkdtempSync(join(tmpdir(), 'cosmig-move-'));
    this.ledgerPath = join(this.#folder, 'ledger.db');
  }

  static async open({
    source,
    target,
    flags = {},
    emulator: given,
    ...options
  }: MoveOptions = {}): Promise<Move> {
    const emulator = given ?? (await startTestEmulator(options));
    const move = new Move(emulator, flags);
    const { database } = await move.client.databases.create({ id: 'shop' });
    await database.containers.create({ partitionKey: '/customerId', ...source, id: 'orders' });
    await database.containers.create({ partitionKey: '/tenantId', ...target, id: 'by-tenant' });
    return move;
  }

  get admin(): Admin {
    return this.emulator.admin;
  }

  /** One run of the engine. */
  async run(
    goal: Goal,
    parts: Partial<RunParts> & { readonly flags?: MoveOptions['flags'] } = {},
  ): Promise<RunSnapshot> {
    return run(goal, this.parts(parts));
  }

  /** What a run of the engine is given. */
  parts({
    flags,
    timing,
    ...others
  }: Partial<RunParts> & { readonly flags?: MoveOptions['flags'] | undefined } = {}): RunParts {
    const { spec, connections } = loadSpec({
      options: {
        source: ['shop/orders'],
        target: ['shop/by-tenant'],
        ledger: [this.ledgerPath],
        ...(this.#flags['derive'] === undefined ? { partitionKey: ['/tenantId'] } : {}),
        yes: ['true'],
        ...this.#flags,
        ...flags,
      },
      env: { COSMIG_SOURCE_CONNECTION_STRING: this.connectionString },
      clock: systemClock,
    });
    return {
      spec,
      connections,
      clock: systemClock,
      random: seededRandom(7),
      log: createLog({
        level: 'debug',
        format: 'text',
        clock: systemClock,
        write: (line) => this.lines.push(line),
      }),
      drain: new AbortController().signal,
      abort: new AbortController().signal,
      timing: { ...TIMING, ...timing },
      packsPages,
      ...others,
    };
  }

  /** A document of the source, as a comparison names it: by its old key, and where it was seen under the new one. */
  suspect({ id, customerId, tenantId }: Order): Suspect {
    return { name: [JSON.stringify(id), JSON.stringify(customerId)], seenAt: [[String(tenantId)]] };
  }

  /** The ledger as it lies there, for as long as `look` looks. */
  ledger<T>(look: (ledger: Ledger) => T): T {
    const ledger = Ledger.openReadonly(this.ledgerPath);
    try {
      return look(ledger);
    } finally {
      ledger.close();
    }
  }

  async put(...orders: readonly Order[]): Promise<void> {
    for (const order of orders) await this.source.items.upsert(order);
  }

  /** All documents of a side, without what belongs to the service, sorted. */
  async documents(side: Container): Promise<Order[]> {
    const { resources } = await side.items.query<Order>('SELECT * FROM c', { maxItemCount: 1000 }).fetchAll();
    return resources
      .map(
        (document) =>
          Object.fromEntries(Object.entries(document).filter(([name]) => !name.startsWith('_'))) as Order,
      )
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.dispose();
    await this.emulator.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
