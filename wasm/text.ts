/**
 * Reads the values of JSON that have no values in them: texts, numbers and words. Zeros follow the page, so no loop needs to
 * look for its end.
 */
import { CONTROL, ESCAPE, fail, NUMBER, VALUE } from './page';

/** Whether the string that was read last had an escape. */
export let escaped: bool = false;
/** Whether the element that is being read has an integer beyond 2^53. */
export let hasLongInteger: bool = false;

/** Called for each element of the page. */
export function beginElement(): void {
  hasLongInteger = false;
}

/** Returns the address of the first byte from `from` that is not white space. */
export function space(from: usize): usize {
  let at = from;
  while (true) {
    const byte = load<u8>(at);
    if (byte > 0x20) return at;
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) return at;
    at += 1;
  }
}

/** Reads a string whose opening quote is before `from`; returns the address after the closing quote. */
export function string(from: usize): usize {
  let at = from;
  escaped = false;
  while (true) {
    const bytes = v128.load(at);
    // The exclusive or makes 0x20 of a quote, and a larger number of a space: all that ends a string, but the backslash.
    const found = i8x16.bitmask(
      v128.or(
        i8x16.eq(bytes, i8x16.splat(0x5c)),
        i8x16.le_u(v128.xor(bytes, i8x16.splat(2)), i8x16.splat(0x20)),
      ),
    );
    if (found == 0) {
      at += 16;
      continue;
    }
    at += usize(ctz(found));
    const byte = load<u8>(at);
    // Zeros follow the page. A zero is a control character, which ends the loop, so no string extends beyond the page.
    if (byte == 0x22) return at + 1;
    if (byte != 0x5c) fail(CONTROL, at);
    escaped = true;
    at = escape(at);
  }
}

/** Reads an escape whose backslash is at `from`; returns the address after the escape. */
function escape(from: usize): usize {
  const kind = load<u8>(from + 1);
  if (kind == 0x75) {
    for (let at = from + 2; at < from + 6; at += 1) if (hexOf(load<u8>(at)) < 0) fail(ESCAPE, at);
    return from + 6;
  }
  if (escapedByte(kind) == 0) fail(ESCAPE, from + 1);
  return from + 2;
}

/** Returns the character that a short escape such as \n stands for; 0: this is not a short escape. */
function escapedByte(kind: u32): u32 {
  if (kind == 0x22 || kind == 0x5c || kind == 0x2f) return kind;
  if (kind == 0x6e) return 0x0a;
  if (kind == 0x74) return 0x09;
  if (kind == 0x72) return 0x0d;
  if (kind == 0x62) return 0x08;
  if (kind == 0x66) return 0x0c;
  return 0;
}

function hexOf(byte: u32): i32 {
  if (byte - 0x30 < 10) return i32(byte - 0x30);
  const letter = (byte | 0x20) - 0x61;
  return letter < 6 ? i32(letter + 10) : -1;
}

/** Reads a number or a word; returns the address after it. */
export function scalar(from: usize, byte: u32): usize {
  if (byte == 0x74) {
    if (load<u32>(from) == 0x65757274) return from + 4;
    return wrongLiteral(from, 0x65757274, 0);
  }
  if (byte == 0x6e) {
    if (load<u32>(from) == 0x6c6c756e) return from + 4;
    return wrongLiteral(from, 0x6c6c756e, 0);
  }
  if (byte == 0x66) {
    if (load<u32>(from + 1) == 0x65736c61) return from + 5;
    return wrongLiteral(from + 1, 0x65736c61, 0);
  }
  let at = from;
  if (byte == 0x2d) {
    at += 1;
    byte = load<u8>(at);
  } else if (byte - 0x30 > 9) fail(VALUE, at);
  const first = at;
  if (byte == 0x30) at += 1;
  else at = digits(at);
  byte = load<u8>(at);
  const size = at - first;
  if (byte == 0x2e) {
    at = digits(at + 1);
    byte = load<u8>(at);
  }
  if (size > 15 && at == first + size && (byte | 0x20) != 0x65 && isLong(first, size)) hasLongInteger = true;
  if ((byte | 0x20) == 0x65) {
    at += 1;
    byte = load<u8>(at);
    if (byte == 0x2b || byte == 0x2d) at += 1;
    at = digits(at);
  }
  return at;
}

/** Returns whether an integer of at least 16 digits is beyond 2^53. JSON has no leading zeros. */
function isLong(from: usize, size: usize): bool {
  if (size > 16) return true;
  let whole: u64 = 0;
  for (let at = from; at < from + size; at += 1) whole = whole * 10 + u64(load<u8>(at) - 0x30);
  return whole > 9007199254740992;
}

/** Fails at the first byte that differs from `word`. */
function wrongLiteral(from: usize, word: u32, i: u32): usize {
  while (u32(load<u8>(from + usize(i))) == ((word >> (i << 3)) & 0xff)) i += 1;
  fail(VALUE, from + usize(i));
  return 0;
}

function digits(from: usize): usize {
  let at = from;
  while (u32(load<u8>(at)) - 0x30 < 10) at += 1;
  if (at == from) fail(NUMBER, at);
  return at;
}

/**
 * Writes the contents of a string without escapes to `scratch`, encoded as in src/documents/name-tree.ts; returns the size in
 * bytes.
 */
export function unescape(from: usize, to: usize, scratch: usize): usize {
  let at = from;
  let out = scratch;
  while (at < to) {
    const byte: u32 = load<u8>(at);
    if (byte != 0x5c) {
      store<u8>(out, byte);
      at += 1;
      out += 1;
      continue;
    }
    const kind: u32 = load<u8>(at + 1);
    if (kind != 0x75) {
      store<u8>(out, escapedByte(kind));
      at += 2;
      out += 1;
      continue;
    }
    let code = unitOf(at + 2);
    at += 6;
    if ((code & 0xfc00) == 0xd800 && at + 6 <= to && load<u8>(at) == 0x5c && load<u8>(at + 1) == 0x75) {
      const low = unitOf(at + 2);
      if ((low & 0xfc00) == 0xdc00) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        at += 6;
      }
    }
    if (code < 0x80) {
      store<u8>(out, code);
      out += 1;
      continue;
    }
    if (code < 0x800) {
      store<u8>(out, 0xc0 | (code >> 6));
      out += 1;
    } else {
      if (code < 0x10000) {
        store<u8>(out, 0xe0 | (code >> 12));
        out += 1;
      } else {
        store<u8>(out, 0xf0 | (code >> 18));
        store<u8>(out, 0x80 | ((code >> 12) & 0x3f), 1);
        out += 2;
      }
      store<u8>(out, 0x80 | ((code >> 6) & 0x3f));
      out += 1;
    }
    store<u8>(out, 0x80 | (code & 0x3f));
    out += 1;
  }
  return out - scratch;
}

function unitOf(at: usize): u32 {
  let unit: u32 = 0;
  for (let i: usize = 0; i < 4; i += 1) unit = (unit << 4) | u32(hexOf(load<u8>(at + i)));
  return unit;
}
