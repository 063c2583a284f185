/**
 * All SQL about documents and their changes. Rows of one container stand together: `position` is the
 * container's number times 2^33 plus the document's own number, so that a scan in creation order is one
 * walk over the table. Pages of a feed are put together inside SQLite, as bytes, and never become objects.
 */
import type { Database } from '../lib/sqlite.ts';

export interface DocumentRow {
  position: number;
  container: number;
  range: number;
  epk: string;
  id: string;
  lsn: number;
  ts: number;
  etag: string;
  expires_at: number | null;
  bytes: number;
  terms: number;
  key: string;
  text: string;
}

export interface ChangeRow {
  container: number;
  range: number;
  lsn: number;
  epk: string;
  ts: number;
  bytes: number;
  entry: string;
}

/** A part of one range's feed: behind `after`, up to `upTo`, within [min, max) of the hash space. */
export interface FeedWindow {
  readonly container: number;
  readonly range: number;
  readonly after: number;
  readonly upTo: number;
  readonly min: string;
  readonly max: string;
  /** Only documents written after this second (a start by time); -1 for all. */
  readonly afterTs: number;
  /** Epoch seconds: what has expired by then is not shown. */
  readonly nowTs: number;
}

export interface FeedBody {
  count: number;
  body: Buffer | null;
}

const NUMBERS_PER_CONTAINER = 2 ** 33;

export function positionOf(container: number, item: number): number {
  return container * NUMBERS_PER_CONTAINER + item;
}

export function itemNumberOf(position: number): number {
  return position % NUMBERS_PER_CONTAINER;
}

const WINDOW = `container = @container AND range = @range AND lsn > @after AND lsn <= @upTo
  AND epk >= @min AND epk < @max`;
const VISIBLE = `${WINDOW} AND ts > @afterTs AND (expires_at IS NULL OR expires_at > @nowTs)`;
/** With a lagging replica, versions that were replaced after `upTo` still show. */
const LAGGING = `(
  SELECT lsn, bytes, text, container, range, epk, ts, expires_at, position FROM documents WHERE ${VISIBLE}
  UNION ALL
  SELECT lsn, bytes, text, container, range, epk, ts, expires_at, position FROM superseded
  WHERE ${VISIBLE} AND until_lsn > @seen)`;
const AS_FEED_ITEM = `text || ',"_lsn":' || lsn || '}'`;

export class DocumentStore {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      find: database.prepare<[number, string, string], DocumentRow>(
        'SELECT * FROM documents WHERE container = ? AND epk = ? AND id = ?',
      ),
      ofKey: database.prepare<[number, string], DocumentRow>(
        'SELECT * FROM documents WHERE container = ? AND epk = ?',
      ),
      insert: database.prepare<DocumentRow>(
        `INSERT INTO documents (position, container, range, epk, id, lsn, ts, etag, expires_at, bytes, terms, key, text)
         VALUES (@position, @container, @range, @epk, @id, @lsn, @ts, @etag, @expires_at, @bytes, @terms, @key, @text)
         ON CONFLICT (container, epk, id) DO NOTHING`,
      ),
      update: database.prepare<DocumentRow>(
        `UPDATE documents SET lsn = @lsn, ts = @ts, etag = @etag, expires_at = @expires_at, bytes = @bytes,
         terms = @terms, text = @text WHERE position = @position`,
      ),
      remove: database.prepare('DELETE FROM documents WHERE position = ?'),
      supersede: database.prepare(
        `INSERT INTO superseded (container, range, epk, id, position, lsn, until_lsn, at_ms, ts, etag, expires_at, bytes, text)
         SELECT container, range, epk, id, position, lsn, ?, ?, ts, etag, expires_at, bytes, text
         FROM documents WHERE position = ?`,
      ),
      findSuperseded: database.prepare<[number, string, string, number, number], DocumentRow>(
        `SELECT * FROM superseded WHERE container = ? AND epk = ? AND id = ? AND lsn <= ? AND until_lsn > ?`,
      ),
      forgetSuperseded: database.prepare('DELETE FROM superseded WHERE at_ms <= ?'),

      uniqueHolder: database.prepare<[number, string, number, string], { position: number }>(
        'SELECT position FROM unique_values WHERE container = ? AND epk = ? AND number = ? AND value = ?',
      ),
      claimUnique: database.prepare(
        'INSERT INTO unique_values (container, epk, number, value, position) VALUES (?, ?, ?, ?, ?)',
      ),
      releaseUnique: database.prepare('DELETE FROM unique_values WHERE position = ?'),
      keyBytes: database.prepare<[number, string], { bytes: number }>(
        'SELECT coalesce(sum(bytes), 0) AS bytes FROM documents WHERE container = ? AND epk = ?',
      ),

      firstKey: database.prepare<[number, string, string], { epk: string }>(
        'SELECT epk FROM documents WHERE container = ? AND epk >= ? AND epk < ? ORDER BY epk LIMIT 1',
      ),
      lastKey: database.prepare<[number, string, string], { epk: string }>(
        'SELECT epk FROM documents WHERE container = ? AND epk >= ? AND epk < ? ORDER BY epk DESC LIMIT 1',
      ),
      heaviestKeys: database.prepare<[number, number], { key: string; bytes: number }>(
        `SELECT key, sum(bytes) AS bytes FROM documents WHERE container = ? AND range = ?
         GROUP BY epk ORDER BY bytes DESC LIMIT 10`,
      ),

      edge: database
        .prepare(`SELECT lsn, bytes FROM documents WHERE ${VISIBLE} ORDER BY lsn LIMIT @limit`)
        .raw(),
      page: database.prepare<FeedWindow, FeedBody>(
        `SELECT count(*) AS count, CAST(group_concat(item, ',') AS BLOB) AS body FROM (
           SELECT ${AS_FEED_ITEM} AS item FROM documents WHERE ${VISIBLE} ORDER BY lsn, position)`,
      ),
      laggingEdge: database.prepare(`SELECT lsn, bytes FROM ${LAGGING} ORDER BY lsn LIMIT @limit`).raw(),
      laggingPage: database.prepare<FeedWindow & { seen: number }, FeedBody>(
        `SELECT count(*) AS count, CAST(group_concat(item, ',') AS BLOB) AS body FROM (
           SELECT ${AS_FEED_ITEM} AS item FROM ${LAGGING} ORDER BY lsn, position)`,
      ),

      scan: database.prepare<
        { container: number; after: number; upTo: number; min: string; max: string; nowTs: number },
        { position: number; text: string }
      >(
        `SELECT position, text || '}' AS text FROM documents
         WHERE position > @after AND position <= @upTo AND epk >= @min AND epk < @max
         AND (expires_at IS NULL OR expires_at > @nowTs) ORDER BY position`,
      ),
      scanKey: database.prepare<
        { container: number; after: number; min: string; max: string; nowTs: number },
        { position: number; text: string }
      >(
        `SELECT position, text || '}' AS text FROM documents INDEXED BY documents_by_identity
         WHERE container = @container AND epk >= @min AND epk < @max AND position > @after
         AND (expires_at IS NULL OR expires_at > @nowTs) ORDER BY position`,
      ),

      expired: database.prepare<[number, number], DocumentRow>(
        'SELECT * FROM documents WHERE expires_at <= ? ORDER BY expires_at LIMIT ?',
      ),
      expiredOf: database.prepare<[number, number, number], DocumentRow>(
        'SELECT * FROM documents WHERE container = ? AND expires_at <= ? ORDER BY expires_at LIMIT ?',
      ),
      setExpiry: database.prepare('UPDATE documents SET expires_at = ? WHERE position = ?'),
      textsOf: database.prepare<[number, number], DocumentRow>(
        'SELECT * FROM documents WHERE position > ? AND position <= ? ORDER BY position LIMIT 1000',
      ),

      record: database.prepare<ChangeRow>(
        `INSERT INTO changes (container, range, lsn, epk, ts, bytes, entry)
         VALUES (@container, @range, @lsn, @epk, @ts, @bytes, @entry)`,
      ),
      changesEdge: database
        .prepare(`SELECT lsn, bytes FROM changes WHERE ${WINDOW} ORDER BY lsn LIMIT @limit`)
        .raw(),
      changesPage: database.prepare<FeedWindow, FeedBody>(
        `SELECT count(*) AS count, CAST(group_concat(entry, ',') AS BLOB) AS body FROM (
           SELECT entry FROM changes WHERE ${WINDOW} ORDER BY lsn, number)`,
      ),
      oldChanges: database.prepare<[number], { container: number; range: number; lsn: number }>(
        'SELECT container, range, max(lsn) AS lsn FROM changes WHERE ts < ? GROUP BY container, range',
      ),
      dropChanges: database.prepare('DELETE FROM changes WHERE container = ? AND range = ? AND lsn <= ?'),
      clearChanges: database.prepare('DELETE FROM changes'),

      moveDocuments: database.prepare(
        'UPDATE documents SET range = @to WHERE container = @container AND range = @from AND epk >= @min AND epk < @max',
      ),
      moveChanges: database.prepare(
        'UPDATE changes SET range = @to WHERE container = @container AND range = @from AND epk >= @min AND epk < @max',
      ),
      moveSuperseded: database.prepare(
        'UPDATE superseded SET range = @to WHERE container = @container AND range = @from AND epk >= @min AND epk < @max',
      ),
      measure: database.prepare<[number, number], { documents: number; bytes: number }>(
        `SELECT count(*) AS documents, coalesce(sum(bytes), 0) AS bytes FROM documents
         WHERE container = ? AND range = ?`,
      ),
      dropDocuments: database.prepare('DELETE FROM documents WHERE position > ? AND position <= ?'),
      dropContainer: ['unique_values', 'changes', 'superseded'].map((table) =>
        database.prepare(`DELETE FROM ${table} WHERE container = ?`),
      ),
    };
  }

  find(container: number, epk: string, id: string): DocumentRow | undefined {
    return this.#sql.find.get(container, epk, id);
  }

  /** Every document of one logical partition. */
  ofKey(container: number, epk: string): DocumentRow[] {
    return this.#sql.ofKey.all(container, epk);
  }

  /** False when the identity is taken already; nothing is changed then. */
  insert(row: DocumentRow): boolean {
    return this.#sql.insert.run(row).changes === 1;
  }

  update(row: DocumentRow): void {
    this.#sql.update.run(row);
  }

  remove(position: number): void {
    this.#sql.remove.run(position);
  }

  /** Keeps the present version of a document for readers of a lagging replica. */
  supersede(position: number, untilLsn: number, atMs: number): void {
    this.#sql.supersede.run(untilLsn, atMs, position);
  }

  findSuperseded(container: number, epk: string, id: string, atLsn: number): DocumentRow | undefined {
    return this.#sql.findSuperseded.get(container, epk, id, atLsn, atLsn);
  }

  forgetSuperseded(beforeMs: number): void {
    this.#sql.forgetSuperseded.run(beforeMs);
  }

  uniqueHolder(container: number, epk: string, number: number, value: string): number | undefined {
    return this.#sql.uniqueHolder.get(container, epk, number, value)?.position;
  }

  claimUnique(container: number, epk: string, number: number, value: string, position: number): void {
    this.#sql.claimUnique.run(container, epk, number, value, position);
  }

  releaseUnique(position: number): void {
    this.#sql.releaseUnique.run(position);
  }

  /** Stored bytes of one logical partition. */
  keyBytes(container: number, epk: string): number {
    return this.#sql.keyBytes.get(container, epk)?.bytes ?? 0;
  }

  /** The outermost keys stored within [min, max) of the hash space. */
  keysWithin(
    container: number,
    min: string,
    max: string,
  ): { first: string | undefined; last: string | undefined } {
    return {
      first: this.#sql.firstKey.get(container, min, max)?.epk,
      last: this.#sql.lastKey.get(container, min, max)?.epk,
    };
  }

  /** The ten logical partitions of a range that hold most. */
  heaviestKeys(container: number, range: number): { key: string; bytes: number }[] {
    return this.#sql.heaviestKeys.all(container, range);
  }

  /**
   * LSN and size of the next `limit` documents of a window, in feed order. `lagging`: `upTo` is what a
   * lagging replica has seen, and it still shows the versions that were replaced since.
   */
  edge(window: FeedWindow, limit: number, lagging: boolean): [lsn: number, bytes: number][] {
    if (!lagging) return this.#sql.edge.all({ ...window, limit }) as [number, number][];
    return this.#sql.laggingEdge.all({ ...window, limit, seen: window.upTo }) as [number, number][];
  }

  /** All documents of a window as the text of a JSON array, brackets apart. */
  page(window: FeedWindow, seenLsn: number, lagging: boolean): FeedBody {
    const none = { count: 0, body: null };
    if (!lagging) return this.#sql.page.get(window) ?? none;
    return this.#sql.laggingPage.get({ ...window, seen: seenLsn }) ?? none;
  }

  /** Documents of a container in creation order. */
  scan(window: {
    container: number;
    after: number;
    min: string;
    max: string;
    nowTs: number;
  }): Iterable<{ position: number; text: string }> {
    const first = positionOf(window.container, 0);
    const after = Math.max(window.after, first);
    return this.#sql.scan.iterate({ ...window, after, upTo: positionOf(window.container + 1, 0) - 1 });
  }

  /** Documents of one logical partition, found by their key, in creation order. */
  scanKey(window: {
    container: number;
    after: number;
    min: string;
    max: string;
    nowTs: number;
  }): Iterable<{ position: number; text: string }> {
    return this.#sql.scanKey.iterate(window);
  }

  expired(upToTs: number, limit: number): DocumentRow[] {
    return this.#sql.expired.all(upToTs, limit);
  }

  expiredOf(container: number, upToTs: number, limit: number): DocumentRow[] {
    return this.#sql.expiredOf.all(container, upToTs, limit);
  }

  setExpiry(position: number, expiresAt: number | null): void {
    this.#sql.setExpiry.run(expiresAt, position);
  }

  /** Every row of a container, a thousand at a time. */
  *rowsOf(container: number): Generator<DocumentRow> {
    let after = positionOf(container, 0);
    for (;;) {
      const rows = this.#sql.textsOf.all(after, positionOf(container + 1, 0) - 1);
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.position;
    }
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

  /** Per range, the newest LSN whose changes are all older than a second. */
  oldChanges(beforeTs: number): { container: number; range: number; lsn: number }[] {
    return this.#sql.oldChanges.all(beforeTs);
  }

  dropChanges(container: number, range: number, upToLsn: number): void {
    this.#sql.dropChanges.run(container, range, upToLsn);
  }

  clearChanges(): void {
    this.#sql.clearChanges.run();
  }

  /** Hands everything of a range that lies in [min, max) to another range. */
  move(move: { container: number; from: number; to: number; min: string; max: string }): void {
    this.#sql.moveDocuments.run(move);
    this.#sql.moveChanges.run(move);
    this.#sql.moveSuperseded.run(move);
  }

  measure(container: number, range: number): { documents: number; bytes: number } {
    return this.#sql.measure.get(container, range) ?? { documents: 0, bytes: 0 };
  }

  dropContainer(container: number): void {
    this.#sql.dropDocuments.run(positionOf(container, 0), positionOf(container + 1, 0) - 1);
    for (const statement of this.#sql.dropContainer) statement.run(container);
  }
}
