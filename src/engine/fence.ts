/**
 * Where the source ends, range by range, and whether it has gone on since: the fence of a cutover. What always holds:
 * no replica knows of a later end than what is told, so one that lags opens no gap;
 * a range that has gone on is quiet only if nothing but expiry is known to have moved it; whoever has written is named.
 */
import { Feed, type FeedMode, type Page } from '../cosmos/feed.ts';
import type { FeedRange } from '../cosmos/ranges.ts';
import type { Lease } from '../state/leases.ts';
import { endOf } from './anchor.ts';
import { AllChanges, LatestChanges, type ChangeReader } from './changes.ts';
import type { Mover } from './mover.ts';
import { seeNewest } from './newest.ts';
import { tokenOf } from './side.ts';

interface End {
  readonly range: FeedRange;
  readonly lsn: number;
  readonly lv: string;
  /** Null where deletes are not told. */
  readonly avad: string | null;
}

/** The end of every range at one moment. */
export type Fence = ReadonlyMap<number, End>;

/** Somebody still writes. */
export interface Straggler {
  readonly range: string;
  /** Some of the documents, by id as JSON text. */
  readonly ids: readonly string[];
  readonly what: 'written' | 'deleted';
}

/** Reads every end now; deletes that a feed tells are looked at as well. */
export async function readFence(mover: Mover, signal: AbortSignal): Promise<Fence> {
  const leases = mover.ledger.leases.live();
  const ends = await Promise.all(
    leases.map(async (lease) => [lease.number, await readEnd(mover, lease, signal)] as const),
  );
  return new Map(ends);
}

async function readEnd(mover: Mover, { rangeId, min, max }: Lease, signal: AbortSignal): Promise<End> {
  const range = {
    range: mover.sourceSide.ranges.find(rangeId) ?? { id: rangeId, min, max, parents: [] },
    min,
    max,
  };
  await seeNewest(mover, range, signal);
  // The feed that tells more is read first: what happens in between is then seen by both.
  const avad =
    mover.deletes === 'avad'
      ? (await endOf(mover, { mode: 'all-versions', range }, signal)).page.position.etag
      : null;
  const { lsn, page } = await endOf(mover, { mode: 'latest-version', range }, signal);
  return { range, lsn, lv: page.position.etag, avad };
}

/** Who has written between two fences; null when nobody has, but for what has expired. */
export async function findStraggler(
  mover: Mover,
  { from, to }: { readonly from: Fence; readonly to: Fence },
  signal: AbortSignal,
): Promise<Straggler | null> {
  for (const [lease, end] of from) {
    const now = to.get(lease);
    // The range was split meanwhile: nobody can say, so the fence starts over.
    if (now === undefined) return { range: end.range.range.id, ids: [], what: 'written' };
    if (now.lsn === end.lsn) continue;
    const straggler = await changesSince(mover, end, signal);
    if (straggler !== null) return straggler;
  }
  return null;
}

const IDS_MAX = 5;

async function changesSince(mover: Mover, end: End, signal: AbortSignal): Promise<Straggler | null> {
  const range = end.range.range.id;
  const written = await idsSince(mover, { end, mode: 'latest-version', etag: end.lv }, signal);
  if (written.length > 0) return { range, ids: written, what: 'written' };
  if (end.avad !== null) {
    const all = await idsSince(mover, { end, mode: 'all-versions', etag: end.avad }, signal);
    return all.length === 0 ? null : { range, ids: all, what: 'deleted' };
  }
  // Nobody tells what it was; where documents expire it was that.
  return mover.expires ? null : { range, ids: [], what: 'deleted' };
}

/** Documents that somebody has touched since; those that have expired are left out. */
async function idsSince(
  mover: Mover,
  { end, mode, etag }: { readonly end: End; readonly mode: FeedMode; readonly etag: string },
  signal: AbortSignal,
): Promise<string[]> {
  const { sourceSide, timing, serviceMs } = mover;
  const reader: ChangeReader = mode === 'latest-version' ? new LatestChanges(mover) : new AllChanges(mover);
  const pages = new Feed(sourceSide.lane, { mode, range: end.range }).pages(
    { mode, etag },
    {
      signal,
      patience: sourceSide.patience.fresh(),
      timeoutMs: timing.requestTimeoutMs,
      sessionToken: () => tokenOf(sourceSide, end.range.range.id),
    },
  );
  const ids: string[] = [];
  for (;;) {
    const { value: page }: { value: Page } = await pages.next();
    if (page.status === 304 || ids.length >= IDS_MAX) return ids.slice(0, IDS_MAX);
    const options = { nowTs: Math.floor(serviceMs() / 1000), tree: 0, anchorLsn: Infinity };
    const { changes, unnamed, expired } = reader.read(page.bytes, options);
    ids.push(...changes.filter((change) => !expired.has(change)).map(({ who }) => who.name[0] ?? 'null'));
    if (unnamed > 0) ids.push('null');
  }
}
