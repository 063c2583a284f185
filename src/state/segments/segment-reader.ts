/** Reads single entries of committed segments. Invariant: an entry is the one that the index names, or the ledger is damaged. */
import { InternalError, LedgerError } from '../../lib/errors.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { bytes, number, oneOf, orNull } from '../../lib/sqlite/column.ts';
import type { Columns } from '../../lib/sqlite/column.ts';
import { isSameIdentity, positionIn } from '../index/entry.ts';
import { markAt } from './outcome-numbers.ts';
import type { Marks } from './outcome-numbers.ts';
import { FEEDS } from '../rows.ts';
import type { FeedName } from '../rows.ts';
import { readEntry } from './segment.ts';
import type { FinishedSegment, Stored } from './segment.ts';

/** The position of an entry. */
export interface EntryPosition {
  readonly segment: number;
  readonly position: number;
}

/** A document as the copy wrote it. */
export interface Landed extends Stored {
  readonly feed: FeedName;
  /** Its outcome number; 0 if it was not written. */
  readonly sequence: number;
}

/** A committed segment. */
export interface Segment extends Pick<FinishedSegment, 'count' | 'lsnBase' | 'data'>, Marks {
  readonly number: number;
  readonly feed: FeedName;
}

const COLUMNS = 'number, feed, documents, lsn_base, entries, first_sequence, offsets';

export class EntryStore {
  readonly #sql;
  /** Cached, since the entries of one identity are often read one after the other. */
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

  /** The document of an index entry. */
  read(entries: Buffer, at: number): Landed {
    const { segment, position } = positionIn(entries, at);
    if (this.#last?.number !== segment) {
      const row = this.#sql.get.get(segment);
      if (row === undefined) throw damaged(`its index points to segment ${segment}, which does not exist`);
      this.#last = parseSegment(row);
    }
    const landed = landedAt(this.#last, position);
    if (!isSameIdentity(entries, at, landed.identity, 0)) throw strange({ segment, position });
    return landed;
  }

  /** The next committed segments of an index. */
  after(window: { readonly indexId: number; readonly after: number; readonly limit: number }): Segment[] {
    return this.#sql.after.all(window).map(parseSegment);
  }
}

function landedAt(segment: Segment, position: number): Landed {
  const { feed, count, number: ofSegment } = segment;
  try {
    return { ...readEntry(segment, position), feed, sequence: markAt(segment, count, position) };
  } catch (error) {
    // Bytes that cosmig has packed unpack without an error, so these are damaged.
    if (!(error instanceof RangeError || error instanceof InternalError)) throw error;
    throw strange({ segment: ofSegment, position }, error);
  }
}

function strange({ segment, position }: EntryPosition, cause?: unknown): LedgerError {
  return damaged(`position ${position} of segment ${segment} has invalid contents`, cause);
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
