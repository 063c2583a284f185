/**
 * A place to run contract tests in: one account (an emulator of its own, or a live one), one database,
 * clients of one SDK version. Whatever it hands out it takes back when it closes.
 */
import type * as cosmos from '@azure/cosmos';
import { randomUUID } from 'node:crypto';
import * as https from 'node:https';
import { Admin } from './admin.ts';
import { startTestEmulator, type TestEmulator, type TestEmulatorOptions } from './emulator.ts';
import { RawAccount } from './raw.ts';
import { WireContainer } from './wire-container.ts';
import { hashKey } from './key-definitions.ts';

export type Sdk = typeof cosmos;

/** A hook around each HTTP attempt of the SDK; it may look, change, answer or fail. */
export type RequestPlugin = (
  context: cosmos.RequestContext,
  next: (context: cosmos.RequestContext) => Promise<cosmos.Response<unknown>>,
) => Promise<cosmos.Response<unknown>>;

export interface ClientOptions extends cosmos.CosmosClientOptions {
  readonly onRequest?: RequestPlugin;
}

export interface TestContainer {
  readonly container: cosmos.Container;
  readonly wire: WireContainer;
}

export type ContainerBody = Omit<cosmos.ContainerRequest, 'id'>;

interface Account {
  readonly endpoint: string;
  readonly key: string;
  readonly ca: string | undefined;
  readonly emulator: TestEmulator | undefined;
}

const LIVE_SHARED_RU = 1000;

export class Lab implements AsyncDisposable {
  readonly sdk: Sdk;
  readonly endpoint: string;
  readonly key: string;
  readonly raw: RawAccount;
  readonly database: cosmos.Database;
  readonly databaseId: string;
  readonly #emulator: TestEmulator | undefined;
  /** Trusts the emulator's certificate; only there over https. */
  readonly #agent: https.Agent | undefined;
  readonly #clients: cosmos.CosmosClient[] = [];
  /** Made for one test each, not dropped yet. */
  readonly #made = new Set<cosmos.Container>();
  #containers = 0;

  private constructor(sdk: Sdk, account: Account, databaseId: string) {
    this.sdk = sdk;
    this.endpoint = account.endpoint;
    this.key = account.key;
    this.#emulator = account.emulator;
    this.databaseId = databaseId;
    this.#agent = account.ca === undefined ? undefined : new https.Agent({ ca: account.ca, keepAlive: true });
    this.raw = new RawAccount({ ...account, patient: account.emulator === undefined });
    this.database = this.client().database(databaseId);
  }

  static async onEmulator(sdk: Sdk, options: TestEmulatorOptions = {}): Promise<Lab> {
    const emulator = await startTestEmulator(options);
    try {
      const { endpoint, key, certificate: ca } = emulator;
      return await Lab.#open(sdk, { endpoint, key, ca, emulator }, 'contract');
    } catch (error) {
      await emulator.close();
      throw error;
    }
  }

  static async onLiveAccount(sdk: Sdk, connectionString: string): Promise<Lab> {
    const endpoint = /AccountEndpoint=([^;]+)/.exec(connectionString)?.[1];
    const key = /AccountKey=([^;]+)/.exec(connectionString)?.[1];
    if (endpoint === undefined || key === undefined) {
      throw new Error('COSMIG_LIVE is not a connection string with AccountEndpoint and AccountKey');
    }
    const account = { endpoint, key, ca: undefined, emulator: undefined };
    return Lab.#open(sdk, account, `cosmig-contract-${randomUUID()}`);
  }

  static async #open(sdk: Sdk, account: Account, databaseId: string): Promise<Lab> {
    const lab = new Lab(sdk, account, databaseId);
    // A live account is billed by what is provisioned: one shared budget instead of one per container.
    const live = account.emulator === undefined;
    const body = live ? { id: databaseId, throughput: LIVE_SHARED_RU } : { id: databaseId };
    await lab.client().databases.createIfNotExists(body);
    return lab;
  }

  get emulator(): TestEmulator {
    if (this.#emulator === undefined) throw new Error('this test needs the emulator');
    return this.#emulator;
  }

  get admin(): Admin {
    return this.emulator.admin;
  }

  /** A client as an ordinary application makes it, unless options say otherwise. */
  client(options: ClientOptions = {}): cosmos.CosmosClient {
    const { onRequest, ...rest } = options;
    // `plugins` is honoured by the SDK although its options type does not have it (fact SDK-1).
    const plugins = onRequest && [
      {
        on: 'request',
        plugin: (
          context: cosmos.RequestContext,
          _node: unknown,
          next: (context: cosmos.RequestContext) => Promise<cosmos.Response<unknown>>,
        ) => onRequest(context, next),
      },
    ];
    const client = new this.sdk.CosmosClient({
      endpoint: this.endpoint,
      ...('aadCredentials' in rest ? {} : { key: this.key }),
      ...(this.#agent === undefined ? {} : { agent: this.#agent }),
      ...rest,
      ...(plugins === undefined ? {} : { plugins }),
    });
    this.#clients.push(client);
    return client;
  }

  /** A fresh container; keyed on /pk with version 2 unless the body says otherwise. */
  async container(body: ContainerBody = {}): Promise<TestContainer> {
    this.#containers += 1;
    const id = `c${this.#containers}`;
    const { container } = await this.database.containers.create({
      partitionKey: hashKey(),
      ...structuredClone(body),
      id,
    });
    this.#made.add(container);
    return { container, wire: this.wire(id) };
  }

  /** This container serves several tests. */
  keep(container: cosmos.Container): void {
    this.#made.delete(container);
  }

  /** Drops what the last test made; at most 25 containers share the throughput of a database. */
  async dropContainers(): Promise<void> {
    for (const container of this.#made) {
      this.#made.delete(container);
      await container.delete().catch((error: { code?: number }) => {
        if (error.code !== 404) throw error;
      });
    }
  }

  /** A fresh container with at least this many physical ranges, however small its throughput. */
  async splitContainer(count: number, body: ContainerBody = {}): Promise<TestContainer> {
    const made = await this.container(body);
    for (;;) {
      const ranges = await made.wire.ranges();
      if (ranges.length >= count) return made;
      const first = ranges[0];
      await this.admin.split(made.wire.adminPath, first === undefined ? {} : { rangeId: first.id });
    }
  }

  wire(containerId: string): WireContainer {
    return new WireContainer(this.raw, this.databaseId, containerId);
  }

  /** The same container through another client. */
  through(client: cosmos.CosmosClient, container: cosmos.Container): cosmos.Container {
    return client.database(this.databaseId).container(container.id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#emulator === undefined) await this.database.delete();
    } finally {
      for (const client of this.#clients) client.dispose();
      this.raw.close();
      this.#agent?.destroy();
      await this.#emulator?.close();
    }
  }
}
