/**
 * The values a query computes with, and how the service compares them. A comparison of values of different
 * types, or with a missing one, is `undefined` and neither true nor false; only `true` keeps a document.
 */
export type Value = undefined | null | boolean | number | string | readonly Value[] | ObjectValue;
export interface ObjectValue {
  readonly [name: string]: Value;
}

/** One step into a value: a property's name or an array's index. */
export type Step = string | number;

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

export function typeOf(value: Value): ValueType {
  if (value === null) return 'null';
  if (isArray(value)) return 'array';
  const type = typeof value;
  return type === 'undefined' || type === 'boolean' || type === 'number' || type === 'string'
    ? type
    : 'object';
}

export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isObject(value: Value): value is ObjectValue {
  return typeof value === 'object' && value !== null && !isArray(value);
}

/** The value at the end of the steps. Own properties only, so that `__proto__` or `length` find nothing else. */
export function stepInto(value: Value, steps: readonly Step[]): Value {
  let at = value;
  for (const step of steps) {
    if (typeof step === 'number') at = isArray(at) ? at[step] : undefined;
    else at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

/** Whether two values are the same, arrays and objects by content; names may come in any order. */
export function same(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (isArray(left)) {
    return (
      isArray(right) && left.length === right.length && left.every((item, index) => same(item, right[index]))
    );
  }
  if (!isObject(left) || !isObject(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && same(left[name], right[name]))
  );
}

/** `=`: deep within one type, otherwise undefined. */
export function equal(left: Value, right: Value): boolean | undefined {
  const type = typeOf(left);
  return type === 'undefined' || type !== typeOf(right) ? undefined : same(left, right);
}

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Strings compare by UTF-16 code units. Of two objects or arrays only `=` can be asked. */
export function compare(operator: Comparison, left: Value, right: Value): boolean | undefined {
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
export function order(left: Value, right: Value): number {
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
