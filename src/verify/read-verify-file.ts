/** Reads a table of the verify file without its lock, for processes that show what another one has compared. */
import { existsSync } from 'node:fs';
import { asContentsError } from '../lib/sqlite/database-errors.ts';
import { openToRead, type Database } from '../lib/sqlite/sqlite.ts';
import { checkRows } from '../lib/sqlite/table-sums.ts';

/**
 * Returns what `read` finds in a table; null if it is missing: the file is being created, or an older cosmig has written
 * it.
 */
export function readVerifyFile<T>(
  path: string,
  table: string,
  read: (database: Database) => T | null,
): T | null {
  if (!existsSync(path)) return null;
  const database = openToRead(path);
  try {
    const tables = database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').all(table);
    if (tables.length === 0) return null;
    checkRows(database, [table]);
    return read(database);
  } catch (error) {
    throw asContentsError(error, path);
  } finally {
    database.close();
  }
}
