/**
 * The surroundings of the demo: an account in this process, and a folder for its files. Invariant: closing removes the
 * account and the folder, unless the operator wants to keep them. A folder that is kept contains everything that is
 * needed to inspect the migration.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from '../cosmos/account/client.ts';
import type { RunningEmulator } from '../emulator/http/server.ts';
import { must } from '../lib/assert.ts';
import { ServiceError } from '../lib/errors.ts';
import { AGAIN, DATABASE, SOURCE, TARGET } from './shop.ts';

/** The contents of a container, as the emulator reports them. */
export interface Occupancy {
  readonly documents: number;
  readonly ranges: readonly RangeLoad[];
}

export interface RangeLoad {
  readonly id: string;
  readonly documents: number;
  /** The request units charged since the range was created. */
  readonly ru: number;
  readonly throttled: number;
}

interface State {
  readonly containers: readonly (Occupancy & { readonly id: string })[];
}

export class DemoAccount implements AsyncDisposable {
  readonly folder: string;
  readonly ledger: string;
  /** The path of the config file, which has the content that an operator would write. */
  readonly config: string;
  /** The environment variables for the steps. */
  readonly env: Readonly<Record<string, string>>;
  readonly account: Account;
  readonly #server: RunningEmulator;
  readonly #isKept: boolean;

  private constructor(parts: {
    readonly folder: string;
    readonly server: RunningEmulator;
    readonly account: Account;
    readonly key: string;
    readonly isKept: boolean;
  }) {
    const { folder, server, account, key, isKept } = parts;
    this.folder = folder;
    this.ledger = join(folder, 'ledger.db');
    this.config = join(folder, 'cosmig.config.yaml');
    this.env = { COSMIG_SOURCE_KEY: key };
    this.account = account;
    this.#server = server;
    this.#isKept = isKept;
  }

  static async open({ isKept }: { readonly isKept: boolean }): Promise<DemoAccount> {
    // Loaded on demand, since --help needs neither the server nor the SDK.
    const { PUBLISHED_KEY: key, startEmulator } = await import('../emulator/http/server.ts');
    const { Account: SdkAccount } = await import('../cosmos/account/client.ts');
    const folder = mkdtempSync(join(tmpdir(), 'cosmig-demo-'));
    try {
      const data = isKept ? join(folder, 'account.db') : ':memory:';
      // Not metered at first, so that the source is filled at full speed. `meter` limits RU/s afterwards.
      const settings = { avad: true, ru: 'off' };
      const server = await startEmulator({ host: '127.0.0.1', port: 0, https: false, data, key, settings });
      const account = new SdkAccount({ endpoint: server.endpoint, key });
      return new DemoAccount({ folder, server, account, key, isKept });
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get endpoint(): string {
    return this.#server.endpoint;
  }

  /** Writes the config file. */
  configure(values: Readonly<Record<string, string | number | boolean>>): void {
    const all = {
      source: `${DATABASE}/${SOURCE.container}`,
      target: `${DATABASE}/${TARGET.container}`,
      sourceEndpoint: this.endpoint,
      partitionKey: TARGET.keyPath,
      ledger: this.ledger,
      ...values,
    };
    // Every JSON value is also a YAML value.
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
    writeFileSync(this.config, lines.join(''));
  }

  async look(container: string, signal: AbortSignal): Promise<Occupancy | undefined> {
    // The cast is safe: the emulator is part of this program, so the shape of its reply is known.
    const state = (await this.#ask('GET', 'state', { signal })) as State;
    return state.containers.find(({ id }) => id === container);
  }

  /** Splits the range with the most documents; returns its id and the ids of the new ranges. */
  async split(
    container: string,
    signal: AbortSignal,
  ): Promise<{ readonly from: string; readonly into: string[] }> {
    const { ranges } = must(await this.look(container, signal), 'only an existing container is split');
    const [fullest] = ranges.toSorted((one, other) => other.documents - one.documents);
    const { id } = must(fullest, 'a container has a range');
    const path = `containers/${DATABASE}/${container}/split`;
    const reply = await this.#ask('POST', path, { body: { rangeId: id }, signal });
    const { ranges: created } = reply as { readonly ranges: readonly { readonly id: string }[] };
    return { from: id, into: created.map((range) => range.id) };
  }

  async meter(signal: AbortSignal): Promise<void> {
    await this.#ask('PUT', 'account', { body: { ru: 'metered' }, signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.account[Symbol.dispose]();
    await this.#server.close();
    if (!this.#isKept) rmSync(this.folder, { recursive: true, force: true });
  }

  async #ask(
    method: string,
    path: string,
    { body, signal }: { readonly body?: unknown; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const request = { method, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const reply = await fetch(new URL(`_emulator/${path}`, this.endpoint), request);
    if (reply.ok) return reply.json();
    throw new ServiceError(`the emulator answered ${reply.status} to ${method} ${path}`, {
      why: await reply.text(),
      hint: AGAIN,
    });
  }
}
