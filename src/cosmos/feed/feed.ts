/**
 * Reads the change feed of one range, page by page, as bytes. Invariant: a position comes only from a reply with 200 or
 * 304; a position is used only in the mode it came from; a page that failed is read again from the position before it,
 * so no trouble loses a change.
 */
import { PriorityLevel } from '@azure/cosmos';
import { assert } from '../../lib/assert.ts';
import { TroubleError, troubleOf, type Trouble } from '../transport/trouble.ts';
import type { Call, ContainerRequests, FeedReadOptions, Reply } from '../transport/container-requests.ts';
import type { Governor } from '../load/governor.ts';
import { isPart, type FeedRange } from './ranges.ts';
import { retrying, type Patience } from '../load/retry.ts';
import { lsnOf } from './session-tokens.ts';

/**
 * Which changes a feed has. `all-versions` has deletes and every version in between, but cannot be read from the
 * beginning.
 */
export type FeedMode = 'latest-version' | 'all-versions';

/** A position in the feed of a range. */
export interface Position {
  readonly mode: FeedMode;
  /** The ETag as the service sent it, with its quotes. */
  readonly etag: string;
}

export type FeedStart = 'beginning' | 'now' | Position;

export interface FeedPage {
  /** 304: the replica that answered has nothing newer. A 200 may have no documents, and is not the end. */
  readonly status: 200 | 304;
  /** JSON with an array `Documents`; no bytes at all after a 304. */
  readonly bytes: Buffer;
  /** Returns the memory of the bytes for other pages. Called at most once, when the bytes are no longer needed. */
  readonly free: () => void;
  /** Where the next page begins. */
  readonly position: Position;
  readonly chargeRu: number;
  readonly sessionToken: string | undefined;
  /** LSN of the replica that answered. */
  readonly lsn: number | undefined;
}

export interface FeedSettings {
  readonly mode: FeedMode;
  readonly range: FeedRange;
  /**
   * How many documents a page should have, or a function that is asked before every page. A transaction is never
   * divided, so a page may have more.
   */
  readonly pageSize?: number | (() => number);
  /** Low: the service serves the users of the source first. High is for a reader that must keep up. */
  readonly priority?: 'Low' | 'High';
}

export interface PageCall extends Call {
  /** Token for what the reader has seen already. A replica that is older does not answer. */
  readonly sessionToken?: string | undefined;
}

export interface PagesCall extends Omit<PageCall, 'sessionToken'> {
  readonly patience: Patience;
  /** Counts the RU, and lets the range rest after throttling. */
  readonly governor?: Governor;
  /** Returns the session token for a page. Called before every page. */
  readonly sessionToken?: () => string | undefined;
}

export interface ParsedPagesCall<T> extends PagesCall {
  /**
   * Reads a page. If it throws a PageError (damaged) or a TroubleError (from a replica that lags), the page is
   * requested again.
   */
  readonly parse: (page: FeedPage) => T;
}

const PAGE_SIZE = 1000;

export class ChangeFeed {
  readonly #requests: ContainerRequests;
  readonly #settings: FeedSettings;

  constructor(requests: ContainerRequests, settings: FeedSettings) {
    this.#requests = requests;
    this.#settings = settings;
  }

  /** Requests one page, once; throws a TroubleError. */
  async read(start: FeedStart, { sessionToken, ...call }: PageCall): Promise<FeedPage> {
    const { mode, range, pageSize = PAGE_SIZE, priority = 'Low' } = this.#settings;
    assert(
      typeof start === 'string' || (start.mode === mode && start.etag !== ''),
      'a position belongs to its mode',
    );
    assert(mode === 'latest-version' || start !== 'beginning', 'the all-versions feed has no beginning');
    const options: FeedReadOptions = {
      ...(mode === 'latest-version'
        ? { useLatestVersionFeed: true }
        : { useAllVersionsAndDeletesFeed: true }),
      ...conditionOf(start),
      maxItemCount: typeof pageSize === 'number' ? pageSize : pageSize(),
      priorityLevel: PriorityLevel[priority],
      ...(sessionToken === undefined ? {} : { sessionToken, consistencyLevel: 'Session' }),
    };
    const part = isPart(range) ? { part: { min: range.min, max: range.max } } : {};
    const exchange = await this.#requests.feed({
      ...call,
      what: 'docs',
      options,
      rangeId: range.range.id,
      ...part,
    });
    if (!exchange.ok) throw new TroubleError(asFeedTrouble(exchange.trouble, mode));
    return pageFrom(exchange.reply, mode);
  }

  /**
   * Finds out why the service refuses a valid position with 400: it is older than what the service keeps, or the feed
   * is no longer available. The service answers both alike. So this asks for `now`, which is never too old.
   */
  async whyRefused(call: Call): Promise<'position-too-old' | 'feed-not-available'> {
    try {
      await this.read('now', call);
      return 'position-too-old';
    } catch (error) {
      if (troubleOf(error)?.status === 400) return 'feed-not-available';
      throw error;
    }
  }

  /** Returns the pages; see `parsedPages`. */
  pages(start: FeedStart, call: PagesCall): AsyncGenerator<FeedPage, never, undefined> {
    return this.parsedPages(start, { ...call, parse: (page) => page });
  }

  /**
   * Yields what `parse` makes of each page, as long as the caller asks for more. A reply with 304 counts as a page: the
   * caller decides whether to wait or to end. Trouble that may pass is waited out. A split, or trouble that lasts, is
   * thrown; the position of the last page remains valid.
   */
  async *parsedPages<T>(start: FeedStart, call: ParsedPagesCall<T>): AsyncGenerator<T, never, undefined> {
    const { patience, governor, sessionToken, parse, signal, timeoutMs } = call;
    const { id } = this.#settings.range.range;
    const ask = { signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    let from = start;
    const request = async (): Promise<{ parsed: T; position: Position; chargeRu: number }> => {
      const page = await this.read(from, { ...ask, sessionToken: sessionToken?.() });
      return { parsed: parse(page), position: page.position, chargeRu: page.chargeRu };
    };
    for (;;) {
      const { parsed, position } = await (governor === undefined
        ? retrying(request, { signal, patience })
        : governor.repeat(id, request, { signal, patience }));
      yield parsed;
      from = position;
    }
  }
}

/**
 * The service's message if partitions of the account were merged at any time (fact SVC-20). The reply has no code for
 * this.
 */
const MERGED_ONCE = /more than two children/i;

/**
 * Makes trouble fatal if it comes from a merge of partitions, because it then lasts for ever. The service gives it the
 * status of trouble that passes.
 */
function asFeedTrouble(trouble: Trouble, mode: FeedMode): Trouble {
  if (mode !== 'all-versions' || trouble.status !== 500 || !MERGED_ONCE.test(trouble.says ?? ''))
    return trouble;
  const what = 'the service cannot read all versions and deletes, because partitions were merged once';
  return { ...trouble, kind: 'fatal', what };
}

/** Returns the trouble of a page whose replica has not come far enough, so that the page is read again. */
export function staleReplica({ status, chargeRu }: FeedPage, behind: string): Trouble {
  const what = `a replica of the source answered that is behind ${behind}`;
  return { kind: 'transient', status, substatus: 0, what, chargeRu };
}

/** Whether the feed of all versions and deletes can never be read, because partitions were merged once. */
export function isMergedOnce(trouble: Trouble | undefined): boolean {
  return trouble?.kind === 'fatal' && trouble.status === 500;
}

/** Whether the feed of all versions and deletes lacks the changes that a range had before its split. */
export function lacksHistory({ status, substatus }: Trouble): boolean {
  return (status === 410 || status === 503) && substatus === 1024;
}

function conditionOf(start: FeedStart): FeedReadOptions {
  if (start === 'beginning') return {};
  const condition = start === 'now' ? '*' : start.etag;
  return { accessCondition: { type: 'IfNoneMatch', condition } };
}

function pageFrom(reply: Reply, mode: FeedMode): FeedPage {
  const { status, body, free, chargeRu, sessionToken } = reply;
  const etag = reply.header('etag');
  if (status !== 200 && status !== 304) throw damaged(reply, `the feed answered ${status}`);
  if (etag === undefined || etag === '') throw damaged(reply, 'a page came without its position');
  if (status === 200 && !looksLikeObject(body)) throw damaged(reply, 'a page came that is not a JSON object');
  return {
    status,
    bytes: status === 304 ? Buffer.alloc(0) : body,
    free,
    position: { mode, etag },
    chargeRu,
    sessionToken,
    lsn: lsnOf(sessionToken),
  };
}

/** Distinguishes a page from the error text of a proxy, cheaply. The scan checks the rest. */
function looksLikeObject(body: Buffer): boolean {
  let last = body.length - 1;
  while (last > 0 && (body[last] ?? 0) <= 0x20) last -= 1;
  return body[0] === 0x7b && body[last] === 0x7d;
}

function damaged({ status, substatus, chargeRu }: Reply, what: string): TroubleError {
  return new TroubleError({ kind: 'transient', status, substatus, what, chargeRu });
}
