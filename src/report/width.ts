/** The columns that a text takes on a terminal or in a picture, so that a long one can be cut to fit. */

/** Characters that take two columns: East Asian scripts and pictures. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
/** Divides a text into what a reader sees as one character. */
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function columnsOf(text: string): number {
  return charactersOf(text).reduce((columns, character) => columns + widthOf(character), 0);
}

/** Cuts a text to at most `columns`; a cut is shown by an ellipsis. The end of a key often differs: both ends stay. */
export function cutToColumns(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  const characters = charactersOf(text);
  const endColumns = Math.floor((columns - 1) / 3);
  return `${take(characters, columns - 1 - endColumns)}…${take(characters.toReversed(), endColumns, true)}`;
}

/** Pads a text with spaces on its right. */
export function padToColumns(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)));
}

function charactersOf(text: string): readonly string[] {
  return Array.from(CHARACTERS.segment(text), ({ segment }) => segment);
}

function take(characters: readonly string[], columns: number, reversed = false): string {
  const taken: string[] = [];
  let used = 0;
  for (const character of characters) {
    used += widthOf(character);
    if (used > columns) break;
    taken.push(character);
  }
  return (reversed ? taken.toReversed() : taken).join('');
}

function widthOf(character: string): number {
  return WIDE.test(character) ? 2 : 1;
}
