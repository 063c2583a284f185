/**
 * The values that a query computes with, the document that they come from, and how the service compares values.
 *
 * Invariant: a comparison of values of different types, or with a missing value, is `undefined`, neither true nor
 * false. Only `true` selects a document.
 */
export type SqlValue = undefined | null | boolean | number | string | readonly SqlValue[] | SqlObject;
export interface SqlObject {
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
  if (left === null && right === null) return operator === '<=' || operator === '>=';
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
  return undefined;
}

/** Compares two values for ORDER BY, MIN and MAX. Any two arrays are equal here, and so are any two objects. */
export function order(left: SqlValue, right: SqlValue): number {
  const type = typeOf(left);
  const ranks = TYPE_RANK[type] - TYPE_RANK[typeOf(right)];
  if (ranks !== 0) return ranks;
  if (compare('<', left, right) === true) return -1;
  return compare('>', left, right) === true ? 1 : 0;
}

export function isInteger(value: SqlValue): value is number {
  return Number.isInteger(value);
}

/** Returns the number; undefined if JSON cannot represent it. */
export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/**
 * What a name in a query stands for: a part of the stored document, which can be cut out of its text, or a value that the
 * query has computed.
 */
export type Binding = { readonly steps: readonly PathStep[] } | { readonly value: SqlValue };

/** The root of a path that starts at the stored document itself, whatever name the query gives the document. */
export const DOCUMENT = '';

interface Bound {
  readonly name: string;
  readonly binding: Binding;
  readonly next: Bound | undefined;
}

/** The text of a stored document, and its value, which is parsed when it is first needed. */
class StoredText {
  readonly text: string;
  #value: SqlValue;

  constructor(text: string) {
    this.text = text;
  }

  get value(): SqlValue {
    this.#value ??= JSON.parse(this.text) as SqlValue;
    return this.#value;
  }
}

/** One row of a query: a stored document, and what each name of FROM and JOIN stands for in this row. */
export class QueryRow {
  readonly #stored: StoredText;
  readonly #bound: Bound | undefined;

  private constructor(stored: StoredText, bound: Bound | undefined) {
    this.#stored = stored;
    this.#bound = bound;
  }

  static of(text: string): QueryRow {
    return new QueryRow(new StoredText(text), undefined);
  }

  /** Returns this row with one more name. This name hides an equal name of an outer query. */
  with(name: string, binding: Binding): QueryRow {
    return new QueryRow(this.#stored, { name, binding, next: this.#bound });
  }

  /** Returns what a path stands for. */
  part(root: string, steps: readonly PathStep[]): Binding {
    const binding = this.#bindingOf(root);
    if ('steps' in binding) return { steps: [...binding.steps, ...steps] };
    return { value: stepInto(binding.value, steps) };
  }

  at(root: string, steps: readonly PathStep[]): SqlValue {
    const binding = this.#bindingOf(root);
    if ('value' in binding) return stepInto(binding.value, steps);
    return stepInto(stepInto(this.#stored.value, binding.steps), steps);
  }

  /** Returns a part of the stored document as it is spelled there; `cut` finds it in the text. */
  textAt(
    steps: readonly PathStep[],
    cut: (text: string, steps: readonly PathStep[]) => string | undefined,
  ): string | undefined {
    return steps.length === 0 ? this.#stored.text : cut(this.#stored.text, steps);
  }

  #bindingOf(root: string): Binding {
    let bound = this.#bound;
    while (bound !== undefined && bound.name !== root) bound = bound.next;
    return bound?.binding ?? { steps: [] };
  }
}

/** Returns a text that is the same for equal values: the properties of objects are sorted by name. */
export function canonicalText(value: SqlValue): string {
  return JSON.stringify(value, (_name, item: SqlValue) =>
    isSqlObject(item)
      ? Object.fromEntries(Object.entries(item).sort(([one], [other]) => (one < other ? -1 : 1)))
      : item,
  );
}
