/**
 * A scratch container and the requests that probes send to it. Invariant: requests are built as for a migration, by the
 * same code, so that what is asked is what a migration depends on; but a refusal is an answer here, not a failure.
 */
import { sendBatch } from '../../cosmos/bulk/batch-request.ts';
import { ChangeFeed, type FeedMode, type FeedPage, type FeedStart } from '../../cosmos/feed/feed.ts';
import { readRanges, wholeOf, type FeedRange } from '../../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../../cosmos/load/retry.ts';
import type { ContainerRequests } from '../../cosmos/transport/container-requests.ts';
import { TroubleError, troubleOf, type Trouble } from '../../cosmos/transport/trouble.ts';
import { BatchBody, type Key } from '../../documents/batch-body.ts';
import { replyScan } from '../../documents/page-scan.ts';
import { must } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';

/** An operation on one document. `text` is the document as JSON text. */
export type Operation = { readonly key: Key } & (
  | { readonly verb: 'create'; readonly text: string }
  | { readonly verb: 'replace'; readonly id: string; readonly text: string; readonly ifMatch?: string }
  | { readonly verb: 'delete' | 'read'; readonly id: string }
);

/** How the service answered one operation. */
export interface Outcome {
  readonly status: number;
  readonly substatus: number;
  readonly chargeRu: number;
  /** The document as the service sent it; empty if it sent none. */
  readonly text: string;
}

export interface Batched {
  readonly outcomes: readonly Outcome[];
  readonly sessionToken: string | undefined;
}

export interface ScratchParts {
  /** Makes the sender of requests, which remembers signatures. */
  readonly open: () => ContainerRequests;
  readonly keyPaths: ReadonlyArray<readonly string[]>;
  readonly clock: Clock;
  readonly patience: Patience;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** How many times a page is read, at most, until the service shows a change in it, and how long the pauses are. */
const READS_MAX = 25;
const PAUSE_MS = 200;

export class ScratchContainer {
  readonly keyPaths: ReadonlyArray<readonly string[]>;
  readonly requests: ContainerRequests;
  readonly clock: Clock;
  readonly #parts: ScratchParts;
  #range: FeedRange | undefined;

  constructor(parts: ScratchParts) {
    this.#parts = parts;
    this.keyPaths = parts.keyPaths;
    this.requests = parts.open();
    this.clock = parts.clock;
  }

  /** Returns the same container, with a sender that remembers no signature. */
  again(): ScratchContainer {
    return new ScratchContainer(this.#parts);
  }

  /** The only range of the container: with so little throughput it has no other. */
  async range(): Promise<FeedRange> {
    const ranges = await this.#patiently(() => readRanges(this.requests, this.#call()));
    const [only, ...others] = ranges;
    if (others.length > 0)
      throw new ServiceError('the scratch container has several ranges', {
        why: 'the service gave a new container with 400 RU/s more than one',
        hint: 'attach the report to an issue',
      });
    this.#range ??= wholeOf(must(only, 'a container has a range'));
    return this.#range;
  }

  /** Sends operations as one batch. If the service refuses the batch as a whole, returns the trouble. */
  async send(operations: readonly Operation[]): Promise<Batched | Trouble> {
    const { range } = await this.range();
    const body = new BatchBody();
    for (const operation of operations) put(body, operation);
    const bytes = Buffer.from(body.finish());
    const scan = replyScan([]);
    const batch = { rangeId: range.id, body: bytes, count: operations.length, ...this.#call() };
    const result = await sendBatch(this.requests, batch, scan);
    if (!result.answered) return result.trouble;
    const replies = JSON.parse(result.bytes.toString()) as ReadonlyArray<Readonly<Record<string, unknown>>>;
    const outcomes = replies.map((reply, row) => ({
      status: Number(reply['statusCode']),
      substatus: Number(reply['subStatusCode'] ?? 0),
      chargeRu: Number(reply['requestCharge'] ?? 0),
      text: scan.bytes(row, scan.nodes.document).toString(),
    }));
    return { outcomes, sessionToken: result.sessionToken };
  }

  /** Sends operations; throws if the batch was not answered. Throttling is waited out. */
  async run(...operations: readonly Operation[]): Promise<Batched> {
    return this.#patiently(async () => {
      const sent = await this.send(operations);
      if ('kind' in sent) throw new TroubleError(sent);
      const throttled = sent.outcomes.find(({ status }) => status === 429);
      if (throttled === undefined) return sent;
      const { status, substatus, chargeRu } = throttled;
      const what = 'the scratch container is throttled';
      throw new TroubleError({ kind: 'throttled', status, substatus, what, chargeRu });
    });
  }

  /** Sends one operation and returns its outcome. */
  async one(operation: Operation): Promise<Outcome> {
    const { outcomes } = await this.run(operation);
    return must(outcomes[0], 'a batch of one has one outcome');
  }

  /** Reads a page of a feed once; returns the refusal as trouble. */
  async page(mode: FeedMode, start: FeedStart, sessionToken?: string): Promise<FeedPage | Trouble> {
    const feed = new ChangeFeed(this.requests, { mode, range: await this.range() });
    try {
      return await feed.read(start, { ...this.#call(), sessionToken });
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble === undefined) throw error;
      return trouble;
    }
  }

  /** Reads a page of a feed, with retries. Throws the trouble of the service if it lasts. */
  async readPage(mode: FeedMode, start: FeedStart, sessionToken?: string): Promise<FeedPage> {
    const feed = new ChangeFeed(this.requests, { mode, range: await this.range() });
    return this.#patiently(() => feed.read(start, { ...this.#call(), sessionToken }));
  }

  /**
   * Reads pages after a position until `count` changes have come, or READS_MAX pages were read; returns the bytes of
   * the pages.
   */
  async changesAfter(
    start: FeedStart & object,
    count: number,
    sessionToken: string | undefined,
  ): Promise<readonly Buffer[]> {
    const pages: Buffer[] = [];
    let position = start;
    for (let reads = 0, seen = 0; reads < READS_MAX && seen < count; reads += 1) {
      const page = await this.readPage(position.mode, position, sessionToken);
      ({ position } = page);
      const found = documentsIn(page.bytes).length;
      seen += found;
      if (found > 0) pages.push(page.bytes);
      else await this.pause(PAUSE_MS);
    }
    return pages;
  }

  async pause(delayMs: number): Promise<void> {
    await this.clock.sleep(delayMs, this.#parts.signal);
  }

  get waiting(): { readonly signal: AbortSignal; readonly patience: Patience; readonly timeoutMs: number } {
    return { ...this.#call(), patience: this.#parts.patience.fresh() };
  }

  #call(): { readonly signal: AbortSignal; readonly timeoutMs: number } {
    const { signal, timeoutMs } = this.#parts;
    return { signal, timeoutMs };
  }

  async #patiently<T>(work: () => Promise<T>): Promise<T> {
    return retrying(work, {
      signal: this.#parts.signal,
      patience: this.#parts.patience.fresh(),
      splits: 'waited-for',
    });
  }
}

/** What the probes ask. */
export interface ScratchContainers {
  /** One key path, time to live switched on without a default, and a unique key. */
  readonly flat: ScratchContainer;
  /** Two key paths, the first of them nested; time to live switched off. */
  readonly levels: ScratchContainer;
  /** One key path, and a default lifetime of one second. */
  readonly expiring: ScratchContainer;
  /** Whether the account serves the feed of all versions and deletes. */
  readonly hasAllVersions: boolean;
}

/**
 * The key paths of the containers, and the unique key of the first. The word in them marks the containers as cosmig's:
 * a container that a killed run has left is removed only if it has these paths.
 */
export const FLAT_KEY = ['cosmigProbe'];
export const LEVEL_KEYS = [['cosmigProbe', 'one'], ['two']];
export const UNIQUE = 'unique';

/** Returns the documents in a page, parsed. */
export function documentsIn(page: Buffer): ReadonlyArray<Readonly<Record<string, unknown>>> {
  if (page.length === 0) return [];
  const { Documents: documents } = JSON.parse(page.toString()) as { readonly Documents?: unknown };
  return Array.isArray(documents) ? (documents as ReadonlyArray<Readonly<Record<string, unknown>>>) : [];
}

/** Returns a document of the flat container as text. Its unique value is its id unless `members` say otherwise. */
export function flatText(id: string, key: unknown, members: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ id, [FLAT_KEY[0] ?? '']: key, [UNIQUE]: id, ...members });
}

/** Returns a document of the container with two levels as text. */
export function levelsText(
  id: string,
  one: unknown,
  two: unknown,
  members: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({ id, cosmigProbe: { one }, two, ...members });
}

function put(body: BatchBody, operation: Operation): void {
  const { verb, key } = operation;
  switch (verb) {
    case 'read':
      return body.read(key, operation);
    case 'delete':
      return body.delete(key, operation);
    case 'create':
      body.create(key);
      break;
    case 'replace':
      body.replace(key, operation);
      break;
  }
  body.out.putText(operation.text);
  body.end();
}
