/**
 * The change feed of one range, page by page, as bytes. What always holds: a position comes from a 200 or a 304 that
 * had one, and from nothing else; a position goes back into the mode it came from; a page that failed is asked for
 * again from the position before it, so trouble of any kind loses nothing.
 */
import { PriorityLevel } from '@azure/cosmos';
import { assert } from '../../lib/assert.ts';
import { TroubleError, troubleOf } from '../transport/trouble.ts';
import type { Call, ContainerLane, LaneFeedOptions, Reply } from '../transport/container-requests.ts';
import type { Governor } from '../load/governor.ts';
import { isPart, type FeedRange } from './ranges.ts';
import { retrying, type Patience } from '../load/retry.ts';
import { lsnOf } from './session-tokens.ts';

/** All versions: deletes and every version in between, from now on only. */
export type FeedMode = 'latest-version' | 'all-versions';

/** A place in the feed of a range. */
export interface Position {
  readonly mode: FeedMode;
  /** As the service sent it, quotes and all. */
  readonly etag: string;
}

export type FeedStart = 'beginning' | 'now' | Position;

export interface Page {
  /** 304: this replica has nothing newer. A 200 may be empty and is not the end. */
  readonly status: 200 | 304;
  /** JSON with an array of `Documents`; no byte after a 304. */
  readonly bytes: Buffer;
  /** Nobody looks at the bytes any more: the memory is for another page. Called once, or not at all. */
  readonly free: () => void;
  /** Where the next page begins. */
  readonly position: Position;
  readonly chargeRu: number;
  readonly sessionToken: string | undefined;
  /** How far the replica that answered had come. */
  readonly lsn: number | undefined;
  /** Whose page it is: a container made anew under the same name has another. */
  readonly containerRid: string | undefined;
  /** The service's clock, in text. */
  readonly date: string | undefined;
}

export interface FeedSettings {
  readonly mode: FeedMode;
  readonly range: FeedRange;
  /** How many documents a page should have; a transaction is never cut. */
  readonly pageSize?: number;
  /** The source's users come first; High is for a tail that must keep up. */
  readonly priority?: 'Low' | 'High';
}

export interface PageCall extends Call {
  /** What the reader has seen already: an older replica does not answer. */
  readonly sessionToken?: string | undefined;
}

export interface PagesCall extends Omit<PageCall, 'sessionToken'> {
  readonly patience: Patience;
  /** Whom the source's RU are counted by. */
  readonly governor?: Governor;
  /** Asked before every page. */
  readonly sessionToken?: () => string | undefined;
}

export interface ParsedPagesCall<T> extends PagesCall {
  /** Throws a PageError for a damaged page, or a TroubleError for one that is too old; it is then read again. */
  readonly parse: (page: Page) => T;
}

const PAGE_SIZE = 1000;

export class Feed {
  readonly #lane: ContainerLane;
  readonly #settings: FeedSettings;

  constructor(lane: ContainerLane, settings: FeedSettings) {
    this.#lane = lane;
    this.#settings = settings;
  }

  /** One page, asked for once; throws a TroubleError. */
  async read(start: FeedStart, { sessionToken, ...call }: PageCall): Promise<Page> {
    const { mode, range, pageSize = PAGE_SIZE, priority = 'Low' } = this.#settings;
    assert(
      typeof start === 'string' || (start.mode === mode && start.etag !== ''),
      'a position belongs to its mode',
    );
    assert(mode === 'latest-version' || start !== 'beginning', 'the all-versions feed has no beginning');
    const options: LaneFeedOptions = {
      ...(mode === 'latest-version'
        ? { useLatestVersionFeed: true }
        : { useAllVersionsAndDeletesFeed: true }),
      ...conditionOf(start),
      maxItemCount: pageSize,
      priorityLevel: PriorityLevel[priority],
      ...(sessionToken === undefined ? {} : { sessionToken, consistencyLevel: 'Session' }),
    };
    const part = isPart(range) ? { part: { min: range.min, max: range.max } } : {};
    const exchange = await this.#lane.feed({
      ...call,
      what: 'docs',
      options,
      rangeId: range.range.id,
      ...part,
    });
    if (!exchange.ok) throw new TroubleError(exchange.trouble);
    return pageFrom(exchange.reply, mode);
  }

  /**
   * After a 400 to a position that was good: whether it is older than the service remembers, or the feed is not to
   * be had any more. The service says the same to both, so it is asked for `now`; nothing is read by that.
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

  /** Pages as they come; see `parsedPages`. */
  pages(start: FeedStart, call: PagesCall): AsyncGenerator<Page, never, undefined> {
    return this.parsedPages(start, { ...call, parse: (page) => page });
  }

  /**
   * What `parse` returns for each page, for as long as the caller pulls. Pages of a 304 are included: the caller decides
   * whether to wait or to end. Trouble that may pass is waited out; a split, and trouble that lasts, is thrown, and the
   * position of the last page is still good.
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

function conditionOf(start: FeedStart): LaneFeedOptions {
  if (start === 'beginning') return {};
  const condition = start === 'now' ? '*' : start.etag;
  return { accessCondition: { type: 'IfNoneMatch', condition } };
}

function pageFrom(reply: Reply, mode: FeedMode): Page {
  const { status, body, free, chargeRu, sessionToken } = reply;
  const etag = reply.header('etag');
  if (status !== 200 && status !== 304) throw damaged(reply, `the feed answered ${status}`);
  if (etag === undefined || etag === '') throw damaged(reply, 'a page came without its position');
  if (status === 200 && !looksLikeObject(body)) throw damaged(reply, 'a page came that is no JSON object');
  return {
    status,
    bytes: status === 304 ? Buffer.alloc(0) : body,
    free,
    position: { mode, etag },
    chargeRu,
    sessionToken,
    lsn: lsnOf(sessionToken),
    containerRid: reply.header('x-ms-content-path'),
    date: reply.header('date'),
  };
}

/** Cheap, and enough to tell a proxy's words from a page; the scan proves the rest. */
function looksLikeObject(body: Buffer): boolean {
  let last = body.length - 1;
  while (last > 0 && (body[last] ?? 0) <= 0x20) last -= 1;
  return body[0] === 0x7b && body[last] === 0x7d;
}

function damaged({ status, substatus, chargeRu }: Reply, what: string): TroubleError {
  return new TroubleError({ kind: 'transient', status, substatus, what, chargeRu });
}
