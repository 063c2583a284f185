/**
 * What a query means, by Microsoft's documentation of the query language: a second, naive evaluator, which shares nothing
 * with the emulator's. It evaluates trees, not text, and makes lists of everything.
 *
 * "No value" (undefined) is a symbol here, so that no operator of JavaScript can handle it by chance.
 */
export const NOTHING = Symbol('undefined');
type Data = null | boolean | number | string | readonly Data[] | { readonly [name: string]: Data };
export type Value = Data | typeof NOTHING;

export type Node =
  | { readonly is: 'literal'; readonly value: Value }
  | { readonly is: 'path'; readonly root: string; readonly steps: readonly (string | number)[] }
  | { readonly is: 'infix'; readonly op: string; readonly left: Node; readonly right: Node }
  | { readonly is: 'not'; readonly of: Node }
  | { readonly is: 'if'; readonly test: Node; readonly yes: Node; readonly no: Node }
  | { readonly is: 'in'; readonly of: Node; readonly list: readonly Node[]; readonly negated: boolean }
  | {
      readonly is: 'between';
      readonly of: Node;
      readonly low: Node;
      readonly high: Node;
      readonly negated: boolean;
    }
  | { readonly is: 'like'; readonly of: Node; readonly pattern: string; readonly negated: boolean }
  | { readonly is: 'array'; readonly items: readonly Node[] }
  | { readonly is: 'object'; readonly entries: readonly (readonly [string, Node])[] }
  | { readonly is: 'call'; readonly name: string; readonly args: readonly Node[] }
  | { readonly is: 'aggregate'; readonly name: string; readonly of: Node }
  | { readonly is: 'subquery'; readonly form: 'EXISTS' | 'ARRAY' | ''; readonly query: Query };

export interface Query {
  readonly distinct: boolean;
  /** SELECT VALUE of one expression, or named ones. */
  readonly select: Node | readonly (readonly [string, Node])[];
  /** The name of the container's documents; or, in a subquery, of the items of an array. */
  readonly from: { readonly name: string; readonly items?: Node };
  readonly joins: readonly (readonly [name: string, items: Node])[];
  readonly where?: Node | undefined;
  readonly groupBy: readonly Node[];
  readonly orderBy: readonly (readonly [key: Node, descending: boolean])[];
  readonly slice?: readonly [offset: number, limit: number] | undefined;
}

type Scope = Readonly<Record<string, Value>>;

const TYPES = ['nothing', 'null', 'boolean', 'number', 'string', 'array', 'object'];

function typeOf(value: Value): string {
  if (value === NOTHING) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** A text that is the same for the same value. */
export function sign(value: Value): string {
  if (value === NOTHING) return 'undefined';
  if (Array.isArray(value)) return `[${(value as readonly Data[]).map(sign).join()}]`;
  if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${sign((value as Record<string, Data>)[name] ?? null)}`).join()}}`;
  }
  return JSON.stringify(value);
}

function isPlain(value: Value): value is null | boolean | number | string {
  return ['null', 'boolean', 'number', 'string'].includes(typeOf(value));
}

function compared(op: string, left: Value, right: Value): Value {
  if (left === NOTHING || right === NOTHING || typeOf(left) !== typeOf(right)) return NOTHING;
  if (op === '=') return sign(left) === sign(right);
  if (!isPlain(left) || !isPlain(right)) return NOTHING;
  const [one, other] = [left ?? 0, right ?? 0];
  if (op === '!=') return one !== other;
  if (op === '<') return one < other;
  if (op === '<=') return one <= other;
  return op === '>' ? one > other : one >= other;
}

/** The documented truth tables. */
function logical(op: string, left: Value, right: Value): Value {
  const decisive = op === 'OR';
  if (left === decisive || right === decisive) return decisive;
  return typeof left === 'boolean' && typeof right === 'boolean' ? !decisive : NOTHING;
}

function negated(value: Value, isNegated: boolean): Value {
  if (!isNegated) return value;
  return typeof value === 'boolean' ? !value : NOTHING;
}

function number(value: number): Value {
  return Number.isFinite(value) ? value : NOTHING;
}

function infix(op: string, left: Value, right: Value): Value {
  if (op === 'AND' || op === 'OR') return logical(op, left, right);
  if (op === '??') return left === NOTHING ? right : left;
  if (op === '||') return typeof left === 'string' && typeof right === 'string' ? left + right : NOTHING;
  if (!['+', '-', '*', '/', '%'].includes(op)) return compared(op, left, right);
  if (typeof left !== 'number' || typeof right !== 'number') return NOTHING;
  if (op === '+') return number(left + right);
  if (op === '-') return number(left - right);
  if (op === '*') return number(left * right);
  return number(op === '/' ? left / right : left % right);
}

/** LIKE with `!` as its escape: each way to split the text is tried. */
function like(text: string, pattern: string): boolean {
  if (pattern === '') return text === '';
  const [first = '', rest] = [pattern[0], pattern.slice(1)];
  if (first === '%') return like(text, rest) || (text !== '' && like(text.slice(1), pattern));
  if (text === '') return false;
  if (first === '!') return text[0] === rest[0] && like(text.slice(1), rest.slice(1));
  if (first === '[') {
    const close = rest.indexOf(']');
    const set = rest.slice(0, close);
    const isIn = set.startsWith('^') ? !set.includes(text.charAt(0)) : set.includes(text.charAt(0));
    return isIn && like(text.slice(1), rest.slice(close + 1));
  }
  return (first === '_' || first === text[0]) && like(text.slice(1), rest);
}

const DAY_MS = 86_400_000;

/** The dates of the tests are whole milliseconds, so that JavaScript's dates can hold them. */
function dateOf(value: Value): Date | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}0000Z$/.test(value))
    return undefined;
  return new Date(`${value.slice(0, 23)}Z`);
}

function added(part: Value, count: Value, time: Value): Value {
  const date = dateOf(time);
  if (date === undefined || typeof count !== 'number' || !Number.isInteger(count)) return NOTHING;
  if (part === 'dd') date.setTime(date.getTime() + count * DAY_MS);
  else if (part === 'hh') date.setTime(date.getTime() + (count * DAY_MS) / 24);
  else if (part === 'mm' || part === 'yyyy') {
    const day = date.getUTCDate();
    date.setUTCMonth(date.getUTCMonth() + (part === 'mm' ? count : 12 * count));
    // A day that the month does not have runs over into the next one: back to the last day.
    if (date.getUTCDate() !== day) date.setUTCDate(0);
  } else return NOTHING;
  return date.toISOString().replace('Z', '0000Z');
}

function boundaries(part: Value, from: Value, to: Value): Value {
  const [start, end] = [dateOf(from), dateOf(to)];
  if (start === undefined || end === undefined) return NOTHING;
  const count = (date: Date): number => {
    if (part === 'dd') return Math.floor(date.getTime() / DAY_MS);
    if (part === 'hh') return Math.floor((date.getTime() / DAY_MS) * 24);
    return part === 'mm' ? date.getUTCFullYear() * 12 + date.getUTCMonth() : date.getUTCFullYear();
  };
  return ['dd', 'hh', 'mm', 'yyyy'].some((known) => known === part) ? count(end) - count(start) : NOTHING;
}

function contains(items: Value, wanted: Value, partial: Value): Value {
  if (!Array.isArray(items) || wanted === NOTHING || typeof partial !== 'boolean') return NOTHING;
  const list = items as readonly Data[];
  if (!partial || typeOf(wanted) !== 'object') return list.some((item) => sign(item) === sign(wanted));
  const entries = Object.entries(wanted as Record<string, Data>);
  return list.some(
    (item) =>
      typeOf(item) === 'object' &&
      entries.every(
        ([name, value]) =>
          Object.hasOwn(item as object, name) &&
          sign((item as Record<string, Data>)[name] ?? null) === sign(value),
      ),
  );
}

function called(name: string, args: readonly Value[]): Value {
  const [first = NOTHING, second = NOTHING, third = NOTHING] = args;
  switch (name) {
    case 'IS_DEFINED':
      return first !== NOTHING;
    case 'IS_NULL':
      return first === null;
    case 'IS_PRIMITIVE':
      return isPlain(first);
    case 'IS_BOOL':
    case 'IS_NUMBER':
    case 'IS_STRING':
    case 'IS_ARRAY':
    case 'IS_OBJECT':
      return typeOf(first).startsWith(name.slice(3).toLowerCase());
    case 'ARRAY_LENGTH':
      return Array.isArray(first) ? first.length : NOTHING;
    case 'ARRAY_CONTAINS':
      return contains(first, second, args.length === 3 ? third : false);
    case 'LENGTH':
      return typeof first === 'string' ? first.length : NOTHING;
    case 'UPPER':
      return typeof first === 'string' ? first.toUpperCase() : NOTHING;
    case 'STARTSWITH':
    case 'CONTAINS':
      if (typeof first !== 'string' || typeof second !== 'string') return NOTHING;
      return name === 'CONTAINS'
        ? first.split(second).length > 1 || second === ''
        : first.indexOf(second) === 0;
    case 'ABS':
      return typeof first === 'number' ? Math.abs(first) : NOTHING;
    case 'FLOOR':
      return typeof first === 'number' ? Math.floor(first) : NOTHING;
    case 'IIF':
      return first === true ? second : third;
    case 'DateTimeAdd':
      return added(first, second, third);
    case 'DateTimeDiff':
      return boundaries(first, second, third);
    default:
      throw new Error(name);
  }
}

function stepped(value: Value, steps: readonly (string | number)[]): Value {
  let at = value;
  for (const step of steps) {
    const matches = typeof step === 'number' ? Array.isArray(at) : typeOf(at) === 'object';
    const inner = matches
      ? Object.entries(at as Record<string, Data>).find(([name]) => name === String(step))
      : undefined;
    at = inner === undefined ? NOTHING : inner[1];
  }
  return at;
}

/** Compares by type and then by value; arrays are equal to each other, and so are objects. */
function ordered(left: Value, right: Value): number {
  const types = TYPES.indexOf(typeOf(left)) - TYPES.indexOf(typeOf(right));
  if (types !== 0) return types;
  if (compared('<', left, right) === true) return -1;
  return compared('>', left, right) === true ? 1 : 0;
}

function aggregated(name: string, of: Node, rows: readonly Scope[]): Value {
  const values = rows.map((row) => valueOf(of, row)).filter((value) => value !== NOTHING);
  if (name === 'COUNT') return values.length;
  if (name === 'MIN' || name === 'MAX') {
    if (values.length === 0 || !values.every(isPlain)) return NOTHING;
    const sorted = [...values].sort(ordered);
    return (name === 'MIN' ? sorted[0] : sorted.at(-1)) ?? null;
  }
  if (!values.every((value) => typeof value === 'number')) return NOTHING;
  const sum = values.reduce((total: number, value) => total + value, 0);
  return number(name === 'SUM' ? sum : sum / values.length);
}

/** The value of an expression in a row. Aggregates are over `group`; other expressions are the same in all of its rows. */
function valueOf(node: Node, row: Scope, group: readonly Scope[] = []): Value {
  const value = (inner: Node): Value => valueOf(inner, row, group);
  switch (node.is) {
    case 'literal':
      return node.value;
    case 'path':
      return stepped(row[node.root] ?? (node.root in row ? null : NOTHING), node.steps);
    case 'infix':
      return infix(node.op, value(node.left), value(node.right));
    case 'not':
      return negated(value(node.of), true);
    case 'if':
      return value(node.test) === true ? value(node.yes) : value(node.no);
    case 'in': {
      const found = node.list.map((item) => compared('=', value(node.of), value(item)));
      return negated(
        found.reduce((one, other) => logical('OR', one, other), false),
        node.negated,
      );
    }
    case 'between': {
      const isAbove = compared('>=', value(node.of), value(node.low));
      return negated(logical('AND', isAbove, compared('<=', value(node.of), value(node.high))), node.negated);
    }
    case 'like': {
      const text = value(node.of);
      return typeof text === 'string' ? negated(like(text, node.pattern), node.negated) : NOTHING;
    }
    case 'array':
      return node.items.map(value).filter((item) => item !== NOTHING);
    case 'object':
      return objectOf(node.entries, row, group);
    case 'call':
      return called(node.name, node.args.map(value));
    case 'aggregate':
      return aggregated(node.name, node.of, group);
    case 'subquery': {
      const results = resultsOf(node.query, [row]);
      if (node.form === 'EXISTS') return results.length > 0;
      return node.form === 'ARRAY' ? results : results.length === 0 ? NOTHING : (results[0] ?? null);
    }
  }
}

function objectOf(entries: readonly (readonly [string, Node])[], row: Scope, group: readonly Scope[]): Data {
  const values = entries.map(([name, of]) => [name, valueOf(of, row, group)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== NOTHING)) as Data;
}

function selectedBy({ select }: Query): readonly Node[] {
  if (!Array.isArray(select)) return [select as Node];
  return (select as readonly (readonly [string, Node])[]).map(([, node]) => node);
}

/** Returns the results of a query over rows: one for each document, or in a subquery the row around it. */
export function resultsOf(query: Query, given: readonly Scope[]): readonly Data[] {
  const items = (of: Node, row: Scope, name: string): readonly Scope[] => {
    const value = valueOf(of, row);
    return Array.isArray(value) ? (value as readonly Data[]).map((item) => ({ ...row, [name]: item })) : [];
  };
  const { name, items: of } = query.from;
  let rows = of === undefined ? given : given.flatMap((row) => items(of, row, name));
  for (const [alias, array] of query.joins) rows = rows.flatMap((row) => items(array, row, alias));
  const { where } = query;
  if (where !== undefined) rows = rows.filter((row) => valueOf(where, row) === true);
  rows = [...rows].sort((left, right) => {
    const differences = query.orderBy.map(
      ([key, descending]) => ordered(valueOf(key, left), valueOf(key, right)) * (descending ? -1 : 1),
    );
    return differences.find((difference) => difference !== 0) ?? 0;
  });
  let groups: readonly (readonly Scope[])[] = rows.map((row) => [row]);
  if (query.groupBy.length > 0) {
    const keyOf = (row: Scope): string => query.groupBy.map((key) => sign(valueOf(key, row))).join('|');
    const keys = [...new Set(rows.map(keyOf))];
    groups = keys.map((key) => rows.filter((row) => keyOf(row) === key));
  } else if (selectedBy(query).some(({ is }) => is === 'aggregate')) groups = [rows];
  let results = groups
    .map((group) => {
      const row = group[0] ?? {};
      return Array.isArray(query.select)
        ? objectOf(query.select as readonly (readonly [string, Node])[], row, group)
        : valueOf(query.select as Node, row, group);
    })
    .filter((result) => result !== NOTHING);
  if (query.distinct)
    results = results.filter((one, at) => results.findIndex((other) => sign(other) === sign(one)) === at);
  const [offset, limit] = query.slice ?? [0, Infinity];
  return results.slice(offset, offset + limit);
}
