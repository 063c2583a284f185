/** Reads and changes a database file in a test's own SQL, with the driver that serves this Node. */
import { createHash } from 'node:crypto';
import { loadDriver } from '../../src/lib/sqlite/sqlite-driver.ts';

/** What the one statement gives, of a file that is there. */
export function rowsIn(path: string, sql: string): unknown[] {
  const Driver = loadDriver();
  const database = new Driver(path, { readonly: true, fileMustExist: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** Statements that give nothing. */
export function execIn(path: string, ...statements: readonly string[]): void {
  const Driver = loadDriver();
  const database = new Driver(path);
  try {
    for (const sql of statements) database.exec(sql);
  } finally {
    database.close();
  }
}

/** The number of rows of each table, and a hash of all of them. */
export function contentsOf(path: string): Readonly<Record<string, string>> {
  const tables = rowsIn(path, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") as {
    name: string;
  }[];
  const summary = (name: string): string => {
    const rows = rowsIn(path, `SELECT * FROM ${name}`);
    return `${rows.length} rows ${createHash('sha256').update(JSON.stringify(rows)).digest('hex')}`;
  };
  return Object.fromEntries(tables.map(({ name }) => [name, summary(name)]));
}
