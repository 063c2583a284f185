/**
 * Values as they stand in a page, decoded one by one. What is usual, a short text without escapes or a small whole
 * number, takes a few nanoseconds; everything else goes through JSON.parse and means the same.
 */

export type Scalar = string | number | boolean | null;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Digits that surely fit a small integer. */
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

/** What bytes a text's inside is made of. */
function kindOfText(page: Uint8Array, start: number, end: number): 'ascii' | 'plain' | 'escaped' {
  let union = 0;
  for (let at = start + 1; at < end - 1; at += 1) {
    const byte = page[at] ?? 0;
    if (byte === BACKSLASH) return 'escaped';
    union |= byte;
  }
  return union < 0x80 ? 'ascii' : 'plain';
}

/** The text of a JSON string; `start` and `end` take its quotes in. */
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

/** A number as the double it is to JSON.parse. */
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
