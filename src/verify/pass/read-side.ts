/**
 * One pass over a side: every range from the beginning of its feed to where it ended when the pass began. What always
 * holds: a page counts once, whatever is repeated; a child of a range goes on from its parent's position; and whatever
 * ends the pass, the next one goes on from the last checkpoint.
 */
import { TroubleError, troubleOf } from '../../cosmos/transport/trouble.ts';
import { Feed, type FeedStart, type Page } from '../../cosmos/feed/feed.ts';
import { seeNewestOf } from '../../cosmos/feed/newest-lsn.ts';
import {
  readersAfter,
  wholeOf,
  type FeedRange,
  type Interval,
  type PhysicalRange,
} from '../../cosmos/feed/ranges.ts';
import type { Patience } from '../../cosmos/load/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import { NotReadyError, ServiceError } from '../../lib/errors.ts';
import { forEachConcurrently } from '../../lib/group.ts';
import type { RowOptions } from './rows.ts';
import { tokenOf, type Side } from '../../cosmos/side.ts';
import type { Part, VerifyStore } from '../store.ts';
import { SideTally } from './side-sums.ts';
import type { CompareTiming } from '../../spec/timing.ts';

/** Pages in memory, at most 4 MB each. */
const READERS_MAX = 3;
/** Ranges that are asked where they end, which are small questions. */
const ASKED_MAX = 16;
/** Runs in memory; with the sums a checkpoint writes little more. */
const RUNS_BYTES_MAX = 2 * 1024 * 1024;

interface Reader {
  readonly min: string;
  readonly max: string;
  rangeId: string;
  position: string | null;
  readonly fenceLsn: number;
  isDone: boolean;
  documents: number;
  /** Until a page has come: a range that stays gone is asked less and less often, and not for ever. */
  readonly patience: Patience;
}

export interface ReadSideParts {
  readonly side: Side;
  readonly store: VerifyStore;
  readonly rows: RowOptions;
  readonly clock: Clock;
  readonly timing: Pick<CompareTiming, 'checkpointMs' | 'pageSize'>;
  /** A page more was read. */
  readonly onPage: () => void;
  /** Where to begin instead of at the beginning: only what has changed since is read. */
  readonly from?: readonly StartedAt[];
  /** Nothing may be missed that has happened by now, whichever replica answers. */
  readonly isNewest: boolean;
}

/** A stretch, and how far it had been read. */
export type StartedAt = Pick<Part, 'min' | 'max' | 'position'>;

export class SidePass {
  readonly tally: SideTally;
  readonly #parts: ReadSideParts;
  #readers: Reader[];
  #savedAtMs: number;
  #isDirty = false;
  #isWhole = true;

  constructor(parts: ReadSideParts) {
    const { side, store, rows, clock } = parts;
    this.#parts = parts;
    this.tally = new SideTally(side.is, rows, store.sums(side.is));
    this.#readers = store.parts(side.is).map((part) => ({ ...part, patience: side.patience.fresh() }));
    this.#savedAtMs = clock.now();
  }

  get documents(): number {
    return this.#readers.reduce((sum, { documents }) => sum + documents, 0);
  }

  get parts(): readonly Part[] {
    return this.#readers;
  }

  /** Reads on to the end. What was taken in is saved also when it is called off. */
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

  /** Where every range ends now. */
  async #fence(signal: AbortSignal): Promise<void> {
    const { side } = this.#parts;
    const readers: Reader[] = [];
    const patience = side.patience.fresh();
    for (;;) {
      readers.length = 0;
      const { list } = side.ranges;
      try {
        await forEachConcurrently(list, {
          limit: ASKED_MAX,
          signal,
          work: async (range, inner) => {
            readers.push(...(await this.#fenceOf(range, inner)));
            return [];
          },
        });
        break;
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble?.kind !== 'split') throw error;
        await patience.bear(trouble, signal);
        for (const { id } of list) await side.ranges.refresh(id, signal);
      }
    }
    this.#readers = readers;
    this.#isDirty = true;
    this.#save();
  }

  /** Readers of a range, up to where it ends now. */
  async #fenceOf(range: PhysicalRange, signal: AbortSignal): Promise<readonly Reader[]> {
    const { side } = this.#parts;
    if (this.#parts.isNewest) await seeNewestOf(side, wholeOf(range), signal);
    const fenceLsn = await this.#endOf(wholeOf(range), signal);
    return this.#startsOf(range).map((start) => ({
      ...start,
      rangeId: range.id,
      fenceLsn,
      isDone: false,
      documents: 0,
      patience: side.patience.fresh(),
    }));
  }

  /** A range, or the parts of it that were read up to different places. */
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
    const { lane, patience, governor, timeoutMs, sessions } = side;
    const pages = new Feed(lane, { mode: 'latest-version', range }).pages('now', {
      signal,
      timeoutMs,
      governor,
      patience: patience.fresh(),
      sessionToken: () => tokenOf(side, range.range.id),
    });
    const { value: page } = await pages.next();
    this.#checkContainer(page);
    sessions.add(page.sessionToken);
    if (page.lsn !== undefined) return page.lsn;
    throw new ServiceError(`the ${side.is} does not say how far its ranges have come`, {
      why: 'a page of its change feed came without a session token that can be read',
      hint: 'see whether a proxy stands before the account and drops x-ms-session-token',
    });
  }

  /** Reads a part to its fence; gives those that take its place, when its range has become others. */
  async #read(reader: Reader, signal: AbortSignal): Promise<readonly Reader[]> {
    const { side, timing } = this.#parts;
    const { lane, timeoutMs, governor } = side;
    const { pageSize } = timing;
    const { rangeId, min, max, patience } = reader;
    const range = { range: side.ranges.find(rangeId) ?? { id: rangeId, min, max, parents: [] }, min, max };
    const mode = 'latest-version';
    const start: FeedStart = reader.position === null ? 'beginning' : { mode, etag: reader.position };
    try {
      const pages = new Feed(lane, { mode, range, pageSize }).parsedPages(start, {
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
      const readers = await readersAfter(lane, range, { trouble, patience, signal });
      await side.ranges.refresh(rangeId, signal);
      return this.#replace(reader, readers);
    }
  }

  /** All of a page at once, position and all: what is called off in between is neither lost nor counted twice. */
  #take(page: Page, reader: Reader): void {
    const { side } = this.#parts;
    this.#checkContainer(page);
    // A replica that is behind the fence shows documents as they were before, and those that were deleted.
    if ((page.lsn ?? -1) < reader.fenceLsn) throw new TroubleError(lagging(page));
    side.sessions.add(page.sessionToken);
    if (page.status === 304) reader.isDone = true;
    else {
      // What ends in the middle of a page is no state to go on from.
      this.#isWhole = false;
      const { documents, isBeyond } = this.tally.take(page.bytes, reader.fenceLsn);
      this.#isWhole = true;
      reader.documents += documents;
      reader.isDone = isBeyond;
    }
    // What lies beyond the fence is for those who go on from here.
    if (!reader.isDone || page.status === 304) reader.position = page.position.etag;
    this.#isDirty = true;
    page.free();
  }

  /** The children go on where the parent was. */
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
    const isDue = clock.now() - this.#savedAtMs >= timing.checkpointMs;
    if (isDue || this.tally.runs.sizeBytes >= RUNS_BYTES_MAX) this.#save();
  }

  #save(): void {
    const { side, store, clock } = this.#parts;
    this.#savedAtMs = clock.now();
    if (!this.#isDirty || !this.#isWhole) return;
    const { buckets, refused, runs } = this.tally;
    store.checkpoint(side.is, {
      parts: this.#readers,
      buckets: buckets.view(),
      refused,
      entries: runs.words,
    });
    runs.clear();
    this.#isDirty = false;
  }

  #checkContainer({ containerRid }: Page): void {
    const { is, facts } = this.#parts.side;
    if (containerRid === undefined || containerRid === facts.rid) return;
    throw new NotReadyError(`the ${is} container was deleted and created again`, {
      why: `its _rid was ${facts.rid} and is ${containerRid} now`,
      hint: 'begin a new migration with --ledger and an empty target',
    });
  }
}

function lagging({ chargeRu, status }: Page): ConstructorParameters<typeof TroubleError>[0] {
  return { kind: 'transient', status, substatus: 0, what: 'a replica is behind', chargeRu };
}
