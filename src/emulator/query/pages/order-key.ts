/**
 * A document's place under ORDER BY: small enough to keep for many documents and to travel in a token.
 * Arrays and objects are only told from other types; among themselves, as all ties, positions decide.
 */
import { order } from '../evaluate/values.ts';
import type { SqlValue } from '../evaluate/values.ts';

export interface OrderKey {
  readonly value: SqlValue;
}

/**
 * Strings that agree in this many code units are ties. A token must fit a request header, 16 KB with all
 * its neighbours in Node, and each of these units can cost six bytes before base64.
 */
const STRING_UNITS = 512;

const SOME_ARRAY: SqlValue = [];
const SOME_OBJECT: SqlValue = {};

export function orderKey(value: SqlValue): OrderKey {
  if (typeof value === 'string' && value.length > STRING_UNITS) {
    // Copied through bytes: a plain slice would keep the whole string in memory.
    return { value: Buffer.from(value.slice(0, STRING_UNITS), 'utf16le').toString('utf16le') };
  }
  if (Array.isArray(value)) return { value: SOME_ARRAY };
  return { value: typeof value === 'object' && value !== null ? SOME_OBJECT : value };
}

export function compareKeys(left: OrderKey, right: OrderKey): number {
  return order(left.value, right.value);
}

/** Numbers travel as text, which has room for the infinity that 1e999 parses to. */
export function encodeKey({ value }: OrderKey): readonly string[] {
  if (typeof value === 'number') return ['number', String(value)];
  return value === undefined ? ['undefined'] : ['json', JSON.stringify(value)];
}

export function decodeKey([type, text]: readonly unknown[]): OrderKey | undefined {
  if (type === 'undefined') return { value: undefined };
  if (typeof text !== 'string') return undefined;
  if (type === 'number') return Number.isNaN(Number(text)) ? undefined : { value: Number(text) };
  if (type !== 'json') return undefined;
  try {
    return orderKey(JSON.parse(text) as SqlValue);
  } catch {
    return undefined;
  }
}
