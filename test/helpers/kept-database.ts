/**
 * Looking into a database file in a test's own words. What always holds: no connection and no statement becomes garbage,
 * which would abort the process on newer Nodes (src/lib/sqlite.ts).
 */
import SqliteDatabase from 'better-sqlite3';

const kept: unknown[] = [];

/** What the one statement gives, of a file that is there. */
export function rowsIn(path: string, sql: string): unknown[] {
  const database = new SqliteDatabase(path, { readonly: true, fileMustExist: true });
  kept.push(database);
  try {
    const statement = database.prepare(sql);
    kept.push(statement);
    return statement.all();
  } finally {
    database.close();
  }
}

/** Statements that give nothing. */
export function execIn(path: string, ...statements: readonly string[]): void {
  const database = new SqliteDatabase(path);
  kept.push(database);
  try {
    for (const sql of statements) database.exec(sql);
  } finally {
    database.close();
  }
}
