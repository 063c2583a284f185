/**
 * All SQL of the change feeds: the latest versions, which are read from the documents, and the record of every version
 * and delete.
 *
 * Invariant: SQLite assembles a page as bytes; documents never become objects.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';

interface ChangeRow {
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
  readonly min: string;
  readonly max: string;
  /**
   * Leaves out documents written at this time or earlier, in epoch seconds, for a reader that starts at a time; -1
   * leaves out none.
   */
  readonly afterTs: number;
  /** The current time in epoch seconds. Documents that have expired by then are left out. */
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

export class FeedStore {
  readonly #sql;

  constructor(database: Database) {
    const edgeOf = (source: string) =>
      database.prepare(`SELECT lsn, bytes FROM ${source} ORDER BY lsn LIMIT @limit`).raw();
    const pageOf = (item: string, source: string, tie: string) =>
      database.prepare<FeedWindow & { seen?: number }, FeedBody>(
        `SELECT count(*) AS count, CAST(group_concat(item, ',') AS BLOB) AS body FROM (
           SELECT ${item} AS item FROM ${source} ORDER BY lsn, ${tie})`,
      );
    this.#sql = {
      edge: edgeOf(`documents WHERE ${VISIBLE}`),
      page: pageOf(AS_FEED_ITEM, `documents WHERE ${VISIBLE}`, 'position'),
      laggingEdge: edgeOf(LAGGING),
      laggingPage: pageOf(AS_FEED_ITEM, LAGGING, 'position'),
      changesEdge: edgeOf(`changes WHERE ${WINDOW}`),
      changesPage: pageOf('entry', `changes WHERE ${WINDOW}`, 'number'),
      record: database.prepare<ChangeRow>(
        `INSERT INTO changes (container, range, lsn, epk, ts, bytes, entry)
         VALUES (@container, @range, @lsn, @epk, @ts, @bytes, @entry)`,
      ),
      // Without INDEXED BY, SQLite would scan all changes at every read of the feed, although hardly any change is old.
      oldChanges: database.prepare<[number], { container: number; range: number; lsn: number }>(
        `SELECT container, range, max(lsn) AS lsn FROM changes INDEXED BY changes_by_time
         WHERE ts < ? GROUP BY container, range`,
      ),
      dropChanges: database.prepare('DELETE FROM changes WHERE container = ? AND range = ? AND lsn <= ?'),
      clearChanges: database.prepare('DELETE FROM changes'),
    };
  }

  /**
   * Returns LSN and size of the next `limit` documents of a window, in feed order. With `lagging`, `upTo` is the
   * newest LSN that the replica has seen, and versions that were replaced after it are included.
   */
  edge(window: FeedWindow, limit: number, lagging: boolean): [lsn: number, bytes: number][] {
    const edge = lagging ? this.#sql.laggingEdge : this.#sql.edge;
    return edge.all({ ...window, limit, seen: window.upTo }) as [number, number][];
  }

  /** Returns all documents of a window as the text of a JSON array, without its brackets. */
  page(window: FeedWindow, seenLsn: number, lagging: boolean): FeedBody {
    const page = lagging ? this.#sql.laggingPage : this.#sql.page;
    return page.get({ ...window, seen: seenLsn }) ?? { count: 0, body: null };
  }

  record(row: ChangeRow): void {
    this.#sql.record.run(row);
  }

  changesEdge(window: FeedWindow, limit: number): [lsn: number, bytes: number][] {
    return this.#sql.changesEdge.all({ ...window, limit }) as [number, number][];
  }

  changesPage(window: FeedWindow): FeedBody {
    return this.#sql.changesPage.get(window) ?? { count: 0, body: null };
  }

  /** Returns for each range the newest LSN that was written before a time (epoch seconds). */
  oldChanges(beforeTs: number): { container: number; range: number; lsn: number }[] {
    return this.#sql.oldChanges.all(beforeTs);
  }

  dropChanges(container: number, range: number, upToLsn: number): void {
    this.#sql.dropChanges.run(container, range, upToLsn);
  }

  clearChanges(): void {
    this.#sql.clearChanges.run();
  }
}
