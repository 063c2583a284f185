/**
 * Maps the rows of a page of a filled target: makes segments, as in src/state/segments/segment.ts, of the copies that it has.
 * src/documents/kernel/map-kernel.ts calls this. Invariant: what is made of a row equals, byte for byte, what the engine makes
 * of it value by value; a row for which that is not certain is listed, and the caller reads it itself.
 */
import { hashLong, TYPE_FALSE, TYPE_MISSING, TYPE_NULL, TYPE_NUMBER, TYPE_TEXT, TYPE_TRUE } from './hash';
import { identity } from './identity';
import { copyKept, copyShort, hasValue, nodeIn, rowAt, spanEnd, spanStart, wholeAt } from './rows';
import { count } from './scan';
import { hashEtag, isSame, reserve, SEGMENT_ENTRIES_MAX, STORED_BYTES, storeEntry } from './segments';

// What is asked, as words: single numbers, then the nodes that must have a value, and those of the target key, then the bytes
// of the id that is not mapped.
const ASKED_LSN: usize = 0;
const ASKED_DOCUMENT: usize = 4;
const ASKED_ETAG: usize = 8;
const ASKED_VERSION: usize = 12;
const ASKED_ID: usize = 16;
const ASKED_ID_BYTES: usize = 20;
const ASKED_IDENTITY: usize = 24;
const ASKED_SLOT: usize = 36;
const ASKED_REQUIRED: usize = 48;
const ASKED_KEYS: usize = 52;
const ASKED_LISTS: usize = 56;

// What an entry has where the etag stands.
const VERSION_CONTENT: u32 = 1;
const VERSION_ETAG: u32 = 2;

/** A segment in the list of segments: how many entries it has, and where its data begin and end. */
const PART_BYTES: usize = 12;
/** The most bytes of a key: its texts, which an identity limits to 4096, and nine bytes for each level. */
const KEY_BYTES_MAX: usize = 5120;

/** How many rows have become entries, how many are beyond the fence, and how many are listed. */
export let mappedCount: u32 = 0;
export let beyondCount: u32 = 0;
export let listedCount: u32 = 0;

let asked: usize = 0;
// The segment that is being written: its start, the end of its keys, and its last key.
let start: usize = 0;
let entryCount: u32 = 0;
let keysEnd: usize = 0;
let lastKey: usize = 0;
let lastKeyBytes: usize = 0;
let keyNumber: i32 = -1;

/**
 * Maps all rows up to the fence. Writes the numbers of the rows that the caller reads to `listAt`, segments to `outAt`,
 * and the list of segments to `partsAt`, with offsets from `outAt`. There must be space at `work` for 64 bytes and the
 * texts of an identity. Returns the end of the segments.
 */
export function mapRows(
  askedAt: usize,
  fenceLsn: f64,
  work: usize,
  listAt: usize,
  partsAt: usize,
  outAt: usize,
): usize {
  asked = askedAt;
  mappedCount = beyondCount = listedCount = 0;
  begin(outAt);
  let part = partsAt;
  for (let row: u32 = 0; row < u32(count); row += 1) {
    const at = rowAt(row);
    const lsn = f64(wholeAt(at, load<u32>(asked, ASKED_LSN), 15));
    if (lsn > fenceLsn) {
      beyondCount += 1;
      continue;
    }
    if (lsn < 0 || !addEntry(at, work)) {
      store<u32>(listAt + (usize(listedCount) << 2), row);
      listedCount += 1;
      continue;
    }
    mappedCount += 1;
    if (entryCount == SEGMENT_ENTRIES_MAX) part = close(part, outAt);
  }
  if (entryCount > 0) part = close(part, outAt);
  store<u32>(part, 0);
  return start;
}

function begin(at: usize): void {
  start = at;
  entryCount = 0;
  keysEnd = at + usize(SEGMENT_ENTRIES_MAX) * STORED_BYTES;
  lastKeyBytes = 0;
  keyNumber = -1;
}

/** Completes the segment: its keys follow its last entry. */
function close(part: usize, outAt: usize): usize {
  const keys = start + usize(SEGMENT_ENTRIES_MAX) * STORED_BYTES;
  const dataEnd = start + usize(entryCount) * STORED_BYTES;
  memory.copy(dataEnd, keys, keysEnd - keys);
  store<u32>(part, entryCount);
  store<u32>(part, u32(start - outAt), 4);
  store<u32>(part, u32(dataEnd + (keysEnd - keys) - outAt), 8);
  begin(dataEnd + (keysEnd - keys));
  return part + PART_BYTES;
}

/** Adds the entry of a row. Returns false, and adds nothing, if the row is not plain. */
function addEntry(at: usize, work: usize): bool {
  const required = asked + ASKED_LISTS;
  const requiredCount = load<u32>(asked, ASKED_REQUIRED);
  for (let i: u32 = 0; i < requiredCount; i += 1) if (!hasScalar(at, nodeIn(required, i))) return false;
  const keys = required + (usize(requiredCount) << 2);
  const keyCount = load<u32>(asked, ASKED_KEYS);
  if (isLeftOut(at, keys + (usize(keyCount) << 2))) return false;
  const text = work + 64;
  if (!identityOf(at, ASKED_IDENTITY, text, work)) return false;
  if (!identityOf(at, ASKED_SLOT, text, work + 16)) return false;
  if (!putVersion(at, work + 32)) return false;
  const key = reserve(keysEnd, KEY_BYTES_MAX) + 2;
  const keyBytes = putKey(at, keys, keyCount, key) - key;
  if (keyNumber < 0 || keyBytes != lastKeyBytes || !isSame(key, lastKey, keyBytes)) {
    store<u16>(keysEnd, u16(keyBytes));
    lastKey = key;
    lastKeyBytes = keyBytes;
    keysEnd = key + keyBytes;
    keyNumber += 1;
  }
  const stored = start + usize(entryCount) * STORED_BYTES;
  storeEntry(stored, work, work + 16, load<u64>(work, 32), 0, keyNumber);
  entryCount += 1;
  return true;
}

/** Whether a row has a value at a node that is neither an object nor an array. */
function hasScalar(at: usize, node: u32): bool {
  if (!hasValue(at, node)) return false;
  const byte: u32 = load<u8>(spanStart(at, node));
  return byte != 0x7b && byte != 0x5b;
}

/** Whether a row has the id that is not mapped. */
function isLeftOut(at: usize, idAt: usize): bool {
  const id = load<u32>(asked, ASKED_ID);
  const size = spanEnd(at, id) - spanStart(at, id);
  return size == usize(load<u32>(asked, ASKED_ID_BYTES)) && isSame(spanStart(at, id), idAt, size);
}

function identityOf(at: usize, nodesAt: usize, text: usize, out: usize): bool {
  const nodes = asked + nodesAt;
  return identity(at, load<u32>(nodes), load<u32>(nodes, 4), load<u32>(nodes, 8), text, out);
}

/** Writes what the entry has where the etag stands. */
function putVersion(at: usize, to: usize): bool {
  const version = load<u32>(asked, ASKED_VERSION);
  if (version == VERSION_ETAG) {
    const etag = load<u32>(asked, ASKED_ETAG);
    return hashEtag(spanStart(at, etag), spanEnd(at, etag), to);
  }
  store<u64>(to, 0);
  if (version != VERSION_CONTENT) return true;
  const document = load<u32>(asked, ASKED_DOCUMENT);
  const from = spanStart(at, document);
  const until = spanEnd(at, document);
  // The document is hashed where the next key will be written.
  const text = reserve(keysEnd, until - from + 128);
  const end = copyKept(at, from, until, text);
  hashLong(text, end - text, end + 64, to);
  const one = load<u32>(to);
  const two = load<u32>(to, 4);
  store<u32>(to, bswap(one));
  store<u32>(to, bswap(one == 0 && two == 0 ? 1 : two), 4);
  return true;
}

/**
 * Writes the values at some nodes as src/state/segments/key-bytes.ts does; returns the end. Precondition: they have an
 * identity, so a text has no escape, and a number is an integer of up to 15 digits.
 */
function putKey(at: usize, nodes: usize, count: u32, target: usize): usize {
  let to = target;
  for (let i: u32 = 0; i < count; i += 1) {
    const node = nodeIn(nodes, i);
    const from = spanStart(at, node);
    const until = spanEnd(at, node);
    const byte: u32 = hasScalar(at, node) ? load<u8>(from) : 0;
    if (byte == 0x22) {
      store<u8>(to, TYPE_TEXT);
      store<u16>(to, u16(until - from - 2), 1);
      to = copyShort(from + 1, until - from - 2, to + 3);
    } else if (byte == 0) {
      store<u8>(to, TYPE_MISSING);
      to += 1;
    } else if (byte == 0x6e || byte == 0x74 || byte == 0x66) {
      store<u8>(to, byte == 0x6e ? TYPE_NULL : byte == 0x74 ? TYPE_TRUE : TYPE_FALSE);
      to += 1;
    } else {
      store<u8>(to, TYPE_NUMBER);
      store<f64>(to, integerAt(from, until), 1);
      to += 9;
    }
  }
  return to;
}

function integerAt(from: usize, until: usize): f64 {
  const isNegative = load<u8>(from) == 0x2d;
  let whole: i64 = 0;
  for (let at = from + usize(isNegative); at < until; at += 1) whole = whole * 10 + i64(load<u8>(at) - 0x30);
  return f64(isNegative ? -whole : whole);
}
