/** A container of a fresh emulator, through our own transport. */
import { Account } from '../../../src/cosmos/account/client.ts';
import { ContainerRequests } from '../../../src/cosmos/transport/container-requests.ts';
import { readRanges, wholeOf, type FeedRange } from '../../../src/cosmos/feed/ranges.ts';
import { BatchBody, type Key } from '../../../src/documents/batch-body.ts';
import { replyScan } from '../../../src/documents/page-scan.ts';
import { sendBatch, type BatchResult } from '../../../src/cosmos/bulk/batch-request.ts';
import { must } from '../../../src/lib/assert.ts';
import type { AccountSettings, Admin } from './admin.ts';
import { startTestEmulator, type TestEmulator } from './emulator.ts';

const NEVER = new AbortController().signal;

export interface Op {
  readonly do: 'create' | 'replace' | 'read' | 'delete';
  readonly key: Key;
  readonly id?: string;
  readonly text?: string;
  readonly ifMatch?: string;
}

/** Operations as the body of a batch. */
export function bodyOf(ops: readonly Op[]): Buffer {
  const body = new BatchBody();
  for (const { do: verb, key, id = '', text = '', ifMatch } of ops) {
    const addressed = ifMatch === undefined ? { id } : { id, ifMatch };
    if (verb === 'read') body.read(key, addressed);
    else if (verb === 'delete') body.delete(key, addressed);
    else {
      if (verb === 'create') body.create(key);
      else body.replace(key, addressed);
      body.out.putText(text);
      body.end();
    }
  }
  return body.finish();
}

export class ContainerLab implements AsyncDisposable {
  readonly account: Account;
  readonly requests: ContainerRequests;
  readonly #emulator: TestEmulator;

  private constructor(emulator: TestEmulator) {
    this.#emulator = emulator;
    this.account = new Account({ endpoint: emulator.endpoint, key: emulator.key });
    this.requests = new ContainerRequests(this.account, { database: 'shop', container: 'orders' });
  }

  /** An account with one container, keyed on /pk. */
  static async open(settings: AccountSettings = {}): Promise<ContainerLab> {
    const emulator = await startTestEmulator({ settings });
    const lab = new ContainerLab(emulator);
    const { database } = await lab.account.client.databases.create({ id: 'shop' });
    await database.containers.create({ id: 'orders', partitionKey: '/pk' });
    return lab;
  }

  /** How to be let in. */
  get access(): { readonly endpoint: string; readonly key: string } {
    return this.#emulator;
  }

  get admin(): Admin {
    return this.#emulator.admin;
  }

  async split(rangeId?: string): Promise<void> {
    await this.admin.split('shop/orders', rangeId === undefined ? {} : { rangeId });
  }

  async merge(...rangeIds: readonly string[]): Promise<void> {
    await this.admin.merge('shop/orders', rangeIds);
  }

  /** The only range, before anything was split. */
  async range(): Promise<FeedRange> {
    const [range] = await readRanges(this.requests, { signal: NEVER });
    return wholeOf(must(range, 'a container has a range'));
  }

  send(
    ops: readonly Op[],
    options: {
      rangeId?: string;
      timeoutMs?: number;
      signal?: AbortSignal;
      sessionToken?: string;
      /** How many operations there are said to be. */
      claimed?: number;
    } = {},
  ): Promise<BatchResult> {
    const { rangeId = '0', signal = NEVER, claimed = ops.length, ...rest } = options;
    const reads = (row: number): boolean => ops[row]?.do === 'read';
    const batch = { rangeId, signal, body: bodyOf(ops), count: claimed, reads, ...rest };
    return sendBatch(this.requests, batch, replyScan([]));
  }

  /** The server no longer answers. */
  async close(): Promise<void> {
    await this.#emulator.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.account[Symbol.dispose]();
    await this.#emulator.close();
  }
}
