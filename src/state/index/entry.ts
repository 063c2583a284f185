/** An entry of the index as bytes: identity, then where in which segment. They sort as bytes do, and no two are equal. */
import { HASH_BYTES } from '../../documents/hash.ts';
import { copyIdentity } from '../segments/segment.ts';
import type { Place } from '../segments/segment-reader.ts';

export const INDEX_BYTES = 22;
const SEGMENT_AT = 16;
const PLACE_AT = 20;
/** With their row they fill a page of 4096 bytes and need no overflow (SQLite keeps up to 4061 in a leaf). */
export const BLOCK_ENTRIES = 182;

export function writeIndexEntry(data: Buffer, { segment, place }: Place, out: Buffer, at: number): void {
  copyIdentity(data, place, out, at);
  out.writeUInt32BE(segment, at + SEGMENT_AT);
  out.writeUInt16BE(place, at + PLACE_AT);
}

export function placeIn(entries: Buffer, at: number): Place {
  return { segment: entries.readUInt32BE(at + SEGMENT_AT), place: entries.readUInt16BE(at + PLACE_AT) };
}

/** The first 48 bits: enough to order nearly all entries by comparing numbers. */
export function prefixOf(entries: Buffer, at: number): number {
  return (
    (((entries[at] ?? 0) << 16) | ((entries[at + 1] ?? 0) << 8) | (entries[at + 2] ?? 0)) * 0x100_0000 +
    (((entries[at + 3] ?? 0) << 16) | ((entries[at + 4] ?? 0) << 8) | (entries[at + 5] ?? 0))
  );
}

export function compareEntries(one: Buffer, oneAt: number, other: Buffer, otherAt: number): number {
  return one.compare(other, otherAt, otherAt + INDEX_BYTES, oneAt, oneAt + INDEX_BYTES);
}

/** A call that copies so little takes longer than copying it. */
export function copyEntry(from: Buffer, fromAt: number, to: Buffer, toAt: number): void {
  for (let i = 0; i < INDEX_BYTES; i += 1) to[toAt + i] = from[fromAt + i] ?? 0;
}

export function isSameIdentity(one: Buffer, oneAt: number, other: Buffer, otherAt: number): boolean {
  for (let i = 0; i < HASH_BYTES; i += 1) if (one[oneAt + i] !== other[otherAt + i]) return false;
  return true;
}

/** Where an identity stands in a block, or -1. */
export function findIdentity(block: Buffer, identity: Buffer): number {
  let [low, high] = [0, block.length / INDEX_BYTES];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = middle * INDEX_BYTES;
    const order = identity.compare(block, at, at + HASH_BYTES);
    if (order === 0) return at;
    // `order` says which side of the block's entry the identity is on: it compares as identity - entry.
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return -1;
}

/** The first `count` entries of `entries`, sorted. */
export function sortEntries(entries: Buffer, count: number): Buffer {
  // 37 bits of the identity and 16 of the place are what a double holds: sorting numbers is the fastest sort there is.
  const keys = new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    keys[i] = Math.floor(prefixOf(entries, i * INDEX_BYTES) / 2048) * SORTED_MAX + i;
  }
  keys.sort();
  const out = Buffer.alloc(count * INDEX_BYTES);
  let before = -1;
  for (let i = 0; i < count; i += 1) {
    const key = keys[i] ?? 0;
    const bits = Math.floor(key / SORTED_MAX);
    const from = (key - bits * SORTED_MAX) * INDEX_BYTES;
    let to = i * INDEX_BYTES;
    // Equal in 37 bits: those before it may have to make room.
    if (bits === before) {
      while (to > 0 && compareEntries(out, to - INDEX_BYTES, entries, from) > 0) {
        copyEntry(out, to - INDEX_BYTES, out, to);
        to -= INDEX_BYTES;
      }
    }
    before = bits;
    copyEntry(entries, from, out, to);
  }
  return out;
}

/** As many as 16 bits count. */
export const SORTED_MAX = 65_536;
