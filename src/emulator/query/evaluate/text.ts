/** Strings that a query makes. Nested REPLACEs and repeated mentions multiply, so their length has a bound. */
import { Refusal } from '../../http/refusal.ts';
import { isArray, isObject } from './values.ts';
import type { Value } from './values.ts';

/** Far above any document, far below what would hurt the process. */
const TEXT_UNITS_MAX = 16 * 1024 * 1024;

export function refuseLongText(units: number): void {
  if (units <= TEXT_UNITS_MAX) return;
  throw new Refusal(400, `A value in the query grew over ${TEXT_UNITS_MAX} characters.`);
}

export function concat(...parts: readonly Value[]): Value {
  let text = '';
  for (const part of parts) {
    if (typeof part !== 'string') return undefined;
    refuseLongText(text.length + part.length);
    text += part;
  }
  return text;
}

/** The value as JSON; undefined has no JSON. */
export function jsonText(value: Value): string | undefined {
  refuseLongText(unitsOf(value));
  return JSON.stringify(value);
}

/** At least this long, escapes not counted. */
function unitsOf(value: Value): number {
  if (typeof value === 'string') return value.length;
  let units = 1;
  if (isArray(value)) for (const item of value) units += unitsOf(item);
  else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) units += name.length + unitsOf(item);
  }
  return units;
}
