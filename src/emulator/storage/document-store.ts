/**
 * All SQL about documents, except what change feeds read (feed-store.ts).
 *
 * Invariant: `position` is the container's number times 2^33 plus the document's own number. The rows of one container
 * are therefore adjacent, and a scan in creation order reads the table in one direction.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { Statements } from './statements.ts';

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
export interface ScanWindow extends Window {
  readonly after: number;
}

export interface ScannedRow {
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

export type DocumentStore = ReturnType<typeof documentStore>;

export function documentStore(database: Database) {
  const sql = new Statements(database);
  type ScanPart = ScanWindow & { upTo: number; limit: number };
  const scanPart = sql.all<[part: ScanPart], ScannedRow>(
    `SELECT position, text || '}' AS text FROM documents
     WHERE position > @after AND position <= @upTo AND epk >= @min AND epk < @max
     AND (expires_at IS NULL OR expires_at > @nowTs) ORDER BY position LIMIT @limit`,
  );
  const thousandRows = sql.all<[after: number, upTo: number], DocumentRow>(
    'SELECT * FROM documents WHERE position > ? AND position <= ? ORDER BY position LIMIT 1000',
  );
  const dropDocuments = sql.run<[after: number, upTo: number]>(
    'DELETE FROM documents WHERE position > ? AND position <= ?',
  );
  const dropRest = ['unique_values', 'changes', 'superseded'].map((table) =>
    sql.run<[container: number]>(`DELETE FROM ${table} WHERE container = ?`),
  );
  const firstKey = sql.value<[container: number, min: string, max: string], string>(
    'SELECT epk FROM documents WHERE container = ? AND epk >= ? AND epk < ? ORDER BY epk LIMIT 1',
  );
  const lastKey = sql.value<[container: number, min: string, max: string], string>(
    'SELECT epk FROM documents WHERE container = ? AND epk >= ? AND epk < ? ORDER BY epk DESC LIMIT 1',
  );
  type Move = { container: number; from: number; to: number; min: string; max: string };
  const moves = ['documents', 'changes', 'superseded'].map((table) =>
    sql.run<[move: Move]>(
      `UPDATE ${table} SET range = @to
       WHERE container = @container AND range = @from AND epk >= @min AND epk < @max`,
    ),
  );
  return {
    find: sql.first<[container: number, epk: string, id: string], DocumentRow>(
      'SELECT * FROM documents WHERE container = ? AND epk = ? AND id = ?',
    ),
    at: sql.first<[position: number], DocumentRow>('SELECT * FROM documents WHERE position = ?'),
    /** Returns every document with this effective key. */
    ofKey: sql.all<[container: number, epk: string], DocumentRow>(
      'SELECT * FROM documents WHERE container = ? AND epk = ?',
    ),
    /** Inserts a document; returns 0 if its id and effective key are taken, and then nothing has changed. */
    insert: sql.run<[row: DocumentRow]>(
      `INSERT INTO documents (position, container, range, epk, id, lsn, ts, etag, expires_at, bytes, terms, key, text)
       VALUES (@position, @container, @range, @epk, @id, @lsn, @ts, @etag, @expires_at, @bytes, @terms, @key, @text)
       ON CONFLICT (container, epk, id) DO NOTHING`,
    ),
    update: sql.run<[row: DocumentRow]>(
      `UPDATE documents SET id = @id, lsn = @lsn, ts = @ts, etag = @etag, expires_at = @expires_at, bytes = @bytes,
       terms = @terms, text = @text WHERE position = @position`,
    ),
    remove: sql.run<[position: number]>('DELETE FROM documents WHERE position = ?'),

    /** Keeps the current version of a document for readers of a lagging replica. */
    supersede: sql.run<[at: { position: number; untilLsn: number; atMs: number }]>(
      `INSERT INTO superseded (container, range, epk, id, position, lsn, until_lsn, at_ms, ts, etag, expires_at, bytes, text)
       SELECT container, range, epk, id, position, lsn, @untilLsn, @atMs, ts, etag, expires_at, bytes, text
       FROM documents WHERE position = @position`,
    ),
    findSuperseded: sql.first<[at: { container: number; epk: string; id: string; lsn: number }], DocumentRow>(
      `SELECT * FROM superseded
       WHERE container = @container AND epk = @epk AND id = @id AND lsn <= @lsn AND until_lsn > @lsn`,
    ),
    forgetSuperseded: sql.run<[beforeMs: number]>('DELETE FROM superseded WHERE at_ms <= ?'),

    /** Returns the position of the document that has this value of a unique key. */
    uniqueHolder: sql.value<[container: number, epk: string, number: number, value: string], number>(
      'SELECT position FROM unique_values WHERE container = ? AND epk = ? AND number = ? AND value = ?',
    ),
    claimUnique: sql.run<[container: number, epk: string, number: number, value: string, position: number]>(
      'INSERT INTO unique_values (container, epk, number, value, position) VALUES (?, ?, ?, ?, ?)',
    ),
    releaseUnique: sql.run<[position: number]>('DELETE FROM unique_values WHERE position = ?'),
    /** Returns the stored bytes of all documents with this effective key. */
    keyBytes: sql.number<[container: number, epk: string]>(
      'SELECT coalesce(sum(bytes), 0) FROM documents WHERE container = ? AND epk = ?',
    ),

    /** Returns the ten largest logical partitions of a range. */
    heaviestKeys: sql.all<[container: number, range: number], { key: string; bytes: number }>(
      `SELECT key, sum(bytes) AS bytes FROM documents WHERE container = ? AND range = ?
       GROUP BY epk ORDER BY bytes DESC LIMIT 10`,
    ),

    // Each of the two counts is answered from an index.
    count: sql.number<[window: Window]>(
      `SELECT (SELECT count(*) FROM documents WHERE container = @container AND epk >= @min AND epk < @max)
       - (SELECT count(*) FROM documents WHERE expires_at <= @nowTs
          AND container = @container AND epk >= @min AND epk < @max)`,
    ),
    /** Returns the positions of the documents of one logical partition, in creation order. */
    positionsOf: sql.column<[container: number, epk: string, key: string], number>(
      'SELECT position FROM documents WHERE container = ? AND epk = ? AND key = ? ORDER BY position',
    ),
    expired: sql.all<[upToTs: number, limit: number], DocumentRow>(
      'SELECT * FROM documents WHERE expires_at <= ? ORDER BY expires_at LIMIT ?',
    ),
    expiredOf: sql.all<[container: number, upToTs: number, limit: number], DocumentRow>(
      'SELECT * FROM documents WHERE container = ? AND expires_at <= ? ORDER BY expires_at LIMIT ?',
    ),
    setExpiry: sql.run<[at: { position: number; expiresAt: number | null }]>(
      'UPDATE documents SET expires_at = @expiresAt WHERE position = @position',
    ),
    /** Counts what a range stores. */
    measure: sql.first<[container: number, range: number], { documents: number; bytes: number }>(
      `SELECT count(*) AS documents, coalesce(sum(bytes), 0) AS bytes FROM documents
       WHERE container = ? AND range = ?`,
    ),

    /** Yields documents of a container in creation order. The caller may stop at any document. */
    scan(window: ScanWindow): Iterable<ScannedRow> {
      const after = Math.max(window.after, positionOf(window.container, 0));
      const upTo = positionOf(window.container + 1, 0) - 1;
      return inChunks(after, (from, limit) => scanPart({ ...window, after: from, upTo, limit }));
    },

    /** Yields every row of a container, and reads a thousand rows at a time. */
    *rowsOf(container: number): Generator<DocumentRow> {
      let after = positionOf(container, 0);
      for (;;) {
        const rows = thousandRows(after, positionOf(container + 1, 0) - 1);
        yield* rows;
        const last = rows.at(-1);
        if (last === undefined) return;
        after = last.position;
      }
    },

    /** Returns the first and the last effective key stored within [min, max) of the hash space. */
    keysWithin: (container: number, min: string, max: string) => ({
      first: firstKey(container, min, max),
      last: lastKey(container, min, max),
    }),

    /** Moves the documents, changes and replaced versions of a range within [min, max) to another range. */
    move(move: Move): void {
      for (const run of moves) run(move);
    },

    dropContainer(container: number): void {
      dropDocuments(positionOf(container, 0), positionOf(container + 1, 0) - 1);
      for (const run of dropRest) run(container);
    },
  };
}
