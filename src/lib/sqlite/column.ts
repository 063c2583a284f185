/** Reads columns of a row and checks their types. A value of another type means that the file is damaged. */
import { LedgerError } from '../errors.ts';

/** A row of a query's result, by column name. */
export type Columns = Readonly<Record<string, unknown>>;

export function number(row: Columns, name: string): number {
  const value = row[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw damaged(name, value);
  return value;
}

export function text(row: Columns, name: string): string {
  const value = row[name];
  if (typeof value !== 'string') throw damaged(name, value);
  return value;
}

/** Returns the bytes in a column; if `sizeBytes` is given, throws if there are more or fewer. */
export function bytes(row: Columns, name: string, sizeBytes?: number): Buffer {
  const value = row[name];
  if (!Buffer.isBuffer(value) || value.length !== (sizeBytes ?? value.length)) throw damaged(name, value);
  return value;
}

export function oneOf<T extends string>(row: Columns, name: string, allowed: readonly T[]): T {
  const value = allowed.find((one) => one === row[name]);
  if (value === undefined) throw damaged(name, row[name]);
  return value;
}

/** Returns null if the column is null, else the value that `read` returns. */
export function orNull<T>(row: Columns, name: string, read: (row: Columns, name: string) => T): T | null {
  return row[name] === null ? null : read(row, name);
}

/** Returns the text of a column that contains a JSON value written by cosmig. */
export function jsonText(row: Columns, name: string): string {
  json(row, name);
  return text(row, name);
}

/** Returns a JSON array that cosmig has written. */
export function list(row: Columns, name: string): unknown[] {
  const value = json(row, name);
  if (!Array.isArray(value)) throw damaged(name, row[name]);
  return value;
}

/** Returns a JSON object whose values are texts, written by cosmig. */
export function texts(row: Columns, name: string): Readonly<Record<string, string>> {
  const value = json(row, name);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || !Object.values(value).every((one) => typeof one === 'string'))
    throw damaged(name, row[name]);
  return value as Readonly<Record<string, string>>;
}

/** Returns a JSON value that cosmig has written. */
export function json(row: Columns, name: string): unknown {
  try {
    return JSON.parse(text(row, name));
  } catch (error) {
    if (error instanceof SyntaxError) throw damaged(name, row[name]);
    throw error;
  }
}

function damaged(name: string, value: unknown): LedgerError {
  const found = Buffer.isBuffer(value) ? `${value.length} bytes` : value === null ? 'nothing' : typeof value;
  return damagedRow(`${name} holds ${found}, which is not a valid value`);
}

/** Returns the error for a row whose contents cosmig cannot have written. */
export function damagedRow(why: string, cause?: unknown): LedgerError {
  const hint = 'restore the ledger from a backup made while the migration was stopped';
  return new LedgerError('the ledger is damaged', { why, hint, cause });
}
