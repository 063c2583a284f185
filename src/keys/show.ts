/** Values in words for people: short, on one line, and without anything a terminal would obey. */
import { composite, type Value } from './strategies/strategy.ts';

/** A key may have 2,048 bytes; nobody reads that many in a line. */
const UNITS_MAX = 120;

/** The value as JSON, or what it is in words. */
export function show(value: Value): string {
  if (value === undefined) return 'missing';
  if (value === composite) return 'an object or array';
  if (typeof value === 'number') return String(value);
  const text = printable(JSON.stringify(value));
  if (text.length <= UNITS_MAX) return text;
  // A pair is not cut in two.
  const start = text.slice(0, UNITS_MAX).replace(/[\ud800-\udbff]$/, '');
  return `${start}… (${text.length} characters)`;
}

/** JSON escapes control characters below 0x20; terminals know some more, and marks that turn text around. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (mark) => String.raw`\u` + mark.charCodeAt(0).toString(16).padStart(4, '0'),
  );
}
