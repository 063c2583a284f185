/**
 * Decodes single values of a page. Usual values, short texts without escapes and small integers, take a few
 * nanoseconds; all others go through JSON.parse, with the same result.
 */
import type { PageScan } from './page-scan.ts';

export type Scalar = string | number | boolean | null;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A number with at most this many digits is a small integer. */
const SMALL_DIGITS = 9;

/** Whether the value that starts here is an object or an array. */
export function isComposite(page: Uint8Array, start: number): boolean {
  const byte = page[start];
  return byte === 0x7b || byte === 0x5b;
}

export function isText(page: Uint8Array, start: number): boolean {
  return page[start] === QUOTE;
}

/** The value of the bytes from `start` to `end`, which the scan found to be a string, a number or a word. */
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

/** The kind of bytes between the quotes of a text. */
function kindOfText(page: Uint8Array, start: number, end: number): 'ascii' | 'plain' | 'escaped' {
  let union = 0;
  for (let at = start + 1; at < end - 1; at += 1) {
    const byte = page[at] ?? 0;
    if (byte === BACKSLASH) return 'escaped';
    union |= byte;
  }
  return union < 0x80 ? 'ascii' : 'plain';
}

/** The text of a JSON string; `start` and `end` include its quotes. */
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

/** A number as the double that JSON.parse returns. */
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

/** The whole number at a node, read digit by digit (an LSN, a time, a status code); null where there is none, or another value. */
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
