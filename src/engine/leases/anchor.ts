/**
 * Takes the anchors. For every range AVAD is primed first, and then the end of LV is read as the anchor. Invariant: an
 * anchor is no older than the position at which AVAD was primed. So LV shows what happened before the anchor, AVAD shows
 * what happens after it, and the two overlap. Without AVAD the anchor only says where the copy ends.
 */
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { ChangeFeed, type FeedMode, type FeedPage } from '../../cosmos/feed/feed.ts';
import { seeNewestOf } from '../../cosmos/feed/newest-lsn.ts';
import { wholeOf, type FeedRange } from '../../cosmos/feed/ranges.ts';
import { retrying } from '../../cosmos/load/retry.ts';
import { ServiceError } from '../../lib/errors.ts';
import { forEachConcurrently } from '../../lib/group.ts';
import type { Anchor, Lease, NewLease } from '../../state/leases.ts';
import type { DeleteMode } from '../../state/migration.ts';
import type { AnchoredRange } from '../../state/turns/next-turn.ts';
import type { RunContext } from '../context.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';

/** The most anchors that are taken at once: each request of many at once would open a connection of its own. */
const ANCHORS_AT_ONCE = 32;

/** The part of a lease that its anchor gives. */
type Anchors = Pick<AnchoredRange, 'restartPosition' | 'avadPosition' | 'anchor'>;

/** Which container is anchored, and how its deletes are detected. */
export interface Anchoring {
  readonly side: Side;
  readonly deletes: DeleteMode;
}

/** Takes the anchors of all ranges, before the copy starts. Durable when the promise resolves. */
export async function anchorAll(context: RunContext, signal: AbortSignal): Promise<readonly Lease[]> {
  const { ledger, sourceSide: side, deletes } = context;
  const anchored = await anchorRanges(context, { side, deletes }, signal);
  const leases = anchored.map((range): NewLease => ({
    ...range,
    parents: [],
    phase: 'copy',
    lvPosition: null,
    copiedLsn: null,
    // Documents that others have written into the target may be in slots where they do not belong.
    sweepPending: ledger.journal.adoption() !== null,
  }));
  const begun = ledger.leases.begin(leases);
  context.points.reach('anchored');
  return begun;
}

/** Takes the anchors of all ranges that a container has now, and returns them in the order of the key space. */
export async function anchorRanges(
  context: RunContext,
  anchoring: Anchoring,
  signal: AbortSignal,
): Promise<readonly AnchoredRange[]> {
  const { ranges, patience: patient } = anchoring.side;
  const patience = patient.fresh();
  for (;;) {
    await ranges.resolve(signal);
    const { list } = ranges;
    const anchored: AnchoredRange[] = [];
    try {
      await forEachConcurrently(list, {
        limit: ANCHORS_AT_ONCE,
        signal,
        work: async (range, inner) => {
          const anchors = await prime(context, { ...anchoring, range: wholeOf(range) }, inner);
          anchored.push({ rangeId: range.id, min: range.min, max: range.max, ...anchors });
          return [];
        },
      });
      return anchored.toSorted((a, b) => (a.min < b.min ? -1 : 1));
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble?.kind !== 'split') throw error;
      await patience.bear(trouble, signal);
      for (const { id } of list) await ranges.refresh(id, signal);
    }
  }
}

/**
 * Takes a new anchor for one range, because AVAD has forgotten changes that were not read. LV has shown newer versions
 * than AVAD had reached. So the changes of AVAD that were applied since may have replaced newer versions in the target
 * by older ones, and the changes that would correct this are forgotten. LV is therefore read again, from a position
 * before the old anchor. A comparison finds the forgotten deletes.
 */
export async function anchorAgain(context: RunContext, lease: Lease, signal: AbortSignal): Promise<Lease> {
  const { sourceSide: side, deletes } = context;
  await side.ranges.resolve(signal);
  const anchors = await prime(context, { side, deletes, range: side.ranges.partOf(lease) }, signal);
  return context.ledger.leases.change(lease.number, {
    ...anchors,
    phase: 'recopy',
    lvPosition: lease.restartPosition ?? lease.lvPosition,
    sweepPending: true,
  });
}

interface EndParts {
  readonly mode: FeedMode;
  readonly range: FeedRange;
  /** The side to ask; the source by default. */
  readonly side?: Side;
}

/** Reads where the feed of a range ends now. */
export async function endOf(
  context: RunContext,
  { mode, range, side = context.sourceSide }: EndParts,
  signal: AbortSignal,
): Promise<{ readonly lsn: number; readonly page: FeedPage }> {
  const { timing } = context;
  const feed = new ChangeFeed(side.requests, { mode, range });
  const patience = side.patience.fresh();
  const page = await retrying(
    async () =>
      feed.read('now', {
        signal,
        timeoutMs: timing.requestTimeoutMs,
        sessionToken: tokenOf(side, range.range.id),
      }),
    { signal, patience },
  );
  side.sessions.add(page.sessionToken);
  const { lsn } = page;
  if (lsn === undefined) {
    throw new ServiceError(`the ${side.is} does not report the LSNs of its ranges`, {
      why: 'a page of its change feed came without a session token that can be read',
      hint: 'see whether a proxy stands before the account and drops x-ms-session-token',
    });
  }
  return { lsn, page };
}

/** Brings the newest LSN of a range into the session, so that later reads with this session see no older end. */
export async function seeNewest(
  context: RunContext,
  { range, side = context.sourceSide }: Pick<EndParts, 'range' | 'side'>,
  signal: AbortSignal,
): Promise<void> {
  const { requests, sessions, patience } = side;
  await endOf(context, { mode: 'latest-version', range, side }, signal);
  await seeNewestOf(
    { requests, sessions, patience, timeoutMs: context.timing.requestTimeoutMs },
    range,
    signal,
  );
}

async function prime(
  context: RunContext,
  { side, deletes, range }: Anchoring & { readonly range: FeedRange },
  signal: AbortSignal,
): Promise<Anchors> {
  const read = async (mode: FeedMode): ReturnType<typeof endOf> =>
    endOf(context, { mode, range, side }, signal);
  if (deletes !== 'avad') {
    const { page, lsn } = await read('latest-version');
    return { restartPosition: null, avadPosition: null, anchor: anchorFrom(page, lsn) };
  }
  const before = await read('latest-version');
  const primed = await read('all-versions');
  const reached = await read('latest-version');
  return {
    restartPosition: before.page.position.etag,
    avadPosition: primed.page.position.etag,
    anchor: anchorFrom(reached.page, Math.max(reached.lsn, primed.lsn)),
  };
}

function anchorFrom({ position, sessionToken = '' }: FeedPage, lsn: number): Anchor {
  return { etag: position.etag, lsn, session: sessionToken };
}
