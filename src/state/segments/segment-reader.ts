/**
 * Reads single entries of committed segments. Invariant: an entry has the identity for which the index names it;
 * otherwise an error is thrown.
 */
import { InternalError, type LedgerError } from '../../lib/errors.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { bytes, damagedRow, number, oneOf, orNull } from '../../lib/sqlite/column.ts';
import type { Columns } from '../../lib/sqlite/column.ts';
import { refuseChanged } from '../../lib/sqlite/table-sums.ts';
import { isSameIdentity, positionIn } from '../index/entry.ts';
import { markAt } from './outcome-numbers.ts';
import type { Marks } from './outcome-numbers.ts';
import { FEEDS } from '../rows.ts';
import type { FeedName } from '../rows.ts';
import { readEntry } from './segment.ts';
import type { FinishedSegment, Stored } from './segment.ts';

/** Where an entry is: the number of its segment, and its position in the segment. */
export interface EntryPosition {
  readonly segment: number;
  readonly position: number;
}

/** A document as the copy has written it. */
export interface Landed extends Stored {
  /** The hash of the etag that the copy has; null unless the map of a turn has found it (map-store.ts). */
  readonly copyEtag: Buffer | null;
  /** Which derived properties the copy had of its own when the map found it (`Remover.own`); 0 outside that map. */
  readonly own: number;
  readonly feed: FeedName;
  /** The outcome number of the document; 0 if it was not written. */
  readonly sequence: number;
}

/** A committed segment, with the outcome numbers of its documents. */
export interface Segment extends Pick<FinishedSegment, 'count' | 'lsnBase' | 'data'>, Marks {
  readonly number: number;
  readonly feed: FeedName;
  /** Whether the etags of the entries are those of the copies. */
  readonly hasCopyEtags: boolean;
}

/** In place of a feed: the entries were read in the target, and their etags are those of the copies. */
export const COPIES = 'COPIES';
const STORED_FEEDS = [...FEEDS, COPIES] as const;

const COLUMNS = `number, feed, documents, lsn_base, segments.checksum, entries,
  first_sequence, outcomes.checksum AS outcomes_checksum, offsets`;

export class EntryStore {
  readonly #sql;
  /** The segment that was read last. It is kept, because consecutive reads often need the same segment. */
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

  /** Reads the document that an index entry names. */
  read(entries: Buffer, at: number): Landed {
    const { segment, position } = positionIn(entries, at);
    if (this.#last?.number !== segment) {
      const row = this.#sql.get.get(segment);
      if (row === undefined) throw damagedRow(`its index points to segment ${segment}, which does not exist`);
      this.#last = parseSegment(row);
    }
    const landed = landedAt(this.#last, position);
    if (!isSameIdentity(entries, at, landed.identity, 0)) throw strange({ segment, position });
    return landed;
  }

  /** Returns the next committed segments of an index. */
  after(window: { readonly indexId: number; readonly after: number; readonly limit: number }): Segment[] {
    return this.#sql.after.all(window).map(parseSegment);
  }
}

function landedAt(segment: Segment, position: number): Landed {
  const { feed, count, number: ofSegment, hasCopyEtags } = segment;
  try {
    const { etag, ...entry } = readEntry(segment, position);
    const found = hasCopyEtags
      ? { etag: null, copyEtag: etag, ...mapped(entry.lsn) }
      : { etag, copyEtag: null, own: 0 };
    return { ...entry, ...found, feed, sequence: markAt(segment, count, position) };
  } catch (error) {
    // Bytes that cosmig has packed can be unpacked without an error, so these bytes are damaged.
    if (!(error instanceof RangeError || error instanceof InternalError)) throw error;
    throw strange({ segment: ofSegment, position }, error);
  }
}

/** The map of a turn knows no source version. It stores in place of the LSN what the copy had of its own. */
function mapped(lsn: number | null): Pick<Landed, 'lsn' | 'own'> {
  return { lsn: 0, own: lsn ?? 0 };
}

function strange({ segment, position }: EntryPosition, cause?: unknown): LedgerError {
  return damagedRow(`position ${position} of segment ${segment} has invalid contents`, cause);
}

function parseSegment(row: Columns): Segment {
  const stored = oneOf(row, 'feed', STORED_FEEDS);
  const hasCopyEtags = stored === COPIES;
  const segment = {
    number: number(row, 'number'),
    feed: stored === COPIES ? ('LV' as const) : stored,
    hasCopyEtags,
    count: number(row, 'documents'),
    lsnBase: number(row, 'lsn_base'),
    data: bytes(row, 'entries'),
    base: number(row, 'first_sequence'),
    marks: orNull(row, 'offsets', bytes),
  };
  const { count, lsnBase, data, base, marks } = segment;
  refuseChanged(number(row, 'checksum'), stored, count, lsnBase, data);
  refuseChanged(number(row, 'outcomes_checksum'), segment.number, base, marks);
  return segment;
}
