/** Says what an error from SQLite or from the file system means to the operator, for every database that cosmig opens. */
import { statSync } from 'node:fs';
import { codeOf, LedgerError, NotReadyError } from '../errors.ts';
import { DRIVER_NAME, driverMissing, type Database } from './sqlite-driver.ts';

/** The contents of a file are not what cosmig has written. */
export class DamagedFile extends LedgerError {
  constructor(path: string, why: string, cause?: unknown) {
    const hint = 'restore it from a backup, or give the path of a new file';
    super(`${path} is damaged`, { why, hint, cause });
  }
}

/**
 * Converts an error from a database whose migrations were all applied. A statement that cannot be prepared then means
 * that the description of the tables in the file is damaged.
 */
export function asContentsError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || codeOf(error) !== 'SQLITE_ERROR') return asDatabaseError(error, path);
  return new DamagedFile(path, `its tables are not those that cosmig has created: ${error.message}`, error);
}

/**
 * The same for a file that may be deleted when it is damaged, because the command makes a new one. `then`: what the
 * command does in this case.
 */
export function asErrorOfReplaceable(thrown: unknown, path: string, then: string): unknown {
  const error = asContentsError(thrown, path);
  if (!(error instanceof DamagedFile)) return error;
  const hint = `delete ${path} and run the same command again: ${then}`;
  return new LedgerError(error.message, { why: error.why, hint, cause: error });
}

/** What SQLite's errors mean to the operator, by the first word of the error code. */
const TROUBLE: Readonly<Record<string, { readonly what: string; readonly hint: string }>> = {
  FULL: {
    what: 'cannot grow: its disk is full',
    hint: 'free space on that disk, then run the same command again',
  },
  NOTADB: {
    what: 'is not a database, or is damaged',
    hint: 'check the path; restore the file or choose a new one',
  },
  CANTOPEN: {
    what: 'cannot be opened',
    hint: 'check that the path exists and that you may read and write it',
  },
  READONLY: { what: 'is read-only', hint: 'check the permissions of the file and its folder' },
  PERM: { what: 'may not be opened', hint: 'check the permissions of the file and its folder' },
  IOERR: { what: 'could not be read or written', hint: 'check the disk, then run the same command again' },
};

/**
 * Returns the error to report for an error that a database call threw: a LedgerError for a problem with the file, a
 * NotReadyError for a lock that another process does not release, and any other error unchanged.
 */
export function asDatabaseError(error: unknown, path: string): unknown {
  const code = codeOf(error);
  const cause = error instanceof Error ? error.message : String(error);
  // PROTOCOL: SQLite gave up a race with another process for the locks of the WAL.
  if (/^SQLITE_(?:BUSY|PROTOCOL)(?:_|$)/.test(code)) {
    return new NotReadyError(`${path} is in use`, {
      why: 'another process keeps it locked',
      hint: 'wait for that process to end, then run the same command again',
      cause: error,
    });
  }
  if (isDriverMissing(error, code)) return driverMissing(DRIVER_NAME, error);
  if (isFolder(path)) {
    return new LedgerError(`${path} is a folder`, {
      why: 'a database is one file',
      hint: 'give the path of a file in it',
      cause: error,
    });
  }
  // SQLite has no code of its own for a header that names a format which does not exist.
  const named = cause === 'unsupported file format' ? 'SQLITE_NOTADB' : code;
  const word = /^SQLITE_([A-Z]+)/.exec(named)?.[1] ?? FILE_TROUBLE[code] ?? '';
  if (word === 'CORRUPT') return new DamagedFile(path, cause, error);
  const trouble = TROUBLE[word];
  if (trouble === undefined) return error;
  return new LedgerError(`${path} ${trouble.what}`, { why: cause, hint: trouble.hint, cause: error });
}

/**
 * Makes all statements of a database throw the errors that asDatabaseError returns. Opening the file is not enough to
 * find damage: a damaged page shows only when a statement reads it.
 */
export function withDatabaseErrors(database: Database): Database {
  const prepare = database.prepare.bind(database);
  database.prepare = ((sql: string) => {
    const statement = prepare(sql);
    for (const verb of ['run', 'get', 'all'] as const) {
      const act = statement[verb].bind(statement);
      Object.defineProperty(statement, verb, {
        value: (...parameters: unknown[]) => {
          try {
            return act(...parameters);
          } catch (error) {
            throw asDatabaseError(error, database.name);
          }
        },
      });
    }
    return statement;
  }) as Database['prepare'];
  return database;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Error codes of the file system when the folder is created, with the SQLite code of the same meaning. */
const FILE_TROUBLE: Readonly<Record<string, string>> = {
  ENOSPC: 'FULL',
  EDQUOT: 'FULL',
  EACCES: 'PERM',
  EPERM: 'PERM',
  EROFS: 'READONLY',
  ENOTDIR: 'CANTOPEN',
  EEXIST: 'CANTOPEN',
  ENOENT: 'CANTOPEN',
  EINVAL: 'CANTOPEN',
  ELOOP: 'CANTOPEN',
  ENAMETOOLONG: 'CANTOPEN',
  EMFILE: 'CANTOPEN',
  ENFILE: 'CANTOPEN',
  EIO: 'IOERR',
};

/**
 * Returns whether an error means that the driver is missing. If the loader of version 12 finds no binary, its error has
 * no code, but lists the paths at which it has looked.
 */
function isDriverMissing(error: unknown, code: string): boolean {
  if (code === 'ERR_DLOPEN_FAILED' || code === 'MODULE_NOT_FOUND') return true;
  return error instanceof Error && 'tries' in error;
}
