/**
 * All SQL about databases, containers, ranges, offers, scripts and settings.
 *
 * Invariant: the number of a database, container or script is never used again.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';

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

interface OfferRow {
  id: string;
  resource: string;
  content: string;
  etag: string;
  ts: number;
}

export class CatalogStore {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      setting: database.prepare<[string], { value: string }>('SELECT value FROM settings WHERE name = ?'),
      saveSetting: database.prepare('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)'),
      databases: database.prepare<[], DatabaseRow>('SELECT * FROM databases ORDER BY number'),
      insertDatabase: database.prepare(
        'INSERT INTO databases (number, id, rid, body, etag, ts) VALUES (@number, @id, @rid, @body, @etag, @ts)',
      ),
      deleteDatabase: database.prepare('DELETE FROM databases WHERE number = ?'),
      containers: database.prepare<[], ContainerRow>('SELECT * FROM containers ORDER BY number'),
      insertContainer: database.prepare(
        `INSERT INTO containers (number, database, id, rid, body, etag, ts)
         VALUES (@number, @database, @id, @rid, @body, @etag, @ts)`,
      ),
      lastNumber: database.prepare<[string], { last: number }>(
        'SELECT coalesce(max(seq), 0) AS last FROM sqlite_sequence WHERE name = ?',
      ),
      updateContainer: database.prepare(
        'UPDATE containers SET body = @body, etag = @etag, ts = @ts WHERE number = @number',
      ),
      countContainer: database.prepare(
        'UPDATE containers SET next_range = @nextRange, next_item = @nextItem WHERE number = @number',
      ),
      deleteContainer: database.prepare('DELETE FROM containers WHERE number = ?'),
      ranges: database.prepare<[number], RangeRow>('SELECT * FROM ranges WHERE container = ? ORDER BY min'),
      insertRange: database.prepare(
        `INSERT INTO ranges (container, id, min, max, parents, lsn, documents, bytes, avad_floor)
         VALUES (@container, @id, @min, @max, @parents, @lsn, @documents, @bytes, @avad_floor)`,
      ),
      updateRange: database.prepare(
        `UPDATE ranges SET lsn = @lsn, documents = @documents, bytes = @bytes, avad_floor = @avadFloor
         WHERE container = @container AND id = @id`,
      ),
      deleteRange: database.prepare('DELETE FROM ranges WHERE container = ? AND id = ?'),
      offers: database.prepare<[], OfferRow>('SELECT * FROM offers ORDER BY id'),
      saveOffer: database.prepare(
        `INSERT OR REPLACE INTO offers (id, resource, content, etag, ts)
         VALUES (@id, @resource, @content, @etag, @ts)`,
      ),
      deleteOffer: database.prepare('DELETE FROM offers WHERE resource = ?'),
      scripts: database.prepare<[number, string], ScriptRow>(
        'SELECT * FROM scripts WHERE container = ? AND kind = ? ORDER BY number',
      ),
      script: database.prepare<[number, string, string], ScriptRow>(
        'SELECT * FROM scripts WHERE container = ? AND kind = ? AND id = ?',
      ),
      saveScript: database.prepare(
        `INSERT OR REPLACE INTO scripts (number, container, kind, id, rid, body, etag, ts)
         VALUES (@number, @container, @kind, @id, @rid, @body, @etag, @ts)`,
      ),
      deleteScript: database.prepare('DELETE FROM scripts WHERE number = ?'),
    };
  }

  setting(name: string): string | undefined {
    return this.#sql.setting.get(name)?.value;
  }

  saveSetting(name: string, value: string): void {
    this.#sql.saveSetting.run(name, value);
  }

  databases(): DatabaseRow[] {
    return this.#sql.databases.all();
  }

  insertDatabase(row: DatabaseRow): void {
    this.#sql.insertDatabase.run(row);
  }

  deleteDatabase(number: number): void {
    this.#sql.deleteDatabase.run(number);
  }

  containers(): ContainerRow[] {
    return this.#sql.containers.all();
  }

  /** Returns a number that was never used, so that a recreated resource differs from the deleted one. */
  nextNumber(table: 'databases' | 'containers' | 'scripts'): number {
    return (this.#sql.lastNumber.get(table)?.last ?? 0) + 1;
  }

  insertContainer(row: Omit<ContainerRow, 'next_range' | 'next_item'>): void {
    this.#sql.insertContainer.run(row);
  }

  updateContainer(row: { number: number; body: string; etag: string; ts: number }): void {
    this.#sql.updateContainer.run(row);
  }

  countContainer(counts: { number: number; nextRange: number; nextItem: number }): void {
    this.#sql.countContainer.run(counts);
  }

  deleteContainer(number: number): void {
    this.#sql.deleteContainer.run(number);
  }

  ranges(container: number): RangeRow[] {
    return this.#sql.ranges.all(container);
  }

  insertRange(row: RangeRow): void {
    this.#sql.insertRange.run(row);
  }

  updateRange(row: Omit<RangeRow, 'min' | 'max' | 'parents' | 'avad_floor'> & { avadFloor: number }): void {
    this.#sql.updateRange.run(row);
  }

  deleteRange(container: number, id: number): void {
    this.#sql.deleteRange.run(container, id);
  }

  offers(): OfferRow[] {
    return this.#sql.offers.all();
  }

  saveOffer(row: OfferRow): void {
    this.#sql.saveOffer.run(row);
  }

  deleteOffer(resource: string): void {
    this.#sql.deleteOffer.run(resource);
  }

  scripts(container: number, kind: string): ScriptRow[] {
    return this.#sql.scripts.all(container, kind);
  }

  script(container: number, kind: string, id: string): ScriptRow | undefined {
    return this.#sql.script.get(container, kind, id);
  }

  saveScript(row: ScriptRow): void {
    this.#sql.saveScript.run(row);
  }

  deleteScript(number: number): void {
    this.#sql.deleteScript.run(number);
  }
}
