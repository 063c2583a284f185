import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LedgerError, NotReadyError } from '../../../../src/lib/errors.ts';
import { asDatabaseError } from '../../../../src/lib/sqlite/database-errors.ts';
import {
  migrate,
  openDatabase,
  refuseForeignFile,
  type Database,
} from '../../../../src/lib/sqlite/sqlite.ts';
import { DRIVER_NAME, driverMissing } from '../../../../src/lib/sqlite/sqlite-driver.ts';
import { built } from '../../../helpers/process/built.ts';

const STEPS = [
  ['0001_documents.sql', 'CREATE TABLE document (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;'],
  ['0002_etags.sql', 'ALTER TABLE document ADD COLUMN etag TEXT;\nCREATE INDEX by_etag ON document (etag);'],
  ['0003_owners.sql', 'CREATE TABLE owner (id TEXT PRIMARY KEY) STRICT;'],
] as const;

let folder: string;
let open: Database[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cosmig-sqlite-'));
  open = [];
});
afterEach(() => {
  for (const database of open) database.close();
  rmSync(folder, { recursive: true });
});

/** A folder of migrations as a cosmig with `steps` of them ships it. */
function shipped(steps: ReadonlyArray<readonly [string, string]>, name = 'sample'): URL {
  const root = mkdtempSync(join(folder, 'shipped-'));
  mkdirSync(join(root, name));
  for (const [file, sql] of steps) writeFileSync(join(root, name, file), sql);
  return pathToFileURL(`${root}/`);
}

function opened(path = ':memory:', readonly = false): Database {
  const database = openDatabase({ path, readonly, synchronous: 'OFF' });
  open.push(database);
  return database;
}

function schema(database: Database): unknown[] {
  return database.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all();
}

function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('migrate', () => {
  test('migrate: fresh or upgraded -> the same schema', () => {
    const fresh = opened();
    migrate(fresh, 'sample', shipped(STEPS));
    const upgraded = opened();
    for (let count = 1; count <= STEPS.length; count += 1) {
      migrate(upgraded, 'sample', shipped(STEPS.slice(0, count)));
    }
    expect(schema(upgraded)).toEqual(schema(fresh));
  });

  test('migrate: every shipped database, fresh or upgraded -> the same schema', () => {
    const root = fileURLToPath(new URL('../../../../migrations/', import.meta.url));
    for (const name of existsSync(root) ? readdirSync(root) : []) {
      const steps = readdirSync(join(root, name))
        .toSorted()
        .map((file) => [file, readFileSync(join(root, name, file), 'utf8')] as const);
      const fresh = opened();
      migrate(fresh, name);
      const upgraded = opened();
      for (let count = 1; count <= steps.length; count += 1) {
        migrate(upgraded, name, shipped(steps.slice(0, count), name));
      }
      expect(schema(upgraded)).toEqual(schema(fresh));
    }
  });

  test('migrate: an older database -> its rows are kept', () => {
    const database = opened(join(folder, 'kept.db'));
    migrate(database, 'sample', shipped(STEPS.slice(0, 1)));
    database.prepare("INSERT INTO document VALUES ('a', '{}')").run();
    migrate(database, 'sample', shipped(STEPS));
    expect(database.prepare('SELECT * FROM document').all()).toEqual([{ id: 'a', body: '{}', etag: null }]);
  });

  test('migrate: up to date -> nothing is written, also on a read-only database', () => {
    const path = join(folder, 'twice.db');
    const root = shipped(STEPS);
    const database = opened(path);
    migrate(database, 'sample', root);
    const before = database.prepare('SELECT * FROM cosmig_schema').all();
    migrate(database, 'sample', root);
    expect(database.prepare('SELECT * FROM cosmig_schema').all()).toEqual(before);
    migrate(opened(path, true), 'sample', root);
  });

  test('migrate: several processes at once -> each migration is applied once', async () => {
    const path = join(folder, 'race.db');
    const root = fileURLToPath(shipped(STEPS));
    const script = built(new URL('../../../helpers/process/migrate-child.ts', import.meta.url));
    const run = promisify(execFile);
    const args = [script, path, root];
    await Promise.all([1, 2, 3].map(() => run(process.execPath, args)));
    const rows = opened(path).prepare('SELECT number, file FROM cosmig_schema').raw().all();
    expect(rows).toEqual(STEPS.map(([file], index) => [index + 1, file]));
  });

  test('migrate: a migration fails -> it and those before it are rolled back', () => {
    const database = opened();
    const broken = shipped([
      ...STEPS.slice(0, 2),
      ['0003_broken.sql', 'CREATE TABLE half (a); SELECT nothing;'],
    ]);
    expect(() => migrate(database, 'sample', broken)).toThrow('nothing');
    expect(schema(database)).toEqual([]);
  });

  test('migrate: a newer database -> refused, naming both versions', () => {
    const database = opened();
    migrate(database, 'sample', shipped(STEPS));
    const error = caught(() => migrate(database, 'sample', shipped(STEPS.slice(0, 2))));
    expect(error).toBeInstanceOf(LedgerError);
    expect(error).toMatchObject({
      why: expect.stringMatching(/version 3.*up to 2/),
      details: { found: 3, known: 2 },
    });
  });

  test('migrate: an edited migration -> refused, unless only its line endings differ', () => {
    const database = opened();
    migrate(database, 'sample', shipped(STEPS));
    migrate(database, 'sample', shipped(STEPS.map(([file, sql]) => [file, sql.replaceAll('\n', '\r\n')])));
    const edited = STEPS.map(([file, sql]) => [file, sql.replace('etag TEXT', 'etag BLOB')] as const);
    const error = caught(() => migrate(database, 'sample', shipped(edited)));
    expect(error).toBeInstanceOf(LedgerError);
    expect(error).toMatchObject({ details: { migration: '0002_etags.sql' } });
  });

  test('a database of another program or kind -> refused, and unchanged', () => {
    const foreign = opened();
    foreign.exec('CREATE TABLE customers (id)');
    expect(() => migrate(foreign, 'sample', shipped(STEPS))).toThrow('is not a cosmig database');
    expect(schema(foreign)).toHaveLength(1);
    const other = opened();
    migrate(other, 'other', shipped(STEPS, 'other'));
    expect(() => migrate(other, 'sample', shipped(STEPS))).toThrow('holds other data, not sample data');
  });

  test.each([
    ['a gap', '0003_gap.sql'],
    ['a name of another form', '2_short.sql'],
    ['a double', '0001_second.sql'],
  ])('a folder with %s -> refused', (_what, file) => {
    const root = shipped([STEPS[0], [file, 'SELECT 1;']]);
    expect(() => migrate(opened(), 'sample', root)).toThrow(`migration ${file}`);
  });
});

describe('refuseForeignFile', () => {
  test('refuseForeignFile: a missing, present or older file of ours -> passes', () => {
    const path = join(folder, 'a.db');
    refuseForeignFile(path, 'sample', shipped(STEPS));
    expect(existsSync(path)).toBe(false);
    migrate(opened(path), 'sample', shipped(STEPS.slice(0, 2)));
    refuseForeignFile(path, 'sample', shipped(STEPS));
    refuseForeignFile(path, 'sample', shipped(STEPS.slice(0, 2)));
  });

  test.each([
    ["another program's", 'CREATE TABLE customers (name TEXT)', 'is not a cosmig database'],
    ['a newer one', undefined, 'is newer than this cosmig'],
  ])('%s -> refused, and unchanged', (_what, sql, message) => {
    const path = join(folder, 'a.db');
    const database = openDatabase({ path });
    if (sql === undefined) migrate(database, 'sample', shipped(STEPS));
    else database.exec(sql);
    database.pragma('journal_mode = DELETE');
    database.close();
    const before = readFileSync(path);
    expect(() => refuseForeignFile(path, 'sample', shipped(STEPS.slice(0, 1)))).toThrow(message);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(folder).filter((name) => name.startsWith('a.db'))).toEqual(['a.db']);
  });

  test('refuseForeignFile: half a transaction -> passes, and the next writer rolls it back', () => {
    const database = opened(join(folder, 'a.db'));
    migrate(database, 'sample', shipped(STEPS));
    database.pragma('journal_mode = DELETE');
    // So little that pages of an open transaction go to the file.
    database.pragma('cache_size = 2');
    database.exec('BEGIN');
    const insert = database.prepare('INSERT INTO owner VALUES (?)');
    for (let id = 0; id < 200; id += 1) insert.run(`${id}${'x'.repeat(500)}`);
    const path = join(folder, 'b.db');
    copyFileSync(join(folder, 'a.db'), path);
    copyFileSync(join(folder, 'a.db-journal'), `${path}-journal`);
    expect(() => openDatabase({ path, readonly: true })).toThrow(LedgerError);
    refuseForeignFile(path, 'sample', shipped(STEPS));
    expect(opened(path).prepare('SELECT count(*) AS owners FROM owner').get()).toEqual({ owners: 0 });
  });
});

describe('openDatabase', () => {
  test('openDatabase: a new path -> the folder is created, the pragmas are set', () => {
    const database = openDatabase({ path: join(folder, 'new', 'folder', 'a.db') });
    open.push(database);
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(database.pragma('synchronous', { simple: true })).toBe(2);
    expect(database.pragma('foreign_keys', { simple: true })).toBe(1);
  });

  test.skipIf(process.platform === 'win32')('openDatabase: a new file -> only its owner may read it', () => {
    const path = join(folder, 'private.db');
    opened(path).exec('CREATE TABLE document (id TEXT)');
    const modes = readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
  });

  test('openDatabase: not a database -> LedgerError with a hint', () => {
    const path = join(folder, 'notes.txt');
    writeFileSync(path, 'dear diary, '.repeat(1000));
    const error = caught(() => openDatabase({ path }));
    expect(error).toBeInstanceOf(LedgerError);
    expect(error).toMatchObject({ exitCode: 7, hint: expect.stringContaining('check the path') });
  });

  test('openDatabase: a damaged file -> LedgerError', () => {
    const path = join(folder, 'damaged.db');
    const root = shipped(STEPS);
    const database = openDatabase({ path });
    migrate(database, 'sample', root);
    database.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xff, 100));
    const error = caught(() => migrate(opened(path), 'sample', root));
    expect(error).toBeInstanceOf(LedgerError);
    expect(error).toMatchObject({ message: `${path} is damaged` });
  });

  test('openDatabase: a missing file, read-only -> LedgerError, nothing is created', () => {
    const path = join(folder, 'missing.db');
    expect(caught(() => openDatabase({ path, readonly: true }))).toBeInstanceOf(LedgerError);
    expect(existsSync(path)).toBe(false);
  });
});

test.each([
  ['SQLITE_FULL', LedgerError, 'disk is full'],
  ['SQLITE_IOERR_WRITE', LedgerError, 'could not be read or written'],
  ['SQLITE_CORRUPT_VTAB', LedgerError, 'is damaged'],
  ['SQLITE_READONLY_DBMOVED', LedgerError, 'is read-only'],
  ['SQLITE_BUSY', NotReadyError, 'is in use'],
  ['ENOSPC', LedgerError, 'disk is full'],
  ['SQLITE_CONSTRAINT_UNIQUE', Error, 'as it came'],
  ['ERR_DLOPEN_FAILED', NotReadyError, 'is not built for this Node'],
  ['MODULE_NOT_FOUND', NotReadyError, 'is not built for this Node'],
])('database error: %s -> %o', (code, kind, message) => {
  const error = asDatabaseError(Object.assign(new Error('as it came'), { code }), 'a.db');
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject({ message: expect.stringContaining(message) });
});

test('asDatabaseError: the binary of better-sqlite3 is missing -> NotReadyError', () => {
  const error = asDatabaseError(Object.assign(new Error('no bindings'), { tries: ['a.node'] }), 'a.db');
  expect(error).toBeInstanceOf(NotReadyError);
  expect(error).toMatchObject({ hint: driverMissing(DRIVER_NAME, error).hint });
});
