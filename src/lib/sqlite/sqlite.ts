/**
 * Opens cosmig's SQLite files and upgrades their schema; owns the pragmas and the table `cosmig_schema`. Invariant: a
 * migration and its record are written in one transaction. A file is refused before anything is written if it belongs
 * to another program, was written by a newer cosmig, or was made by a migration that has been edited since.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { assert, must } from '../assert.ts';
import { codeOf, LedgerError } from '../errors.ts';
import { asContentsError, asDatabaseError } from './database-errors.ts';
import { createPrivately, realPath, refuseUnusualFile } from './file.ts';
import { loadDriver, type Database } from './sqlite-driver.ts';

export type { Database } from './sqlite-driver.ts';

/** Which file to open, and how. */
export interface OpenOptions {
  /** The path of a file, whose folder is created if it is missing, or ':memory:'. */
  readonly path: string;
  readonly readonly?: boolean;
  /**
   * What a power cut may destroy. FULL: no commit. NORMAL: the last few commits. OFF: the file. Default: FULL.
   */
  readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF';
  /** How long to wait for another process that locks the file. Default: long enough for its longest transaction. */
  readonly busyTimeoutMs?: number;
  /** The page size of a new file. Default: that of SQLite. */
  readonly pageSize?: 4096 | 8192 | 16_384;
  /** How much of the file is kept in memory. Default: 16 MB, as in better-sqlite3. */
  readonly cacheKib?: number;
}

// How long to wait for another process. Long enough for its longest transaction, the migration of a large file; short
// enough that the command does not seem to hang.
const BUSY_TIMEOUT_MS = 10_000;

const SHIPPED = new URL('../../../migrations/', import.meta.url);

/**
 * The open connections. The garbage collector closes a connection to which nothing refers, and thereby releases its
 * locks: another process could then use a file that this process believes to have locked. So this set refers to each
 * connection until it is closed.
 */
const open = new Set<Database>();

function keptOpen(database: Database): Database {
  const close = database.close.bind(database);
  open.add(database);
  database.close = () => {
    open.delete(database);
    return close();
  };
  return database;
}

/** Opens a database file; throws a LedgerError if it is damaged or missing, or if the disk is full. */
export function openDatabase(options: OpenOptions): Database {
  const { readonly = false, synchronous = 'FULL', pageSize, cacheKib } = options;
  const { busyTimeoutMs = BUSY_TIMEOUT_MS } = options;
  assert(options.path !== '', 'a database needs a path: the empty one means a temporary file to SQLite');
  let { path } = options;
  let database: Database | undefined;
  try {
    const Driver = loadDriver();
    if (path !== ':memory:') {
      path = realPath(path);
      refuseUnusualFile(path);
      if (!readonly) createPrivately(path);
    }
    database = keptOpen(new Driver(path, { readonly, fileMustExist: readonly, timeout: busyTimeoutMs }));
    // The page size is set before the switch to WAL, after which it can no longer change.
    if (pageSize !== undefined) database.pragma(`page_size = ${pageSize}`);
    // Switching to WAL is a write; a read-only connection cannot do it and does not need it.
    if (!readonly) database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${synchronous}`);
    database.pragma('foreign_keys = ON');
    if (cacheKib !== undefined) database.pragma(`cache_size = -${cacheKib}`);
    // Reading the version reads the header, so a file that is not a database fails here and not in the middle of a run.
    database.pragma('schema_version');
    return database;
  } catch (error) {
    database?.close();
    throw asDatabaseError(error, path);
  }
}

/**
 * Opens a file of cosmig to read it. If a crash left half a transaction in a rollback journal, it is rolled back first,
 * which needs a writer. Otherwise every command that reads the file before it writes would fail from then on.
 */
export function openToRead(path: string): Database {
  try {
    return openDatabase({ path, readonly: true });
  } catch (error) {
    if (!needsWriter(error)) throw error;
    rollBack(path, error);
    return openDatabase({ path, readonly: true });
  }
}

/** Rolls back what a crash has left, and changes nothing else. Throws `refused` if the file cannot be written. */
function rollBack(path: string, refused: unknown): void {
  const Driver = loadDriver();
  let database: Database | undefined;
  try {
    database = new Driver(realPath(path), { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    // The first read rolls back.
    database.pragma('schema_version');
  } catch {
    throw refused;
  } finally {
    database?.close();
  }
}

/**
 * Applies the missing migrations of `migrations/<name>/`, all or none. If two processes call this at once, the second
 * finds nothing to do. A call that finds nothing to do writes nothing, so it works on a read-only database, too.
 */
export function migrate(database: Database, name: string, root: URL = SHIPPED): void {
  migrateWithin({ database, name, root, around: (apply) => apply() });
}

/** Like `migrate`, but calls `around` in the transaction; `apply` then applies what is missing. */
export function migrateWithin(options: {
  readonly database: Database;
  readonly name: string;
  readonly root?: URL;
  readonly around: (apply: () => void) => void;
}): void {
  const { database, name, root = SHIPPED, around } = options;
  const shipped = migrationsOf(name, root);
  const isMissing = (): boolean => pendingMigrations(database, name, shipped).length > 0;
  try {
    if (!isMissing()) return;
    // IMMEDIATE takes the write lock before the migrations are checked again, so two processes cannot both apply them.
    const upgrade = database.transaction(() => {
      if (isMissing()) around(() => applyPending(database, name, shipped));
    });
    upgrade.immediate();
  } catch (error) {
    throw asDatabaseError(error, database.name);
  }
}

/**
 * Refuses a file of another program or of a newer cosmig. Must be called before the file is opened for writing, because
 * that switches the file to WAL and so changes it. A missing file is not refused, nor is a file that only a writer can
 * recover.
 */
export function refuseForeignFile(path: string, name: string, root: URL = SHIPPED): void {
  if (!existsSync(path)) return;
  let database: Database | undefined;
  try {
    database = openDatabase({ path, readonly: true });
    pendingMigrations(database, name, migrationsOf(name, root));
  } catch (error) {
    if (!needsWriter(error)) throw asDatabaseError(error, path);
  } finally {
    database?.close();
  }
}

/** Returns whether a crash left half a transaction in a rollback journal. Only a writer can roll it back. */
function needsWriter(error: unknown): boolean {
  const code = codeOf(error instanceof LedgerError ? error.cause : error);
  return code === 'SQLITE_READONLY_ROLLBACK' || code === 'SQLITE_READONLY_RECOVERY';
}

interface Migration {
  readonly number: number;
  readonly file: string;
  readonly sql: string;
  readonly sha256: string;
}

interface AppliedRow {
  readonly number: number;
  readonly database: string;
  readonly file: string;
  readonly sha256: string;
}

/** The shipped migrations of each name that were read. They do not change while a process runs. */
const knownMigrations = new Map<string, readonly Migration[]>();

function migrationsOf(name: string, root: URL): readonly Migration[] {
  const read = (): Migration[] => readMigrations(new URL(`${name}/`, root));
  if (root.href !== SHIPPED.href) return read();
  const migrations = knownMigrations.get(name) ?? read();
  knownMigrations.set(name, migrations);
  return migrations;
}

function readMigrations(folder: URL): Migration[] {
  const files = readdirSync(folder).toSorted();
  return files.map((file, index) => {
    const number = Number(
      must(/^(\d{4})_[a-z0-9-]+\.sql$/.exec(file)?.[1], `migration ${file} is NNNN_what.sql`),
    );
    assert(
      number === index + 1,
      `migration ${file} is number ${index + 1} of its folder: no gaps, no doubles`,
    );
    // A checkout on Windows may change line endings, which must not count as an edit.
    const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\r\n', '\n');
    return { number, file, sql, sha256: createHash('sha256').update(sql).digest('hex') };
  });
}

function applyPending(database: Database, name: string, shipped: readonly Migration[]): void {
  const pending = pendingMigrations(database, name, shipped);
  database.exec(`CREATE TABLE IF NOT EXISTS cosmig_schema (
    number INTEGER PRIMARY KEY, database TEXT NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL,
    applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
  ) STRICT`);
  const record = database.prepare(
    'INSERT INTO cosmig_schema (number, database, file, sha256) VALUES (@number, @database, @file, @sha256)',
  );
  for (const { number, file, sql, sha256 } of pending) {
    database.exec(sql);
    record.run({ number, database: name, file, sha256 });
  }
}

function pendingMigrations(
  database: Database,
  name: string,
  shipped: readonly Migration[],
): readonly Migration[] {
  const applied = readApplied(database);
  const other = applied.find((row) => row.database !== name);
  if (other !== undefined) {
    throw new LedgerError(`${database.name} holds ${other.database} data, not ${name} data`, {
      why: 'every kind of cosmig database has its own file',
      hint: 'give the path of the right file',
    });
  }
  const latest = applied.at(-1)?.number ?? 0;
  if (latest > shipped.length) {
    throw new LedgerError(`${database.name} is newer than this cosmig`, {
      why: `it is at schema version ${latest}, and this cosmig knows versions up to ${shipped.length}`,
      hint: 'use the cosmig that wrote it, or a newer one; nothing was changed',
      details: { found: latest, known: shipped.length },
    });
  }
  for (const row of applied) {
    const migration = must(shipped[row.number - 1], 'migrations are numbered without gaps');
    if (migration.sha256 !== row.sha256) {
      throw new LedgerError(`${database.name} was made by an unreleased cosmig`, {
        why: `its ${migration.file} is not that of a release, so this cosmig cannot rely on its tables`,
        hint: 'finish with the cosmig that made it, or begin with a new file; nothing was changed',
        details: { migration: migration.file },
      });
    }
  }
  return shipped.slice(latest);
}

function readApplied(database: Database): AppliedRow[] {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  if (tables.length === 0) return [];
  if (!tables.includes('cosmig_schema')) {
    throw new LedgerError(`${database.name} is not a cosmig database`, {
      why: 'it has tables of another program',
      hint: 'give another path; nothing was changed',
    });
  }
  const rows = 'SELECT number, database, file, sha256 FROM cosmig_schema ORDER BY number';
  try {
    return database.prepare<[], AppliedRow>(rows).all();
  } catch (error) {
    throw asContentsError(error, database.name);
  }
}
