/** How results are worded for people: tables, numbers, times and counts read the same in every command. */

/** Names on the left, values on the right. */
export function table(rows: ReadonlyArray<readonly [name: string, value: string]>): string {
  return rows.map(([name, value]) => `${name.padEnd(20)} ${value}`).join('\n');
}

/** 1234567 as 1,234,567. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 range`, `2 ranges`. */
export function counted(value: number, what: string): string {
  return `${count(value)} ${what}${value === 1 ? '' : 's'}`;
}

/** `2 collision, 1 too-large`; nothing that does not occur. */
export function tallied(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([, number]) => number > 0)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, number]) => `${count(number)} ${name}`)
    .join(', ');
}

/** UTC to the second. */
export function instant(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`.replace('T', ' ');
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** The largest unit that says something: `3 h`. */
export function roughly(durationMs: number): string {
  const [unit, sizeMs] = UNITS.find(([, ms]) => durationMs >= ms) ?? ['s', 1000];
  return `${Math.max(0, Math.floor(durationMs / sizeMs))} ${unit}`;
}

/** Lines of at most so many columns, broken between words, or inside one that is longer than a line. */
export function lines(text: string, columns: number): string[] {
  const found: string[] = [''];
  for (const word of text.split(' ').flatMap((one) => pieces(one, columns))) {
    const line = found.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > columns) found.push(word);
    else found[found.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return found;
}

function pieces(word: string, columns: number): string[] {
  if (word.length <= columns) return [word];
  return [word.slice(0, columns), ...pieces(word.slice(columns), columns)];
}

const SHOWN_MAX = 60;
/** What is shown of what both have, before they differ. */
const BEFORE_MAX = 20;

/** Two texts that differ, short enough for a line; long ones that begin alike from where they do not. */
export function shortened(one: string, other: string): readonly [string, string] {
  let alike = 0;
  while (alike < one.length && one[alike] === other[alike]) alike += 1;
  const isLong = Math.max(one.length, other.length) > SHOWN_MAX;
  const from = isLong && alike >= SHOWN_MAX - BEFORE_MAX ? alike - BEFORE_MAX : 0;
  const shown = (text: string): string =>
    `${from > 0 ? '...' : ''}${text.slice(from, from + SHOWN_MAX)}${text.length > from + SHOWN_MAX ? '...' : ''}`;
  return [shown(one), shown(other)];
}
