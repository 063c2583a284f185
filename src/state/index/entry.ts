/**
 * An entry of the index as bytes: identity 16 | segment 4 | position in the segment 2. Entries are sorted by their
 * bytes, and no two are equal.
 */
import { HASH_BYTES } from '../../documents/hash.ts';
import type { EntryPosition } from '../segments/segment-reader.ts';

export const INDEX_BYTES = 22;
const SEGMENT_AT = 16;
const POSITION_AT = 20;
/** Entries in a block. A row with such a block fills a page of 4096 bytes (SQLite keeps up to 4061 bytes in a leaf). */
export const BLOCK_ENTRIES = 182;

export function positionIn(entries: Buffer, at: number): EntryPosition {
  return { segment: entries.readUInt32BE(at + SEGMENT_AT), position: entries.readUInt16BE(at + POSITION_AT) };
}

/** Returns the first 48 bits of an entry as a number. Comparing these numbers is enough to order nearly all entries. */
export function prefixOf(entries: Buffer, at: number): number {
  return (
    (((entries[at] ?? 0) << 16) | ((entries[at + 1] ?? 0) << 8) | (entries[at + 2] ?? 0)) * 0x100_0000 +
    (((entries[at + 3] ?? 0) << 16) | ((entries[at + 4] ?? 0) << 8) | (entries[at + 5] ?? 0))
  );
}

export function compareEntries(one: Buffer, oneAt: number, other: Buffer, otherAt: number): number {
  return one.compare(other, otherAt, otherAt + INDEX_BYTES, oneAt, oneAt + INDEX_BYTES);
}

/** Copies an entry. The loop is faster than a call that copies so few bytes. */
export function copyEntry(from: Buffer, fromAt: number, to: Buffer, toAt: number): void {
  for (let i = 0; i < INDEX_BYTES; i += 1) to[toAt + i] = from[fromAt + i] ?? 0;
}

export function isSameIdentity(one: Buffer, oneAt: number, other: Buffer, otherAt: number): boolean {
  for (let i = 0; i < HASH_BYTES; i += 1) if (one[oneAt + i] !== other[otherAt + i]) return false;
  return true;
}

/** Returns the offset of the entry of an identity in a block, or -1. */
export function findIdentity(block: Buffer, identity: Buffer): number {
  const prefix = prefixOf(identity, 0);
  let [low, high] = [0, block.length / INDEX_BYTES];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * INDEX_BYTES;
    // Most entries are ordered by their prefixes, which is faster than a call that compares bytes.
    const byPrefix = prefix - prefixOf(block, at);
    const order = byPrefix === 0 ? identity.compare(block, at, at + HASH_BYTES) : byPrefix;
    if (order === 0) return at;
    // `order` is negative if the identity sorts before the entry.
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return -1;
}
