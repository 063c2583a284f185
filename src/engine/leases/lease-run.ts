/**
 * One lease at work. The crash rule: **intent before the first byte, commit after the last outcome. We may repeat, we
 * never skip.**
 *
 *   copy   LV from the beginning, up to the anchor; then the range has caught up, and the tail may begin
 *   tail   AVAD from where it was primed, or LV from where the copy ended, for as long as wanted
 *   again  where AVAD has forgotten what was not read: LV once more, up to a new anchor; then the tail
 *
 *   page read -> taken apart -> INTENT -> every document has its outcome -> all older pages committed -> COMMIT
 *
 * Pages are read ahead while others are under way, so a range of the target that is slow keeps nobody from reading;
 * the position moves past a page only behind every older page of the lease. After a 410 the lease waits until nothing
 * of it is under way, and its children go on from its position.
 */
import { troubleOf } from '../../cosmos/transport/trouble.ts';
import { Feed, type FeedMode, type FeedStart, type Page } from '../../cosmos/feed/feed.ts';
import { remap, type FeedRange } from '../../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../../cosmos/load/retry.ts';
import { TroubleError } from '../../cosmos/transport/trouble.ts';
import { orAborted } from '../../lib/abort.ts';
import { must } from '../../lib/assert.ts';
import { NotReadyError } from '../../lib/errors.ts';
import type { Lease, NewLease } from '../../state/leases.ts';
import type { Feed as FeedName } from '../../state/rows.ts';
import { anchorAgain, checkContainer, endOf } from './anchor.ts';
import { ChangePage } from '../tail/change-page.ts';
import type { ChangeReader, Changes } from '../tail/change-reader.ts';
import type { FlatPage, CopyReader } from '../copy/flat-page.ts';
import { CopyPage } from '../copy/copy-page.ts';
import type { ReplicaChoice } from '../cutover/source-ends.ts';
import type { RunContext } from '../context.ts';
import { seeNewest } from './newest-lsn.ts';
import type { PageWork } from '../unit/page-work.ts';
import type { RangeProgress } from '../progress/snapshot.ts';
import type { PageBudget } from './page-budget.ts';
import { tokenOf } from '../../cosmos/side.ts';
import { UnitOfWork } from '../unit/unit-of-work.ts';

/** What all leases of a run share. */
export interface Control {
  /** Aborted when no more pages are to be read; those under way go on. */
  readonly reading: AbortSignal;
  /** Ends where the feed ended when the run began, by this look at it; or not at all. */
  readonly untilCaughtUp: ReplicaChoice | false;
  readonly room: PageBudget;
  readonly copies: CopyReader;
  readonly latest: ChangeReader;
  readonly all: ChangeReader;
  /** Another lease is to be run: a child of one that was split. */
  readonly spawn: (lease: Lease) => void;
  /** A range has caught up: letters that wait for somebody may have a chance. */
  readonly caughtUp: () => void;
  readonly progressOf: (lease: Lease) => RangeProgress;
}

/** Why a lease stopped reading. */
type End = 'anchor' | 'caught-up' | 'split' | 'forgotten' | 'anew' | 'stopped';

/** Pages of one range under way: enough to keep every range of the target busy, few to repeat after a crash. */
const PAGES_MAX = 8;
/** What the first page may take; after that each is expected to be like the one before. */
const PAGE_BYTES_FIRST = 1024 * 1024;
const PAGE_BYTES_LEAST = 64 * 1024;

/** How a feed is read, and how much trouble that has had. */
interface Reader {
  readonly mode: FeedMode;
  readonly patience: Patience;
}

interface Reading {
  readonly feed: FeedName;
  readonly copies: boolean;
  /** Nothing beyond this LSN is taken. */
  readonly anchorLsn: number | null;
}

interface Taken {
  readonly page: Page;
  /** It needs its page until it is over. */
  readonly copied?: FlatPage;
  readonly changes?: Changes;
}

export class LeaseRun {
  readonly #context: RunContext;
  readonly #control: Control;
  readonly #progress: RangeProgress;
  #lease: Lease;
  #pageBytes = PAGE_BYTES_FIRST;
  /** Commits to come, oldest first. */
  #underWay: Promise<void>[] = [];
  /** Where the next page is read; the ledger has where commits have come to. */
  #position: string | null = null;

  constructor(context: RunContext, control: Control, lease: Lease) {
    this.#context = context;
    this.#control = control;
    this.#lease = lease;
    this.#progress = control.progressOf(lease);
  }

  /** Ends when the lease has, or has become others, or nobody reads any more. */
  async run(): Promise<void> {
    for (;;) {
      const { phase } = this.#lease;
      this.#progress.phase = phase;
      const end = await this.#read(this.#readingOf(phase));
      if (end === 'anew') continue;
      if (end !== 'anchor') return;
      this.#lease = this.#context.ledger.leases.change(this.#lease.number, { phase: 'tail' });
      this.#progress.phase = 'tail';
      this.#context.point('caught-up');
      // The tail asks an index over all that was copied, which is built when every range is here.
      if (phase === 'copy') return;
      this.#control.caughtUp();
    }
  }

  #readingOf(phase: Lease['phase']): Reading {
    const { anchor } = this.#lease;
    const anchorLsn = must(anchor, 'a lease has its anchor').lsn;
    if (phase === 'copy') return { feed: 'LV', copies: true, anchorLsn };
    if (phase === 'recopy') return { feed: 'LV', copies: false, anchorLsn };
    return { feed: this.#context.deletes === 'avad' ? 'AVAD' : 'LV', copies: false, anchorLsn: null };
  }

  #range(): FeedRange {
    const { rangeId, min, max } = this.#lease;
    const range = this.#context.sourceSide.ranges.find(rangeId) ?? { id: rangeId, min, max, parents: [] };
    return { range, min, max };
  }

  /** Reads a feed until there is a reason to stop; then nothing of it is under way any more. */
  async #read(reading: Reading): Promise<End> {
    const { feed } = reading;
    const mode: FeedMode = feed === 'LV' ? 'latest-version' : 'all-versions';
    const patience = this.#context.sourceSide.patience.fresh();
    this.#position = feed === 'LV' ? this.#lease.lvPosition : this.#lease.avadPosition;
    for (;;) {
      let end: End | 'again';
      try {
        end = await this.#pages(reading, { mode, patience });
      } catch (error) {
        end = await this.#endBy(error, { mode, patience });
      }
      if (!(await this.#rests())) return 'stopped';
      while (end === 'forgotten') end = await this.#anchorAgain({ mode, patience });
      if (end === 'again') continue;
      if (end === 'split') this.#replace();
      return end;
    }
  }

  async #pages(reading: Reading, { mode, patience }: Reader): Promise<End> {
    const { sourceSide, timing, point, serviceMs } = this.#context;
    const { untilCaughtUp, reading: signal, room } = this.#control;
    const range = this.#range();
    let fence = Infinity;
    this.#asks(true);
    if (untilCaughtUp !== false && reading.anchorLsn === null) {
      if (untilCaughtUp === 'newest') await seeNewest(this.#context, range, signal);
      fence = (await endOf(this.#context, { mode, range }, signal)).lsn;
    }
    const start: FeedStart = this.#position === null ? 'beginning' : { mode, etag: this.#position };
    const pages = new Feed(sourceSide.lane, { mode, range }).parsedPages(start, {
      signal,
      patience,
      governor: sourceSide.governor,
      timeoutMs: timing.requestTimeoutMs,
      sessionToken: () => tokenOf(sourceSide, range.range.id),
      parse: (page) => this.#take(page, reading),
    });
    for (;;) {
      while (this.#underWay.length >= PAGES_MAX) await this.#oldest(signal);
      const expected = Math.max(PAGE_BYTES_LEAST, this.#pageBytes);
      await room.take(expected, signal);
      let taken: Taken;
      this.#asks(true);
      try {
        ({ value: taken } = await pages.next());
      } catch (error) {
        room.adjust(-expected);
        throw error;
      } finally {
        this.#asks(false);
      }
      point('page-read');
      const { page, copied, changes } = taken;
      const sizeBytes = page.bytes.length;
      this.#pageBytes = sizeBytes;
      room.adjust(sizeBytes - expected);
      this.#launch(taken, reading);
      if (copied?.beyond === true || changes?.beyond === true) return 'anchor';
      const hasCaughtUp = page.status === 304 ? (page.lsn ?? 0) >= fence : (changes?.lastLsn ?? -1) >= fence;
      if (hasCaughtUp) return 'caught-up';
      if (page.status !== 304) continue;
      if (reading.anchorLsn !== null) return 'anchor';
      if (this.#underWay.length === 0) this.#progress.caughtUpMs = serviceMs();
      await this.#context.clock.sleep(timing.pollMs, signal);
    }
  }

  #asks(isAsking: boolean): void {
    this.#progress.askedMs = isAsking ? this.#context.clock.now() : null;
  }

  /** Takes a page apart at once; what it throws has the page read again, or ends the run. */
  #take(page: Page, { copies, anchorLsn, feed }: Reading): Taken {
    const { sourceSide, serviceMs, seeDate } = this.#context;
    checkContainer(this.#context, page);
    // A replica behind the anchor shows documents that were deleted before AVAD was primed, and ends too early. That of a
    // child is never behind for good: it takes its parents' sessions, so its LSNs go on from theirs (cosmos/feed/session-tokens.ts).
    if (anchorLsn !== null && (page.lsn ?? -1) < anchorLsn) throw new TroubleError(lagging(page));
    seeDate(page.date);
    sourceSide.sessions.add(page.sessionToken);
    if (page.status === 304) return { page };
    const { indexId } = this.#lease;
    const nowTs = Math.floor(serviceMs() / 1000);
    const options = { nowTs, indexId, anchorLsn: anchorLsn ?? Infinity };
    const { latest, all } = this.#control;
    if (copies) return { page, copied: this.#control.copies.read(page.bytes, options) };
    return { page, changes: (feed === 'LV' ? latest : all).read(page.bytes, options) };
  }

  /** Sends a page on its way, and moves on; its commit waits for those before it. */
  #launch({ page, copied, changes }: Taken, { feed }: Reading): void {
    const context = this.#context;
    const { ledger, point } = context;
    const { number: lease, indexId } = this.#lease;
    // All that is needed was taken out.
    if (copied === undefined) page.free();
    const isWhole = copied?.beyond !== true && changes?.beyond !== true;
    const { etag } = page.position;
    const documents = copied?.documents ?? changes?.changes.length ?? 0;
    // A 304 that brings nothing new, not even a position.
    if (documents === 0 && (!isWhole || etag === this.#position)) return this.#forget(page, copied);
    const unit = new UnitOfWork(context, { lease, feed });
    const work: PageWork =
      copied === undefined
        ? new ChangePage({ context, unit, changes: changes ?? NOTHING })
        : new CopyPage({ context, unit, copied, indexId });
    if (isWhole) this.#position = etag;
    const previous = this.#underWay.at(-1) ?? Promise.resolve();
    let committed = (): void => {};
    const commit = new Promise<void>((resolve) => (committed = resolve));
    this.#underWay.push(commit);
    context.start(async () => {
      await work.begin();
      await work.whenDone();
      await orAborted(previous, context.signal);
      point('written');
      if ((changes?.unnamed ?? 0) > 0) this.#mustSweep();
      const move = { lease, feed, position: isWhole ? etag : null, documents };
      ledger.pages.commit([unit.ending({ move, outcomes: work.outcomes })], context.alongside(unit.counts));
      unit.committed();
      work.committed();
      point('committed');
      this.#progress.documents += documents;
      if (changes?.lastTs !== undefined && changes.lastTs !== null) this.#progress.lastTs = changes.lastTs;
      context.committed();
      this.#underWay = this.#underWay.filter((other) => other !== commit);
      this.#forget(page, copied);
      committed();
    });
  }

  #forget(page: Page, copied: FlatPage | undefined): void {
    this.#control.room.adjust(-page.bytes.length);
    if (copied === undefined) return;
    page.free();
    this.#control.copies.giveBack(copied);
  }

  /** Somebody was deleted, and nobody knows who: only a comparison of both sides finds out. */
  #mustSweep(): void {
    if (this.#lease.sweepPending) return;
    this.#lease = this.#context.ledger.leases.change(this.#lease.number, { sweepPending: true });
  }

  async #oldest(signal: AbortSignal): Promise<void> {
    await orAborted(this.#underWay[0] ?? Promise.resolve(), signal);
  }

  /**
   * Until nothing is under way: the ledger knows the position then, and whoever reads next begins there. False when the
   * run was told to stop: nobody reads any more, and who ends it waits for what is under way, or does not.
   */
  async #rests(): Promise<boolean> {
    const { signal, stopped } = this.#context;
    try {
      await orAborted(this.#underWay.at(-1) ?? Promise.resolve(), stopped);
    } catch (error) {
      signal.throwIfAborted();
      if (stopped.aborted) return false;
      throw error;
    }
    this.#lease = this.#context.ledger.leases.get(this.#lease.number);
    return true;
  }

  /** What an error means for the lease; those that mean nothing to it are thrown. */
  async #endBy(error: unknown, { mode, patience }: Reader): Promise<End | 'again'> {
    const { reading } = this.#control;
    const { signal, sourceSide } = this.#context;
    if (reading.aborted && !signal.aborted) return 'stopped';
    const trouble = troubleOf(error);
    if (trouble?.kind === 'split') {
      try {
        await patience.bear(trouble, reading);
        await sourceSide.ranges.refresh(this.#lease.rangeId, reading);
      } catch (late) {
        if (reading.aborted && !signal.aborted) return 'stopped';
        throw late;
      }
      return remap(sourceSide.ranges.list, this.#range()).changed ? 'split' : 'again';
    }
    if (trouble?.status === 400 && mode === 'all-versions' && this.#position !== null)
      return this.#endByRefusal(error, { mode, patience });
    throw error;
  }

  /** The service refuses a position that was good: it is too old, or the feed is switched off. */
  async #endByRefusal(error: unknown, reader: Reader): Promise<End | 'again'> {
    const { sourceSide, timing } = this.#context;
    const { reading } = this.#control;
    const feed = new Feed(sourceSide.lane, { mode: 'all-versions', range: this.#range() });
    const asking = { signal: reading, patience: sourceSide.patience.fresh() };
    const call = { signal: reading, timeoutMs: timing.requestTimeoutMs };
    let why: Awaited<ReturnType<Feed['whyRefused']>>;
    try {
      why = await retrying(async () => feed.whyRefused(call), asking);
    } catch (late) {
      // The range may split, or the run stop, while it is asked.
      return this.#endBy(late, reader);
    }
    if (why === 'position-too-old') return 'forgotten';
    throw new NotReadyError('the source does not tell deletes any more', {
      why: 'its feed of all versions and deletes was on when the migration began, and is off now',
      hint: 'switch it on again on the account; what was deleted meanwhile is then found by comparing both sides',
      cause: error,
    });
  }

  async #anchorAgain(reader: Reader): Promise<End | 'again'> {
    const { rangeId: range } = this.#lease;
    this.#context.log.warn(
      'the source has forgotten changes that were not read; its documents are read again',
      { range },
    );
    try {
      const at = { lease: this.#lease, range: this.#range() };
      this.#lease = await anchorAgain(this.#context, at, this.#control.reading);
      return 'anew';
    } catch (error) {
      return this.#endBy(error, reader);
    }
  }

  /** The children go on from here. */
  #replace(): void {
    const { ledger, sourceSide, point } = this.#context;
    const { number, indexId: _indexId, documents: _documents, ...lease } = this.#lease;
    const { readers } = remap(sourceSide.ranges.list, this.#range());
    const children: NewLease[] = readers.map(({ range, min, max }) => ({
      ...lease,
      rangeId: range.id,
      min,
      max,
    }));
    const replaced = ledger.leases.replace([number], children);
    point('lease-replaced');
    this.#progress.phase = 'replaced';
    for (const child of replaced) this.#control.spawn(child);
  }
}

const NOTHING: Changes = {
  changes: [],
  beyond: false,
  unnamed: 0,
  lastTs: null,
  lastLsn: null,
  expired: new Set(),
};

function lagging({ status, chargeRu }: Page): ConstructorParameters<typeof TroubleError>[0] {
  const what = 'a replica of the source answered that is behind the anchor';
  return { kind: 'transient', status, substatus: 0, what, chargeRu };
}
