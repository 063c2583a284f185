/**
 * The parts of segments that two passes over rows write, in the layout of src/state/segments/segment.ts: the copy
 * (pack.ts) and the map of a filled target (map.ts).
 */
import { copyShort } from './rows';

// The layout of a segment's entry, as in src/state/segments/segment.ts.
export const STORED_BYTES: usize = 46;
const STORED_SLOT: usize = 16;
const STORED_ETAG: usize = 32;
const STORED_LSN: usize = 40;
const STORED_KEY: usize = 44;
export const SEGMENT_ENTRIES_MAX: u32 = 256;
/** The bytes that hash functions and copies in blocks may touch after the end of what they write. */
const SLACK: usize = 64;

/** Writes an entry. The hash of the etag and the LSN have the byte order of the segment already. */
export function storeEntry(at: usize, identity: usize, slot: usize, etag: u64, lsn: u32, key: i32): void {
  storeReversed(at, identity);
  storeReversed(at + STORED_SLOT, slot);
  store<u64>(at, etag, STORED_ETAG);
  store<u32>(at, lsn, STORED_LSN);
  store<u16>(at, u16(key), STORED_KEY);
}

/** Stores the hash at `from` with the high byte of each of its words first. */
function storeReversed(to: usize, from: usize): void {
  const words = v128.load(from);
  v128.store(to, i8x16.shuffle(words, words, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
}

/** Writes a key behind the others of a segment; returns the end. */
export function storeKey(from: usize, sizeBytes: usize, to: usize): usize {
  store<u16>(reserve(to, sizeBytes + 2), u16(sizeBytes));
  return copyShort(from, sizeBytes, to + 2);
}

/**
 * Writes the hash of an etag as src/state/segments/etag-hash.ts does. Returns false if the text is not ASCII, or if
 * another character than a quote is escaped.
 */
export function hashEtag(from: usize, until: usize, to: usize): bool {
  if (until == from || load<u8>(from) != 0x22) return false;
  let one: u32 = 0xdeadbeef;
  let two: u32 = 0x41c6ce57;
  for (let at = from + 1; at < until - 1; at += 1) {
    let unit: u32 = load<u8>(at);
    if (unit >= 0x80) return false;
    if (unit == 0x5c) {
      at += 1;
      unit = load<u8>(at);
      if (unit != 0x22) return false;
    }
    one = (one ^ unit) * 0x9e3779b1;
    two = (two ^ unit) * 0x5f356495;
  }
  const mixed = ((one ^ (one >>> 16)) * 0x85ebca6b) ^ ((two ^ (two >>> 13)) * 0xc2b2ae35);
  two = ((two ^ (two >>> 16)) * 0x85ebca6b) ^ ((one ^ (one >>> 13)) * 0xc2b2ae35);
  if (mixed == 0 && two == 0) two = 1;
  store<u32>(to, bswap(mixed));
  store<u32>(to, bswap(two), 4);
  return true;
}

/** Makes the memory large enough for so many bytes at an address, which it returns. */
export function reserve(at: usize, sizeBytes: usize): usize {
  const capacity = usize(memory.size()) << 16;
  if (at + sizeBytes + SLACK > capacity) {
    const missing = (at + sizeBytes + SLACK - capacity) >> 16;
    // The memory grows to one and a half times its size, so that it grows rarely.
    if (memory.grow(i32(missing + (capacity >> 17)) + 1) < 0) unreachable();
  }
  return at;
}

export function isSame(one: usize, other: usize, size: usize): bool {
  for (let i: usize = 0; i < size; i += 1) if (load<u8>(one + i) != load<u8>(other + i)) return false;
  return true;
}
