/** Values as text for people. Invariant: the text is short, on one line, and without terminal control characters. */
import { composite, type Value } from './strategies/strategy.ts';

/** A key may have 2,048 bytes, which is too long for a line. */
const UNITS_MAX = 120;

/** The value as JSON, or its kind in words. */
export function show(value: Value): string {
  if (value === undefined) return 'missing';
  if (value === composite) return 'an object or array';
  if (typeof value === 'number') return String(value);
  const text = printable(JSON.stringify(value));
  if (text.length <= UNITS_MAX) return text;
  // Surrogate pairs stay together.
  const start = text.slice(0, UNITS_MAX).replace(/[\ud800-\udbff]$/, '');
  return `${start}… (${text.length} characters)`;
}

/**
 * JSON escapes control characters below 0x20. Terminals interpret some others, and marks that change the direction
 * of text.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (mark) => String.raw`\u` + mark.charCodeAt(0).toString(16).padStart(4, '0'),
  );
}
