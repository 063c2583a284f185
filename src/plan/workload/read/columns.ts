/**
 * Finds the columns of an export by their names. Tables, older logs, storage accounts and the portal spell the same
 * column in different ways: `QueryText`, `querytext_s`, `TimeGenerated [UTC]`.
 */

/** What a row can say. */
export type Column =
  | 'query'
  | 'operation'
  | 'key'
  | 'executions'
  | 'ru'
  | 'partitions'
  | 'range'
  | 'activity'
  | 'correlated'
  | 'time'
  | 'seconds'
  | 'database'
  | 'container'
  | 'resourceType';

const NAMES: Readonly<Record<Column, readonly string[]>> = {
  query: ['querytext', 'query'],
  operation: ['operationname', 'operation'],
  key: ['partitionkey'],
  executions: ['executions', 'requestcount', 'samplecount', 'count', 'calls'],
  ru: ['totalru', 'totalrequestcharge', 'requestcharge', 'sumrequestcharge', 'ru'],
  partitions: ['avgpartitions', 'avgfanout', 'partitionshit'],
  range: ['partitionkeyrangeid'],
  activity: ['activityid'],
  correlated: ['correlatedactivityid'],
  time: ['timegenerated', 'time'],
  seconds: ['windowseconds'],
  database: ['databasename', 'database'],
  container: ['collectionname', 'containername', 'container'],
  resourceType: ['requestresourcetype'],
};
const COLUMNS = new Map(
  Object.entries(NAMES).flatMap(([column, names]) => names.map((name) => [name, column as Column] as const)),
);

/** The values of a row that are not empty. */
export type Row = Partial<Readonly<Record<Column, string>>>;

/** Returns the column that a name stands for; undefined: one that is not needed. */
export function columnOf(name: string): Column | undefined {
  const plain = name
    .trim()
    .toLowerCase()
    // The portal adds the time zone, and older logs the type.
    .replace(/\s*\[[^\]]*\]$/, '')
    .replace(/_[sdgbt]$/, '')
    .replaceAll(/[^a-z0-9]/g, '');
  return COLUMNS.get(plain);
}

/** Returns the row of these values. If two columns have the same meaning, the first one that has a value counts. */
export function rowOf(columns: readonly (Column | undefined)[], values: readonly unknown[]): Row {
  const row: Partial<Record<Column, string>> = {};
  for (const [at, column] of columns.entries()) {
    const value = textOf(values[at]);
    if (column !== undefined && value !== '') row[column] ??= value;
  }
  return row;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}
