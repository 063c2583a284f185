/**
 * All SQL about databases, containers, ranges, offers, scripts and settings.
 *
 * Invariant: the number of a database, container or script is never used again.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { Statements } from './statements.ts';

export interface DatabaseRow {
  number: number;
  id: string;
  rid: string;
  body: string;
  etag: string;
  ts: number;
}

export interface ContainerRow extends DatabaseRow {
  database: number;
  next_range: number;
  next_item: number;
}

export interface ScriptRow extends DatabaseRow {
  container: number;
  kind: string;
}

export interface RangeRow {
  container: number;
  id: number;
  min: string;
  max: string;
  parents: string;
  lsn: number;
  documents: number;
  bytes: number;
  avad_floor: number;
}

export interface OfferRow {
  id: string;
  resource: string;
  content: string;
  etag: string;
  ts: number;
}

export type CatalogStore = ReturnType<typeof catalogStore>;

export function catalogStore(database: Database) {
  const sql = new Statements(database);
  return {
    setting: sql.value<[name: string], string>('SELECT value FROM settings WHERE name = ?'),
    saveSetting: sql.run<[name: string, value: string]>(
      'INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)',
    ),
    databases: sql.all<[], DatabaseRow>('SELECT * FROM databases ORDER BY number'),
    insertDatabase: sql.run<[row: DatabaseRow]>(
      'INSERT INTO databases (number, id, rid, body, etag, ts) VALUES (@number, @id, @rid, @body, @etag, @ts)',
    ),
    deleteDatabase: sql.run<[number: number]>('DELETE FROM databases WHERE number = ?'),
    containers: sql.all<[], ContainerRow>('SELECT * FROM containers ORDER BY number'),
    insertContainer: sql.run<[row: Omit<ContainerRow, 'next_range' | 'next_item'>]>(
      `INSERT INTO containers (number, database, id, rid, body, etag, ts)
       VALUES (@number, @database, @id, @rid, @body, @etag, @ts)`,
    ),
    /** Returns a number that was never used, so that a recreated resource differs from the deleted one. */
    nextNumber: sql.number<[table: 'databases' | 'containers' | 'scripts']>(
      'SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = ?',
    ),
    updateContainer: sql.run<[row: Pick<ContainerRow, 'number' | 'body' | 'etag' | 'ts'>]>(
      'UPDATE containers SET body = @body, etag = @etag, ts = @ts WHERE number = @number',
    ),
    countContainer: sql.run<[counts: { number: number; nextRange: number; nextItem: number }]>(
      'UPDATE containers SET next_range = @nextRange, next_item = @nextItem WHERE number = @number',
    ),
    deleteContainer: sql.run<[number: number]>('DELETE FROM containers WHERE number = ?'),
    ranges: sql.all<[container: number], RangeRow>('SELECT * FROM ranges WHERE container = ? ORDER BY min'),
    insertRange: sql.run<[row: RangeRow]>(
      `INSERT INTO ranges (container, id, min, max, parents, lsn, documents, bytes, avad_floor)
       VALUES (@container, @id, @min, @max, @parents, @lsn, @documents, @bytes, @avad_floor)`,
    ),
    updateRange: sql.run<
      [row: Omit<RangeRow, 'min' | 'max' | 'parents' | 'avad_floor'> & { avadFloor: number }]
    >(
      `UPDATE ranges SET lsn = @lsn, documents = @documents, bytes = @bytes, avad_floor = @avadFloor
       WHERE container = @container AND id = @id`,
    ),
    deleteRange: sql.run<[container: number, id: number]>(
      'DELETE FROM ranges WHERE container = ? AND id = ?',
    ),
    offers: sql.all<[], OfferRow>('SELECT * FROM offers ORDER BY id'),
    saveOffer: sql.run<[row: OfferRow]>(
      `INSERT OR REPLACE INTO offers (id, resource, content, etag, ts)
       VALUES (@id, @resource, @content, @etag, @ts)`,
    ),
    deleteOffer: sql.run<[resource: string]>('DELETE FROM offers WHERE resource = ?'),
    scripts: sql.all<[container: number, kind: string], ScriptRow>(
      'SELECT * FROM scripts WHERE container = ? AND kind = ? ORDER BY number',
    ),
    script: sql.first<[container: number, kind: string, id: string], ScriptRow>(
      'SELECT * FROM scripts WHERE container = ? AND kind = ? AND id = ?',
    ),
    saveScript: sql.run<[row: ScriptRow]>(
      `INSERT OR REPLACE INTO scripts (number, container, kind, id, rid, body, etag, ts)
       VALUES (@number, @container, @kind, @id, @rid, @body, @etag, @ts)`,
    ),
    deleteScript: sql.run<[number: number]>('DELETE FROM scripts WHERE number = ?'),
  };
}
