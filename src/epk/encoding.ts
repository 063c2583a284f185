/**
 * Writes key components as bytes, in the form that is hashed, and in the order-preserving form that V1 adds after the
 * hash.
 *
 * Every function writes at an offset and returns the next offset. -0 is written as 0: JSON has both, but the service
 * stores 0, and two documents that are equal there must not belong to two ranges. A lone surrogate becomes U+FFFD (EF
 * BF BD), as in TextEncoder and on the wire.
 */
import type { KeyComponent } from './key-component.ts';
import { assert } from '../lib/assert.ts';

/** Reused memory, as a Buffer and as a DataView of the same bytes. */
export interface Scratch {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function scratchOf(sizeBytes: number): Scratch {
  const bytes = Buffer.alloc(sizeBytes);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, sizeBytes) };
}

// The first byte of a component is its type. Identities (documents/identity.ts) and packed keys of the ledger use the
// same numbers.
export const MISSING = 0x00;
export const NULL = 0x01;
export const FALSE = 0x02;
export const TRUE = 0x03;
export const NUMBER = 0x05;
export const TEXT = 0x08;

const SIGN = 1n << 63n;

/** ASCII strings shorter than this are copied by a loop, which is faster than a call into Buffer. */
const SHORT_UNITS = 48;

/** Returns an upper bound for the bytes of a component. A UTF-16 unit becomes three bytes at most. */
export function bytesFor(value: KeyComponent): number {
  return typeof value === 'string' ? value.length * 3 + 2 : 16;
}

/** Writes the form that is hashed. A string ends with `terminator` (00 in V1, FF in V2). */
export function writeHashed(scratch: Scratch, at: number, value: KeyComponent, terminator: number): number {
  const { view } = scratch;
  if (typeof value === 'string') {
    view.setUint8(at, TEXT);
    const end = writeText(scratch, at + 1, value);
    view.setUint8(end, terminator);
    return end + 1;
  }
  if (typeof value === 'number') {
    view.setUint8(at, NUMBER);
    view.setFloat64(at + 1, withoutMinusZero(value), true);
    return at + 9;
  }
  view.setUint8(at, typeByte(value));
  return at + 1;
}

/** Writes the form that V1 adds after the hash. Each byte of a string is increased by one, so 00 can end it. */
export function writeOrdered(scratch: Scratch, at: number, value: KeyComponent): number {
  const { view } = scratch;
  if (typeof value === 'string') {
    view.setUint8(at, TEXT);
    const end = writeText(scratch, at + 1, value);
    // UTF-8 has no byte FF, so adding one never overflows.
    for (let i = at + 1; i < end; i += 1) view.setUint8(i, view.getUint8(i) + 1);
    view.setUint8(end, 0);
    return end + 1;
  }
  if (typeof value === 'number') return writeOrderedNumber(view, at, value);
  view.setUint8(at, typeByte(value));
  return at + 1;
}

/**
 * Writes a double so that the bytes compare as the numbers do. First the bits are changed so that they sort as an
 * unsigned integer. The byte after the type has the first eight bits. Each further byte has seven bits, and a last bit
 * that is set if another byte follows. Bytes for zeros at the end are omitted.
 */
export function writeOrderedNumber(view: DataView, at: number, value: number): number {
  view.setFloat64(at, withoutMinusZero(value));
  let high = view.getInt32(at);
  let low = view.getInt32(at + 4);
  if (high >= 0) {
    high ^= 0x80000000;
  } else {
    low = -low | 0;
    high = low === 0 ? -high | 0 : ~high;
  }
  view.setUint8(at, NUMBER);
  view.setUint8(at + 1, high >>> 24);
  high = (high << 8) | (low >>> 24);
  low <<= 8;
  let end = at + 2;
  while (high !== 0 || low !== 0) {
    const group = (high >>> 24) & 0xfe;
    high = (high << 7) | (low >>> 25);
    low <<= 7;
    view.setUint8(end, high !== 0 || low !== 0 ? group | 1 : group);
    end += 1;
  }
  return end;
}

/** Reads the number that `writeOrderedNumber` wrote as this hex text. */
export function readOrderedNumber(hex: string): number {
  const [type, first = 0, ...groups] = Buffer.from(hex, 'hex');
  assert(type === NUMBER, 'an ordered number starts with its type');
  let bits = BigInt(first);
  for (let i = 0; i < 8; i += 1) bits = (bits << 7n) | BigInt((groups[i] ?? 0) >>> 1);
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits & SIGN ? bits ^ SIGN : -bits);
  return view.getFloat64(0);
}

function writeText({ bytes, view }: Scratch, at: number, text: string): number {
  const { length } = text;
  if (length > SHORT_UNITS) return at + bytes.write(text, at);
  for (let i = 0; i < length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return at + bytes.write(text, at);
    view.setUint8(at + i, unit);
  }
  return at + length;
}

function typeByte(value: boolean | null | undefined): number {
  if (value === undefined) return MISSING;
  if (value === null) return NULL;
  return value ? TRUE : FALSE;
}

function withoutMinusZero(value: number): number {
  return value === 0 ? 0 : value;
}
