/**
 * Reads rows from JSON in any form in which logs are exported: a list of objects, the tables of the query API, records
 * of Event Hubs, or one object on each line, as storage accounts have them.
 */
import { memberOf } from '../../../lib/json/json.ts';
import { columnOf, rowOf, type Row } from './columns.ts';

/** The longest text that is parsed at once. A larger export has one object on each line, or is not aggregated. */
const TEXT_MAX = 64 * 1024 * 1024;

/** A row, or what could not be read: one line of many, the end of a file that was cut, or the whole text. */
export type JsonRow = { readonly row: Row } | { readonly unread: 'line' | 'cut' | 'whole' };

export function* readJson(chunks: Iterable<string>): Generator<JsonRow> {
  let rest = '';
  let isLines: boolean | undefined;
  for (const chunk of chunks) {
    rest += chunk;
    if (rest.length > TEXT_MAX) {
      yield { unread: 'whole' };
      return;
    }
    if (isLines === false) continue;
    let end = rest.indexOf('\n');
    while (end >= 0) {
      const line = rest.slice(0, end);
      // Only a text with one value on each line has a first line that is a value.
      isLines ??= line.trim() === '' ? undefined : parse(line) !== undefined;
      if (isLines === false) break;
      yield* rowsOfLine(line, 'line');
      rest = rest.slice(end + 1);
      end = rest.indexOf('\n');
    }
  }
  if (isLines === true) {
    yield* rowsOfLine(rest, 'cut');
    return;
  }
  const whole = parse(rest);
  if (whole === undefined) yield { unread: 'whole' };
  else yield* rowsIn(whole.value);
}

function* rowsOfLine(line: string, unread: 'line' | 'cut'): Generator<JsonRow> {
  if (line.trim() === '') return;
  const parsed = parse(line);
  if (parsed === undefined) yield { unread };
  else yield* rowsIn(parsed.value);
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function* rowsIn(value: unknown): Generator<JsonRow> {
  if (Array.isArray(value)) {
    for (const one of value) yield* rowsIn(one);
    return;
  }
  const tables = memberOf(value, 'tables');
  const records = memberOf(value, 'records') ?? memberOf(value, 'value');
  if (Array.isArray(tables)) for (const table of tables) yield* rowsOfTable(table);
  else if (Array.isArray(records)) yield* rowsIn(records);
  else if (typeof value === 'object' && value !== null) yield { row: rowOfObject(value) };
  else yield { unread: 'line' };
}

function* rowsOfTable(table: unknown): Generator<JsonRow> {
  const columns = memberOf(table, 'columns');
  const rows = memberOf(table, 'rows');
  if (!Array.isArray(columns) || !Array.isArray(rows)) {
    yield { unread: 'line' };
    return;
  }
  const names = columns.map((column: unknown) => columnOf(String(memberOf(column, 'name'))));
  for (const row of rows) yield Array.isArray(row) ? { row: rowOf(names, row) } : { unread: 'line' };
}

/** Logs in storage accounts have most of their columns in an object `properties`. */
function rowOfObject(value: object): Row {
  const properties = Object.entries(value).find(([name]) => name.toLowerCase() === 'properties')?.[1];
  const inner: Array<[string, unknown]> =
    typeof properties === 'object' && properties !== null ? Object.entries(properties) : [];
  const entries = [...inner, ...Object.entries(value)];
  return rowOf(
    entries.map(([name]) => columnOf(name)),
    entries.map(([, one]) => one),
  );
}
