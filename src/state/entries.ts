/** Owns reading committed segments, one place at a time. */
import { LedgerError } from '../lib/errors.ts';
import type { Database } from '../lib/sqlite.ts';
import { bytes, number, oneOf, orNull } from './column.ts';
import type { Columns } from './column.ts';
import { markAt } from './marks.ts';
import type { Marks } from './marks.ts';
import { FEEDS } from './rows.ts';
import type { Feed } from './rows.ts';
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

const COLUMNS = 'number, feed, count, lsn_base, data, base, marks';

export class EntryStore {
  readonly #sql;
  /** Neighbours in an index come from anywhere, but the rivals of one identity are asked for in one go. */
  #last: Segment | undefined;

  constructor(database: Database) {
    this.#sql = {
      get: database.prepare<[number], Columns>(
        `SELECT ${COLUMNS} FROM segments JOIN outcomes ON segment = number WHERE number = ?`,
      ),
      after: database.prepare<[{ tree: number; after: number; limit: number }], Columns>(
        `SELECT ${COLUMNS} FROM segments JOIN outcomes ON segment = number
         WHERE number > @after AND tree = @tree ORDER BY number LIMIT @limit`,
      ),
    };
  }

  read({ segment, place }: Place): Landed {
    if (this.#last?.number !== segment) {
      const row = this.#sql.get.get(segment);
      if (row === undefined) {
        throw new LedgerError('the ledger is damaged', {
          why: `its index points to segment ${segment}, which is not there`,
          hint: 'restore the ledger from a backup made while the migration was stopped',
        });
      }
      this.#last = parseSegment(row);
    }
    const { feed, count } = this.#last;
    return { ...readEntry(this.#last, place), feed, sequence: markAt(this.#last, count, place) };
  }

  /** The next committed segments of a tree. */
  after(window: { readonly tree: number; readonly after: number; readonly limit: number }): Segment[] {
    return this.#sql.after.all(window).map(parseSegment);
  }
}

function parseSegment(row: Columns): Segment {
  return {
    number: number(row, 'number'),
    feed: oneOf(row, 'feed', FEEDS),
    count: number(row, 'count'),
    lsnBase: number(row, 'lsn_base'),
    data: bytes(row, 'data'),
    base: number(row, 'base'),
    marks: orNull(row, 'marks', bytes),
  };
}
