/**
 * The loops of an index build (src/state/index/build.ts): what is sorted and merged are entries of 22 bytes that begin with
 * an identity, and whose order is that of their bytes. src/documents/kernel/index-kernel.ts calls them. Collected entries are
 * put on 256 shelves by their first byte, which hashes fill evenly; each shelf is then small enough to be sorted in the
 * processor's cache.
 */

const ENTRY: usize = 22;
const ENTRY_SEGMENT: usize = 16;
const ENTRY_POSITION: usize = 20;
/** The bits after the first byte by which the entries of a shelf are spread before they are sorted. */
const SPREAD_BITS: u32 = 11;
/** So few entries are sorted at once without being spread. */
const FEW: u32 = 32;

/** Copies exactly one entry. */
function copyEntry(from: usize, to: usize): void {
  v128.store(to, v128.load(from));
  store<u32>(to, load<u32>(from, ENTRY_SEGMENT), ENTRY_SEGMENT);
  store<u16>(to, load<u16>(from, ENTRY_POSITION), ENTRY_POSITION);
}

function isBefore(one: usize, other: usize): bool {
  const a = bswap(load<u64>(one));
  const b = bswap(load<u64>(other));
  return a == b ? isRestBefore(one, other) : a < b;
}

function isRestBefore(one: usize, other: usize): bool {
  const a = bswap(load<u64>(one, 8));
  const b = bswap(load<u64>(other, 8));
  if (a != b) return a < b;
  const segment = bswap(load<u32>(one, ENTRY_SEGMENT));
  const otherSegment = bswap(load<u32>(other, ENTRY_SEGMENT));
  if (segment != otherSegment) return segment < otherSegment;
  return bswap(load<u16>(one, ENTRY_POSITION)) < bswap(load<u16>(other, ENTRY_POSITION));
}

function isSameIdentity(one: usize, other: usize): bool {
  return !v128.any_true(v128.xor(v128.load(one), v128.load(other)));
}

/**
 * Puts the entries of a segment on their shelves, without documents that were not written: their mark is 0. `markBytes` is the
 * size of a mark; 0: all were written. `fillsAt` has the number of entries of each shelf. Returns how many entries the fullest
 * of the shelves has that got one.
 */
export function shelve(
  segmentAt: usize,
  stride: usize,
  count: u32,
  marksAt: usize,
  markBytes: usize,
  segment: u32,
  fillsAt: usize,
  shelvesAt: usize,
  shelfBytes: usize,
): u32 {
  let fullest: u32 = 0;
  const number = bswap(segment);
  for (let position: u32 = 0; position < count; position += 1) {
    if (markBytes == 2 && load<u16>(marksAt + (usize(position) << 1)) == 0) continue;
    if (markBytes == 4 && load<u32>(marksAt + (usize(position) << 2)) == 0) continue;
    const from = segmentAt + usize(position) * stride;
    const shelf = usize(load<u8>(from));
    const fill = load<u32>(fillsAt + (shelf << 2));
    const to = shelvesAt + shelf * shelfBytes + usize(fill) * ENTRY;
    v128.store(to, v128.load(from));
    store<u32>(to, number, ENTRY_SEGMENT);
    store<u16>(to, bswap(u16(position)), ENTRY_POSITION);
    store<u32>(fillsAt + (shelf << 2), fill + 1);
    fullest = max(fullest, fill + 1);
  }
  return fullest;
}

/** Returns the bits after the first byte of an entry. */
function spreadOf(entry: usize): usize {
  return usize((bswap(load<u32>(entry)) >> (24 - SPREAD_BITS)) & ((1 << SPREAD_BITS) - 1));
}

/**
 * Writes the entries of a shelf to `to`, sorted. There must be space for 2^SPREAD_BITS + 1 numbers at `startsAt`. Nearly every
 * entry is where it belongs after it was put behind those with smaller bits.
 */
export function sortShelf(from: usize, count: u32, startsAt: usize, to: usize): void {
  if (count > FEW) spread(from, count, startsAt, to);
  else memory.copy(to, from, usize(count) * ENTRY);
  // `from` was read, so its first entry is free to hold the one that is moved.
  for (let at = to + ENTRY; at < to + usize(count) * ENTRY; at += ENTRY) {
    if (!isBefore(at, at - ENTRY)) continue;
    copyEntry(at, from);
    let free = at;
    for (; free > to && isBefore(from, free - ENTRY); free -= ENTRY) copyEntry(free - ENTRY, free);
    copyEntry(from, free);
  }
}

/** Copies the entries of a shelf to `to`, in the order of the bits after their first byte. */
function spread(from: usize, count: u32, startsAt: usize, to: usize): void {
  memory.fill(startsAt, 0, ((1 << SPREAD_BITS) + 1) << 2);
  const end = from + usize(count) * ENTRY;
  for (let at = from; at < end; at += ENTRY) {
    const next = startsAt + ((spreadOf(at) + 1) << 2);
    store<u32>(next, load<u32>(next) + 1);
  }
  for (let i: usize = 1; i < 1 << SPREAD_BITS; i += 1) {
    const start = startsAt + (i << 2);
    store<u32>(start, load<u32>(start) + load<u32>(start - 4));
  }
  for (let at = from; at < end; at += ENTRY) {
    const start = startsAt + (spreadOf(at) << 2);
    const position = load<u32>(start);
    store<u32>(start, position + 1);
    copyEntry(at, to + usize(position) * ENTRY);
  }
}

/** Returns the number of the first entry from `first` on that has the same identity as the next one, or the last number. */
export function nextRival(entriesAt: usize, first: u32, count: u32): u32 {
  let at = entriesAt + usize(first) * ENTRY;
  for (let entry = first; entry + 1 < count; entry += 1, at += ENTRY)
    if (isSameIdentity(at, at + ENTRY)) return entry;
  return count - 1;
}

// A merge: cursors, each with the addresses of its next entry and of the end of its entries, and a heap of their numbers, of
// which the first has the smallest entry.
let cursors: usize = 0;
let heap: usize = 0;
let heapSize: u32 = 0;
/** The number of the cursor that the last call of `merge` has read to its end, and removed; -1: there is none. */
export let exhausted: i32 = -1;

export function beginMerge(cursorsAt: usize, heapAt: usize): void {
  cursors = cursorsAt;
  heap = heapAt;
  heapSize = 0;
}

function entryOf(cursor: u32): usize {
  return usize(load<u32>(cursors + (usize(cursor) << 3)));
}

function cursorAt(position: u32): u32 {
  return load<u32>(heap + (usize(position) << 2));
}

function put(position: u32, cursor: u32): void {
  store<u32>(heap + (usize(position) << 2), cursor);
}

/** Adds a cursor with entries, of which there is at least one. */
export function addCursor(cursor: u32, entriesAt: usize, entriesEnd: usize): void {
  store<u32>(cursors + (usize(cursor) << 3), u32(entriesAt));
  store<u32>(cursors + (usize(cursor) << 3), u32(entriesEnd), 4);
  let position = heapSize;
  heapSize += 1;
  while (position > 0) {
    const above = (position - 1) >> 1;
    if (!isBefore(entriesAt, entryOf(cursorAt(above)))) break;
    put(position, cursorAt(above));
    position = above;
  }
  put(position, cursor);
}

/** Lets a cursor sink from the top of the heap to where it belongs. */
function sink(cursor: u32): void {
  const entry = entryOf(cursor);
  let position: u32 = 0;
  while (true) {
    let below: u32 = 2 * position + 1;
    if (below >= heapSize) break;
    if (below + 1 < heapSize && isBefore(entryOf(cursorAt(below + 1)), entryOf(cursorAt(below)))) below += 1;
    if (!isBefore(entryOf(cursorAt(below)), entry)) break;
    put(position, cursorAt(below));
    position = below;
  }
  put(position, cursor);
}

/**
 * Writes the smallest entries of all cursors to `to`, in order, up to `countMax` or until a cursor has no more. Returns how
 * many there are.
 */
export function merge(to: usize, countMax: u32): u32 {
  exhausted = -1;
  let count: u32 = 0;
  while (count < countMax && heapSize > 0) {
    const cursor = cursorAt(0);
    const state = cursors + (usize(cursor) << 3);
    const entry = usize(load<u32>(state));
    copyEntry(entry, to + usize(count) * ENTRY);
    count += 1;
    store<u32>(state, u32(entry + ENTRY));
    if (entry + ENTRY < usize(load<u32>(state, 4))) {
      sink(cursor);
      continue;
    }
    exhausted = i32(cursor);
    heapSize -= 1;
    if (heapSize > 0) sink(cursorAt(heapSize));
    break;
  }
  return count;
}
