/** Checksums of rows, and the sums over tables that are kept with them. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../../src/lib/sqlite/sqlite.ts';
import {
  changeCount,
  checkFile,
  checkRows,
  checksumOf,
  keepTableSums,
  migrateWithSums,
} from '../../../../src/lib/sqlite/table-sums.ts';
import { draws } from '../../../helpers/generated.ts';

const SCHEMA = `
CREATE TABLE plain (name TEXT PRIMARY KEY, data BLOB, size INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE large (number INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER, checksum INTEGER NOT NULL, data BLOB) STRICT;
CREATE TABLE table_sums (name TEXT PRIMARY KEY, row_count INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 0,
  changes INTEGER NOT NULL DEFAULT 0, last_number INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO table_sums (name) VALUES ('plain'), ('large');
`;

function open(path = ':memory:'): Database {
  const database = openDatabase({ path, synchronous: 'OFF' });
  database.exec(SCHEMA);
  keepTableSums(database);
  return database;
}

describe('checksumOf', () => {
  test.each([
    [['a', 'b'], ['ab']],
    [['a', ''], ['a']],
    [['1'], [1]],
    [[Buffer.from('a')], ['a']],
    [[null], ['']],
    [[null], [0]],
    [[null], []],
    [
      [1, 2],
      [2, 1],
    ],
    [[2 ** 40], [2 ** 41]],
    [
      [Buffer.from('ab'), Buffer.from('c')],
      [Buffer.from('a'), Buffer.from('bc')],
    ],
  ])('%j and %j -> differ', (one, other) => {
    expect(checksumOf(...one)).not.toBe(checksumOf(...other));
  });

  test('a flipped bit -> another checksum', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), fc.nat(), fc.integer(), (bytes, bit, size) => {
        const flipped = Buffer.from(bytes);
        const at = bit % (bytes.length * 8);
        flipped[at >>> 3] = (flipped[at >>> 3] ?? 0) ^ (1 << (at & 7));
        expect(checksumOf(size, flipped, 'x')).not.toBe(checksumOf(size, Buffer.from(bytes), 'x'));
      }),
    );
  });
});

const change = fc.oneof(
  fc.record({ sql: fc.constant('INSERT OR REPLACE INTO plain VALUES (@name, @data, @size)') }),
  fc.record({ sql: fc.constant('UPDATE plain SET size = @size WHERE name >= @name') }),
  fc.record({ sql: fc.constant('UPDATE plain SET data = @data, size = NULL WHERE name = @name') }),
  fc.record({ sql: fc.constant('DELETE FROM plain WHERE name = @name') }),
  fc.record({ sql: fc.constant('INSERT INTO large (size, checksum, data) VALUES (@size, @size, @data)') }),
  fc.record({ sql: fc.constant('UPDATE large SET checksum = @size, data = @data WHERE number = @size') }),
  fc.record({ sql: fc.constant('DELETE FROM large WHERE size > @size') }),
);
const values = fc.record({
  // Few names, so that rows meet.
  name: fc.constantFrom('a', 'b', ''),
  data: fc.option(fc.uint8Array().map((bytes) => Buffer.from(bytes))),
  size: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.maxSafeInteger()),
});

describe('table sums', () => {
  test('any changes, also rolled back -> the sums agree with the rows', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(change, values, fc.boolean()), { maxLength: 30 }), (changes) => {
        const database = open();
        for (const [{ sql }, bound, isKept] of changes) {
          database.exec('BEGIN');
          database.prepare(sql).run(bound);
          database.exec(isKept ? 'COMMIT' : 'ROLLBACK');
          expect(() => checkRows(database)).not.toThrow();
        }
        checkFile(database);
        database.close();
      }),
      { numRuns: draws(60) },
    );
  });

  test('a row that another one replaces -> subtracted', () => {
    const database = open();
    database.exec("INSERT INTO plain VALUES ('a', NULL, 1)");
    database.exec("INSERT OR REPLACE INTO plain VALUES ('a', NULL, 2)");
    expect(() => checkFile(database)).not.toThrow();
    database.close();
  });

  test('each change -> counted', () => {
    const database = open();
    database.exec("INSERT INTO plain VALUES ('a', NULL, 1), ('b', NULL, NULL)");
    database.exec('UPDATE plain SET size = 2; DELETE FROM plain');
    expect(changeCount(database)).toBe(6);
    database.close();
  });

  test.each([
    "UPDATE plain SET size = 8 WHERE name = 'b'",
    "UPDATE plain SET data = x'00' WHERE name = 'b'",
    "UPDATE plain SET name = 'd' WHERE name = 'b'",
    "DELETE FROM plain WHERE name = 'a'",
    "INSERT INTO plain VALUES ('d', NULL, NULL)",
    'UPDATE large SET number = 9 WHERE number = 2',
    'UPDATE large SET size = size + 4294967296 WHERE number = 2',
    'UPDATE large SET checksum = checksum + 1 WHERE number = 2',
    "UPDATE table_sums SET row_count = row_count + 1 WHERE name = 'large'",
    'DELETE FROM sqlite_sequence',
    "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'large'",
  ])('%s by another program -> damaged', (sql) => {
    const path = join(mkdtempSync(join(tmpdir(), 'cosmig-sums-')), 'sums.db');
    const database = open(path);
    database.exec("INSERT INTO plain VALUES ('a', x'01', 1), ('b', x'02', 2), ('c', NULL, NULL)");
    database.exec("INSERT INTO large (size, checksum, data) VALUES (1, 5, x'01'), (2, 6, x'02')");
    checkFile(database);
    const other = openDatabase({ path });
    other.exec(sql);
    other.close();
    expect(() => checkFile(database)).toThrow(/sums\.db is damaged/);
    database.close();
  });
});

/** A folder of migrations as a cosmig with so many of them ships it. */
function shipped(folder: string, steps: readonly string[]): URL {
  const root = mkdtempSync(join(folder, 'shipped-'));
  mkdirSync(join(root, 'sample'));
  for (const [n, sql] of steps.entries()) writeFileSync(join(root, 'sample', `000${n + 1}_step.sql`), sql);
  return pathToFileURL(`${root}/`);
}

describe('migrateWithSums', () => {
  const LATER = `
ALTER TABLE plain ADD COLUMN later TEXT;
ALTER TABLE large ADD COLUMN later INTEGER NOT NULL DEFAULT 7;
CREATE TABLE another (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT) STRICT;
INSERT INTO another VALUES (1, 'first');
DELETE FROM plain WHERE name = 'b';`;

  /** A file that an older cosmig has filled and closed. */
  function older(folder: string): string {
    const path = join(folder, 'older.db');
    const database = openDatabase({ path });
    migrateWithSums(database, 'sample', shipped(folder, [SCHEMA]));
    keepTableSums(database);
    database.exec("INSERT INTO plain VALUES ('a', x'01', 1), ('b', x'02', 2)");
    database.exec("INSERT INTO large (size, checksum, data) VALUES (1, 5, x'01')");
    database.close();
    return path;
  }

  test('new columns, tables and rows -> the sums agree, and no change is forgotten', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cosmig-sums-'));
    const database = openDatabase({ path: older(folder) });
    const before = changeCount(database);
    const root = shipped(folder, [SCHEMA, LATER]);
    for (let run = 0; run < 2; run += 1) {
      migrateWithSums(database, 'sample', root);
      expect(() => checkFile(database)).not.toThrow();
    }
    expect(changeCount(database)).toBe(before);
    keepTableSums(database);
    database.exec("UPDATE plain SET later = 'x'; INSERT INTO another VALUES (2, 'second')");
    expect(() => checkFile(database)).not.toThrow();
    expect(changeCount(database)).toBe(before + 2);
    database.close();
  });

  test('a damaged file -> refused, and not upgraded', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cosmig-sums-'));
    const database = openDatabase({ path: older(folder) });
    database.exec("DELETE FROM plain WHERE name = 'a'");
    const upgrade = (): void => migrateWithSums(database, 'sample', shipped(folder, [SCHEMA, LATER]));
    expect(upgrade).toThrow(/older\.db is damaged/);
    expect(database.prepare('SELECT count(*) FROM cosmig_schema').pluck().get()).toBe(1);
    database.close();
  });
});
