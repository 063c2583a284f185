/** Owns reading committed segments, one place at a time. */
import { InternalError, LedgerError } from '../../lib/errors.ts';
import type { Database } from '../../lib/sqlite.ts';
import { bytes, number, oneOf, orNull } from '../column.ts';
import type { Columns } from '../column.ts';
import { isSameIdentity, placeIn } from '../index/entry.ts';
import { markAt } from './outcome-numbers.ts';
import type { Marks } from './outcome-numbers.ts';
import { FEEDS } from '../rows.ts';
import type { Feed } from '../rows.ts';
import { readEntry } from './segment.ts';
import type { Part, Stored } from './segment.ts';

/** A place of a segment. */
export interface Place {
  readonly segment: number;
  readonly place: number;
}

/** A document as the copy wrote it. */
export interface Landed extends Stored {
  readonly feed: Feed;
  /** The number of its outcome; 0 if there is no copy of ours. */
  readonly sequence: number;
}

/** A committed segment. */
export interface Segment extends Pick<Part, 'count' | 'lsnBase' | 'data'>, Marks {
  readonly number: number;
  readonly feed: Feed;
}

const COLUMNS = 'number, feed, documents, lsn_base, entries, first_sequence, offsets';

export class EntryStore {
  readonly #sql;
  /** Neighbours in an index come from anywhere, but the rivals of one identity are asked for in one go. */
  #last: Segment | undefined;

  constructor(database: Database) {
    this.#sql = {
      get: database.prepare<[number], Columns>(
        `SELECT ${COLUMNS} FROM segments JOIN outcomes ON segment = number WHERE number = ?`,
      ),
      after: database.prepare<[{ indexId: number; after: number; limit: number }], Columns>(
        `SELECT ${COLUMNS} FROM segments JOIN outcomes ON segment = number
         WHERE number > @after AND index_id = @indexId ORDER BY number LIMIT @limit`,
      ),
    };
  }

  /** What an entry of the index stands for; a ledger in which that is another document is damaged. */
  read(entries: Buffer, at: number): Landed {
    const { segment, place } = placeIn(entries, at);
    if (this.#last?.number !== segment) {
      const row = this.#sql.get.get(segment);
      if (row === undefined) throw damaged(`its index points to segment ${segment}, which is not there`);
      this.#last = parseSegment(row);
    }
    const landed = landedAt(this.#last, place);
    if (!isSameIdentity(entries, at, landed.identity, 0)) throw strange({ segment, place });
    return landed;
  }

  /** The next committed segments of an index. */
  after(window: { readonly indexId: number; readonly after: number; readonly limit: number }): Segment[] {
    return this.#sql.after.all(window).map(parseSegment);
  }
}

function landedAt(segment: Segment, place: number): Landed {
  const { feed, count, number: ofSegment } = segment;
  try {
    return { ...readEntry(segment, place), feed, sequence: markAt(segment, count, place) };
  } catch (error) {
    // What we have packed unpacks without one: these bytes are ours no more.
    if (!(error instanceof RangeError || error instanceof InternalError)) throw error;
    throw strange({ segment: ofSegment, place }, error);
  }
}

function strange({ segment, place }: Place, cause?: unknown): LedgerError {
  return damaged(`place ${place} of segment ${segment} holds what no cosmig writes there`, cause);
}

function damaged(why: string, cause?: unknown): LedgerError {
  const hint = 'restore the ledger from a backup made while the migration was stopped';
  return new LedgerError('the ledger is damaged', { why, hint, cause });
}

function parseSegment(row: Columns): Segment {
  return {
    number: number(row, 'number'),
    feed: oneOf(row, 'feed', FEEDS),
    count: number(row, 'documents'),
    lsnBase: number(row, 'lsn_base'),
    data: bytes(row, 'entries'),
    base: number(row, 'first_sequence'),
    marks: orNull(row, 'offsets', bytes),
  };
}
