/**
 * Reads one feed of one lease, page by page, until there is a reason to stop. The pipeline commits the pages. Invariant:
 * when `read` resolves, no page of the lease is in flight, and the next reader begins at the lease's position in the
 * ledger. Only if the run was stopped may pages still be in flight.
 */
import {
  ChangeFeed,
  isMergedOnce,
  lacksHistory,
  staleReplica,
  type FeedMode,
  type FeedStart,
  type FeedPage,
} from '../../cosmos/feed/feed.ts';
import { remap, type FeedRange } from '../../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../../cosmos/load/retry.ts';
import { tokenOf } from '../../cosmos/side.ts';
import { TroubleError, troubleOf } from '../../cosmos/transport/trouble.ts';
import { sleep } from '../../lib/abort.ts';
import { NotReadyError } from '../../lib/errors.ts';
import type { Lease } from '../../state/leases.ts';
import type { FeedName } from '../../state/rows.ts';
import type { RunContext } from '../context.ts';
import type { RangeProgress } from '../progress/snapshot.ts';
import { endOf, seeNewest } from './anchor.ts';
import { outcomesOf, PagePipeline, type ParsedPage } from './page-pipeline.ts';
import type { LeaseRuns } from './run-leases.ts';

/** One pass of a lease over a feed. */
export interface FeedPass {
  readonly feed: FeedName;
  /** True: documents are created on the fast path. False: each document goes through the apply rule as a change. */
  readonly copies: boolean;
  /** The LSN at which the pass ends; null for the tail, which has no end. */
  readonly anchorLsn: number | null;
}

/** Why a lease stopped reading. */
export type PassEnd =
  | 'anchor-reached'
  /** The lease has read up to the end that the feed had when the pass began. */
  | 'caught-up'
  /** The range was split or merged. */
  | 'split'
  /** The source no longer remembers changes that were not read. */
  | 'forgotten'
  | 'stopped';

/**
 * Bytes that are reserved in the budget for a page at least. A page is expected to be as large as the one before it, and the
 * first one of a range as large as the last one of any other.
 */
const PAGE_BYTES_LEAST = 64 * 1024;
/** A range that has just had changes probably has more soon, so it is asked again after this share of the usual time. */
const BUSY_POLL_SHARE = 0.25;

interface ReaderParts {
  readonly context: RunContext;
  readonly runs: LeaseRuns;
  readonly lease: Lease;
  readonly progress: RangeProgress;
}

export class LeaseReader {
  readonly #parts: ReaderParts;
  readonly #pass: FeedPass;
  readonly #mode: FeedMode;
  readonly #patience: Patience;
  readonly #pipeline: PagePipeline;
  #lease: Lease;
  /** The size of the last page; undefined before the first one. */
  #pageBytes: number | undefined;

  constructor(parts: ReaderParts, pass: FeedPass) {
    const { lease, runs } = parts;
    const { feed } = pass;
    this.#parts = parts;
    this.#lease = lease;
    this.#pass = pass;
    this.#mode = feed === 'LV' ? 'latest-version' : 'all-versions';
    this.#patience = parts.context.sourceSide.patience.fresh();
    const position = feed === 'LV' ? lease.lvPosition : lease.avadPosition;
    this.#pipeline = new PagePipeline(
      {
        ...parts,
        lease: lease.number,
        copiedLsn: lease.copiedLsn ?? Infinity,
        feed,
        copies: runs.copies,
        budget: runs.budget,
      },
      position,
    );
  }

  async read(): Promise<PassEnd> {
    for (;;) {
      let end: PassEnd | 'again';
      try {
        end = await this.#readPages();
      } catch (error) {
        end = await this.endBy(error);
      }
      if (!(await this.#isDrained())) return 'stopped';
      if (end !== 'again') return end;
    }
  }

  /** Returns what an error means for the lease, and throws an error that does not concern the lease. */
  async endBy(error: unknown): Promise<PassEnd | 'again'> {
    const { reading } = this.#parts.runs;
    const { signal, sourceSide } = this.#parts.context;
    if (reading.aborted && !signal.aborted) return 'stopped';
    const trouble = troubleOf(error);
    const hasPosition = this.#mode === 'all-versions' && this.#pipeline.position !== null;
    if (trouble?.kind === 'split') {
      try {
        await this.#patience.bear(trouble, reading);
        await sourceSide.ranges.refresh(this.#lease.rangeId, reading);
      } catch (late) {
        if (reading.aborted && !signal.aborted) return 'stopped';
        if (hasPosition && late instanceof TroubleError && lacksHistory(late.trouble)) return 'forgotten';
        throw late;
      }
      return remap(sourceSide.ranges.list, this.#range()).changed ? 'split' : 'again';
    }
    if (isMergedOnce(trouble)) throw noLongerReported(MERGED_WHY, error);
    // The request was repeated until patience ended, so the missing history will not appear.
    if (hasPosition && trouble !== undefined && lacksHistory(trouble)) return 'forgotten';
    if (hasPosition && trouble?.status === 400) return this.#endByRefusal(error);
    throw error;
  }

  #range(): FeedRange {
    return this.#parts.context.sourceSide.ranges.partOf(this.#lease);
  }

  async #readPages(): Promise<PassEnd> {
    const { context, progress } = this.#parts;
    const { sourceSide, timing, points, serviceTime } = context;
    const { reading: signal } = this.#parts.runs;
    const { anchorLsn } = this.#pass;
    const pipeline = this.#pipeline;
    const mode = this.#mode;
    const range = this.#range();
    progress.askedMs = context.clock.monotonicMs();
    const lookedMs = serviceTime.nowMs();
    const goalLsn = await this.#goalLsn(range);
    const start: FeedStart = pipeline.position === null ? 'beginning' : { mode, etag: pipeline.position };
    const pageSize = (): number => context.backlog.pageDocuments;
    const pages = new ChangeFeed(sourceSide.requests, { mode, range, pageSize }).parsedPages(start, {
      signal,
      patience: this.#patience,
      governor: sourceSide.governor,
      timeoutMs: timing.requestTimeoutMs,
      sessionToken: () => tokenOf(sourceSide, range.range.id),
      parse: (page) => this.#parse(page),
    });
    let wasQuiet = false;
    for (;;) {
      await pipeline.whenFree(signal);
      const parsed = await this.#nextPage(pages);
      points.reach('page-read');
      const { page, copied, changes } = parsed;
      const outcomes = outcomesOf(parsed);
      // If the run stops during this wait the page is dropped. No work on it has begun, and the next run reads it
      // again.
      if (outcomes > 0) await context.backlog.admit(outcomes, signal);
      pipeline.launch(parsed);
      if (copied?.beyond === true || changes?.beyond === true) return 'anchor-reached';
      const reachedLsn = page.status === 304 ? (page.lsn ?? 0) : (changes?.lastLsn ?? -1);
      if (reachedLsn >= goalLsn) {
        // A quiet range has no change whose time would show its lag.
        if (pipeline.isEmpty) progress.caughtUpMs = Math.max(progress.caughtUpMs ?? 0, lookedMs);
        return 'caught-up';
      }
      if (page.status !== 304) {
        wasQuiet = false;
        continue;
      }
      if (anchorLsn !== null) return 'anchor-reached';
      if (pipeline.isEmpty) progress.caughtUpMs = serviceTime.nowMs();
      await sleep(wasQuiet ? timing.pollMs : timing.pollMs * BUSY_POLL_SHARE, signal);
      wasQuiet = true;
    }
  }

  /**
   * Returns the LSN at which a tail has caught up: the end of the feed now. Infinity for a pass that does not end there.
   */
  async #goalLsn(range: FeedRange): Promise<number> {
    const { context, runs } = this.#parts;
    if (runs.untilCaughtUp === false || this.#pass.anchorLsn !== null) return Infinity;
    if (runs.untilCaughtUp === 'newest') await seeNewest(context, { range }, runs.reading);
    return (await endOf(context, { mode: this.#mode, range }, runs.reading)).lsn;
  }

  /** Reads the next page when the budget has space for it. */
  async #nextPage(pages: AsyncGenerator<ParsedPage, never, undefined>): Promise<ParsedPage> {
    const { context, progress } = this.#parts;
    const { runs } = this.#parts;
    const { reading, budget } = runs;
    const copyPages = this.#pass.copies ? 1 : 0;
    const expected = await budget.take(
      () => Math.max(PAGE_BYTES_LEAST, this.#pageBytes ?? runs.pageBytes),
      reading,
    );
    progress.askedMs = context.clock.monotonicMs();
    runs.copyPages += copyPages;
    try {
      const { value: parsed } = await pages.next();
      const { length } = parsed.page.bytes;
      this.#pageBytes = length;
      if (parsed.page.status !== 304) runs.pageBytes = length;
      budget.adjust(length - expected);
      return parsed;
    } catch (error) {
      budget.adjust(-expected);
      throw error;
    } finally {
      runs.copyPages -= copyPages;
      progress.askedMs = null;
    }
  }

  /** Takes the documents or changes out of a page. If it throws, the page is read again or the run ends. */
  #parse(page: FeedPage): ParsedPage {
    const { context, runs } = this.#parts;
    const { copies, anchorLsn, feed } = this.#pass;
    // A replica behind the anchor shows documents that were deleted before AVAD was primed, and its feed ends too early.
    // A child range does not stay behind: it inherits the sessions of its parents, so its LSNs continue where those of
    // the parents ended (session-tokens.ts).
    if (anchorLsn !== null && (page.lsn ?? -1) < anchorLsn)
      throw new TroubleError(staleReplica(page, 'the anchor'));
    context.sourceSide.sessions.add(page.sessionToken);
    if (page.status === 304) return { page };
    const nowTs = context.serviceTime.nowTs();
    const options = { nowTs, indexId: this.#lease.indexId, anchorLsn: anchorLsn ?? Infinity };
    if (copies) {
      const copied = runs.copies.read(page.bytes, options);
      // Otherwise the pipeline frees it.
      if (!copied.usesPage) page.free();
      return { page, copied };
    }
    const changes = feed === 'LV' ? runs.latest : runs.all;
    return { page, changes: changes.read(page.bytes, options) };
  }

  /**
   * Waits until no page is in flight. Returns false if the run was stopped; then finishTasks decides how long to wait.
   */
  async #isDrained(): Promise<boolean> {
    const { ledger, signal, stopping } = this.#parts.context;
    try {
      await this.#pipeline.whenEmpty(stopping.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (stopping.signal.aborted) return false;
      throw error;
    }
    this.#lease = ledger.leases.get(this.#lease.number);
    return true;
  }

  /** Finds out why the service refuses a position that was valid: it is too old, or the feed was switched off. */
  async #endByRefusal(error: unknown): Promise<PassEnd | 'again'> {
    const { sourceSide, timing } = this.#parts.context;
    const { reading } = this.#parts.runs;
    const feed = new ChangeFeed(sourceSide.requests, { mode: 'all-versions', range: this.#range() });
    const asking = { signal: reading, patience: sourceSide.patience.fresh() };
    const call = { signal: reading, timeoutMs: timing.requestTimeoutMs };
    let why: Awaited<ReturnType<ChangeFeed['whyRefused']>>;
    try {
      why = await retrying(async () => feed.whyRefused(call), asking);
    } catch (late) {
      // During this request the range may split, or the run may stop.
      return this.endBy(late);
    }
    if (why === 'position-too-old') return 'forgotten';
    throw noLongerReported(SWITCHED_OFF, error);
  }
}

const SWITCHED_OFF = {
  why: 'its feed of all versions and deletes was on when the migration began, and is off now',
  hint: 'switch it on again on the account; deletes made meanwhile are then found by comparing both sides',
};
const MERGED_WHY = {
  why: 'partitions of its account were merged, and the service cannot read its feed of all versions after that',
  hint: 'begin a new migration with --deletes reconcile, another --ledger and an empty target',
};

function noLongerReported(reason: typeof SWITCHED_OFF, cause: unknown): NotReadyError {
  return new NotReadyError('the source no longer reports deletes', { ...reason, cause });
}
