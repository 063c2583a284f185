/** Formats values for people and scripts, so that tables, times, durations and keys look the same in every command. */
import { isAbsolute, relative } from 'node:path';
import type { KeyComponent } from '../epk/effective-key.ts';
import { formatCount, pluralize } from '../lib/counting.ts';
import type { CosmigError } from '../lib/errors.ts';
import type { ERROR, ErrorCode } from './json/run-results.ts';
import type { TypeOf } from './json/schema.ts';

export type TextRow = readonly [name: string, value: string];

/** Renders rows with the names on the left and the values on the right. */
export function table(rows: readonly TextRow[]): string {
  return rows.map(([name, value]) => `${name.padEnd(20)} ${value}`).join('\n');
}

/** The width of the column of values in a screen of 80 columns. A path has no blanks and is never broken. */
const VALUE_COLUMNS = 59;

/**
 * The blanks at which a value may be broken: not after a digit, so that a number stays on one line with its unit or
 * noun; not within the name of a command.
 */
const BREAKS = /(?<!\d|\bcosmig) /;

/**
 * Breaks a row that is too wide: the first row keeps the name, the rows below have none. `shown`: what becomes of a text
 * before the operator reads it.
 */
export function wrapRow([name, value]: TextRow, shown: (text: string) => string = (text) => text): TextRow[] {
  const words = value.startsWith(' ') || name.startsWith(' ') ? [value] : value.split(BREAKS);
  return fillLines(words, VALUE_COLUMNS, shown).map((line, at) => [at === 0 ? name : '', line]);
}

/**
 * Returns the row about integers beyond 2^53, which a double cannot distinguish from their neighbours; no row if no
 * such integer was read. Whether an account keeps them exactly is not known (fact SVC-44).
 */
export function longIntegerRows(versions: number | undefined): TextRow[] {
  if (versions === undefined) return [];
  const text = `in ${pluralize(versions, 'version')} that were read: integers beyond 2^53, which are sent as they were read`;
  return [['long integers', text]];
}

/** Returns a path as it is named in the working directory, if it is there: such a path seldom exceeds its line. */
export function shownPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === '' || fromHere.startsWith('..') || isAbsolute(fromHere) ? path : fromHere;
}

/** Returns a time in ISO 8601, the format of all times in `--json`. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Returns a duration as `4.2 s`, `95 s`, `12 min 5 s` or `3 h 20 min`. */
export function formatDuration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
  ['s', 1000],
] as const;

/** Returns a duration in its largest unit, rounded down: `3 h`. */
export function formatAge(durationMs: number): string {
  const [unit, sizeMs] = UNITS.find(([, ms]) => durationMs >= ms) ?? ['s', 1000];
  return `${Math.max(0, Math.floor(durationMs / sizeMs))} ${unit}`;
}

/** Returns a time that is left, rounded up, so that it begins with what was given: `7 d`, `6 d 23 h`, `23 h 59 min`. */
export function formatTimeLeft(leftMs: number): string {
  const at = leftMs > DAY_MS - MINUTE_MS ? 0 : leftMs > HOUR_MS - MINUTE_MS ? 1 : 2;
  const [large, small] = [UNITS[at], UNITS[at + 1]];
  if (large === undefined || small === undefined) return formatAge(leftMs);
  const count = Math.ceil(leftMs / small[1]);
  const ratio = large[1] / small[1];
  const parts = [
    [Math.floor(count / ratio), large[0]],
    [count % ratio, small[0]],
  ] as const;
  return parts.flatMap(([number, unit]) => (number === 0 ? [] : [`${number} ${unit}`])).join(' ');
}

const SIZES = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;

/** Returns a size in the largest unit that fits, with one decimal below 100: `1.5 MB`. */
export function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[power] ?? 'bytes'}`;
}

/**
 * Returns a percentage of at most 99%. The application keeps writing, so `done` may exceed `expected` before the work
 * is complete.
 */
export function formatPercent(done: number, expected: number): string {
  return `${expected === 0 ? 99 : Math.min(99, Math.floor((done * 100) / expected))}%`;
}

/** Returns the charge of both sides in whole RU. */
export function formatRu({ source, target }: { readonly source: number; readonly target: number }): string {
  return `${formatCount(Math.round(source))} source, ${formatCount(Math.round(target))} target`;
}

/**
 * Breaks a text into lines of at most `columns`, between words. A word that is longer than a line is broken too, after
 * a slash if the word is a path.
 */
export function wrapText(text: string, columns: number): string[] {
  return fillLines(
    text.split(' ').flatMap((word) => pieces(word, columns)),
    columns,
  );
}

/**
 * Joins words to lines of at most `columns`. A word that is longer than a line gets a line of its own. `shown`: what
 * becomes of a line before it is read, which may make it longer.
 */
export function fillLines(
  words: readonly string[],
  columns: number,
  shown: (text: string) => string = (text) => text,
): string[] {
  const [first = '', ...others] = words;
  const lines = [first];
  for (const word of others) {
    const line = lines.at(-1) ?? '';
    const longer = `${line} ${word}`;
    if (shown(longer).length > columns) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

function pieces(word: string, columns: number): string[] {
  if (word.length <= columns) return [word];
  const slash = word.lastIndexOf('/', columns - 1) + 1;
  const end = slash > 1 ? slash : columns;
  return [word.slice(0, end), ...pieces(word.slice(end), columns)];
}

const SHOWN_MAX = 60;
/** How many characters of a long common prefix are shown before the first difference. */
const BEFORE_MAX = 20;

/** Cuts the long common prefix of two different texts, so that each text fits on a line. */
export function elideCommonPrefix(one: string, other: string): readonly [string, string] {
  let alike = 0;
  while (alike < one.length && one[alike] === other[alike]) alike += 1;
  const isLong = Math.max(one.length, other.length) > SHOWN_MAX;
  const from = isLong && alike >= SHOWN_MAX - BEFORE_MAX ? alike - BEFORE_MAX : 0;
  const elide = (text: string): string =>
    `${from > 0 ? '...' : ''}${text.slice(from, from + SHOWN_MAX)}${text.length > from + SHOWN_MAX ? '...' : ''}`;
  return [elide(one), elide(other)];
}

/** Returns a key as JSON. A missing level is {}, as Cosmos DB sends it, since null is a valid key value. */
export function keyJson(values: readonly KeyComponent[]): unknown[] {
  return values.map((value) => (value === undefined ? {} : value));
}

/** Returns the `error` member of a result; an empty object when there is no error. */
export function errorJson(error: CosmigError): { readonly error: TypeOf<typeof ERROR> };
export function errorJson(error: CosmigError | undefined): { readonly error?: TypeOf<typeof ERROR> };
export function errorJson(error: CosmigError | undefined): { readonly error?: TypeOf<typeof ERROR> } {
  if (error === undefined) return {};
  const { code, message, hint } = error;
  return { error: { code: code as ErrorCode, message, hint } };
}
