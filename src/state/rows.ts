/** Owns the rows of documents, and the overrides that make entries of segments void. */
import { ETAG_BYTES } from './segments/etag-hash.ts';
import { HASH_BYTES } from '../documents/hash.ts';
import type { KeyComponent } from '../epk/effective-key.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import { bytes, number, oneOf, orNull } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import { checksumOf, refuseChanged } from '../lib/sqlite/table-sums.ts';
import { packKey, unpackKey } from './segments/key-bytes.ts';

export const FEEDS = ['LV', 'AVAD'] as const;
export type FeedName = (typeof FEEDS)[number];

const STATES = ['live', 'tombstone', 'quarantined'] as const;

/** What the ledger knows of one document. */
export interface LedgerRow {
  readonly identity: Buffer;
  readonly state: (typeof STATES)[number];
  /**
   * The slot that holds the document's copy; null if there is no copy. A quarantined document may have an outdated copy.
   */
  readonly slot: Buffer | null;
  readonly targetKey: readonly KeyComponent[] | null;
  /**
   * `etagToBytes` of the source version that was applied last, even if it became a dead letter; null if the version is
   * unknown.
   */
  readonly etag: Buffer | null;
  /**
   * `etagToBytes` of the copy as this migration has left it; null if that is not known. Only turns after the first one
   * know it: there another process may have changed the copy.
   */
  readonly copyEtag: Buffer | null;
  readonly lsn: number | null;
  /** The feed of `lsn`. LSNs of different feeds are never compared. */
  readonly feed: FeedName;
}

/** Makes segment entries void: those that put `identity` into `slot` and have an outcome number below `sequence`. */
export interface Override {
  readonly identity: Buffer;
  readonly slot: Buffer;
  readonly sequence: number;
}

export class RowStore {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      get: database.prepare<[Buffer], Columns>('SELECT * FROM documents WHERE identity = ?'),
      identitiesAfter: database
        .prepare<[Buffer, number], Buffer>(
          'SELECT identity FROM documents WHERE identity > ? ORDER BY identity LIMIT ?',
        )
        .pluck(),
      put: database.prepare(
        `INSERT INTO documents (identity, state, slot, target_key, etag, copy_etag, lsn, feed, checksum)
         VALUES (@identity, @state, @slot, @targetKey, @etag, @copyEtag, @lsn, @feed, @checksum)
         ON CONFLICT (identity) DO UPDATE SET state = @state, slot = @slot, target_key = @targetKey,
           etag = @etag, copy_etag = @copyEtag, lsn = @lsn, feed = @feed, checksum = @checksum`,
      ),
      override: database.prepare(
        `INSERT INTO overrides (identity, slot, sequence) VALUES (@identity, @slot, @sequence)
         ON CONFLICT (identity, slot) DO UPDATE SET sequence = max(sequence, @sequence)`,
      ),
      overrideOf: database
        .prepare<[Buffer, Buffer], number>('SELECT sequence FROM overrides WHERE identity = ? AND slot = ?')
        .pluck(),
      overridden: database
        .prepare<[Buffer, Buffer], Buffer>(
          'SELECT DISTINCT identity FROM overrides WHERE identity BETWEEN ? AND ? ORDER BY identity',
        )
        .pluck(),
      overriddenAfter: database
        .prepare<[Buffer, number], Buffer>(
          'SELECT DISTINCT identity FROM overrides WHERE identity > ? ORDER BY identity LIMIT ?',
        )
        .pluck(),
      live: database
        .prepare<[Buffer, Buffer], Buffer>(
          "SELECT identity FROM documents WHERE identity BETWEEN ? AND ? AND state = 'live' ORDER BY identity",
        )
        .pluck(),
      totals: database.prepare<[], Columns>(
        'SELECT state, slot IS NOT NULL AS has_copy, count(*) AS documents FROM documents GROUP BY 1, 2',
      ),
    };
  }

  /**
   * Counts the rows: `live` are those of live documents, and `quarantined` those of documents with a dead letter.
   * `outdated` are the quarantined rows whose document still has a copy in the target.
   */
  totals(): { readonly live: number; readonly quarantined: number; readonly outdated: number } {
    const totals = { live: 0, quarantined: 0, outdated: 0 };
    for (const row of this.#sql.totals.all()) {
      const [state, documents] = [oneOf(row, 'state', STATES), number(row, 'documents')];
      if (state === 'live') totals.live += documents;
      if (state === 'quarantined') totals.quarantined += documents;
      if (state === 'quarantined' && number(row, 'has_copy') === 1) totals.outdated += documents;
    }
    return totals;
  }

  find(identity: Buffer): LedgerRow | null {
    const row = this.#sql.get.get(identity);
    return row === undefined ? null : parseRow(row);
  }

  /** Returns the next identities that have a row, in order, after the given one. */
  identitiesAfter(identity: Buffer, limit: number): Buffer[] {
    return this.#sql.identitiesAfter.all(identity, limit);
  }

  /** Returns the identities from `first` to `last` that have a row of a live document. */
  liveBetween(first: Buffer, last: Buffer): Buffer[] {
    return this.#sql.live.all(first, last);
  }

  /** Stores a row. Called inside a transaction of units.ts (COMMIT or settling); opens none. */
  put(row: LedgerRow): void {
    const { identity, state, slot, etag, copyEtag, lsn, feed } = row;
    const targetKey = row.targetKey === null ? null : packKey(row.targetKey);
    const checksum = checksumOf(identity, state, slot, targetKey, etag, lsn, feed, ...known(copyEtag));
    this.#sql.put.run({ identity, state, slot, targetKey, etag, copyEtag, lsn, feed, checksum });
  }

  /** Stores an override. Called inside a transaction of units.ts (COMMIT or settling); opens none. */
  override(override: Override): void {
    this.#sql.override.run(override);
  }

  /** Whether a later override has made the entry with outcome number `sequence` void. */
  isOverridden({ identity, slot, sequence }: Override): boolean {
    return (this.#sql.overrideOf.get(identity, slot) ?? -1) > sequence;
  }

  /** Returns the next identities that have an override, in order, after the given one. */
  overriddenAfter(identity: Buffer, limit: number): Buffer[] {
    return this.#sql.overriddenAfter.all(identity, limit);
  }

  /** Returns the identities from `first` to `last` that have an override. */
  overriddenBetween(first: Buffer, last: Buffer): Buffer[] {
    return this.#sql.overridden.all(first, last);
  }
}

function parseRow(row: Columns): LedgerRow {
  const hash = (from: Columns, name: string): Buffer => bytes(from, name, HASH_BYTES);
  const parsed = {
    identity: hash(row, 'identity'),
    state: oneOf(row, 'state', STATES),
    slot: orNull(row, 'slot', hash),
    targetKey: orNull(row, 'target_key', bytes),
    etag: orNull(row, 'etag', (from, name) => bytes(from, name, ETAG_BYTES)),
    copyEtag: orNull(row, 'copy_etag', (from, name) => bytes(from, name, ETAG_BYTES)),
    lsn: orNull(row, 'lsn', number),
    feed: oneOf(row, 'feed', FEEDS),
  };
  const { identity, state, slot, targetKey, etag, copyEtag, lsn, feed } = parsed;
  const columns = [identity, state, slot, targetKey, etag, lsn, feed, ...known(copyEtag)];
  refuseChanged(number(row, 'checksum'), ...columns);
  return { ...parsed, targetKey: targetKey === null ? null : unpackKey(targetKey) };
}

/** The part of a checksum that rows of the first turn do not have. */
function known(copyEtag: Buffer | null): readonly Buffer[] {
  return copyEtag === null ? [] : [copyEtag];
}
