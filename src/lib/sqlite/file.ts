/**
 * How cosmig names and creates the files of its databases. Invariants: a file has one name, by which SQLite finds its
 * write-ahead log and cosmig its lock; and only its owner may read a file that cosmig has created, because it contains
 * ids and key values.
 */
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, readSync } from 'node:fs';
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf, LedgerError } from '../errors.ts';
import { describeSpecialFile } from '../fs-error.ts';

/** The permissions of a file that cosmig creates. */
export const OWNER_ONLY = 0o600;

/** How many symbolic links may lead to a file. Linux has the same limit. */
const LINKS_MAX = 40;

/**
 * Returns the path without symbolic links, so that a file has one name whatever path leads to it. The file and its
 * folders may be missing. A path that cannot be followed is returned as it is, and opening it reports the problem.
 */
export function realPath(path: string, linksMax = LINKS_MAX): string {
  const absolute = resolve(path);
  const parent = dirname(absolute);
  try {
    return realpathSync(absolute);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || parent === absolute || linksMax === 0) return absolute;
  }
  const folder = realPath(parent, linksMax);
  const inFolder = join(folder, basename(absolute));
  // The file is missing. If its name is a symbolic link, SQLite creates the file to which the link leads.
  const isLink = lstatSync(inFolder, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return isLink ? realPath(resolve(folder, readlinkSync(inFolder)), linksMax - 1) : inFolder;
}

/**
 * Refuses a file that cannot be a database, such as a named pipe, whose opening would wait for ever. Also refuses a file
 * with a second name (a hard link): SQLite finds the log of a database by its name, and cosmig its lock, so a process
 * that uses the other name would miss both.
 */
export function refuseUnusualFile(path: string): void {
  if (!existsSync(path)) return;
  const special = describeSpecialFile(path);
  if (special !== undefined) {
    throw new LedgerError(`${path} is not a file`, {
      why: `${special}, and a database is a file on a disk`,
      hint: 'give the path of a file',
    });
  }
  const stats = statSync(path);
  if (stats.isFile() && stats.nlink > 1) {
    throw new LedgerError(`${path} has another name`, {
      why: 'it is a hard link, and SQLite would not find the log that belongs to the other name',
      hint: 'delete the other name, or replace it by a symbolic link or a copy',
      details: { names: stats.nlink },
    });
  }
}

/**
 * Where the header of a database says which kind of log the database has, and the value that stands for a write-ahead
 * log.
 */
const LOG_KIND = { offset: 18, writeAhead: 2 };

/**
 * Returns whether a database in WAL mode has no write-ahead log, or an empty one, as a reader creates it. In this case
 * a process that used the database was killed, and afterwards the file was copied without its log, or the log was
 * deleted. A clean end that could not leave WAL mode looks the same.
 */
export function isLogMissing(path: string): boolean {
  const file = realPath(path);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  // Opening a named pipe would wait for ever.
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile || (log !== undefined && log.size > 0)) return false;
  const descriptor = openSync(file, 'r');
  try {
    const kind = Buffer.alloc(1);
    readSync(descriptor, kind, 0, 1, LOG_KIND.offset);
    return kind[0] === LOG_KIND.writeAhead;
  } finally {
    closeSync(descriptor);
  }
}

/** Creates an empty file that only its owner may read, and its folder, unless the file exists already. */
export function createPrivately(path: string): void {
  if (existsSync(path)) return;
  createFolder(dirname(path));
  try {
    // An empty file is a valid database. SQLite gives its log and its journal the permissions of the file.
    closeSync(openSync(path, 'wx', OWNER_ONLY));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Creates a folder and the missing folders above it. Node's option `recursive` is not used, because with it Node would
 * try for ever to create a folder in /proc, for example.
 */
function createFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) createFolder(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
