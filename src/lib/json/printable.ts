/**
 * Text from documents, services and command lines, made safe for a terminal. Invariant: the result contains no
 * character that a terminal interprets or that hides or reorders text, other than a line feed and a tab.
 */

/**
 * Control characters, format characters (such as bidirectional overrides), lone surrogates, separators of lines, and
 * everything else that has no shape of its own, such as a blank letter or a variation selector.
 */
const NOT_SHOWN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Escapes what must not reach a terminal. The escapes are those of JSON, so that JSON text keeps its meaning. */
export function printable(text: string): string {
  return text.replaceAll(NOT_SHOWN, (mark) => (mark === '\n' || mark === '\t' ? mark : escaped(mark)));
}

/** Like `printable`, but line feeds and tabs are escaped too: nothing in the text can look like a line of its own. */
export function printableLine(text: string): string {
  return text.replaceAll(NOT_SHOWN, escaped);
}

function escaped(mark: string): string {
  // A mark outside the basic plane is escaped as a surrogate pair.
  return Array.from(
    { length: mark.length },
    (_, unit) => String.raw`\u` + mark.charCodeAt(unit).toString(16).padStart(4, '0'),
  ).join('');
}
