/**
 * Owns one lease: reading its pages, a few in flight, committing the contiguous prefix, and what becomes
 * of it: copy until the LV position has reached the anchor, index, then the tail; children after a split.
 */
import { readFeed, type Change, type FeedName, type FeedPage } from '../feeds.ts';
import { slotOf, type Lag } from '../source.ts';
import { anchorAgain } from './anchor.ts';
import { apply } from './apply.ts';
import type { Event } from './event.ts';
import { buildIndex } from './indexing.ts';
import type { Claim, Lease } from './ledger.ts';
import { retryWaiting } from './letters.ts';
import { Page } from './page.ts';
import type { Process } from './process.ts';
import { sweepLease } from './reconcile.ts';
import { READ, type Steps } from './task.ts';

// One page being written while the next is read is enough to get the order wrong.
const PAGES_IN_FLIGHT_MAX = 2;

interface Reader {
  readonly process: Process;
  readonly lease: Lease;
  readonly feed: FeedName;
  readonly copy: boolean;
  /** Ends at the lease's anchor. */
  readonly anchored: boolean;
  /** Where the next read starts; the lease's own position is where a commit has been. */
  position: number;
  /** The end of each page in flight, oldest first. */
  inFlight: FeedPage[];
  pages: number;
  ended: boolean;
}

export function nameOf({ min, max }: Lease): string {
  return `${min}-${max}`;
}

export function* runLease(process: Process, lease: Lease): Steps {
  const { deletes } = process.world.scenario;
  if (lease.phase === 'copy') {
    const early = deletes === 'avad' && process.lacks('avad-before-lv-ended');
    if (early) process.spawn(`${nameOf(lease)}~`, drainEarly(process, lease));
    if ((yield* runFeed(process, lease, 'LV')) === 'split') return;
    buildIndex(process, lease);
    if (lease.avad === null && deletes === 'avad') lease.avad = newestLsn(process, lease);
    lease.copied = newestSeen(process, lease);
    lease.phase = 'tail';
    retryWaiting(process);
    if (early) return;
  }
  for (;;) {
    if (lease.phase === 'again') {
      if ((yield* runFeed(process, lease, 'LV')) === 'split') return;
      if (!process.lacks('deletes-not-swept-after-retention')) yield* sweepLease(process, lease);
      lease.copied = newestSeen(process, lease);
      lease.phase = 'tail';
    }
    const end = yield* runFeed(process, lease, deletes === 'avad' ? 'AVAD' : 'LV');
    if (end === 'split') return;
    yield* anchorAgain(process, lease);
  }
}

/** The newest session token of the range: no page of its copy came from a newer replica. */
function newestSeen({ tokens }: Process, { min, max }: Lease): number {
  return Math.max(...tokens.slice(min, max));
}

function* drainEarly(process: Process, lease: Lease): Steps {
  yield* runFeed(process, lease, 'AVAD');
}

function newestLsn(process: Process, { min, max }: Lease): number {
  return process.world.source.rangeOver(min, max)?.lsn ?? 0;
}

/** Ends at the anchor, where the range was split, or where AVAD has forgotten what comes next. */
function* runFeed(process: Process, lease: Lease, feed: FeedName): Steps<'anchor' | 'split' | 'forgotten'> {
  const copy = lease.phase === 'copy' && feed === 'LV';
  const anchored = lease.phase !== 'tail' && feed === 'LV';
  const position = (feed === 'LV' ? lease.lv : lease.avad) ?? 0;
  const reader: Reader = {
    process,
    lease,
    feed,
    copy,
    anchored,
    position,
    inFlight: [],
    pages: 0,
    ended: false,
  };
  const { source } = process.world;
  for (;;) {
    if (anchored && (reader.ended || reader.position >= lease.anchor)) {
      yield { until: () => reader.inFlight.length === 0 };
      return 'anchor';
    }
    const { min, max } = lease;
    const hasNews = (): boolean => (source.rangeOver(min, max)?.lsn ?? Infinity) > reader.position;
    const room = (): boolean => reader.inFlight.length < PAGES_IN_FLIGHT_MAX;
    yield { until: () => room() && (anchored || hasNews()) };
    const lag = yield READ;
    const page = readFeed(source, {
      feed,
      min,
      max,
      position: reader.position,
      replica: replicaOf(reader, lag),
    });
    if (page === 'split') yield* replaceByChildren(reader);
    if (page === 'forgotten') yield { until: () => reader.inFlight.length === 0 };
    if (page === 'split' || page === 'forgotten') return page;
    const behind = anchored && page.token < lease.anchor;
    if (behind && !accepts(process, page)) continue;
    process.sawPage(min, max, page.token);
    startPage(reader, page);
  }
}

/**
 * A replica behind the anchor shows documents that were deleted before AVAD was primed, and says 304 too
 * early: the session token of its reply gives it away, and the page is read again.
 */
function accepts(process: Process, page: FeedPage): boolean {
  if (page.changes.length === 0) return process.lacks('end-of-copy-on-304');
  return process.lacks('page-behind-anchor-accepted');
}

/** A feed may be answered by a replica that is behind our token; only its own position is a floor. */
function replicaOf({ process, lease, position }: Reader, lag: Lag): number {
  const token = process.tokens[lease.min] ?? 0;
  const floor = process.world.scenario.feedKeepsToken ? Math.max(token, position) : position;
  return process.world.source.replica(lease.min, floor, lag);
}

function startPage(reader: Reader, page: FeedPage): void {
  const { process, lease, anchored } = reader;
  const taken = anchored ? page.changes.filter(({ lsn }) => lsn <= lease.anchor) : page.changes;
  const whole = taken.length === page.changes.length;
  // Changes beyond the anchor belong to the tail, which reads this page again from its start.
  const until = whole ? page : { ...page, changes: taken, end: reader.position };
  if (!whole || (taken.length === 0 && process.lacks('end-of-copy-on-304'))) reader.ended = true;
  if (until.end === reader.position && taken.length === 0) return;
  reader.position = until.end;
  const launched = { ...until, events: eventsOf(reader, until), renamed: hasRenamed(reader, until) };
  reader.inFlight.push(launched);
  reader.pages += 1;
  const name = `${nameOf(lease)}/p${reader.pages}`;
  process.spawn(name, runPage(reader, name, launched));
}

interface LaunchedPage extends FeedPage {
  readonly events: readonly Event[];
  /** One of its documents had another id before. */
  readonly renamed: boolean;
}

function* runPage(reader: Reader, name: string, page: LaunchedPage): Steps {
  const { process, lease, feed, copy } = reader;
  const unit = new Page(process, { copy });
  const { events } = page;
  unit.begin(events.flatMap(claimsOf));
  unit.open = events.length;
  for (const event of events) process.spawn(`${name}/${event.id}`, applyOne(process, unit, event));
  const first = (): boolean => reader.inFlight[0] === page || process.lacks('commit-before-acknowledgement');
  const acknowledged = (): boolean => unit.open === 0 || process.lacks('commit-before-acknowledgement');
  yield { until: () => first() && acknowledged() };
  process.world.watchCommit({ open: unit.open, contiguous: reader.inFlight[0] === page });
  unit.commit();
  if (page.renamed) lease.renamed = true;
  if (feed === 'LV') lease.lv = page.end;
  else lease.avad = page.end;
  reader.inFlight = reader.inFlight.filter((one) => one !== page);
}

/**
 * Is there a replace of a document that the mover does not know? It had another id before, and a copy may be left under
 * it. What the copy of the range could have missed, because the document changed meanwhile, says nothing.
 */
function hasRenamed(reader: Reader, page: FeedPage): boolean {
  const { process, lease, feed, inFlight } = reader;
  if (feed !== 'AVAD' || process.lacks('rename-not-noticed')) return false;
  const seen = process.lacks('rename-looked-for-in-the-ledger-alone')
    ? []
    : inFlight.flatMap(({ changes }) => changes);
  return page.changes.some(({ id, lsn, version }, at) => {
    if (version?.op !== 'replace' || version.previous === lsn) return false;
    if (lsn <= lease.copied && !process.lacks('rename-suspected-during-the-copy')) return false;
    const before = [...seen, ...page.changes.slice(0, at)].findLast((change) => change.id === id);
    if (before !== undefined) return before.version === null;
    const row = process.rowOf(id);
    if (row === undefined) return true;
    // Settling has found the document, and no event of it is done.
    if (row.lsn === null) return !process.lacks('settled-row-hides-a-rename');
    // Settling has found that a document of the map is gone: its row has the LSN of the anchor, not of the delete.
    if (process.world.turn > 0 && row.lsn <= lease.copied) return false;
    // The version before is older than the delete of this id, so it had another one.
    return row.state === 'tombstone' && row.feed === 'AVAD' && lsn > row.lsn && version.previous < row.lsn;
  });
}

function* applyOne(process: Process, unit: Page, event: Event): Steps {
  yield* apply(process, unit, event);
  unit.open -= 1;
}

function eventsOf({ process, feed, inFlight }: Reader, { changes }: FeedPage): Event[] {
  const older = inFlight.flatMap((page) => page.changes);
  return changes.map((change, at) => {
    const follows = [...older, ...changes.slice(0, at)].some(({ id }) => id === change.id);
    return eventOf(process, feed, change, follows);
  });
}

function eventOf(process: Process, feed: FeedName, { id, lsn, version }: Change, follows: boolean): Event {
  const marked = process.world.scenario.deletes === 'marker' && version?.marked === true;
  return { id, lsn, feed, version, kind: version === null || marked ? 'delete' : 'upsert', follows };
}

function claimsOf({ id, lsn, kind, version }: Event): Claim[] {
  const slot = version === null || kind === 'delete' ? null : slotOf(id, version);
  return slot === null || version === null || version.big
    ? []
    : [{ id, slot, etag: version.etag, body: version.body, lsn }];
}

/** 410. The children start from the parent's position, after its pages in flight are done. */
function* replaceByChildren(reader: Reader): Steps {
  const { process, lease, feed } = reader;
  const { ledger, world } = process;
  if (!process.lacks('child-before-parent-done')) yield { until: () => reader.inFlight.length === 0 };
  else if (feed === 'LV') lease.lv = reader.position;
  else lease.avad = reader.position;
  if (process.lacks('position-saved-after-410')) {
    // The SDK's token has no etag now: Beginning, or Now where the feed was started at Now.
    if (feed === 'LV') lease.lv = 0;
    else lease.avad = world.source.rangeAt(lease.min).lsn;
  }
  const children = world.source.ranges
    .filter(({ min, max }) => min < lease.max && max > lease.min)
    .map(({ min, max }) => ({ ...lease, min: Math.max(min, lease.min), max: Math.min(max, lease.max) }));
  ledger.leases = ledger.leases.flatMap((one) => (one === lease ? children : [one]));
  for (const child of children) process.spawn(nameOf(child), runLease(process, child));
}
