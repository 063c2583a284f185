/**
 * Answers the change feeds of one range. A position is an LSN: the reader has seen every transaction up to it. A reader
 * receives its position as an etag and sends it back.
 *
 * Invariant: a page ends between two transactions, never inside one, so it may contain more items than the reader
 * asked for.
 */
import { must } from '../../lib/assert.ts';
import type { LocalAccount } from '../account/account.ts';
import { EMPTY_POLL_RU, feedCharge, roundRu } from './charges.ts';
import type { FeedBody, FeedWindow } from '../storage/feed-store.ts';
import type { ContainerModel } from '../account/model.ts';
import type { RangeModel } from './ranges.ts';
import { badRequest } from '../http/refusal.ts';
import { elementsOf, withoutMembers } from '../json/json-text.ts';

export type ChangeFeedMode = 'latest-version' | 'all-versions';

export interface FeedRequest {
  readonly mode: ChangeFeedMode;
  readonly range: RangeModel;
  /** The part of the hash space to read: from `min`, up to but without `max`. */
  readonly min: string;
  readonly max: string;
  /**
   * The if-none-match header. '*' starts at the current end, an etag at its position, and no header at the beginning.
   */
  readonly ifNoneMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
  /** The most items on the page; undefined sets no limit but the page size. */
  readonly maxItems: number | undefined;
  /** The LSN of the newest transaction that this reader sees. */
  readonly visibleLsn: number;
}

interface ChangeFeedPage extends FeedBody {
  readonly etag: string;
  readonly chargeRu: number;
}

/** Roughly the bytes that system properties and `_lsn` add to a document. */
const OVERHEAD_BYTES = 300;
/** The most items of a page if the reader sets no limit. Many tiny documents would otherwise make a huge page. */
const ITEMS_MAX = 10_000;

/** The suffix of an etag in each mode. The two suffixes differ, so that a position of the other feed is refused. */
const MARK: Readonly<Record<ChangeFeedMode, string>> = { 'latest-version': '', 'all-versions': ';full' };

function etagOf(mode: ChangeFeedMode, lsn: number): string {
  return `"${lsn}${MARK[mode]}"`;
}

function parsePosition(account: LocalAccount, mode: ChangeFeedMode, etag: string): number {
  const [, digits, mark] = /^"?(\d{1,15})((?:;full)?)"?$/.exec(etag.trim()) ?? [];
  if (digits === undefined) throw badRequest(`Invalid Continuation Token: ${etag} in if-none-match.`);
  if (mark !== MARK[mode] && !account.deviates('feeds-share-positions'))
    throw badRequest(`The continuation ${etag} belongs to the other mode of the change feed.`);
  return Number(digits);
}

interface Start {
  readonly after: number;
  readonly afterTs: number;
}

function startOf(account: LocalAccount, request: FeedRequest): Start {
  const { ifNoneMatch, ifModifiedSince } = request;
  if (ifNoneMatch === '*') return { after: request.visibleLsn, afterTs: -1 };
  // A reader that started at a time sends this time and an etag when it asks for later pages. The etag counts, because
  // it is more precise.
  if (ifNoneMatch !== undefined)
    return { after: parsePosition(account, request.mode, ifNoneMatch), afterTs: -1 };
  if (ifModifiedSince === undefined) return { after: 0, afterTs: -1 };
  const timeMs = Date.parse(ifModifiedSince);
  if (Number.isNaN(timeMs)) throw badRequest(`The date ${ifModifiedSince} in if-modified-since is invalid.`);
  return { after: 0, afterTs: Math.floor(timeMs / 1000) };
}

/** Drops changes that are older than the retention. Positions before them are refused from then on. */
export function dropOldChanges(account: LocalAccount): void {
  if (!account.settings.avad) return;
  const old = account.feeds.oldChanges(account.nowTs() - account.settings.retentionSeconds);
  if (old.length === 0) return;
  const floors = new Map<RangeModel, number>();
  account.transaction(() => {
    for (const container of account.containers()) {
      for (const range of container.ranges) {
        const gone = old.find((entry) => entry.container === container.number && entry.range === range.id);
        if (gone === undefined) continue;
        account.feeds.dropChanges(container.number, range.id, gone.lsn);
        const avadFloor = Math.max(range.avadFloor, gone.lsn);
        account.saveRange(container, { ...range, avadFloor });
        floors.set(range, avadFloor);
      }
    }
  });
  for (const [range, avadFloor] of floors) range.avadFloor = avadFloor;
}

function refuseUnavailable(account: LocalAccount, request: FeedRequest): void {
  if (request.mode === 'latest-version') return;
  if (!account.settings.avad) {
    throw badRequest('All versions and deletes change feed must be enabled on the account to be read.');
  }
  if (request.ifNoneMatch === undefined) {
    throw badRequest(
      'You must read the change feed from within the retention period. An all versions and deletes change feed starts ' +
        'now or from a continuation, not from the beginning or a time.',
    );
  }
  dropOldChanges(account);
  if (
    request.ifNoneMatch !== '*' &&
    parsePosition(account, request.mode, request.ifNoneMatch) < request.range.avadFloor
  ) {
    throw badRequest('The continuation is older than the retention period of the change feed.');
  }
}

/**
 * Reads the next page after a position. A page with `count` 0 has nothing new, but its etag is a valid position too.
 */
export function readFeed(
  account: LocalAccount,
  container: ContainerModel,
  request: FeedRequest,
): ChangeFeedPage {
  refuseUnavailable(account, request);
  const start = startOf(account, request);
  const window: FeedWindow = {
    container: container.number,
    range: request.range.id,
    after: start.after,
    upTo: request.visibleLsn,
    seen: request.visibleLsn,
    min: request.min,
    max: request.max,
    afterTs: start.afterTs,
    nowTs: account.nowTs(),
  };
  const { latest, lagging, changes } = account.feeds;
  const ofLatest = request.visibleLsn < request.range.lsn ? lagging : latest;
  const feed = request.mode === 'latest-version' ? ofLatest : changes;
  const limit = request.maxItems ?? ITEMS_MAX;
  const edge = feed.edge(window, limit);
  const upTo = endOfPage(edge, limit, account.settings.pageBytes, request.visibleLsn);
  if (edge.length === 0) {
    const etag = etagOf(request.mode, Math.max(start.after, request.visibleLsn));
    const chargeRu = account.deviates('dear-empty-pages') ? 10 * EMPTY_POLL_RU : EMPTY_POLL_RU;
    return { count: 0, body: null, etag, chargeRu };
  }
  // Only `upTo` changes, not `seen`: whether a replaced version is shown depends on the newest transaction that the
  // reader sees, not on the end of the page.
  const page = must(feed.page({ ...window, upTo }), 'an aggregate has a row');
  const sizes = edge.filter(([lsn]) => lsn <= upTo).map(([, bytes]) => bytes);
  // The last transaction may have more documents than `edge` has measured. The documents beyond `edge` are charged as
  // documents of average size.
  const chargeRu = roundRu((feedCharge(sizes) * page.count) / sizes.length);
  const body = request.mode === 'latest-version' ? deviating(account, page.body) : page.body;
  return { ...page, body, etag: etagOf(request.mode, upTo), chargeRu };
}

/**
 * Returns the LSN at which a page ends: after whole transactions, at least one, within the limits of items and bytes.
 */
function endOfPage(
  edge: readonly [lsn: number, bytes: number][],
  limit: number,
  pageBytes: number,
  visible: number,
): number {
  let sum = 0;
  let complete: number | undefined;
  let current = edge[0]?.[0] ?? visible;
  for (const [lsn, bytes] of edge) {
    if (lsn !== current) {
      complete = current;
      current = lsn;
    }
    sum += bytes + OVERHEAD_BYTES;
    if (sum > pageBytes && complete !== undefined) return complete;
  }
  // If nothing is left in the window, the page ends at the newest transaction that the reader sees.
  return edge.length < limit ? visible : current;
}

/** Returns the documents of a page, changed as the account's deviations require. */
function deviating(account: LocalAccount, body: Buffer | null): Buffer | null {
  const isReversed = account.deviates('feed-newest-first');
  const lacksLsn = account.deviates('feed-without-lsn');
  if (body === null || (!isReversed && !lacksLsn)) return body;
  const list = `[${body.toString()}]`;
  const documents = [...elementsOf(list, 0)].map(({ start, end }) => list.slice(start, end));
  const shown = lacksLsn ? documents.map((text) => withoutMembers(text, new Set(['_lsn']))) : documents;
  return Buffer.from((isReversed ? shown.toReversed() : shown).join(','));
}
