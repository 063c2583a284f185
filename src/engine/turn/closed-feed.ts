/**
 * Reads what was written to the container that only cosmig may write to, from the positions of the last search. Invariant:
 * nothing is judged here, and a position is returned only with everything that was found before it.
 */
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { ChangeFeed, type FeedMode, type FeedPage } from '../../cosmos/feed/feed.ts';
import type { FeedRange } from '../../cosmos/feed/ranges.ts';
import { tokenOf } from '../../cosmos/side.ts';
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { hashToBytes } from '../../documents/hash.ts';
import { allVersionsScan, latestVersionScan } from '../../documents/page-scan.ts';
import { decodeScalar, keyStart, keyText } from '../../documents/scalar.ts';
import { Placement } from '../../keys/placement.ts';
import { rekeyPaths } from '../../keys/rekey.ts';
import { ETAG_BYTES, writeEtagOf } from '../../state/segments/etag-hash.ts';
import type { SearchedEnd } from '../../state/turns/searched-ends.ts';
import type { Slot, SourceIdentity } from '../apply/identity.ts';
import type { RunContext } from '../context.ts';
import { isReservation } from '../map/reservation-row.ts';

/** A document that the feed shows, as it is now. */
export interface ClosedDocument {
  readonly range: string;
  /** The id as JSON text. */
  readonly id: string;
  /** Null: no migration with these settings can have written the document. */
  readonly copy: { readonly identity: SourceIdentity; readonly slot: Slot; readonly etag: Buffer } | null;
}

/** A delete that the feed of all versions shows. The id is JSON text. */
export interface ClosedDelete {
  readonly range: string;
  readonly id: string;
}

interface Visitor {
  /** Called with the documents of each page. */
  readonly onWritten: (page: readonly ClosedDocument[]) => Promise<void>;
  /** Called with the deletes of each page, if the feed of all versions is read. */
  readonly onDeleted: (page: readonly ClosedDelete[]) => Promise<void>;
}

const RANGES_AT_ONCE = 16;

/** Reads up to the end, and returns the new positions. Deletes are read only from ends that have a position for them. */
export async function readClosed(
  context: RunContext,
  { ends, ...visitor }: Visitor & { readonly ends: readonly SearchedEnd[] },
  signal: AbortSignal,
): Promise<SearchedEnd[]> {
  const { targetSide: side } = context;
  const read: SearchedEnd[] = [];
  for (const end of ends) {
    await forEachRange(side, [side.ranges.partOf(end)], {
      limit: RANGES_AT_ONCE,
      signal,
      work: async (range, inner) => {
        const { min, max } = range;
        if (end.avad !== null) await readDeletes(context, { range, etag: end.avad, ...visitor }, inner);
        const lv = await readDocuments(context, { range, etag: end.lv, ...visitor }, inner);
        read.push({ rangeId: range.range.id, min, max, lv, avad: null });
      },
    });
  }
  return read;
}

interface Reading extends Visitor {
  readonly range: FeedRange;
  readonly etag: string;
}

async function readDocuments(
  context: RunContext,
  { range, etag, onWritten }: Reading,
  signal: AbortSignal,
): Promise<string> {
  const { plan } = context;
  const scan = latestVersionScan(rekeyPaths(plan));
  const placement = new Placement(scan, plan);
  const keyNodes = plan.targetPaths.map((path) => scan.nodeAt(path));
  return readToEnd(context, { mode: 'latest-version', range, etag, signal }, onWritten, (page) => {
    scan.scan(page);
    const found: ClosedDocument[] = [];
    for (let row = 0; row < scan.count; row += 1) {
      if (isReservation(scan, row)) continue;
      const id = keyText(scan, row, scan.nodes.id) ?? '""';
      if (!placement.read(row)) {
        found.push({ range: range.range.id, id, copy: null });
        continue;
      }
      const { hashes } = placement;
      const key = keyNodes.map((node) => {
        const start = keyStart(scan, row, node);
        return start === 0 ? undefined : decodeScalar(scan.page, start, scan.end(row, node));
      });
      const etagHash = Buffer.alloc(ETAG_BYTES);
      writeEtagOf(scan.page, scan.start(row, scan.nodes.etag), scan.end(row, scan.nodes.etag), etagHash, 0);
      found.push({
        range: range.range.id,
        id,
        copy: {
          identity: { hash: hashToBytes(hashes), name: placement.name() },
          slot: { hash: hashToBytes(hashes, 4), key },
          etag: etagHash,
        },
      });
    }
    return found;
  });
}

/** Reads deletes that are not expirations. Deletes that the service has forgotten are left to the comparison. */
async function readDeletes(
  context: RunContext,
  { range, etag, onDeleted }: Reading,
  signal: AbortSignal,
): Promise<void> {
  const scan = allVersionsScan([], []);
  const { operationType, timeToLiveExpired, deletedId } = scan.around;
  const textOf = (row: number, node: number): string => scan.bytes(row, node).toString();
  try {
    await readToEnd(context, { mode: 'all-versions', range, etag, signal }, onDeleted, (page) => {
      scan.scan(page);
      const found: ClosedDelete[] = [];
      for (let row = 0; row < scan.count; row += 1) {
        if (textOf(row, operationType) !== '"delete"' || textOf(row, timeToLiveExpired) === 'true') continue;
        found.push({ range: range.range.id, id: textOf(row, deletedId) });
      }
      return found;
    });
  } catch (error) {
    if (troubleOf(error)?.status !== 400) throw error;
  }
}

interface Feed {
  readonly mode: FeedMode;
  readonly range: FeedRange;
  readonly etag: string;
  readonly signal: AbortSignal;
}

/** Reads pages up to the end, and returns the position there. */
async function readToEnd<T>(
  { targetSide: side, timing }: RunContext,
  { mode, range, etag, signal }: Feed,
  onPage: (found: readonly T[]) => Promise<void>,
  read: (page: Buffer) => readonly T[],
): Promise<string> {
  const pages = new ChangeFeed(side.requests, { mode, range }).parsedPages(
    { mode, etag },
    {
      signal,
      governor: side.governor,
      patience: side.patience.fresh(),
      timeoutMs: timing.requestTimeoutMs,
      sessionToken: () => tokenOf(side, range.range.id),
      parse: (page: FeedPage) => ({ page, found: page.status === 200 ? read(page.bytes) : [] }),
    },
  );
  for (;;) {
    const { value }: { value: { readonly page: FeedPage; readonly found: readonly T[] } } =
      await pages.next();
    const { page, found } = value;
    side.sessions.add(page.sessionToken);
    page.free();
    await onPage(found);
    if (page.status === 304) return page.position.etag;
  }
}
