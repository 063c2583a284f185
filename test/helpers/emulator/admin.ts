/** The emulator's own controls (docs/emulator.md), for tests: no key, loopback only. */
import { must } from '../../../src/lib/assert.ts';
import { exchange, parseJson, type Reply } from './raw.ts';

// The types of requests and replies repeat those of src/emulator on purpose: the tests check the emulator from outside,
// by its documented JSON, so a renamed field must make a test fail.

export type FaultOp =
  | 'read-feed'
  | 'batch'
  | 'create'
  | 'upsert'
  | 'replace'
  | 'delete'
  | 'read'
  | 'patch'
  | 'query'
  | 'pkranges'
  | 'account'
  | 'database'
  | 'container'
  | 'offer'
  | 'script';

export interface FaultEffect {
  readonly status?: number;
  readonly substatus?: number;
  readonly retryAfterMs?: number;
  readonly message?: string;
  readonly delayMs?: number;
  readonly delayAt?: 'before' | 'after' | 'reply';
  readonly reset?: 'before' | 'after';
  readonly hang?: 'before' | 'after';
  readonly body?: 'empty' | 'html' | 'truncated';
  readonly dropHeaders?: readonly string[];
  readonly dateOffMs?: number;
  readonly pkranges?: 'incomplete' | 'stale';
}

export interface FaultRule {
  readonly match: {
    readonly op: FaultOp;
    readonly db?: string;
    readonly coll?: string;
    readonly rangeId?: string;
  };
  readonly every?: number;
  readonly probability?: number;
  readonly times?: number;
  /** How many matches the rule ignores first. */
  readonly after?: number;
  readonly effect: FaultEffect;
}

/** The settings that tests send with `PUT /_emulator/account`. */
export interface AccountSettings {
  readonly aad?: boolean;
  readonly consistency?: string;
  readonly avad?: boolean;
  readonly retentionSeconds?: number;
  readonly logicalPartitionLimitBytes?: number;
  readonly rangeLimitBytes?: number;
  readonly ttlPurgeDelayMs?: number;
  readonly replicaLagMs?: number;
  readonly pageBytes?: number;
  readonly scaleUpMs?: number;
  readonly ru?: 'metered' | 'off';
  readonly numbers?: 'verbatim' | 'service';
  readonly queries?: 'direct' | 'planned';
  readonly deviations?: readonly string[];
}

export interface RangeState {
  readonly id: string;
  readonly min: string;
  readonly max: string;
  readonly documents: number;
  readonly bytes: number;
  readonly lsn: number;
}

export class Admin {
  readonly #endpoint: string;
  readonly #ca: string | undefined;
  #clockMoved = false;

  constructor(endpoint: string, ca?: string) {
    this.#endpoint = endpoint;
    this.#ca = ca;
  }

  /** Sends an admin request and returns the reply, whatever its status. */
  send(method: string, route: string, body?: unknown): Promise<Reply> {
    return exchange({
      method,
      endpoint: this.#endpoint,
      ca: this.#ca,
      path: `/_emulator/${route}`,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async account(settings: AccountSettings): Promise<void> {
    await this.#ok('PUT', 'account', settings);
  }

  async clock(offsetMs: number): Promise<void> {
    this.#clockMoved = offsetMs !== 0;
    await this.#ok('PUT', 'clock', { offsetMs });
  }

  async faults(rules: readonly FaultRule[], seed = 1): Promise<void> {
    await this.#ok('PUT', 'faults', { seed, rules });
  }

  async clearFaults(): Promise<void> {
    await this.#ok('DELETE', 'faults');
  }

  async split(path: string, options: { rangeId?: string; durationMs?: number } = {}): Promise<void> {
    await this.#ok('POST', `containers/${path}/split`, options);
  }

  async merge(path: string, rangeIds: readonly string[]): Promise<void> {
    await this.#ok('POST', `containers/${path}/merge`, { rangeIds });
  }

  async purgeExpired(path: string): Promise<void> {
    await this.#ok('POST', `containers/${path}/purge-expired`);
  }

  async state(): Promise<Record<string, unknown>> {
    return parseJson(await this.#ok('GET', 'state'));
  }

  /** Returns the ranges of a container; `path` is DB/COLL. */
  async ranges(path: string): Promise<readonly RangeState[]> {
    const { containers } = (await this.state()) as {
      containers: { database: string; id: string; ranges: RangeState[] }[];
    };
    const container = containers.find(({ database, id }) => `${database}/${id}` === path);
    return must(container, `there is a container ${path}`).ranges;
  }

  /** Removes all fault rules and resets the clock. */
  async calm(): Promise<void> {
    await this.clearFaults();
    if (this.#clockMoved) await this.clock(0);
  }

  async #ok(method: string, route: string, body?: unknown): Promise<Reply> {
    const reply = await this.send(method, route, body);
    if (reply.status >= 300) throw new Error(`${method} /_emulator/${route}: ${reply.status} ${reply.text}`);
    return reply;
  }
}
