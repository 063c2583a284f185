/**
 * Decodes single values of a page. Usual values take a few nanoseconds: texts without escapes are copied, and small
 * integers are read digit by digit. JSON.parse decodes other texts, and Number other numbers. Invariant: the result is
 * always that of JSON.parse.
 */
import type { PageScan } from './page-scan.ts';

export type Scalar = string | number | boolean | null;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The most digits of an integer that is read digit by digit. */
const SMALL_DIGITS = 9;

/** Returns whether the value that starts at `start` is an object or an array. */
export function isComposite(page: Uint8Array, start: number): boolean {
  const byte = page[start];
  return byte === 0x7b || byte === 0x5b;
}

/**
 * Returns where the value of a key level starts on the page; 0: the row has no value there, or has an object or an
 * array, which the service takes for a missing key value (fact SVC-3).
 */
export function keyStart(scan: PageScan, row: number, node: number): number {
  const start = scan.start(row, node);
  return start === 0 || isComposite(scan.page, start) ? 0 : start;
}

/** Returns the JSON text of the value of a key level; null where `keyStart` returns 0. */
export function keyText(scan: PageScan, row: number, node: number): string | null {
  const start = keyStart(scan, row, node);
  return start === 0 ? null : scan.page.toString('utf8', start, scan.end(row, node));
}

export function isText(page: Uint8Array, start: number): boolean {
  return page[start] === QUOTE;
}

/** Returns the value of the bytes from `start` to `end`, which must be a JSON string, number, true, false or null. */
export function decodeScalar(page: Buffer, start: number, end: number): Scalar {
  switch (page[start]) {
    case QUOTE:
      return decodeText(page, start, end);
    case 0x74:
      return true;
    case 0x66:
      return false;
    case 0x6e:
      return null;
    default:
      return decodeNumber(page, start, end);
  }
}

/** Returns the kind of the bytes between the quotes of a text: only ASCII, UTF-8 without escapes, or with escapes. */
function kindOfText(page: Uint8Array, start: number, end: number): 'ascii' | 'plain' | 'escaped' {
  let union = 0;
  for (let at = start + 1; at < end - 1; at += 1) {
    const byte = page[at] ?? 0;
    if (byte === BACKSLASH) return 'escaped';
    union |= byte;
  }
  return union < 0x80 ? 'ascii' : 'plain';
}

/** Returns the text of the JSON string that begins at `start` and ends before `end`, with its quotes. */
export function decodeText(page: Buffer, start: number, end: number): string {
  switch (kindOfText(page, start, end)) {
    case 'ascii':
      return page.toString('latin1', start + 1, end - 1);
    case 'plain':
      return page.toString('utf8', start + 1, end - 1);
    case 'escaped':
      return JSON.parse(page.toString('utf8', start, end)) as string;
  }
}

/** Returns a number as a double, the same as JSON.parse. */
export function decodeNumber(page: Buffer, start: number, end: number): number {
  const negative = page[start] === 0x2d;
  const first = negative ? start + 1 : start;
  if (end - first > SMALL_DIGITS) return Number(page.toString('latin1', start, end));
  let value = 0;
  for (let at = first; at < end; at += 1) {
    const digit = (page[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return Number(page.toString('latin1', start, end));
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}

/**
 * Returns the whole number at a node, such as an LSN, a time or a status code, read digit by digit; null: the row has
 * no value at the node, or one with anything but digits.
 */
export function integerAt(scan: PageScan, row: number, node: number): number | null {
  const start = scan.start(row, node);
  if (start === 0) return null;
  const end = scan.end(row, node);
  const { page } = scan;
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (page[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return null;
    value = value * 10 + digit;
  }
  return value;
}
