/**
 * Reads one feed of one lease, page by page, until there is a reason to stop. Pages go into the pipeline, which commits
 * them. Invariant: when `read` resolves nothing of the lease is in flight, unless the run was stopped; then the lease's
 * position in the ledger is where the next reader begins.
 */
import { ChangeFeed, type FeedMode, type FeedStart, type FeedPage } from '../../cosmos/feed/feed.ts';
import { remap, type FeedRange } from '../../cosmos/feed/ranges.ts';
import { retrying, type Patience } from '../../cosmos/load/retry.ts';
import { checkContainer, tokenOf } from '../../cosmos/side.ts';
import { TroubleError, troubleOf } from '../../cosmos/transport/trouble.ts';
import { sleep } from '../../lib/abort.ts';
import { NotReadyError } from '../../lib/errors.ts';
import type { Lease } from '../../state/leases.ts';
import type { FeedName } from '../../state/rows.ts';
import type { RunContext } from '../context.ts';
import type { RangeProgress } from '../progress/snapshot.ts';
import { endOf, seeNewest } from './anchor.ts';
import { PagePipeline, type ParsedPage } from './page-pipeline.ts';
import type { LeaseRuns } from './run-leases.ts';

/** One pass of a lease over a feed. */
export interface FeedPass {
  readonly feed: FeedName;
  /** Documents are created; else every one goes through the apply rule as a change. */
  readonly copies: boolean;
  /** The pass ends here; null for the tail, which has no end. */
  readonly anchorLsn: number | null;
}

/** Why a lease stopped reading. */
export type PassEnd =
  | 'anchor-reached'
  /** It has come as far as the feed had come when it began. */
  | 'caught-up'
  /** Its range was split or merged. */
  | 'split'
  /** The source no longer remembers changes that were not read. */
  | 'forgotten'
  | 'stopped';

/** What the first page may take of the budget; after that each page is expected to be as large as the one before. */
const PAGE_BYTES_FIRST = 1024 * 1024;
const PAGE_BYTES_LEAST = 64 * 1024;

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
  #pageBytes = PAGE_BYTES_FIRST;

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
      { ...parts, lease: lease.number, feed, copies: runs.copies, budget: runs.budget },
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
      if (!(await this.#isSettled())) return 'stopped';
      if (end !== 'again') return end;
    }
  }

  /** What an error means for the lease; an error that means nothing to it is thrown. */
  async endBy(error: unknown): Promise<PassEnd | 'again'> {
    const { reading } = this.#parts.runs;
    const { signal, sourceSide } = this.#parts.context;
    if (reading.aborted && !signal.aborted) return 'stopped';
    const trouble = troubleOf(error);
    if (trouble?.kind === 'split') {
      try {
        await this.#patience.bear(trouble, reading);
        await sourceSide.ranges.refresh(this.#lease.rangeId, reading);
      } catch (late) {
        if (reading.aborted && !signal.aborted) return 'stopped';
        throw late;
      }
      return remap(sourceSide.ranges.list, this.#range()).changed ? 'split' : 'again';
    }
    if (trouble?.status === 400 && this.#mode === 'all-versions' && this.#pipeline.position !== null)
      return this.#endByRefusal(error);
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
    progress.askedMs = context.clock.now();
    const goalLsn = await this.#goalLsn(range);
    const start: FeedStart = pipeline.position === null ? 'beginning' : { mode, etag: pipeline.position };
    const pages = new ChangeFeed(sourceSide.requests, { mode, range }).parsedPages(start, {
      signal,
      patience: this.#patience,
      governor: sourceSide.governor,
      timeoutMs: timing.requestTimeoutMs,
      sessionToken: () => tokenOf(sourceSide, range.range.id),
      parse: (page) => this.#parse(page),
    });
    for (;;) {
      await pipeline.whenFree(signal);
      const parsed = await this.#nextPage(pages);
      points.reach('page-read');
      const { page, copied, changes } = parsed;
      pipeline.launch(parsed);
      if (copied?.beyond === true || changes?.beyond === true) return 'anchor-reached';
      const reachedLsn = page.status === 304 ? (page.lsn ?? 0) : (changes?.lastLsn ?? -1);
      if (reachedLsn >= goalLsn) return 'caught-up';
      if (page.status !== 304) continue;
      if (anchorLsn !== null) return 'anchor-reached';
      if (pipeline.isEmpty) progress.caughtUpMs = serviceTime.nowMs();
      await sleep(timing.pollMs, signal);
    }
  }

  /** Where the feed ends now, for a tail that is to catch up with that; else a tail has no end. */
  async #goalLsn(range: FeedRange): Promise<number> {
    const { context, runs } = this.#parts;
    if (runs.untilCaughtUp === false || this.#pass.anchorLsn !== null) return Infinity;
    if (runs.untilCaughtUp === 'newest') await seeNewest(context, range, runs.reading);
    return (await endOf(context, { mode: this.#mode, range }, runs.reading)).lsn;
  }

  /** The next page, within the budget. */
  async #nextPage(pages: AsyncGenerator<ParsedPage, never, undefined>): Promise<ParsedPage> {
    const { context, progress } = this.#parts;
    const { reading, budget } = this.#parts.runs;
    const expected = Math.max(PAGE_BYTES_LEAST, this.#pageBytes);
    await budget.take(expected, reading);
    progress.askedMs = context.clock.now();
    try {
      const { value: parsed } = await pages.next();
      this.#pageBytes = parsed.page.bytes.length;
      budget.adjust(this.#pageBytes - expected);
      return parsed;
    } catch (error) {
      budget.adjust(-expected);
      throw error;
    } finally {
      progress.askedMs = null;
    }
  }

  /** Takes out of a page what is needed. When it throws, the page is read again, or the run ends. */
  #parse(page: FeedPage): ParsedPage {
    const { context, runs } = this.#parts;
    const { copies, anchorLsn, feed } = this.#pass;
    checkContainer(context.sourceSide, page.containerRid);
    // A replica behind the anchor shows documents that were deleted before AVAD was primed, and ends too early. A child
    // is never behind for good: it takes its parents' sessions, so its LSNs continue from theirs (session-tokens.ts).
    if (anchorLsn !== null && (page.lsn ?? -1) < anchorLsn) throw new TroubleError(lagging(page));
    context.serviceTime.see(page.date);
    context.sourceSide.sessions.add(page.sessionToken);
    if (page.status === 304) return { page };
    const nowTs = context.serviceTime.nowTs();
    const options = { nowTs, indexId: this.#lease.indexId, anchorLsn: anchorLsn ?? Infinity };
    if (copies) return { page, copied: runs.copies.read(page.bytes, options) };
    const changes = feed === 'LV' ? runs.latest : runs.all;
    return { page, changes: changes.read(page.bytes, options) };
  }

  /** Waits until nothing is in flight. False when the run was stopped: then the end of the run waits, or does not. */
  async #isSettled(): Promise<boolean> {
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

  /** The service refuses a position that was good: it is too old, or the feed was switched off. */
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
      // The range may split, or the run stop, during this request.
      return this.endBy(late);
    }
    if (why === 'position-too-old') return 'forgotten';
    throw new NotReadyError('the source no longer reports deletes', {
      why: 'its feed of all versions and deletes was on when the migration began, and is off now',
      hint: 'switch it on again on the account; deletes made meanwhile are then found by comparing both sides',
      cause: error,
    });
  }
}

function lagging({ status, chargeRu }: FeedPage): ConstructorParameters<typeof TroubleError>[0] {
  const what = 'a replica of the source answered that is behind the anchor';
  return { kind: 'transient', status, substatus: 0, what, chargeRu };
}
