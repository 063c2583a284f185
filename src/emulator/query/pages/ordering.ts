/**
 * Orders documents for ORDER BY, and finds the first documents in that order.
 *
 * Invariant: an order key is small, because many keys are in memory and one is in each token. A key does not contain
 * the content of an array or object. Documents with equal keys are ordered by position.
 */
import { parseJson } from '../../json/json-value.ts';
import { order, type SqlValue } from '../evaluate/values.ts';

/** One value for each key of ORDER BY. */
export type OrderKeys = readonly SqlValue[];

/**
 * How many code units of strings an order key keeps. Each of its strings gets an equal share, and two strings that
 * begin with the same units, up to this share, have equal keys. A token must fit into the request headers, which Node
 * limits to 16 KB in total, and one unit can take six bytes before base64.
 */
const STRING_UNITS = 512;

const SOME_ARRAY: SqlValue = [];
const SOME_OBJECT: SqlValue = {};

export function orderKeys(values: readonly SqlValue[]): OrderKeys {
  const unitsMax = Math.floor(STRING_UNITS / Math.max(1, values.length));
  return values.map((value) => {
    if (typeof value === 'string' && value.length > unitsMax) {
      // The string is copied through bytes, because a slice would keep the whole original in memory.
      return Buffer.from(value.slice(0, unitsMax), 'utf16le').toString('utf16le');
    }
    if (Array.isArray(value)) return SOME_ARRAY;
    return typeof value === 'object' && value !== null ? SOME_OBJECT : value;
  });
}

/** Compares by the first key that differs; each direction is 1 or, for DESC, -1. */
export function compareKeys(left: OrderKeys, right: OrderKeys, directions: readonly number[]): number {
  for (const [index, direction] of directions.entries()) {
    const compared = order(left[index], right[index]) * direction;
    if (compared !== 0) return compared;
  }
  return 0;
}

/** Encodes order keys for a token. Numbers become text, because JSON has no infinity, which 1e999 is parsed to. */
export function encodeKeys(keys: OrderKeys): readonly (readonly string[])[] {
  return keys.map((value) => {
    if (typeof value === 'number') return ['number', String(value)];
    return value === undefined ? ['undefined'] : ['json', JSON.stringify(value)];
  });
}

/** Decodes the order keys of a token. Returns undefined if `encodeKeys` cannot have made one of them. */
export function decodeKeys(keys: readonly unknown[]): OrderKeys | undefined {
  const values: SqlValue[] = [];
  for (const key of keys) {
    const [type, text] = Array.isArray(key) ? (key as readonly unknown[]) : [];
    if (type === 'undefined') values.push(undefined);
    else if (typeof text !== 'string') return undefined;
    else if (type === 'number' && !Number.isNaN(Number(text))) values.push(Number(text));
    else {
      const value = type === 'json' ? parseJson(text) : undefined;
      if (value === undefined) return undefined;
      values.push(value as SqlValue);
    }
  }
  return orderKeys(values);
}

export interface OrderedPosition {
  readonly keys: OrderKeys;
  readonly position: number;
  /** The number of the row among those of its document. */
  readonly index: number;
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
