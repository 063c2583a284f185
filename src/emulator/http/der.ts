/** Writes the elements of DER (ITU-T X.690) of which a certificate consists. Each has a tag, a length and contents. */

/** Tags by their names in X.509. SEQUENCE, SET and an explicit `[n]` contain elements, so their tags have bit 0x20. */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  context: 0x80,
  contextHolding: 0xa0,
} as const;

function wrap(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

/** Encodes a length. Up to 127 it is one byte; above, a byte 0x80 + n is followed by the n bytes of the length. */
function lengthOf(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  const bytes = unsigned(size);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return bytes;
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => wrap(TAG.sequence, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => wrap(TAG.set, ...items);
export const octetString = (bytes: Uint8Array): Buffer => wrap(TAG.octetString, bytes);
export const utf8 = (text: string): Buffer => wrap(TAG.utf8, Buffer.from(text, 'utf8'));
export const yes = (): Buffer => wrap(TAG.boolean, Buffer.from([0xff]));
/** Writes a value of the ASN.1 type `[number] IMPLICIT`: its only tag is `number`, so `bytes` must not have a tag. */
export const tagged = (number: number, bytes: Uint8Array): Buffer => wrap(TAG.context | number, bytes);
/** Writes `[number] EXPLICIT`: the tag, then a complete element. */
export const holding = (number: number, item: Uint8Array): Buffer => wrap(TAG.contextHolding | number, item);

/**
 * Writes a positive whole number from big-endian bytes. If their top bit is set, a zero byte comes first, without which
 * the number would be negative.
 */
export function integer(bytes: Uint8Array): Buffer {
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  return wrap(TAG.integer, Buffer.from(isNegative ? [0] : []), bytes);
}

export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return wrap(TAG.bitString, Buffer.from([unusedBits]), bytes);
}

/** Writes an object identifier from its dotted form. The first two numbers share a byte; the others are in base 128. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const digits = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      digits.unshift(0x80 | (left % 128));
    bytes.push(...digits);
  }
  return wrap(TAG.oid, Buffer.from(bytes));
}

/** Writes a time. X.509 requires years of two digits up to 2049 and of four digits after. */
export function time(atMs: number): Buffer {
  const digits = `${new Date(atMs).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
  const year = new Date(atMs).getUTCFullYear();
  const isShort = year >= 1950 && year < 2050;
  return isShort
    ? wrap(TAG.utcTime, Buffer.from(digits.slice(2)))
    : wrap(TAG.generalizedTime, Buffer.from(digits));
}
