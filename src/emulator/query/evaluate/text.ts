/**
 * Writes the strings that a query creates.
 *
 * Invariant: the length of a string is bounded, because nested REPLACEs and repeated properties multiply it.
 */
import { Refusal } from '../../http/refusal.ts';
import { isSqlArray, isSqlObject, type SqlValue } from './values.ts';

/** The longest string: far longer than a document, far shorter than the process can hold. */
const TEXT_UNITS_MAX = 16 * 1024 * 1024;

export function refuseLongText(units: number): void {
  if (units <= TEXT_UNITS_MAX) return;
  throw new Refusal(400, `A value in the query became longer than ${TEXT_UNITS_MAX} characters.`);
}

export function concatenate(...parts: readonly SqlValue[]): SqlValue {
  let text = '';
  for (const part of parts) {
    if (typeof part !== 'string') return undefined;
    refuseLongText(text.length + part.length);
    text += part;
  }
  return text;
}

/** Returns the value as JSON text; undefined for an undefined value. */
export function toJson(value: SqlValue): string | undefined {
  refuseLongText(unitsOf(value));
  return JSON.stringify(value);
}

/** Returns the least length that the value's JSON text can have. Escapes are not counted. */
function unitsOf(value: SqlValue): number {
  if (typeof value === 'string') return value.length;
  let units = 1;
  if (isSqlArray(value)) for (const item of value) units += unitsOf(item);
  else if (isSqlObject(value)) {
    for (const [name, item] of Object.entries(value)) units += name.length + unitsOf(item);
  }
  return units;
}
