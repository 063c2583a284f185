/**
 * Orders documents for ORDER BY, and finds the first documents in that order.
 *
 * Invariant: an order key is small, because many keys are in memory and one is in each token. A key does not contain
 * the content of an array or object. Documents with equal keys are ordered by position.
 */
import { parseJson } from '../../json/json-value.ts';
import { order, type SqlValue } from '../evaluate/values.ts';

export interface OrderKey {
  readonly value: SqlValue;
}

/**
 * How many code units of a string its order key contains. Strings that are equal up to there have equal keys. A token
 * must fit into the request headers, which Node limits to 16 KB in total, and one unit can take six bytes before
 * base64.
 */
const STRING_UNITS = 512;

const SOME_ARRAY: SqlValue = [];
const SOME_OBJECT: SqlValue = {};

export function orderKey(value: SqlValue): OrderKey {
  if (typeof value === 'string' && value.length > STRING_UNITS) {
    // The string is copied through bytes, because a slice would keep the whole original in memory.
    return { value: Buffer.from(value.slice(0, STRING_UNITS), 'utf16le').toString('utf16le') };
  }
  if (Array.isArray(value)) return { value: SOME_ARRAY };
  return { value: typeof value === 'object' && value !== null ? SOME_OBJECT : value };
}

export function compareKeys(left: OrderKey, right: OrderKey): number {
  return order(left.value, right.value);
}

/** Encodes an order key for a token. Numbers become text, because JSON has no infinity, which 1e999 is parsed to. */
export function encodeKey({ value }: OrderKey): readonly string[] {
  if (typeof value === 'number') return ['number', String(value)];
  return value === undefined ? ['undefined'] : ['json', JSON.stringify(value)];
}

export function decodeKey([type, text]: readonly unknown[]): OrderKey | undefined {
  if (type === 'undefined') return { value: undefined };
  if (typeof text !== 'string') return undefined;
  if (type === 'number') return Number.isNaN(Number(text)) ? undefined : { value: Number(text) };
  const value = type === 'json' ? parseJson(text) : undefined;
  return value === undefined ? undefined : orderKey(value as SqlValue);
}

export interface OrderedPosition {
  readonly key: OrderKey;
  readonly position: number;
}

/** The least number of positions that are collected between two sorts. */
const SLACK_MIN = 64;

/** Collects the first `countMax` of any number of positions, in memory for about twice `countMax`. */
export class FirstPositions {
  readonly #countMax: number;
  readonly #compare: (left: OrderedPosition, right: OrderedPosition) => number;
  #positions: OrderedPosition[] = [];
  /** The last of the first `countMax` positions so far. Later positions cannot be among the first. */
  #last: OrderedPosition | undefined;

  constructor(countMax: number, compare: (left: OrderedPosition, right: OrderedPosition) => number) {
    this.#countMax = countMax;
    this.#compare = compare;
  }

  wants(position: OrderedPosition): boolean {
    return this.#last === undefined || this.#compare(position, this.#last) < 0;
  }

  add(position: OrderedPosition): void {
    this.#positions.push(position);
    if (this.#positions.length >= this.#countMax + Math.max(SLACK_MIN, this.#countMax)) this.sorted();
  }

  sorted(): readonly OrderedPosition[] {
    this.#positions.sort(this.#compare);
    if (this.#positions.length >= this.#countMax) {
      this.#positions.length = this.#countMax;
      this.#last = this.#positions.at(-1);
    }
    return this.#positions;
  }
}
