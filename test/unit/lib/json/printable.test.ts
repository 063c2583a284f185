import { expect, test } from 'vitest';
import { safeStringify } from '../../../../src/lib/json/json.ts';
import { printable, printableLine } from '../../../../src/lib/json/printable.ts';

test.each([
  ['plain text, accents and symbols', 'Zoë → 東京 €', 'Zoë → 東京 €'],
  ['a sequence that clears the screen', '\u001b[2J', String.raw`\u001b[2J`],
  ['the same with the control character of one unit', '\u009b2J', String.raw`\u009b2J`],
  ['a carriage return that overwrites the line', 'lost\rdone', String.raw`lost\u000ddone`],
  ['delete', '\u007f', String.raw`\u007f`],
  ['an override of the direction of text', 'a\u202eb\u2066c', String.raw`a\u202eb\u2066c`],
  ['marks of no width', 'a\u200bb\u00adc\ufeff', String.raw`a\u200bb\u00adc\ufeff`],
  ['a blank letter, and the variant of a character', 'a\u3164b\ufe0f', String.raw`a\u3164b\ufe0f`],
  ['separators of lines', '\u2028\u2029', String.raw`\u2028\u2029`],
  ['an invisible tag outside the basic plane', '\u{e0041}', String.raw`\udb40\udc41`],
  ['half of a surrogate pair', 'a\ud83d', String.raw`a\ud83d`],
])('printable: %s -> visible characters only', (_, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('printable: line feeds and tabs -> kept in a text, escaped in a line', () => {
  expect(printable('a\n\tb')).toBe('a\n\tb');
  expect(printableLine('a\n\tb')).toBe(String.raw`a\u000a\u0009b`);
});

test('json: any character -> the text is safe to show and parses to the same value', () => {
  const all = String.fromCharCode(...Array.from({ length: 0x10000 }, (_, unit) => unit));
  const text = safeStringify({ all });
  expect(JSON.parse(text)).toEqual({ all });
  expect(text).toBe(printableLine(text));
});
