/** Values as text for the operator. Invariant: the text is short, on one line, and without control characters. */
import { printableLine } from '../lib/json/printable.ts';
import { composite, type Value } from './strategies/strategy.ts';

/** The most characters of a value to show. A key may have 2,048 bytes, which is too long for a line. */
const UNITS_MAX = 120;

/** Returns the value as JSON, or names its kind. */
export function show(value: Value): string {
  if (value === undefined) return 'missing';
  if (value === composite) return 'an object or array';
  if (typeof value === 'number') return String(value);
  const text = printableLine(JSON.stringify(value));
  if (text.length <= UNITS_MAX) return text;
  // A surrogate pair is not divided.
  const start = text.slice(0, UNITS_MAX).replace(/[\ud800-\udbff]$/, '');
  return `${start}… (${text.length} characters)`;
}
