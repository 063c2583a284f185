/**
 * Reads where the source ends, range by range, and what was written after these ends. Invariants: ends that were read
 * with 'newest' include every change that any replica has, so neither a lagging replica nor a split leaves a gap. If an
 * end has moved, the range counts as quiet only if the feeds show nothing but expiration. Every other change is reported
 * by range and document.
 */
import { mapKey } from '../../documents/hash.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { ChangeFeed, staleReplica, type FeedMode, type FeedPage } from '../../cosmos/feed/feed.ts';
import { wholeOf, type FeedRange } from '../../cosmos/feed/ranges.ts';
import { endOf } from '../leases/anchor.ts';
import { AllChanges, LatestChanges, type ChangeReader } from '../tail/change-reader.ts';
import type { RunContext } from '../context.ts';
import { IDS_MAX } from '../../state/source-change.ts';
import { seeNewest } from '../leases/anchor.ts';
import { tokenOf } from '../../cosmos/side.ts';
import { TroubleError } from '../../cosmos/transport/trouble.ts';

interface RangeEnd {
  readonly range: FeedRange;
  /** The LSN of the end; null if it is not known. */
  readonly lsn: number | null;
  /** The position in the latest-version feed; null if only the feed of all versions is read. */
  readonly lv: string | null;
  /** The position in the feed of all versions; null if that feed is not read. */
  readonly avad: string | null;
}

/** The end of every range at one moment. */
export type SourceEnds = ReadonlyMap<string, RangeEnd>;

/** Changes to one range after its end was read. */
export interface Straggler {
  readonly range: string;
  /** The ids of some of the changed documents, as JSON texts. */
  readonly ids: readonly string[];
  /** `split`: the range was split or merged, so it is not known whether a document changed. */
  readonly what: 'written' | 'deleted' | 'split';
}

/** How many ranges are read at the same time. */
const RANGES_AT_ONCE = 16;

/** Which replica says where a range ends: the one that has the latest change, or any that answers. */
export type ReplicaChoice = 'newest' | 'any replica';

/** Reads the current end of every range. If deletes come from the feed of all versions, reads its end too. */
export async function readSourceEnds(
  context: RunContext,
  replica: ReplicaChoice,
  signal: AbortSignal,
): Promise<SourceEnds> {
  const ends: RangeEnd[] = [];
  await context.sourceSide.ranges.resolve(signal);
  await forEachRange(context.sourceSide, context.sourceSide.ranges.list.map(wholeOf), {
    limit: RANGES_AT_ONCE,
    signal,
    work: async (range, inner) => {
      if (replica === 'newest') await seeNewest(context, { range }, inner);
      ends.push(await readEnd(context, range, inner));
    },
  });
  return byRange(ends);
}

async function readEnd(context: RunContext, range: FeedRange, signal: AbortSignal): Promise<RangeEnd> {
  // The feed of all versions is read first, so its position is before every change that happens between the two reads.
  const avad =
    context.deletes === 'avad'
      ? (await endOf(context, { mode: 'all-versions', range }, signal)).page.position.etag
      : null;
  const { lsn, page } = await endOf(context, { mode: 'latest-version', range }, signal);
  return { range, lsn, lv: page.position.etag, avad };
}

/** Returns the positions that the ledger has committed. Changes after these positions were not replicated. */
export function committedEnds({ ledger, sourceSide }: RunContext): SourceEnds {
  const ends = ledger.leases.live().map(({ rangeId, min, max, lvPosition, avadPosition }): RangeEnd => {
    return {
      range: sourceSide.ranges.partOf({ rangeId, min, max }),
      lsn: null,
      lv: avadPosition === null ? lvPosition : null,
      avad: avadPosition,
    };
  });
  return byRange(ends);
}

function byRange(ends: readonly RangeEnd[]): SourceEnds {
  return new Map(ends.map((end) => [`${end.range.range.id} ${end.range.min} ${end.range.max}`, end]));
}

/** Returns the first change between two readings of the ends; null if there was none, apart from expirations. */
export async function findStraggler(
  context: RunContext,
  { from, to }: { readonly from: SourceEnds; readonly to: SourceEnds },
  signal: AbortSignal,
): Promise<Straggler | null> {
  for await (const straggler of stragglers(context, { from, to }, signal)) return straggler;
  return null;
}

/** Yields what changed between two readings of the ends: for each range its writes, and separately its deletes. */
export async function* stragglers(
  context: RunContext,
  { from, to }: { readonly from: SourceEnds; readonly to: SourceEnds },
  signal: AbortSignal,
): AsyncGenerator<Straggler> {
  for (const [range, end] of from) {
    const now = to.get(range);
    if (now !== undefined && now.lsn === end.lsn) continue;
    // After a split LSNs cannot be compared, so a different LSN does not show that a document was written.
    const isComparable = now !== undefined && end.lsn !== null;
    for (const straggler of await changesBehind(context, { end, untilLsn: now?.lsn ?? 0 }, signal))
      yield isComparable || straggler.ids.length > 0 ? straggler : { ...straggler, what: 'split' };
  }
}

/** Reading of a range stops after this many changed documents. */
const DOCUMENTS_MAX = 2 * IDS_MAX;
/**
 * Reading of a range also stops after this many changes, because an application may write the same few documents
 * without end.
 */
const CHANGES_MAX = 1000;

async function changesBehind(
  context: RunContext,
  { end, untilLsn }: Pick<Collecting, 'end' | 'untilLsn'>,
  signal: AbortSignal,
): Promise<Straggler[]> {
  const range = end.range.range.id;
  const { lv, avad } = end;
  const touched: Touched = new Map();
  if (lv !== null)
    await collect(context, { end, untilLsn, mode: 'latest-version', etag: lv, touched }, signal);
  if (avad !== null)
    await collect(context, { end, untilLsn, mode: 'all-versions', etag: avad, touched }, signal);
  const found = (['written', 'deleted'] as const).flatMap((what) => {
    const ids = [...touched.values()].flatMap((one) => (one.what === what ? [one.id] : []));
    return ids.length === 0 ? [] : [{ range, ids: ids.slice(0, IDS_MAX), what }];
  });
  if (found.length > 0 || avad !== null || context.expires) return found;
  // The end has moved and the feed shows no write. Since no document expires, this was a delete that no feed reports.
  return [{ range, ids: [], what: 'deleted' }];
}

/** Changed documents, by the hash of their identity. */
type Touched = Map<string, { readonly id: string; readonly what: 'written' | 'deleted' }>;

/** Stands for the id of a deleted document, if the feed reports its delete without the id. */
const UNNAMED = 'null';

interface Collecting {
  readonly end: RangeEnd;
  /**
   * The LSN up to which changes are read; 0 if it is not known. A 304 from a replica that has not reached this LSN does
   * not mean that the feed has ended.
   */
  readonly untilLsn: number;
  readonly mode: FeedMode;
  readonly etag: string;
  readonly touched: Touched;
}

/** Adds the documents that changed after an end to `touched`, except expired ones. */
async function collect(
  context: RunContext,
  { end, ...what }: Collecting,
  signal: AbortSignal,
): Promise<void> {
  await forEachRange(context.sourceSide, [end.range], {
    limit: RANGES_AT_ONCE,
    signal,
    work: async (range, inner) => collectIn(context, { range, ...what }, inner),
  });
}

async function collectIn(
  context: RunContext,
  { range, untilLsn, mode, etag, touched }: Omit<Collecting, 'end'> & { readonly range: FeedRange },
  signal: AbortSignal,
): Promise<void> {
  const { sourceSide, timing, serviceTime } = context;
  const reader: ChangeReader =
    mode === 'latest-version' ? new LatestChanges(context) : new AllChanges(context);
  const pages = new ChangeFeed(sourceSide.requests, { mode, range }).parsedPages(
    { mode, etag },
    {
      signal,
      patience: sourceSide.patience.fresh(),
      timeoutMs: timing.requestTimeoutMs,
      sessionToken: () => tokenOf(sourceSide, range.range.id),
      parse: (page) => {
        const isBehind = page.status === 304 && (page.lsn ?? -1) < untilLsn;
        if (isBehind) throw new TroubleError(staleReplica(page, 'the end of the range'));
        return page;
      },
    },
  );
  for (let seen = 0; ;) {
    const { value: page }: { value: FeedPage } = await pages.next();
    if (page.status === 304 || touched.size >= DOCUMENTS_MAX || seen >= CHANGES_MAX) return;
    const options = { nowTs: serviceTime.nowTs(), indexId: 0, anchorLsn: Infinity };
    const { changes, unnamed, expired, lastLsn } = reader.read(page.bytes, options);
    for (const change of changes) {
      if (expired.has(change)) continue;
      seen += 1;
      const { name, hash } = change.identity;
      const what = change.version === 'gone' ? 'deleted' : 'written';
      touched.set(mapKey(hash), { id: name[0] ?? UNNAMED, what });
    }
    seen += unnamed;
    if (unnamed > 0) touched.set(UNNAMED, { id: UNNAMED, what: 'deleted' });
    // Changes after this LSN were written after the second reading of the ends.
    if (lastLsn !== null && untilLsn > 0 && lastLsn >= untilLsn) return;
  }
}
