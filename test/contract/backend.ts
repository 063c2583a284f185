/**
 * The contract suite's backends: our emulator spoken to by each SDK version we promise, and a live account
 * when COSMIG_LIVE holds a connection string. A contract file states each promise once, for all of them.
 */
import * as current from '@azure/cosmos';
import * as next from 'cosmos-next';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { AccountSettings, Admin } from '../helpers/emulator/admin.ts';
import type { TestEmulatorOptions } from '../helpers/emulator/emulator.ts';
import {
  type ClientOptions,
  type ContainerBody,
  Lab,
  type Sdk,
  type TestContainer,
} from '../helpers/emulator/lab.ts';
import type { RawAccount } from '../helpers/emulator/raw.ts';
import { until } from '../helpers/wait.ts';

interface Variant {
  readonly name: string;
  readonly sdk: Sdk;
  readonly generation: '4.9' | '4.10';
  readonly liveConnection: string | undefined;
}

const LIVE = process.env['COSMIG_LIVE'];

const VARIANTS: readonly Variant[] = [
  { name: 'emulator, SDK 4.9', sdk: current, generation: '4.9', liveConnection: undefined },
  {
    name: 'emulator, SDK 4.10',
    // The alias has the same API; only its classes are another module's.
    sdk: next as unknown as Sdk,
    generation: '4.10',
    liveConnection: undefined,
  },
  ...(LIVE === undefined
    ? []
    : [{ name: 'live account', sdk: current, generation: '4.9' as const, liveConnection: LIVE }]),
];

/** No purge happens unless a test requests it. */
const NO_PURGE_MS = 3_600_000;

/** What a contract test may touch. The lab exists once the file's tests run, not while they are described. */
export class Backend {
  readonly #variant: Variant;
  #lab: Lab | undefined;

  constructor(variant: Variant) {
    this.#variant = variant;
  }

  /** True where nothing can be switched, split or broken on purpose. */
  get live(): boolean {
    return this.#variant.liveConnection !== undefined;
  }

  /** A live account serves all versions and deletes only when its owner says so. */
  get servesAvad(): boolean {
    return !this.live || process.env['COSMIG_LIVE_AVAD'] !== undefined;
  }

  get generation(): '4.9' | '4.10' {
    return this.#variant.generation;
  }

  get sdk(): Sdk {
    return this.#variant.sdk;
  }

  get lab(): Lab {
    if (this.#lab === undefined) throw new Error('the backend has not started');
    return this.#lab;
  }

  get admin(): Admin {
    return this.lab.admin;
  }

  get raw(): RawAccount {
    return this.lab.raw;
  }

  client(options?: ClientOptions): current.CosmosClient {
    return this.lab.client(options);
  }

  container(body?: ContainerBody): Promise<TestContainer> {
    return this.lab.container(body);
  }

  splitContainer(count: number, body?: ContainerBody): Promise<TestContainer> {
    return this.lab.splitContainer(count, body);
  }

  /** An emulator of the test's own, for settings that would disturb its neighbours. */
  freshLab(options: TestEmulatorOptions = {}): Promise<Lab> {
    return Lab.onEmulator(this.sdk, options);
  }

  async start(settings: AccountSettings): Promise<void> {
    const { liveConnection } = this.#variant;
    this.#lab =
      liveConnection === undefined
        ? await Lab.onEmulator(this.sdk, { settings: { ttlPurgeDelayMs: NO_PURGE_MS, ...settings } })
        : await Lab.onLiveAccount(this.sdk, liveConnection);
  }

  async stop(): Promise<void> {
    await this.#lab?.[Symbol.asyncDispose]();
    this.#lab = undefined;
  }
}

/** Runs the same tests against every backend; each gets an account of its own. */
export function forEachBackend(
  title: string,
  define: (backend: Backend) => void,
  settings: AccountSettings = {},
): void {
  describeEach(VARIANTS, { title, define, settings });
}

/** The same for tests about the emulator itself: its limits, its faults, and what is split or restarted on purpose. */
export function forEachEmulator(
  title: string,
  define: (backend: Backend) => void,
  settings: AccountSettings = {},
): void {
  const emulators = VARIANTS.filter(({ liveConnection }) => liveConnection === undefined);
  describeEach(emulators, { title, define, settings });
}

interface Described {
  readonly title: string;
  readonly define: (backend: Backend) => void;
  readonly settings: AccountSettings;
}

function describeEach(variants: readonly Variant[], { title, define, settings }: Described): void {
  describe.each(variants)(`${title} ($name)`, (variant) => {
    const backend = new Backend(variant);
    beforeAll(() => backend.start(settings));
    afterEach(async () => {
      await (backend.live ? backend.lab.dropContainers() : backend.admin.calm());
    });
    afterAll(async () => {
      await backend.stop();
      await expectNothingLeaked();
    });
    define(backend);
  });
}

/** A server that still listens, or a socket that is still open, would keep a process alive. */
async function expectNothingLeaked(): Promise<void> {
  const open = (): string[] =>
    process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap' || kind === 'TCPSocketWrap');
  await until(() => open().length === 0, { what: 'every server and socket to close' });
}
