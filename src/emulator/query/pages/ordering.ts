/**
 * The order of documents under ORDER BY, and the first documents in that order.
 *
 * Invariant: the keys kept here are small, because many are held in memory and one travels in each token. Arrays and
 * objects are only distinguished from other types; among themselves, as for all ties, positions decide.
 */
import { parseJson } from '../../json/json-value.ts';
import { order, type SqlValue } from '../evaluate/values.ts';

export interface OrderKey {
  readonly value: SqlValue;
}

/**
 * Strings that agree in this many code units are ties. A token must fit into the request headers, which Node limits to
 * 16 KB in total, and one unit can take six bytes before base64.
 */
const STRING_UNITS = 512;

const SOME_ARRAY: SqlValue = [];
const SOME_OBJECT: SqlValue = {};

export function orderKey(value: SqlValue): OrderKey {
  if (typeof value === 'string' && value.length > STRING_UNITS) {
    // Copied through bytes, because a slice would keep the whole string in memory.
    return { value: Buffer.from(value.slice(0, STRING_UNITS), 'utf16le').toString('utf16le') };
  }
  if (Array.isArray(value)) return { value: SOME_ARRAY };
  return { value: typeof value === 'object' && value !== null ? SOME_OBJECT : value };
}

export function compareKeys(left: OrderKey, right: OrderKey): number {
  return order(left.value, right.value);
}

/** Numbers are written as text, which can express the infinity that 1e999 is parsed to. */
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

/** The least number of positions to collect between two sorts. */
const SLACK_MIN = 64;

/** The first `countMax` of many positions, in memory for about twice that number, however many are offered. */
export class FirstPositions {
  readonly #countMax: number;
  readonly #compare: (left: OrderedPosition, right: OrderedPosition) => number;
  #positions: OrderedPosition[] = [];
  /** A position at or after this one cannot be among the first. */
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
