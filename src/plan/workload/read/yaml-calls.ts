/**
 * Reads a workload that was written by hand, for those who have no logs:
 *
 *     container: shop/orders
 *     queries:
 *       - query: SELECT * FROM c WHERE c.userId = @user
 *         perSecond: 12
 *         results: 20
 *       - operation: read
 *         perMinute: 600
 *         knows: [/userId]
 */
import { UsageError } from '../../../lib/errors.ts';
import { nearest } from '../../../lib/nearest.ts';
import { parsePath } from '../../../keys/path.ts';
import { readPlainYaml } from '../../../spec/input/yaml-text.ts';
import { conditionsOf } from '../query/conditions.ts';
import { withoutValues } from '../query/tokens.ts';
import { doingOf, obfuscationOf, type WorkloadCall, type Workload } from '../workload.ts';
import type { ContainerOfPlan } from './tally.ts';

const TEXT_MAX = 1024 * 1024;
const MARKS_MAX = 5000;
/** The figures of a file are those of a day. */
const DAY = 86_400;
const RATES = { perSecond: DAY, perMinute: DAY / 60, perHour: 24, perDay: 1 } as const;
const FIELDS = ['query', 'operation', ...Object.keys(RATES), 'results', 'ru', 'partitionKey', 'knows'];
const HINT = 'for example queries: [{ query: "SELECT * FROM c WHERE c.userId = @user", perSecond: 12 }]';

export function readYamlCalls(text: string, { of, name }: { of: ContainerOfPlan; name: string }): Workload {
  const refuse = (why: string): UsageError => new UsageError(`${name} cannot be used`, { why, hint: HINT });
  if (text.length > TEXT_MAX) throw refuse(`it has more than ${TEXT_MAX / 1024} KB`);
  const read = readPlainYaml(text, MARKS_MAX);
  if ('why' in read) throw refuse(read.line === null ? read.why : `line ${read.line}: ${read.why}`);
  const { value } = read;
  if (!isObject(value)) throw refuse('it has no list named queries');
  const unknown = Object.keys(value).find((key) => key !== 'queries' && key !== 'container');
  if (unknown !== undefined) throw refuse('it has a name other than container and queries');
  const { container, queries } = value;
  const own = `${of.database}/${of.container}`;
  const isOwn = typeof container === 'string' && container.toLowerCase() === own.toLowerCase();
  if (container !== undefined && !isOwn)
    throw new UsageError(`${name} is about another container`, {
      why: `it names a container other than ${own}, which the plan is about`,
      hint: 'name the file that was written for this container',
    });
  if (!Array.isArray(queries) || queries.length === 0) throw refuse('it has no list named queries');
  const calls = queries.map((one: unknown, at) => {
    const call = callOf(one);
    if (typeof call === 'string') throw refuse(`entry ${at + 1} of queries ${call}`);
    return call;
  });
  return {
    file: name,
    calls,
    seconds: DAY,
    hottestKeys: [],
    skipped: 0,
    notes: [],
    obfuscated: obfuscationOf(calls),
  };
}

/** Reads an entry; returns what is wrong with it as a text that follows its name. */
function callOf(entry: unknown): WorkloadCall | string {
  if (!isObject(entry)) return 'is not a list of names with values';
  const unknown = Object.keys(entry).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, FIELDS);
    return `has an unknown name${near === undefined ? '' : `; did you mean ${near}?`}`;
  }
  const rates = Object.entries(RATES).filter(([name]) => entry[name] !== undefined);
  const [rate] = rates;
  if (rate === undefined || rates.length > 1) return `needs one of ${Object.keys(RATES).join(', ')}`;
  for (const name of [rate[0], 'results', 'ru'])
    if (entry[name] !== undefined && !isFigure(entry[name]))
      return `has a ${name} that is not a number from 0 up`;
  const executions = Number(entry[rate[0]]) * rate[1];
  if (executions === 0) return `has a ${rate[0]} of 0`;
  if (!Number.isFinite(executions)) return `has a ${rate[0]} that is too large`;
  const knows = pathsOf(entry['knows'] ?? []);
  if (knows === undefined) return 'has a list knows with something other than paths such as /userId';
  const { query, operation, partitionKey = false } = entry;
  if (typeof partitionKey !== 'boolean') return 'has a partitionKey other than true and false';
  if ((query === undefined) === (operation === undefined)) return 'needs either query or operation';
  const does =
    typeof query === 'string'
      ? ({ kind: 'query', conditions: conditionsOf(query) ?? null } as const)
      : doingOf(typeof operation === 'string' ? operation : '');
  if (does === null)
    return 'has an operation other than read, create, replace, upsert, patch, delete and batch';
  return {
    text: typeof query === 'string' ? withoutValues(query) : String(operation),
    does,
    executions,
    ru: entry['ru'] === undefined ? null : Number(entry['ru']) * executions,
    partitions: null,
    results: entry['results'] === undefined ? null : Number(entry['results']),
    knows,
    namesKey: partitionKey,
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFigure(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function pathsOf(value: unknown): string[][] | undefined {
  const texts: unknown[] = Array.isArray(value) ? value : [value];
  const paths = texts.flatMap((text) => {
    try {
      return typeof text === 'string' ? [[...parsePath(text)]] : [];
    } catch (error) {
      if (error instanceof UsageError) return [];
      throw error;
    }
  });
  return paths.length === texts.length ? paths : undefined;
}
