/**
 * Owns the map of a target that this ledger has not filled: which document is in which slot. The documents are in
 * segments of their own index. Invariant: segments, their outcomes, positions and totals change in one transaction, so
 * after a crash reading resumes at a position that has every document before it in a segment, once.
 */
import type { ReadPart } from '../../cosmos/feed/fenced-pass.ts';
import { number, orNull, text, type Columns } from '../../lib/sqlite/column.ts';
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { checksumOf } from '../../lib/sqlite/table-sums.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';
import type { CounterStore } from '../counters.ts';
import type { FinishedSegment } from './segment.ts';
import { COPIES } from './segment-reader.ts';

/** The index over the documents of the map. Leases have the indexes from 1 on. */
export const MAP_INDEX = 0;

export interface MapTotals {
  /** Documents whose source identity could be rebuilt. */
  readonly mapped: number;
  /** Documents that no migration with these settings has written. They are not in the map. */
  readonly strangers: number;
}

/** What was read since the last checkpoint, and how far. */
export interface MapCheckpoint extends MapTotals {
  readonly parts: readonly ReadPart[];
  readonly segments: readonly FinishedSegment[];
  /** Whether the entries have the etags of the copies instead of hashes of their contents. */
  readonly hasCopyEtags: boolean;
  /** How many of the mapped documents have a derived property of their own. */
  readonly owning: number;
}

/** The counter of the mapped documents that have a derived property of their own. */
const OWNING = 'mappedWithOwnProperties';

interface Parts {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly counters: CounterStore;
  /** Takes the numbers of that many outcomes, inside the transaction, and returns the first. */
  readonly takeSequences: (count: number) => number;
}

export class MapStore {
  readonly #parts: Parts;
  readonly #sql;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { database } = parts;
    this.#sql = {
      parts: database.prepare<[], Columns>('SELECT * FROM map_parts ORDER BY min'),
      dropParts: database.prepare('DELETE FROM map_parts'),
      addPart: database.prepare(
        `INSERT INTO map_parts (min, max, range_id, position, fence_lsn, is_done, documents, counted_with)
         VALUES (@min, @max, @rangeId, @position, @fenceLsn, @isDone, @documents, @countedWith)`,
      ),
      totals: database.prepare<[], Columns>('SELECT mapped, strangers FROM map_totals'),
      addTotals: database.prepare(
        `INSERT INTO map_totals (id, mapped, strangers) VALUES (1, @mapped, @strangers)
         ON CONFLICT (id) DO UPDATE SET mapped = mapped + @mapped, strangers = strangers + @strangers`,
      ),
      segment: database.prepare(
        `INSERT INTO segments (index_id, feed, documents, lsn_base, checksum, entries)
         VALUES (${MAP_INDEX}, @feed, @count, @lsnBase, @checksum, @data)`,
      ),
      outcome: database.prepare(
        'INSERT INTO outcomes (segment, first_sequence, checksum, offsets) VALUES (?, ?, ?, NULL)',
      ),
    };
  }

  /** Returns how far each part of the target was read; none: the map was not begun. */
  parts(): ReadPart[] {
    return this.#parts.transactions.read(() =>
      this.#sql.parts.all().map((row) => ({
        min: text(row, 'min'),
        max: text(row, 'max'),
        rangeId: text(row, 'range_id'),
        position: orNull(row, 'position', text),
        fenceLsn: number(row, 'fence_lsn'),
        isDone: number(row, 'is_done') === 1,
        documents: number(row, 'documents'),
        countedWith: orNull(row, 'counted_with', text),
      })),
    );
  }

  totals(): MapTotals {
    const row = this.#parts.transactions.read(() => this.#sql.totals.get());
    if (row === undefined) return { mapped: 0, strangers: 0 };
    return { mapped: number(row, 'mapped'), strangers: number(row, 'strangers') };
  }

  /** Whether any mapped document has a derived property of its own. */
  hasOwning(): boolean {
    return this.#parts.transactions.read(() => (this.#parts.counters.all()[OWNING] ?? 0) > 0);
  }

  /** Stores what was read, with the positions behind it. */
  checkpoint({ parts, segments, mapped, strangers, hasCopyEtags, owning }: MapCheckpoint): void {
    const feed = hasCopyEtags ? COPIES : 'LV';
    const { transactions, takeSequences, counters } = this.#parts;
    transactions.run(() => {
      for (const { count, lsnBase, data } of segments) {
        const checksum = checksumOf(feed, count, lsnBase, data);
        const { lastInsertRowid } = this.#sql.segment.run({ feed, count, lsnBase, checksum, data });
        const segment = Number(lastInsertRowid);
        // Every document of the map is there, so the numbers are consecutive and need no offsets.
        const first = takeSequences(count);
        this.#sql.outcome.run(segment, first, checksumOf(segment, first, null));
      }
      this.#sql.addTotals.run({ mapped, strangers });
      counters.add(OWNING, owning);
      this.#sql.dropParts.run();
      for (const { isDone, countedWith = null, ...part } of parts)
        this.#sql.addPart.run({ ...part, countedWith, isDone: isDone ? 1 : 0 });
    });
  }
}
