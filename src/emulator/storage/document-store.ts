/**
 * All SQL about documents, except what change feeds read (feed-store.ts).
 *
 * Invariant: `position` is the container's number times 2^33 plus the document's own number. The rows of one container
 * are therefore adjacent, and a scan in creation order reads the table in one direction.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';

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

/** The documents of a container within [min, max) of the hash space that have not expired by `nowTs`. */
export interface Window {
  readonly container: number;
  readonly min: string;
  readonly max: string;
  readonly nowTs: number;
}

/** The documents of a window after a position. */
interface ScanWindow extends Window {
  readonly after: number;
}

interface ScannedRow {
  readonly position: number;
  readonly text: string;
}

const NUMBERS_PER_CONTAINER = 2 ** 33;

export function positionOf(container: number, item: number): number {
  return container * NUMBERS_PER_CONTAINER + item;
}

export function itemNumberOf(position: number): number {
  return position % NUMBERS_PER_CONTAINER;
}

/**
 * How many rows a scan reads at once: few at first, because many scans stop early, and never so many that documents of
 * 2 MB exhaust the memory.
 */
const CHUNK_FIRST = 4;
const CHUNK_MAX = 64;

/** Yields rows, which it reads in chunks. */
function* inChunks(
  after: number,
  read: (after: number, limit: number) => readonly ScannedRow[],
): Generator<ScannedRow> {
  let from = after;
  for (let limit = CHUNK_FIRST; ; limit = Math.min(limit * 4, CHUNK_MAX)) {
    const rows = read(from, limit);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    from = last.position;
  }
}

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
        `UPDATE documents SET id = @id, lsn = @lsn, ts = @ts, etag = @etag, expires_at = @expires_at, bytes = @bytes,
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

      scan: database.prepare<ScanWindow & { upTo: number; limit: number }, ScannedRow>(
        `SELECT position, text || '}' AS text FROM documents
         WHERE position > @after AND position <= @upTo AND epk >= @min AND epk < @max
         AND (expires_at IS NULL OR expires_at > @nowTs) ORDER BY position LIMIT @limit`,
      ),
      // Each of the two counts is answered from an index.
      count: database
        .prepare<Window, number>(
          `SELECT (SELECT count(*) FROM documents WHERE container = @container AND epk >= @min AND epk < @max)
           - (SELECT count(*) FROM documents WHERE expires_at <= @nowTs
              AND container = @container AND epk >= @min AND epk < @max)`,
        )
        .pluck(),
      positionsOf: database
        .prepare<[number, string, string], number>(
          'SELECT position FROM documents WHERE container = ? AND epk = ? AND key = ? ORDER BY position',
        )
        .pluck(),
      at: database.prepare<[number], DocumentRow>('SELECT * FROM documents WHERE position = ?'),

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

  /** Returns every document with an effective key. */
  ofKey(container: number, epk: string): DocumentRow[] {
    return this.#sql.ofKey.all(container, epk);
  }

  /** Inserts a document; false if its id and effective key are taken, and then nothing has changed. */
  insert(row: DocumentRow): boolean {
    return this.#sql.insert.run(row).changes === 1;
  }

  update(row: DocumentRow): void {
    this.#sql.update.run(row);
  }

  remove(position: number): void {
    this.#sql.remove.run(position);
  }

  /** Keeps the current version of a document for readers of a lagging replica. */
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

  /** Returns the stored bytes of all documents with an effective key. */
  keyBytes(container: number, epk: string): number {
    return this.#sql.keyBytes.get(container, epk)?.bytes ?? 0;
  }

  /** Returns the first and the last effective key stored within [min, max) of the hash space. */
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

  /** Returns the ten largest logical partitions of a range. */
  heaviestKeys(container: number, range: number): { key: string; bytes: number }[] {
    return this.#sql.heaviestKeys.all(container, range);
  }

  /** Yields documents of a container in creation order. The caller may stop at any document. */
  scan(window: ScanWindow): Iterable<ScannedRow> {
    const after = Math.max(window.after, positionOf(window.container, 0));
    const upTo = positionOf(window.container + 1, 0) - 1;
    return inChunks(after, (from, limit) => this.#sql.scan.all({ ...window, after: from, upTo, limit }));
  }

  count(window: Window): number {
    return this.#sql.count.get(window) ?? 0;
  }

  /** Returns the positions of the documents of one logical partition, in creation order. */
  positionsOf(container: number, epk: string, key: string): number[] {
    return this.#sql.positionsOf.all(container, epk, key);
  }

  at(position: number): DocumentRow | undefined {
    return this.#sql.at.get(position);
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

  /** Yields every row of a container, and reads a thousand rows at a time. */
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

  /** Moves the documents, changes and replaced versions of a range within [min, max) to another range. */
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
