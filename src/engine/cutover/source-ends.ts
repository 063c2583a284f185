/**
 * Where the source ends, range by range, and whether it has gone on since: the fence of a cutover. What always holds:
 * no replica knows of a later end than what is told, so one that lags opens no gap, and a split opens none; a range
 * that has gone on is quiet only if nothing but expiry is known to have moved it; whoever has written is named.
 */
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { Feed, type FeedMode, type Page } from '../../cosmos/feed/feed.ts';
import { remap, wholeOf, type FeedRange } from '../../cosmos/feed/ranges.ts';
import { eachOf } from '../../lib/group.ts';
import { endOf } from '../leases/anchor.ts';
import { AllChanges, LatestChanges, type ChangeReader } from '../tail/change-reader.ts';
import type { RunContext } from '../context.ts';
import { seeNewest } from '../leases/newest-lsn.ts';
import { tokenOf } from '../../cosmos/side.ts';
import { mapKey } from '../apply/identity.ts';

interface End {
  readonly range: FeedRange;
  /** Null where it is not known. */
  readonly lsn: number | null;
  /** Null where the feed of all versions says everything. */
  readonly lv: string | null;
  /** Null where deletes are not told. */
  readonly avad: string | null;
}

/** The end of every range at one moment, by its place. */
export type Fence = ReadonlyMap<string, End>;

/** Somebody still writes; or a range was split or merged, and nobody can say. */
export interface Straggler {
  readonly range: string;
  /** Some of the documents, by id as JSON text. */
  readonly ids: readonly string[];
  readonly what: 'written' | 'deleted' | 'split';
}

/** Ranges that are asked at a time. */
const TOGETHER = 16;

/** How an end is read: so that nobody knows of a later one, or as whoever answers tells it. */
export type Look = 'newest' | 'as told';

/** Reads every end now; deletes that a feed tells are looked at as well. */
export async function readFence(context: RunContext, look: Look, signal: AbortSignal): Promise<Fence> {
  const ends: End[] = [];
  await eachPart(context, context.sourceSide.ranges.list.map(wholeOf), {
    signal,
    work: async (range, inner) => {
      if (look === 'newest') await seeNewest(context, range, inner);
      ends.push(await readEnd(context, range, inner));
    },
  });
  return new Map(ends.map((end) => [placeOf(end), end]));
}

async function readEnd(context: RunContext, range: FeedRange, signal: AbortSignal): Promise<End> {
  // The feed that tells more is read first: what happens in between is then seen by both.
  const avad =
    context.deletes === 'avad'
      ? (await endOf(context, { mode: 'all-versions', range }, signal)).page.position.etag
      : null;
  const { lsn, page } = await endOf(context, { mode: 'latest-version', range }, signal);
  return { range, lsn, lv: page.position.etag, avad };
}

/** Where the mover has come to: what lies beyond was brought over by nobody. */
export function fenceOfLedger({ ledger, sourceSide }: RunContext): Fence {
  const ends = ledger.leases.live().map(({ rangeId, min, max, lvPosition, avadPosition }): End => {
    const range = sourceSide.ranges.find(rangeId) ?? { id: rangeId, min, max, parents: [] };
    return {
      range: { range, min, max },
      lsn: null,
      lv: avadPosition === null ? lvPosition : null,
      avad: avadPosition,
    };
  });
  return new Map(ends.map((end) => [placeOf(end), end]));
}

function placeOf({ range: { range, min, max } }: End): string {
  return `${range.id} ${min} ${max}`;
}

/** Does something with every range; one that was split or merged meanwhile is asked again as what it has become. */
async function eachPart(
  { sourceSide }: RunContext,
  parts: readonly FeedRange[],
  {
    signal,
    work,
  }: {
    readonly signal: AbortSignal;
    readonly work: (part: FeedRange, signal: AbortSignal) => Promise<void>;
  },
): Promise<void> {
  const { ranges } = sourceSide;
  const patience = sourceSide.patience.fresh();
  await eachOf(parts, {
    atOnce: TOGETHER,
    signal,
    work: async (part, inner) => {
      try {
        await work(part, inner);
        return [];
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble?.kind !== 'split') throw error;
        await patience.bear(trouble, inner);
        await ranges.refresh(part.range.id, inner);
        return remap(ranges.list, part).readers;
      }
    },
  });
}

/** Who has written between two fences; null when nobody has, but for what has expired. */
export async function findStraggler(
  context: RunContext,
  { from, to }: { readonly from: Fence; readonly to: Fence },
  signal: AbortSignal,
): Promise<Straggler | null> {
  for await (const straggler of stragglers(context, { from, to }, signal)) return straggler;
  return null;
}

/** All of them, range by range, what was written apart from what was deleted. */
export async function* stragglers(
  context: RunContext,
  { from, to }: { readonly from: Fence; readonly to: Fence },
  signal: AbortSignal,
): AsyncGenerator<Straggler> {
  for (const [place, end] of from) {
    const now = to.get(place);
    if (now !== undefined && now.lsn === end.lsn) continue;
    // Behind a split other numbers count: that they differ says nothing.
    const isTelling = now !== undefined && end.lsn !== null;
    for (const straggler of await changesSince(context, end, signal))
      yield isTelling || straggler.ids.length > 0 ? straggler : { ...straggler, what: 'split' };
  }
}

/** So many are named of each; there may be more. */
export const IDS_MAX = 5;
/** Nobody reads on for more names than that, */
const NAMES_MAX = 2 * IDS_MAX;
/** or for more changes: somebody may write the same few without end. */
const CHANGES_MAX = 1000;

async function changesSince(context: RunContext, end: End, signal: AbortSignal): Promise<Straggler[]> {
  const range = end.range.range.id;
  const { lv, avad } = end;
  const touched: Touched = new Map();
  if (lv !== null) await touch(context, { end, mode: 'latest-version', etag: lv, touched }, signal);
  if (avad !== null) await touch(context, { end, mode: 'all-versions', etag: avad, touched }, signal);
  const found = (['written', 'deleted'] as const).flatMap((what) => {
    const ids = [...touched.values()].flatMap((one) => (one.what === what ? [one.id] : []));
    return ids.length === 0 ? [] : [{ range, ids: ids.slice(0, IDS_MAX), what }];
  });
  if (found.length > 0 || avad !== null || context.expires) return found;
  // Nobody tells what it was; where documents expire it would be that.
  return [{ range, ids: [], what: 'deleted' }];
}

/** What has become of documents, by their hash. */
type Touched = Map<string, { readonly id: string; readonly what: 'written' | 'deleted' }>;

/** What cannot be named. */
const NOBODY = 'null';

interface Since {
  readonly end: End;
  readonly mode: FeedMode;
  readonly etag: string;
  readonly touched: Touched;
}

/** Notes documents that somebody has touched since; those that have expired are left out. */
async function touch(
  context: RunContext,
  { end, mode, etag, touched }: Since,
  signal: AbortSignal,
): Promise<void> {
  await eachPart(context, [end.range], {
    signal,
    work: async (range, inner) => touchIn(context, { range, mode, etag, touched }, inner),
  });
}

async function touchIn(
  context: RunContext,
  { range, mode, etag, touched }: Omit<Since, 'end'> & { readonly range: FeedRange },
  signal: AbortSignal,
): Promise<void> {
  const { sourceSide, timing, serviceMs } = context;
  const reader: ChangeReader =
    mode === 'latest-version' ? new LatestChanges(context) : new AllChanges(context);
  const pages = new Feed(sourceSide.lane, { mode, range }).pages(
    { mode, etag },
    {
      signal,
      patience: sourceSide.patience.fresh(),
      timeoutMs: timing.requestTimeoutMs,
      sessionToken: () => tokenOf(sourceSide, range.range.id),
    },
  );
  for (let seen = 0; ;) {
    const { value: page }: { value: Page } = await pages.next();
    if (page.status === 304 || touched.size >= NAMES_MAX || seen >= CHANGES_MAX) return;
    const options = { nowTs: Math.floor(serviceMs() / 1000), indexId: 0, anchorLsn: Infinity };
    const { changes, unnamed, expired } = reader.read(page.bytes, options);
    for (const change of changes) {
      if (expired.has(change)) continue;
      seen += 1;
      const { name, hash } = change.identity;
      const what = change.kind === 'upsert' ? 'written' : 'deleted';
      touched.set(mapKey(hash), { id: name[0] ?? NOBODY, what });
    }
    seen += unnamed;
    if (unnamed > 0) touched.set(NOBODY, { id: NOBODY, what: 'deleted' });
  }
}
