/** Values as text for the operator. Invariant: the text is short, on one line, and without control characters. */
import { composite, type Value } from './strategies/strategy.ts';

/** The most characters of a value to show. A key may have 2,048 bytes, which is too long for a line. */
const UNITS_MAX = 120;

/** Returns the value as JSON, or names its kind. */
export function show(value: Value): string {
  if (value === undefined) return 'missing';
  if (value === composite) return 'an object or array';
  if (typeof value === 'number') return String(value);
  const text = printable(JSON.stringify(value));
  if (text.length <= UNITS_MAX) return text;
  // A surrogate pair is not divided.
  const start = text.slice(0, UNITS_MAX).replace(/[\ud800-\udbff]$/, '');
  return `${start}… (${text.length} characters)`;
}

/**
 * Escapes what JSON does not: JSON escapes control characters below 0x20, but terminals interpret some others, and
 * marks that change the direction of text.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (mark) => String.raw`\u` + mark.charCodeAt(0).toString(16).padStart(4, '0'),
  );
}
