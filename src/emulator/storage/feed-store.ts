/**
 * All SQL of the change feeds: the latest versions, which are read from the documents, and the record of every version
 * and delete.
 *
 * Invariant: SQLite assembles a page as bytes; documents never become objects.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { Statements } from './statements.ts';

export interface ChangeRow {
  container: number;
  range: number;
  lsn: number;
  epk: string;
  ts: number;
  bytes: number;
  entry: string;
}

/** A part of one range's feed: LSNs after `after` and up to `upTo`, effective keys within [min, max). */
export interface FeedWindow {
  readonly container: number;
  readonly range: number;
  readonly after: number;
  readonly upTo: number;
  /** The newest LSN that the reader sees. A lagging replica also shows versions that were replaced after this LSN. */
  readonly seen: number;
  readonly min: string;
  readonly max: string;
  /**
   * For a reader that starts at a time: documents written at this time (epoch seconds) or earlier are left out. -1:
   * none is left out.
   */
  readonly afterTs: number;
  /** The current time in epoch seconds. Documents that have expired by this time are left out. */
  readonly nowTs: number;
}

export interface FeedBody {
  count: number;
  body: Buffer | null;
}

const WINDOW = `container = @container AND range = @range AND lsn > @after AND lsn <= @upTo
  AND epk >= @min AND epk < @max`;
const VISIBLE = `${WINDOW} AND ts > @afterTs AND (expires_at IS NULL OR expires_at > @nowTs)`;
/** What a lagging replica sees: also versions that were replaced after the newest transaction that it has seen. */
const LAGGING = `(
  SELECT lsn, bytes, text, container, range, epk, ts, expires_at, position FROM documents WHERE ${VISIBLE}
  UNION ALL
  SELECT lsn, bytes, text, container, range, epk, ts, expires_at, position FROM superseded
  WHERE ${VISIBLE} AND until_lsn > @seen)`;
const AS_FEED_ITEM = `text || ',"_lsn":' || lsn || '}'`;

export type FeedStore = ReturnType<typeof feedStore>;

export function feedStore(database: Database) {
  const sql = new Statements(database);
  /**
   * Returns the functions that read the rows of a source as items of a feed. `tie` orders the items that have the same
   * LSN.
   */
  const feedOf = (source: string, item: string, tie: string) => {
    const edge = database
      .prepare<unknown[], [lsn: number, bytes: number]>(
        `SELECT lsn, bytes FROM ${source} ORDER BY lsn LIMIT @limit`,
      )
      .raw();
    return {
      /** Returns LSN and size of the next `limit` items of a window, in feed order. */
      edge: (window: FeedWindow, limit: number) => edge.all({ ...window, limit }),
      /** Returns all items of a window as the text of a JSON array, without its brackets. */
      page: sql.first<[window: FeedWindow], FeedBody>(
        `SELECT count(*) AS count, CAST(group_concat(item, ',') AS BLOB) AS body FROM (
           SELECT ${item} AS item FROM ${source} ORDER BY lsn, ${tie})`,
      ),
    };
  };
  return {
    latest: feedOf(`documents WHERE ${VISIBLE}`, AS_FEED_ITEM, 'position'),
    /** The latest versions as a lagging replica shows them. */
    lagging: feedOf(LAGGING, AS_FEED_ITEM, 'position'),
    changes: feedOf(`changes WHERE ${WINDOW}`, 'entry', 'number'),
    record: sql.run<[row: ChangeRow]>(
      `INSERT INTO changes (container, range, lsn, epk, ts, bytes, entry)
       VALUES (@container, @range, @lsn, @epk, @ts, @bytes, @entry)`,
    ),
    /**
     * Returns for each range the newest LSN that was written before a time (epoch seconds). Without INDEXED BY, SQLite
     * would scan all changes at every read of the feed, although hardly any change is old.
     */
    oldChanges: sql.all<[beforeTs: number], { container: number; range: number; lsn: number }>(
      `SELECT container, range, max(lsn) AS lsn FROM changes INDEXED BY changes_by_time
       WHERE ts < ? GROUP BY container, range`,
    ),
    dropChanges: sql.run<[container: number, range: number, upToLsn: number]>(
      'DELETE FROM changes WHERE container = ? AND range = ? AND lsn <= ?',
    ),
    clearChanges: sql.run<[]>('DELETE FROM changes'),
  };
}
