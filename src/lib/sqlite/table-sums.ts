/**
 * Detects rows that were damaged, lost or repeated, for example by a failing disk: SQLite does not check the pages of
 * its file. The table `table_sums` has, for each other table, the number of its rows and the sum of their checksums.
 * Temporary triggers update both in the statement that changes a row, so they agree in every state that a crash can leave.
 *
 * A table with large values has a column `checksum`, which its store computes from them and checks whenever it reads
 * them. The checksum of a row then leaves out the large values, so that the whole table can be checked without reading
 * them.
 */
import { crc32 } from 'node:zlib';
import { must } from '../assert.ts';
import { damagedRow, number, type Columns } from './column.ts';
import { DamagedFile, type Database } from './sqlite.ts';

/** The highest number that SQLite may give to a row. Numbers of segments must fit into four bytes. */
const ROW_NUMBER_MAX = 0xffff_ffff;

/** Returns a checksum of column values. Values of different types never count as equal. */
export function checksumOf(...values: readonly unknown[]): number {
  let [sum, text] = [0, ''];
  for (const value of values) {
    if (Buffer.isBuffer(value)) {
      sum = crc32(value, sum);
      text += `bytes ${value.length},`;
    } else if (typeof value === 'string') text += `text ${value.length} ${value},`;
    else text += `${String(value)},`;
  }
  // As a signed number it takes four bytes in a row instead of six.
  return crc32(text, sum) | 0;
}

/** Throws if this is not the checksum of these values. */
export function refuseChanged(checksum: number, ...values: readonly unknown[]): void {
  if (checksum !== checksumOf(...values)) throw damagedRow('a row does not match its checksum');
}

/** Updates `table_sums` from now on, whenever this connection changes a row. Must be called before the first change. */
export function keepTableSums(database: Database): void {
  addFunction(database);
  // Otherwise the temporary triggers could go to a file. Without recursive triggers, a row that another one replaces
  // would not be subtracted.
  const pragmas = 'PRAGMA temp_store = MEMORY; PRAGMA recursive_triggers = ON;';
  const triggers = checksumsOf(database).flatMap(({ table, of }) => {
    const trigger = (event: string, rows: number, change: string): string =>
      `CREATE TEMP TRIGGER ${table}_${event} AFTER ${event} ON main.${table} BEGIN
         UPDATE table_sums SET row_count = row_count + ${rows}, sum = sum ${change}, changes = changes + 1
         WHERE name = '${table}';
       END;`;
    return [
      trigger('INSERT', 1, `+ ${of('NEW.')}`),
      trigger('DELETE', -1, `- ${of('OLD.')}`),
      trigger('UPDATE', 0, `- ${of('OLD.')} + ${of('NEW.')}`),
    ];
  });
  database.exec(pragmas + triggers.join(''));
}

/** Returns how many times a row was changed since the file was created. */
export function changeCount(database: Database): number {
  return must(
    database.prepare<[], number>('SELECT ifnull(sum(changes), 0) FROM table_sums').pluck().get(),
    'a sum has a row',
  );
}

/**
 * Checks every page that SQLite can reach, every index, and the rows of all tables against their sums. The time grows
 * with the size of the file. Throws a LedgerError for damage.
 */
export function checkFile(database: Database): void {
  const found = database.prepare<[], string>('PRAGMA integrity_check(1)').pluck().get();
  if (found !== 'ok')
    throw new DamagedFile(database.name, `SQLite found: ${String(found).replaceAll(/\s*\n\s*/g, ' ')}`);
  if (rowNumbers(database).some((last) => last > ROW_NUMBER_MAX))
    throw new DamagedFile(database.name, 'a row number is too high');
  checkRows(database);
}

/** Checks the rows of these tables, by default of all, against their sums. Throws a LedgerError for damage. */
export function checkRows(database: Database, tables?: readonly string[]): void {
  addFunction(database);
  for (const { table, of } of checksumsOf(database)) {
    if (tables?.includes(table) === false) continue;
    // SQLite compares the sums, because they are too large for a number of JavaScript.
    const isIntact = database
      .prepare<[string], number>(
        `SELECT kept.row_count = found.row_count AND kept.sum = found.sum FROM table_sums AS kept,
           (SELECT count(*) AS row_count, ifnull(sum(${of('')}), 0) AS sum FROM ${table}) AS found
         WHERE kept.name = ?`,
      )
      .pluck()
      .get(table);
    if (isIntact !== 1)
      throw new DamagedFile(database.name, `rows of its table ${table} are lost, damaged or repeated`);
  }
}

/** Returns the last number that SQLite has given to a row, of each table whose numbers are never used again. */
function rowNumbers(database: Database): number[] {
  const names = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").all();
  if (names.length === 0) return [];
  return database
    .prepare<[], Columns>('SELECT seq FROM sqlite_sequence')
    .all()
    .map((row) => number(row, 'seq'));
}

interface TableChecksum {
  readonly table: string;
  /** Returns the checksum of a row as SQL; `row` is what stands before the name of a column. */
  readonly of: (row: string) => string;
}

/** Returns all tables but those of SQLite, the list of migrations, which `migrate` checks, and the sums themselves. */
function checksumsOf(database: Database): TableChecksum[] {
  const columns = database
    .prepare<[], { table: string; name: string; type: string }>(
      `SELECT tables.name AS "table", columns.name, columns.type
       FROM main.sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         AND tables.name NOT IN ('cosmig_schema', 'table_sums') ORDER BY tables.name, columns.cid`,
    )
    .all();
  return [...new Set(columns.map(({ table }) => table))].map((table) => {
    const all = columns.filter((column) => column.table === table);
    const hasChecksum = all.some(({ name }) => name === 'checksum');
    const taken = all.filter(({ type }) => !hasChecksum || type !== 'BLOB');
    return { table, of: (row) => `cosmig_checksum(${taken.map(({ name }) => row + name).join(', ')})` };
  });
}

/** Connections that have the function already; adding it again would have every statement prepared again. */
const withFunction = new WeakSet<Database>();

function addFunction(database: Database): void {
  if (withFunction.has(database)) return;
  database.function('cosmig_checksum', { varargs: true, deterministic: true }, checksumOf);
  withFunction.add(database);
}
