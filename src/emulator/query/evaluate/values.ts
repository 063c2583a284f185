/**
 * The values that a query computes with, the document that they come from, and how the service compares values.
 *
 * Invariant: a comparison of values of different types, or with a missing value, is `undefined`, neither true nor
 * false. Only `true` selects a document.
 */
export type SqlValue = undefined | null | boolean | number | string | readonly SqlValue[] | SqlObject;
interface SqlObject {
  readonly [name: string]: SqlValue;
}

/** One step into a value: the name of a property or the index of an array. */
export type PathStep = string | number;

type ValueType = 'undefined' | 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** The order of types, for sorting values of different types. */
const TYPE_RANK: Readonly<Record<ValueType, number>> = {
  undefined: 0,
  null: 1,
  boolean: 2,
  number: 3,
  string: 4,
  array: 5,
  object: 6,
};

function typeOf(value: SqlValue): ValueType {
  if (value === null) return 'null';
  return isSqlArray(value) ? 'array' : (typeof value as ValueType);
}

export function isSqlArray(value: SqlValue): value is readonly SqlValue[] {
  return Array.isArray(value);
}

export function isSqlObject(value: SqlValue): value is SqlObject {
  return typeof value === 'object' && value !== null && !isSqlArray(value);
}

/** Returns the value at the end of the steps. Only own properties count: `__proto__` is an ordinary name. */
export function stepInto(value: SqlValue, steps: readonly PathStep[]): SqlValue {
  let at = value;
  for (const step of steps) {
    if (typeof step === 'number') at = isSqlArray(at) ? at[step] : undefined;
    else at = isSqlObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

/** Returns whether two values are the same. Arrays and objects are compared by content, properties in any order. */
export function same(left: SqlValue, right: SqlValue): boolean {
  if (left === right) return true;
  if (isSqlArray(left)) {
    return (
      isSqlArray(right) &&
      left.length === right.length &&
      left.every((item, index) => same(item, right[index]))
    );
  }
  if (!isSqlObject(left) || !isSqlObject(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && same(left[name], right[name]))
  );
}

/** Evaluates the operator `=`: compares values of one type by content; undefined for different types. */
export function equal(left: SqlValue, right: SqlValue): boolean | undefined {
  const type = typeOf(left);
  return type === 'undefined' || type !== typeOf(right) ? undefined : same(left, right);
}

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Evaluates a comparison. Strings are compared by UTF-16 code units. Objects and arrays support `=` only. */
export function compare(operator: ComparisonOperator, left: SqlValue, right: SqlValue): boolean | undefined {
  if (operator === '=') return equal(left, right);
  if (
    (typeof left === 'number' && typeof right === 'number') ||
    (typeof left === 'string' && typeof right === 'string') ||
    (typeof left === 'boolean' && typeof right === 'boolean')
  ) {
    switch (operator) {
      case '!=':
        return left !== right;
      case '<':
        return left < right;
      case '<=':
        return left <= right;
      case '>':
        return left > right;
      case '>=':
        return left >= right;
    }
  }
  return operator === '!=' && left === null && right === null ? false : undefined;
}

/** Compares two values for ORDER BY, MIN and MAX. Arrays are equal to each other, and so are objects. */
export function order(left: SqlValue, right: SqlValue): number {
  const type = typeOf(left);
  const ranks = TYPE_RANK[type] - TYPE_RANK[typeOf(right)];
  if (ranks !== 0) return ranks;
  if (compare('<', left, right) === true) return -1;
  return compare('>', left, right) === true ? 1 : 0;
}

/** Returns the number; undefined if JSON cannot represent it. */
export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** One stored document: its text, and its value. The text is parsed when the value is first needed, and only once. */
export class QueryRow {
  readonly text: string;
  #value: SqlValue;

  constructor(text: string) {
    this.text = text;
  }

  at(steps: readonly PathStep[]): SqlValue {
    this.#value ??= JSON.parse(this.text) as SqlValue;
    return stepInto(this.#value, steps);
  }
}
