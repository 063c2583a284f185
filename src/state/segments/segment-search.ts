/**
 * Searches the segments for a document that the copy may have written, while they have no index. Invariant: a document
 * is found if its write is committed, or may have been sent. Every segment is read, so this is for rare questions.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { bytes, number, orNull, text } from '../../lib/sqlite/column.ts';
import { refuseChanged } from '../../lib/sqlite/table-sums.ts';
import type { Columns } from '../../lib/sqlite/column.ts';
import type { RowStore } from '../rows.ts';
import { markAt } from './outcome-numbers.ts';
import { positionOf } from './segment.ts';

/** How many segments are read between two pauses: less than a megabyte. */
const SEGMENTS_A_STEP = 64;

export class SegmentSearch {
  readonly #rows: RowStore;
  readonly #sql;

  constructor(database: Database, rows: RowStore) {
    this.#rows = rows;
    this.#sql = database.prepare<[number, number], Columns>(
      `SELECT number, feed, documents, lsn_base, segments.checksum, entries,
         first_sequence, outcomes.checksum AS outcomes_checksum, offsets
       FROM segments LEFT JOIN outcomes ON segment = number WHERE number > ? ORDER BY number LIMIT ?`,
    );
  }

  /** Returns whether the copy has put this document into this slot, or may be about to. */
  *hasCopied(identity: Buffer, slot: Buffer): Generator<void, boolean> {
    for (let after = 0; ;) {
      const segments = this.#sql.all(after, SEGMENTS_A_STEP);
      for (const segment of segments) {
        after = number(segment, 'number');
        if (this.#isIn(segment, identity, slot)) return true;
      }
      if (segments.length < SEGMENTS_A_STEP) return false;
      yield;
    }
  }

  #isIn(segment: Columns, identity: Buffer, slot: Buffer): boolean {
    const [count, data] = [number(segment, 'documents'), bytes(segment, 'entries')];
    refuseChanged(
      number(segment, 'checksum'),
      text(segment, 'feed'),
      count,
      number(segment, 'lsn_base'),
      data,
    );
    const position = positionOf({ count, data }, identity, slot);
    if (position === null) return false;
    const base = orNull(segment, 'first_sequence', number);
    // Without outcomes, the unit of this segment is not committed, and the write may have been sent.
    if (base === null) return true;
    const marks = orNull(segment, 'offsets', bytes);
    refuseChanged(number(segment, 'outcomes_checksum'), number(segment, 'number'), base, marks);
    const sequence = markAt({ base, marks }, count, position);
    return sequence !== 0 && !this.#rows.isOverridden({ identity, slot, sequence });
  }
}
