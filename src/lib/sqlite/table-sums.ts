/**
 * Detects rows that were damaged, lost or repeated, for example by a failing disk: SQLite does not check the pages of
 * its file. The table `table_sums` has, for each other table, the number of its rows and the sum of their checksums.
 * Temporary triggers update both in the statement that changes a row, so they agree in every state that a crash can leave.
 *
 * A table with large values, or with many rows, has a column `checksum`, which its store computes and checks whenever
 * it reads a row. This checksum covers all columns, except numbers that the store does not know when it writes the row,
 * or that it changes alone. The sum then takes only `checksum` and the numbers, so that the whole table can be checked
 * without reading large values.
 */
import { crc32 } from 'node:zlib';
import { must } from '../assert.ts';
import { damagedRow, number, text, type Columns } from './column.ts';
import { DamagedFile } from './database-errors.ts';
import { migrateWithin, openDatabase, type Database } from './sqlite.ts';

/** The highest number that SQLite may give to a row. Numbers of segments must fit into four bytes. */
const ROW_NUMBER_MAX = 0xffff_ffff;

/** Odd numbers, which mix a type into a checksum so that a value never counts as one of another type. */
const MIX = { low: 0x9e37_79b1, high: 0x85eb_ca6b, text: 0xc2b2_ae35, bytes: 0x27d4_eb2f, null: 0x1656_67b1 };

/** Returns a checksum of column values, as a signed number of 32 bits, which takes at most four bytes in a row. */
export function checksumOf(...values: readonly unknown[]): number {
  let sum = 0;
  for (const value of values) {
    if (typeof value === 'number')
      sum = Math.imul(sum ^ (value | 0), MIX.low) ^ Math.imul(Math.floor(value / 0x1_0000_0000), MIX.high);
    else if (typeof value === 'string') sum = crc32(value, sum >>> 0) ^ Math.imul(value.length + 1, MIX.text);
    else if (Buffer.isBuffer(value)) sum = crc32(value, sum >>> 0) ^ Math.imul(value.length + 1, MIX.bytes);
    else sum = Math.imul(sum ^ MIX.null, MIX.low);
  }
  return sum | 0;
}

/** Throws if this is not the checksum of these values. */
export function refuseChanged(checksum: number, ...values: readonly unknown[]): void {
  if (checksum !== checksumOf(...values)) throw damagedRow('a row does not match its checksum');
}

/** Upgrades a file, checks it, and keeps its sums from now on. Throws a LedgerError for damage. */
export function openTables(database: Database, name: string): void {
  migrateWithSums(database, name);
  checkTables(database, name);
  checkFile(database);
  keepTableSums(database);
}

/** Checks that the tables and indexes of a file are those that its migrations create. Throws a LedgerError for damage. */
export function checkTables(database: Database, name: string): void {
  if (schemaOf(database) === createdSchema(name)) return;
  throw new DamagedFile(database.name, 'its tables are not those that cosmig has created');
}

/** The schema that the shipped migrations of each name create. They do not change while a process runs. */
const createdSchemas = new Map<string, string>();

function createdSchema(name: string): string {
  const known = createdSchemas.get(name);
  if (known !== undefined) return known;
  const fresh = openDatabase({ path: ':memory:', synchronous: 'OFF' });
  try {
    migrateWithSums(fresh, name);
    const schema = schemaOf(fresh);
    createdSchemas.set(name, schema);
    return schema;
  } finally {
    fresh.close();
  }
}

function schemaOf(database: Database): string {
  return JSON.stringify(
    database.prepare('SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY type, name').all(),
  );
}

/**
 * Applies the missing migrations. Migrations change tables and rows, and so the sums. The file of an older cosmig is
 * checked first, so that no damage gets into the new sums. Then, in the same transaction, it is migrated and summed
 * again.
 */
export function migrateWithSums(database: Database, name: string, root?: URL): void {
  const around = (apply: () => void): void => {
    if (hasTable(database, 'table_sums')) checkFile(database);
    apply();
    sumAgain(database);
  };
  migrateWithin({ database, name, ...(root === undefined ? {} : { root }), around });
}

/** Updates `table_sums` from now on, whenever this connection changes a row. Must be called before the first change. */
export function keepTableSums(database: Database): void {
  addFunction(database);
  // Without the first pragma the temporary triggers could go to a file. Without the second one a row that another row
  // replaces would not be subtracted.
  const pragmas = 'PRAGMA temp_store = MEMORY; PRAGMA recursive_triggers = ON;';
  const triggers = checksumsOf(database).flatMap((checksum) => triggersOf(checksum));
  database.exec(pragmas + triggers.join(''));
}

function triggersOf({ table, texts, numbers, hasChecksum, isSame, isNumbered }: TableChecksum): string[] {
  const trigger = (event: string, rows: number, change: string, more = ''): string =>
    `CREATE TEMP TRIGGER ${table}_${event} AFTER ${event} ON main.${table} BEGIN
       UPDATE table_sums SET row_count = row_count + ${rows}, sum = sum + ${change}, changes = changes + 1${more}
       WHERE name = '${table}';
     END;`;
  const [gone, come] = [`(${texts('OLD.')} + ${numbers('OLD.')})`, `(${texts('NEW.')} + ${numbers('NEW.')})`];
  // Most updates change numbers alone. Their texts are not summed again, because calling a function of JavaScript
  // takes longer than the update.
  const difference = `${texts('NEW.')} - ${texts('OLD.')}`;
  const changed = hasChecksum ? difference : `CASE WHEN ${isSame} THEN 0 ELSE ${difference} END`;
  return [
    trigger('INSERT', 1, come, isNumbered ? ', last_number = max(last_number, NEW.rowid)' : ''),
    trigger('DELETE', -1, `-${gone}`),
    trigger('UPDATE', 0, `${changed} + ${numbers('NEW.')} - (${numbers('OLD.')})`),
  ];
}

/** Returns how many times a row was changed since the file was created. */
export function changeCount(database: Database): number {
  return changeCounter(database)();
}

/** Returns a function that does the same again and again, with one statement. */
export function changeCounter(database: Database): () => number {
  const sum = database.prepare<[], number>('SELECT ifnull(sum(changes), 0) FROM table_sums').pluck();
  return () => must(sum.get(), 'a sum has a row');
}

/**
 * Checks every page that SQLite can reach, every index, and the rows of all tables against their sums. The time grows
 * with the size of the file. Throws a LedgerError for damage.
 */
export function checkFile(database: Database): void {
  const found = database.prepare<[], string>('PRAGMA integrity_check(1)').pluck().get();
  if (found !== 'ok')
    throw new DamagedFile(database.name, `SQLite found: ${String(found).replaceAll(/\s*\n\s*/g, ' ')}`);
  for (const { name, kept, found } of numbersOf(database)) {
    if (found > ROW_NUMBER_MAX || found !== kept)
      throw new DamagedFile(database.name, `the last row number of its table ${name} is wrong`);
  }
  checkRows(database);
}

/** Checks the rows of these tables, by default of all, against their sums. Throws a LedgerError for damage. */
export function checkRows(database: Database, tables?: readonly string[]): void {
  addFunction(database);
  for (const { table, texts, numbers } of checksumsOf(database)) {
    if (tables?.includes(table) === false) continue;
    // SQLite compares the sums, because they are too large for a number of JavaScript.
    const isIntact = database
      .prepare<[string], number>(
        `SELECT kept.row_count = found.row_count AND kept.sum = found.sum FROM table_sums AS kept,
           (${sumOf({ table, texts, numbers })}) AS found
         WHERE kept.name = ?`,
      )
      .pluck()
      .get(table);
    if (isIntact !== 1)
      throw new DamagedFile(database.name, `rows of its table ${table} are lost, damaged or repeated`);
  }
}

/**
 * Writes the sums of all tables. The counts of changes stay, also those of dropped tables, because the total must never
 * become lower.
 */
function sumAgain(database: Database): void {
  addFunction(database);
  for (const one of checksumsOf(database)) {
    database
      .prepare(
        `INSERT INTO table_sums (name, row_count, sum) SELECT ?, row_count, sum FROM (${sumOf(one)}) WHERE true
         ON CONFLICT (name) DO UPDATE SET row_count = excluded.row_count, sum = excluded.sum`,
      )
      .run(one.table);
  }
  const number = database.prepare('UPDATE table_sums SET last_number = @found WHERE name = @name');
  for (const { name, found } of numbersOf(database)) number.run({ name, found });
}

/** The query for the number of rows of a table, and the sum of their checksums. */
function sumOf({ table, texts, numbers }: Pick<TableChecksum, 'table' | 'texts' | 'numbers'>): string {
  return `SELECT count(*) AS row_count, ifnull(sum(${texts('')} + ${numbers('')}), 0) AS sum FROM ${table}`;
}

function hasTable(database: Database, name: string): boolean {
  return (
    database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").all(name).length > 0
  );
}

/** The last row number of a table that never uses a row number again: as `table_sums` has it, and as SQLite has it. */
interface LastNumber {
  readonly name: string;
  readonly kept: number;
  readonly found: number;
}

function numbersOf(database: Database): LastNumber[] {
  if (!hasTable(database, 'sqlite_sequence')) return [];
  return database
    .prepare<[], Columns>(
      `SELECT name, last_number, ifnull((SELECT max(seq) FROM sqlite_sequence AS last WHERE last.name = sums.name), 0) AS seq
       FROM table_sums AS sums`,
    )
    .all()
    .map((row) => ({
      name: text(row, 'name'),
      kept: number(row, 'last_number'),
      found: number(row, 'seq'),
    }));
}

/**
 * How SQLite computes the checksum of a row: the sum of `texts` and `numbers`. `of` is the prefix of a column, such as
 * `OLD.`.
 */
interface TableChecksum {
  readonly table: string;
  /** The checksum of texts and bytes: the column `checksum` if there is one. */
  readonly texts: (of: string) => string;
  /** The sum of the numbers, in which each column has a weight. */
  readonly numbers: (of: string) => string;
  readonly hasChecksum: boolean;
  /** Whether an update has left all texts and bytes as they were. */
  readonly isSame: string;
  /** Whether the table never uses a row number again. */
  readonly isNumbered: boolean;
}

/** The checksums of each schema that a process has opened: one for each kind of file. */
const knownChecksums = new Map<string, readonly TableChecksum[]>();

/**
 * Returns the checksums of all tables, except SQLite's own tables, the list of migrations (which `migrate` checks), and
 * the sums.
 */
function checksumsOf(database: Database): readonly TableChecksum[] {
  const schema = schemaOf(database);
  const known = knownChecksums.get(schema);
  if (known !== undefined) return known;
  const checksums = readChecksums(database);
  knownChecksums.set(schema, checksums);
  return checksums;
}

function readChecksums(database: Database): TableChecksum[] {
  const columns = database
    .prepare<[], { table: string; sql: string; name: string; type: string; mayBeNull: 0 | 1 }>(
      `SELECT tables.name AS "table", tables.sql, columns.name, columns.type,
         NOT (columns."notnull" OR columns.pk) AS mayBeNull
       FROM main.sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         AND tables.name NOT IN ('cosmig_schema', 'table_sums') ORDER BY tables.name, columns.cid`,
    )
    .all();
  return [...new Set(columns.map(({ table }) => table))].map((table) => {
    const all = columns.filter((column) => column.table === table);
    const isNumber = ({ type, name }: { type: string; name: string }): boolean =>
      type === 'INTEGER' && name !== 'checksum';
    const numbers = all.filter(isNumber);
    const valueOf = (of: string, { name, mayBeNull }: { name: string; mayBeNull: 0 | 1 }): string =>
      mayBeNull === 1 ? `ifnull(${of}${name}, -1)` : of + name;
    const checksum = all.filter(({ name }) => name === 'checksum').map(({ name }) => name);
    const texts =
      checksum.length > 0 ? checksum : all.filter((one) => !isNumber(one)).map(({ name }) => name);
    return {
      table,
      texts: (of) =>
        checksum.length > 0
          ? `${of}checksum`
          : `cosmig_checksum(${texts.map((name) => of + name).join(', ')})`,
      numbers: (of) => ['0', ...numbers.map((column, n) => weighted(valueOf(of, column), n))].join(' + '),
      hasChecksum: checksum.length > 0,
      isSame: ['TRUE', ...texts.map((name) => `OLD.${name} IS NEW.${name}`)].join(' AND '),
      isNumbered: all.some(({ sql }) => /\bAUTOINCREMENT\b/i.test(sql)),
    };
  });
}

/**
 * Returns a number of a row, multiplied by the weight of its column, as SQL. The result has 31 bits, so that a sum over
 * ten such columns of hundreds of millions of rows stays within the 64 bits of SQLite. The divisor is a prime, so a
 * number with any one bit changed has another remainder.
 */
function weighted(value: string, n: number): string {
  return `${value} * ${31 + 4 * n} % 0x7fffffed`;
}

/**
 * Connections that already have the function `cosmig_checksum`. Adding it again would make SQLite prepare every
 * statement again.
 */
const withFunction = new WeakSet<Database>();

function addFunction(database: Database): void {
  if (withFunction.has(database)) return;
  database.function('cosmig_checksum', { varargs: true, deterministic: true }, checksumOf);
  withFunction.add(database);
}
