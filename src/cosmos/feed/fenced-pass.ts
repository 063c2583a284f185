/**
 * One pass over a container: reads the feed of every range from a start to the fence, which is the end of the range when
 * the pass began. Invariant: each page counts once, however often it is read; a child range continues from its parent's
 * position; an interrupted pass resumes from the last checkpoint.
 */
import { TroubleError, troubleOf } from '../transport/trouble.ts';
import { forEachRange } from './each-range.ts';
import { ChangeFeed, type FeedStart, type FeedPage } from './feed.ts';
import { seeNewestOf } from './newest-lsn.ts';
import { wholeOf, type FeedRange, type Interval } from './ranges.ts';
import type { Patience } from '../load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { forEachConcurrently } from '../../lib/group.ts';
import { tokenOf, type Side } from '../side.ts';

/** How many ranges are read at the same time. For each of them, one page of at most 4 MB is in memory. */
const READERS_MAX = 3;
/**
 * How many requests for the end of a range run at the same time. These are more than READERS_MAX, because their replies
 * are small.
 */
const FENCES_MAX = 16;

/** An interval of the key space, and how far it was read. */
export interface ReadPart extends Interval {
  readonly rangeId: string;
  /** The position from which reading continues; null: the beginning of the feed. */
  readonly position: string | null;
  /** Documents with a higher LSN are left out. */
  readonly fenceLsn: number;
  readonly isDone: boolean;
  readonly documents: number;
  /**
   * After a split, the beginning of the part that has the documents which were read before it; null or absent: all
   * documents of this part are counted here.
   */
  readonly countedWith?: string | null;
}

/** An interval of the key space, and the position up to which it was read. */
export type StartedAt = Pick<ReadPart, 'min' | 'max' | 'position'>;

/** A start, and the fence if it is before the end of the range. */
export type PassStart = StartedAt & Partial<Pick<ReadPart, 'fenceLsn'>>;

/** What a page has added to the figures. */
export interface Taken {
  /** The number of documents on the page up to the fence. */
  readonly documents: number;
  /**
   * Whether the page reaches the fence, so that reading is complete: it has documents beyond it, or the last one before
   * it.
   */
  readonly isBeyond: boolean;
}

/** What becomes of the pages: figures in memory, and where they are saved. */
export interface Takes {
  /**
   * Adds the documents of a page up to the fence of the part that is read. Throws a PageError for a damaged page, of
   * which nothing is added.
   */
  take(page: Buffer, part: ReadPart): Taken;
  /** Whether so much waits in memory that a checkpoint is due, whatever the time. */
  isFull(): boolean;
  /** Saves the figures together with how far each part was read. */
  save(parts: readonly ReadPart[]): void;
}

interface Reader {
  readonly min: string;
  readonly max: string;
  rangeId: string;
  position: string | null;
  readonly fenceLsn: number;
  isDone: boolean;
  documents: number;
  readonly countedWith?: string | null;
  /** Limits the retries after failed requests, until a page arrives. The time between two retries grows. */
  readonly patience: Patience;
}

export interface PassTiming {
  /** How often the progress is saved. */
  readonly checkpointMs: number;
  /** How many documents a page has. */
  readonly pageSize: number;
  /** The time from one checkpoint to the next is at least this many times the duration of a checkpoint. Default: 0. */
  readonly saveTimesMin?: number;
}

/** The end of a range, when its fence is set. */
export interface RangeEnd {
  readonly lsn: number;
  /** The position of this end. */
  readonly etag: string;
}

export interface PassParts {
  readonly side: Side;
  readonly takes: Takes;
  /** The parts of an interrupted pass; none: the pass begins. */
  readonly saved: readonly ReadPart[];
  readonly clock: Clock;
  readonly timing: PassTiming;
  /** Returns how many documents the pages of a part have; undefined: as many as `timing` says. */
  readonly pageSizeOf?: (part: ReadPart) => number;
  /** Called after each page. */
  readonly onPage: () => void;
  /** Returns where reading a range starts, when its end is known; undefined: everything is read. */
  readonly startsOf?: (range: FeedRange, end: RangeEnd) => readonly PassStart[];
  /** Whether the fence must cover the newest change that any replica knows, whichever replica answers. */
  readonly isNewest: boolean;
}

export class FencedPass {
  readonly #parts: PassParts;
  #readers: Reader[];
  #savedAtMs: number;
  #saveMs = 0;
  #isDirty = false;
  #isWhole = true;

  constructor(parts: PassParts) {
    const { side, saved, clock } = parts;
    this.#parts = parts;
    this.#readers = saved.map((part) => ({ ...part, patience: side.patience.fresh() }));
    this.#savedAtMs = clock.monotonicMs();
  }

  get documents(): number {
    return this.#readers.reduce((sum, { documents }) => sum + documents, 0);
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
    const end = await this.#endOf(part, signal);
    const { min, max } = part;
    const starts = this.#parts.startsOf?.(part, end) ?? [{ min, max, position: null }];
    return starts.map((start) => ({
      fenceLsn: end.lsn,
      ...start,
      rangeId: part.range.id,
      isDone: false,
      documents: 0,
      patience: side.patience.fresh(),
    }));
  }

  async #endOf(range: FeedRange, signal: AbortSignal): Promise<RangeEnd> {
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
    if (page.lsn !== undefined) return { lsn: page.lsn, etag: page.position.etag };
    throw new ServiceError(`the ${side.is} does not report the LSNs of its ranges`, {
      why: 'a page of its change feed has no readable session token',
      hint: 'check whether a proxy in front of the account drops x-ms-session-token',
    });
  }

  /** Reads an interval to its fence; returns the readers that continue after a split or merge of the range. */
  async #read(reader: Reader, signal: AbortSignal): Promise<readonly Reader[]> {
    const { side, timing } = this.#parts;
    const { requests, timeoutMs, governor } = side;
    const pageSize = this.#parts.pageSizeOf?.(reader) ?? timing.pageSize;
    const { rangeId, patience } = reader;
    const range = side.ranges.partOf(reader);
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
   * Adds a page to the figures and takes its position in one step, so that an abort can neither lose nor repeat the page.
   */
  #take(page: FeedPage, reader: Reader): void {
    const { side } = this.#parts;
    // A replica that has not reached the fence returns old versions, and documents that were deleted since.
    if ((page.lsn ?? -1) < reader.fenceLsn) throw new TroubleError(lagging(page));
    side.sessions.add(page.sessionToken);
    if (page.status === 304) reader.isDone = true;
    else {
      // If `take` throws in the middle of the page, the figures contain a part of it and must not be saved.
      this.#isWhole = false;
      const { documents, isBeyond } = this.#parts.takes.take(page.bytes, reader);
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
    const mixed = reader.documents > 0 || reader.countedWith != null;
    const countedWith = mixed ? (reader.countedWith ?? reader.min) : null;
    const children = ranges.map(({ range, min, max }, i) => ({
      ...reader,
      min,
      max,
      rangeId: range.id,
      documents: i === 0 ? reader.documents : 0,
      countedWith: i === 0 ? (reader.countedWith ?? null) : countedWith,
      patience: this.#parts.side.patience.fresh(),
    }));
    this.#readers = [...this.#readers.filter((other) => other !== reader), ...children];
    this.#isDirty = true;
    return children;
  }

  #saveIfDue(): void {
    const { clock, timing, takes } = this.#parts;
    const restMs = Math.max(timing.checkpointMs, this.#saveMs * (timing.saveTimesMin ?? 0));
    const isDue = clock.monotonicMs() - this.#savedAtMs >= restMs;
    if (isDue || takes.isFull()) this.#save();
  }

  #save(): void {
    const { takes, clock } = this.#parts;
    this.#savedAtMs = clock.monotonicMs();
    if (!this.#isDirty || !this.#isWhole) return;
    takes.save(this.#readers);
    this.#isDirty = false;
    this.#saveMs = clock.monotonicMs() - this.#savedAtMs;
  }
}

function lagging({ chargeRu, status }: FeedPage): ConstructorParameters<typeof TroubleError>[0] {
  return { kind: 'transient', status, substatus: 0, what: 'a replica is behind', chargeRu };
}
