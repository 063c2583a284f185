/**
 * The values a query computes with, and how the service compares them. A comparison of values of different
 * types, or with a missing one, is `undefined` and neither true nor false; only `true` keeps a document.
 */
export type SqlValue = undefined | null | boolean | number | string | readonly SqlValue[] | SqlObject;
export interface SqlObject {
  readonly [name: string]: SqlValue;
}

/** One step into a value: a property's name or an array's index. */
export type PathStep = string | number;

export type ValueType = 'undefined' | 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** Every order across types follows this sequence. */
const TYPE_RANK: Readonly<Record<ValueType, number>> = {
  undefined: 0,
  null: 1,
  boolean: 2,
  number: 3,
  string: 4,
  array: 5,
  object: 6,
};

export function typeOf(value: SqlValue): ValueType {
  if (value === null) return 'null';
  if (isSqlArray(value)) return 'array';
  const type = typeof value;
  return type === 'undefined' || type === 'boolean' || type === 'number' || type === 'string'
    ? type
    : 'object';
}

export function isSqlArray(value: SqlValue): value is readonly SqlValue[] {
  return Array.isArray(value);
}

export function isSqlObject(value: SqlValue): value is SqlObject {
  return typeof value === 'object' && value !== null && !isSqlArray(value);
}

/** The value at the end of the steps. Own properties only, so that `__proto__` or `length` find nothing else. */
export function stepInto(value: SqlValue, steps: readonly PathStep[]): SqlValue {
  let at = value;
  for (const step of steps) {
    if (typeof step === 'number') at = isSqlArray(at) ? at[step] : undefined;
    else at = isSqlObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

/** Whether two values are the same, arrays and objects by content; names may come in any order. */
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

/** `=`: deep within one type, otherwise undefined. */
export function equal(left: SqlValue, right: SqlValue): boolean | undefined {
  const type = typeOf(left);
  return type === 'undefined' || type !== typeOf(right) ? undefined : same(left, right);
}

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Strings compare by UTF-16 code units. Of two objects or arrays only `=` can be asked. */
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

/** The total order of ORDER BY, MIN and MAX. Arrays are equal among themselves, and so are objects. */
export function order(left: SqlValue, right: SqlValue): number {
  const type = typeOf(left);
  const ranks = TYPE_RANK[type] - TYPE_RANK[typeOf(right)];
  if (ranks !== 0) return ranks;
  if (compare('<', left, right) === true) return -1;
  return compare('>', left, right) === true ? 1 : 0;
}

/** A result that JSON has no number for is undefined. */
export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}
