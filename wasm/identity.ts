/** The hash of the values that identify the document of a row. */
import { hash, TYPE_FALSE, TYPE_MISSING, TYPE_NULL, TYPE_NUMBER, TYPE_TEXT, TYPE_TRUE } from './hash';
import { hasValue, packedNode, spanEnd, spanStart } from './rows';

/**
 * The most bytes that the texts of an identity may have together. Usually they are far shorter; the caller hashes
 * longer ones.
 */
const IDENTITY_BYTES_MAX: usize = 4096;

/**
 * Writes the identity hash of a row's values at `nodeCount` nodes to `out`. The nodes are packed into two numbers.
 * Returns false for values that the caller has to hash: a text with
 * escapes, a number other than a small integer, or texts that are too long.
 */
export function identity(
  rowAt: usize,
  firstNodes: u32,
  otherNodes: u32,
  nodeCount: u32,
  textAt: usize,
  out: usize,
): bool {
  const textEnd = putIdentity(rowAt, firstNodes, otherNodes, nodeCount, textAt);
  if (textEnd == 0) return false;
  hash(textAt, textEnd - textAt, out);
  return true;
}

/** Writes the text whose hash is the identity; returns its end. 0: the caller has to hash the values. */
export function putIdentity(
  rowAt: usize,
  firstNodes: u32,
  otherNodes: u32,
  nodeCount: u32,
  textAt: usize,
): usize {
  let to = textAt;
  for (let i: u32 = 0; i < nodeCount; i += 1) {
    const node = packedNode(firstNodes, otherNodes, i);
    if (!hasValue(rowAt, node)) {
      store<u8>(to, TYPE_MISSING);
      to += 1;
      continue;
    }
    const from = spanStart(rowAt, node);
    const until = spanEnd(rowAt, node);
    const byte: u32 = load<u8>(from);
    if (byte == 0x22) {
      const size = until - from - 2;
      if (to - textAt + size > IDENTITY_BYTES_MAX) return 0;
      store<u8>(to, TYPE_TEXT);
      store<u32>(to, u32(size), 1);
      to += 5;
      // The text is copied in blocks of 16 bytes. The last block may end after the text; the next value, or the zeros
      // of the hash, overwrite what follows the text.
      for (let at: usize = 0; at < size; at += 16) {
        const bytes = v128.load(from + 1 + at);
        const escapes = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(0x5c)));
        if (escapes != 0 && usize(ctz(escapes)) + at < size) return 0;
        v128.store(to + at, bytes);
      }
      to += size;
    } else if (byte == 0x6e) {
      store<u8>(to, TYPE_NULL);
      to += 1;
    } else if (byte == 0x74 || byte == 0x66) {
      store<u8>(to, byte == 0x74 ? TYPE_TRUE : TYPE_FALSE);
      to += 1;
    } else if (byte == 0x7b || byte == 0x5b) {
      // The service takes an object or an array for a missing value.
      store<u8>(to, TYPE_MISSING);
      to += 1;
    } else {
      const first = from + usize(byte == 0x2d);
      // 15 digits always fit into a double without loss, 18 into an integer of 64 bits.
      if (until - first > 15) return 0;
      let whole: i64 = 0;
      for (let at = first; at < until; at += 1) {
        const digit = u32(load<u8>(at)) - 0x30;
        if (digit > 9) return 0;
        whole = whole * 10 + i64(digit);
      }
      store<u8>(to, TYPE_NUMBER);
      store<f64>(to, f64(byte == 0x2d ? -whole : whole), 1);
      to += 9;
    }
  }
  return to;
}
