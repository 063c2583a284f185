/**
 * One pass over a side: reads the feed of every range from its beginning to the fence, which is the end of the range
 * when the pass began. Invariant: each page counts once, however often it is read; a child range continues from its
 * parent's position; an interrupted pass resumes from the last checkpoint.
 */
import { TroubleError, troubleOf } from '../../cosmos/transport/trouble.ts';
import { forEachRange } from '../../cosmos/feed/each-range.ts';
import { ChangeFeed, type FeedStart, type FeedPage } from '../../cosmos/feed/feed.ts';
import { seeNewestOf } from '../../cosmos/feed/newest-lsn.ts';
import { wholeOf, type FeedRange, type Interval } from '../../cosmos/feed/ranges.ts';
import type { Patience } from '../../cosmos/load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { forEachConcurrently } from '../../lib/group.ts';
import type { RowOptions } from './rows.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import type { ReadPart, VerifyStore } from '../store.ts';
import { SideSums } from './side-sums.ts';
import type { CompareTiming } from '../../spec/timing.ts';

/** How many ranges are read at the same time. For each of them, one page of at most 4 MB is in memory. */
const READERS_MAX = 3;
/**
 * How many requests for the end of a range run at the same time. These are more than READERS_MAX, because their replies
 * are small.
 */
const FENCES_MAX = 16;
/** How many bytes of entries are kept in memory before a checkpoint writes them, together with the sums. */
const ENTRIES_BYTES_MAX = 2 * 1024 * 1024;

interface Reader {
  readonly min: string;
  readonly max: string;
  rangeId: string;
  position: string | null;
  readonly fenceLsn: number;
  isDone: boolean;
  documents: number;
  /** Limits the retries after failed requests, until a page arrives. The time between two retries grows. */
  readonly patience: Patience;
}

export interface ReadSideParts {
  readonly side: Side;
  readonly store: VerifyStore;
  readonly rows: RowOptions;
  readonly clock: Clock;
  readonly timing: Pick<CompareTiming, 'checkpointMs' | 'pageSize'>;
  /** Called after each page. */
  readonly onPage: () => void;
  /** The positions after which changes are read; undefined: everything is read. */
  readonly from?: readonly StartedAt[];
  /** Whether the fence must cover the newest change that any replica knows, whichever replica answers. */
  readonly isNewest: boolean;
}

/** An interval of the key space, and the position up to which it was read. */
export type StartedAt = Pick<ReadPart, 'min' | 'max' | 'position'>;

export class SidePass {
  readonly sums: SideSums;
  readonly #parts: ReadSideParts;
  #readers: Reader[];
  #savedAtMs: number;
  #isDirty = false;
  #isWhole = true;

  constructor(parts: ReadSideParts) {
    const { side, store, rows, clock } = parts;
    this.#parts = parts;
    this.sums = new SideSums(side.is, rows, store.sums(side.is));
    this.#readers = store.parts(side.is).map((part) => ({ ...part, patience: side.patience.fresh() }));
    this.#savedAtMs = clock.monotonicMs();
  }

  get documents(): number {
    return this.#readers.reduce((sum, { documents }) => sum + documents, 0);
  }

  get parts(): readonly ReadPart[] {
    return this.#readers;
  }

  /** Reads every range to its fence. Saves the progress at the end, also after an abort. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      if (this.#readers.length === 0) await this.#fence(signal);
      const waiting = this.#readers.filter(({ isDone }) => !isDone);
      const work = async (reader: Reader, inner: AbortSignal): Promise<readonly Reader[]> =>
        this.#read(reader, inner);
      await forEachConcurrently(waiting, { limit: READERS_MAX, signal, work });
    } finally {
      this.#save();
    }
  }

  /** Sets the fence of every range to its current end. */
  async #fence(signal: AbortSignal): Promise<void> {
    const { side } = this.#parts;
    const readers: Reader[] = [];
    await forEachRange(side, side.ranges.list.map(wholeOf), {
      limit: FENCES_MAX,
      signal,
      work: async (part, inner) => {
        readers.push(...(await this.#fenceOf(part, inner)));
      },
    });
    this.#readers = readers;
    this.#isDirty = true;
    this.#save();
  }

  /** Returns readers of a range, with its current end as the fence. */
  async #fenceOf(part: FeedRange, signal: AbortSignal): Promise<readonly Reader[]> {
    const { side } = this.#parts;
    if (this.#parts.isNewest) await seeNewestOf(side, part, signal);
    const fenceLsn = await this.#endOf(part, signal);
    return this.#startsOf(part).map((start) => ({
      ...start,
      rangeId: part.range.id,
      fenceLsn,
      isDone: false,
      documents: 0,
      patience: side.patience.fresh(),
    }));
  }

  /** Returns the whole interval, to be read from the beginning; or its parts, each with its own start position. */
  #startsOf({ min, max }: Interval): readonly StartedAt[] {
    const { from } = this.#parts;
    if (from === undefined) return [{ min, max, position: null }];
    return from
      .filter((one) => one.min < max && one.max > min)
      .map((one) => ({
        min: one.min > min ? one.min : min,
        max: one.max < max ? one.max : max,
        position: one.position,
      }));
  }

  async #endOf(range: FeedRange, signal: AbortSignal): Promise<number> {
    const { side } = this.#parts;
    const { requests, patience, governor, timeoutMs, sessions } = side;
    const pages = new ChangeFeed(requests, { mode: 'latest-version', range }).pages('now', {
      signal,
      timeoutMs,
      governor,
      patience: patience.fresh(),
      sessionToken: () => tokenOf(side, range.range.id),
    });
    const { value: page } = await pages.next();
    sessions.add(page.sessionToken);
    if (page.lsn !== undefined) return page.lsn;
    throw new ServiceError(`the ${side.is} does not report the LSNs of its ranges`, {
      why: 'a page of its change feed has no readable session token',
      hint: 'check whether a proxy in front of the account drops x-ms-session-token',
    });
  }

  /** Reads an interval to its fence; returns the readers that continue after a split or merge of the range. */
  async #read(reader: Reader, signal: AbortSignal): Promise<readonly Reader[]> {
    const { side, timing } = this.#parts;
    const { requests, timeoutMs, governor } = side;
    const { pageSize } = timing;
    const { rangeId, min, max, patience } = reader;
    const range = { range: side.ranges.find(rangeId) ?? { id: rangeId, min, max, parents: [] }, min, max };
    const mode = 'latest-version';
    const start: FeedStart = reader.position === null ? 'beginning' : { mode, etag: reader.position };
    try {
      const pages = new ChangeFeed(requests, { mode, range, pageSize }).parsedPages(start, {
        signal,
        timeoutMs,
        governor,
        patience,
        sessionToken: () => tokenOf(side, rangeId),
        parse: (page) => this.#take(page, reader),
      });
      while (!reader.isDone) {
        await pages.next();
        this.#parts.onPage();
        this.#saveIfDue();
      }
      this.#saveIfDue();
      return [];
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble?.kind !== 'split') throw error;
      const readers = await side.ranges.readersAfter(range, { trouble, patience, signal });
      return this.#replace(reader, readers);
    }
  }

  /**
   * Adds a page to the sums and takes its position in one step, so that an abort can neither lose nor repeat the page.
   */
  #take(page: FeedPage, reader: Reader): void {
    const { side } = this.#parts;
    // A replica that has not reached the fence returns old versions, and documents that were deleted since.
    if ((page.lsn ?? -1) < reader.fenceLsn) throw new TroubleError(lagging(page));
    side.sessions.add(page.sessionToken);
    if (page.status === 304) reader.isDone = true;
    else {
      // If `take` throws in the middle of the page, the sums contain a part of it and must not be saved.
      this.#isWhole = false;
      const { documents, isBeyond } = this.sums.take(page.bytes, reader.fenceLsn);
      this.#isWhole = true;
      reader.documents += documents;
      reader.isDone = isBeyond;
    }
    // Of a page with documents beyond the fence only a part was added. A later comparison of changes has to read the
    // page again, so the position stays before it.
    if (!reader.isDone || page.status === 304) reader.position = page.position.etag;
    this.#isDirty = true;
    page.free();
  }

  /** Replaces a reader by readers of the child ranges, which continue from its position. */
  #replace(reader: Reader, ranges: readonly FeedRange[]): readonly Reader[] {
    const [only, ...others] = ranges;
    if (only !== undefined && others.length === 0) {
      reader.rangeId = only.range.id;
      return [reader];
    }
    const children = ranges.map(({ range, min, max }, i) => ({
      ...reader,
      min,
      max,
      rangeId: range.id,
      documents: i === 0 ? reader.documents : 0,
      patience: this.#parts.side.patience.fresh(),
    }));
    this.#readers = [...this.#readers.filter((other) => other !== reader), ...children];
    this.#isDirty = true;
    return children;
  }

  #saveIfDue(): void {
    const { clock, timing } = this.#parts;
    const isDue = clock.monotonicMs() - this.#savedAtMs >= timing.checkpointMs;
    if (isDue || this.sums.entries.sizeBytes >= ENTRIES_BYTES_MAX) this.#save();
  }

  #save(): void {
    const { side, store, clock } = this.#parts;
    this.#savedAtMs = clock.monotonicMs();
    if (!this.#isDirty || !this.#isWhole) return;
    const { buckets, refused, longIntegers, entries } = this.sums;
    store.checkpoint(side.is, {
      parts: this.#readers,
      buckets: buckets.view(),
      refused,
      longIntegers,
      entries: entries.words,
    });
    entries.clear();
    this.#isDirty = false;
  }
}

function lagging({ chargeRu, status }: FeedPage): ConstructorParameters<typeof TroubleError>[0] {
  return { kind: 'transient', status, substatus: 0, what: 'a replica is behind', chargeRu };
}
