/**
 * A page of the copy in two passes. `lookRows` finds out what each row is: its LSN, and, if it is plain, the hashes of its
 * identity and its etag, and the number of its key. `packRows` makes of chosen plain rows all that the copy needs of them:
 * entries with the hashes, segments as in src/state/segments/segment.ts, and the operations that create the documents.
 * src/documents/packing/page-packer.ts calls both. Invariant: what is packed equals, byte for byte, what the engine makes
 * of a row value by value; a row for which that is not certain is not plain, and the caller reads it itself.
 */
import { hash, TYPE_TEXT } from './hash';
import { putIdentity } from './identity';
import {
  addedAt,
  addedBytes,
  fetchKeys,
  findKey,
  hashedAt,
  hashedBytes,
  openingAt,
  openingBytes,
  packedAt,
  packedBytes,
  putInput,
} from './known-keys';
import {
  hashEtag,
  isSame,
  reserve,
  SEGMENT_ENTRIES_MAX,
  STORED_BYTES,
  storeEntry,
  storeKey,
} from './segments';
import { copyShort, copyKept, fetch, hasValue, nodeIn, rowAt, spanEnd, spanStart, wholeAt } from './rows';
import { count as scanned } from './scan';

// What is asked, as words: single numbers, then three lists of nodes. The first name is the id.
const ASKED_LSN: usize = 0;
const ASKED_DOCUMENT: usize = 4;
const ASKED_ETAG: usize = 8;
const ASKED_BYTES_MAX: usize = 12;
const ASKED_PACKED_FIRST: usize = 16;
const ASKED_PACKED_OTHERS: usize = 20;
const ASKED_NAMES: usize = 24;
const ASKED_ABSENT: usize = 28;
const ASKED_INPUTS: usize = 32;
const ASKED_LISTS: usize = 36;

// What was seen of a row: its LSN (a double, -1 if it has none), its key (-1 if the row is not plain), the hashes of its
// identity and of its etag.
const SEEN_BYTES: usize = 40;
const SEEN_KEY: usize = 8;
const SEEN_IDENTITY: usize = 12;
const SEEN_ETAG: usize = 28;

// An entry: the hashes of identity and slot, the LSN, the key, where its operation and its document begin and where the
// operation ends, and where its etag begins and ends.
const ENTRY_BYTES: usize = 64;
const ENTRY_SLOT: usize = 16;
const ENTRY_LSN: usize = 32;
const ENTRY_KEY: usize = 40;
const ENTRY_OPERATION: usize = 44;
const ENTRY_DOCUMENT: usize = 48;
const ENTRY_END: usize = 52;
const ENTRY_ETAG: usize = 56;
const ENTRY_ETAG_END: usize = 60;

// A segment in the list of segments: how many entries it has, where its data begin and end, where its names end, and its
// lowest LSN.
const PART_BYTES: usize = 24;

/** The LSNs of a segment lie within so many. */
const LSN_SPAN: f64 = 4294967295;

const ID_BYTES_MAX: usize = 1023;
/**
 * Rows are read in groups of this size, one step for the whole group after another. So what a step needs is fetched for all of
 * them together, and their hashes, which depend on nothing in common, are computed side by side.
 */
const GROUP: u32 = 16;

// The texts of a row that are hashed: the address and the size of that of its identity, the same of its key's input, and the
// hash of the latter. A size of 0: there is no such text.
const TEXTS_BYTES: usize = 32;
const SIZE: usize = 4;
const INPUT: usize = 8;
const INPUT_HASH: usize = 16;
/** A hash overwrites up to 15 bytes after its text. */
const TEXT_GAP: usize = 16;

let asked: usize = 0;
let seen: usize = 0;

/** Looks at all rows, and writes what it sees to `seenAt`. There must be space at `work` for the texts of a group. */
export function lookRows(askedAt: usize, work: usize, seenAt: usize): void {
  asked = askedAt;
  seen = seenAt;
  const rowCount = u32(scanned);
  for (let first: u32 = 0; first < rowCount; first += GROUP)
    lookGroup(first, min(first + GROUP, rowCount), work);
}

/** Looks at some rows. */
function lookGroup(first: u32, last: u32, work: usize): void {
  let text = work + usize(GROUP) * TEXTS_BYTES;
  for (let row = first; row < last; row += 1)
    text = putTexts(row, work + usize(row - first) * TEXTS_BYTES, text);
  let texts = work;
  for (let row = first; row < last; row += 1, texts += TEXTS_BYTES) {
    hashText(texts, seenAt(row) + SEEN_IDENTITY);
    hashText(texts + INPUT, texts + INPUT_HASH);
  }
  fetchKeys(work + INPUT_HASH, TEXTS_BYTES, last - first);
  texts = work;
  for (let row = first; row < last; row += 1, texts += TEXTS_BYTES) {
    const input = usize(load<u32>(texts, INPUT));
    const size = usize(load<u32>(texts, INPUT + SIZE));
    const key = size == 0 ? -1 : findKey(load<u32>(texts, INPUT_HASH), input, size);
    store<i32>(seenAt(row), key, SEEN_KEY);
  }
}

/** Writes the hash of a text, if there is one, to `to`. */
function hashText(textAt: usize, to: usize): void {
  const size = usize(load<u32>(textAt, SIZE));
  if (size > 0) hash(usize(load<u32>(textAt)), size, to);
}

/** Writes what is hashed of a row to `textAt`, if it is plain; returns the end. */
function putTexts(row: u32, texts: usize, textAt: usize): usize {
  const at = rowAt(row);
  const to = seenAt(row);
  v128.store(texts, i64x2.splat(0));
  store<f64>(to, f64(wholeAt(at, load<u32>(asked, ASKED_LSN), 15)));
  if (!isPlain(at, to)) return textAt;
  const names = load<u32>(asked, ASKED_NAMES);
  const firstNodes = load<u32>(asked, ASKED_PACKED_FIRST);
  const otherNodes = load<u32>(asked, ASKED_PACKED_OTHERS);
  const identityEnd = putIdentity(at, firstNodes, otherNodes, names, textAt);
  if (identityEnd == 0) return textAt;
  noteText(texts, textAt, identityEnd);
  const input = identityEnd + TEXT_GAP;
  const inputs = asked + ASKED_LISTS + (usize(names + load<u32>(asked, ASKED_ABSENT)) << 2);
  const inputEnd = putInput(at, inputs, load<u32>(asked, ASKED_INPUTS), input);
  if (inputEnd == 0) return input;
  noteText(texts + INPUT, input, inputEnd);
  return inputEnd + TEXT_GAP;
}

function noteText(at: usize, text: usize, textEnd: usize): void {
  store<u32>(at, u32(text));
  store<u32>(at, u32(textEnd - text), SIZE);
}

/** Whether a row is plain, its key and its identity aside. Writes the hash of its etag. */
function isPlain(at: usize, to: usize): bool {
  const document = load<u32>(asked, ASKED_DOCUMENT);
  if (spanEnd(at, document) - spanStart(at, document) > usize(load<u32>(asked, ASKED_BYTES_MAX)))
    return false;
  const names = load<u32>(asked, ASKED_NAMES);
  const lists = asked + ASKED_LISTS;
  const absent = lists + (usize(names) << 2);
  for (let i: u32 = 0; i < load<u32>(asked, ASKED_ABSENT); i += 1)
    if (hasValue(at, nodeIn(absent, i))) return false;
  const id = nodeIn(lists, 0);
  if (!hasValue(at, id) || load<u8>(spanStart(at, id)) != 0x22) return false;
  const idBytes = spanEnd(at, id) - spanStart(at, id) - 2;
  if (idBytes == 0 || idBytes > ID_BYTES_MAX) return false;
  const etag = load<u32>(asked, ASKED_ETAG);
  return hashEtag(spanStart(at, etag), spanEnd(at, etag), to + SEEN_ETAG);
}

let entries: usize = 0;
let entryCount: u32 = 0;
let list: usize = 0;
let out: usize = 0;

/**
 * Packs the rows in `list` in its order. Writes entries, etags, segments and operations to `outAt`, all offsets counted
 * from there, and the list of segments to `partsAt`. Returns the end of the operations, each of which is followed by a comma.
 * Precondition: every row in the list is plain, and its key has a record.
 */
export function packRows(listAt: usize, count: u32, work: usize, partsAt: usize, outAt: usize): usize {
  entries = out = outAt;
  entryCount = count;
  list = listAt;
  let to = reserve(outAt + usize(count) * ENTRY_BYTES, 0);
  for (let first: u32 = 0; first < count; first += GROUP)
    to = packGroup(first, min(first + GROUP, count), work, to);
  let part = partsAt;
  for (let first: u32 = 0; first < count; part += PART_BYTES) {
    const last = segmentEnd(first, part);
    to = packSegment(first, last, part, to);
    first = last;
  }
  store<u32>(part, 0);
  for (let i: u32 = 0; i < count; i += 1) to = packOperation(i, to);
  return to;
}

function entryAt(entry: u32): usize {
  return entries + usize(entry) * ENTRY_BYTES;
}

/** Returns the row from which an entry is made. */
function rowOf(entry: u32): u32 {
  return load<u32>(list + (usize(entry) << 2));
}

function seenAt(row: u32): usize {
  return seen + usize(row) * SEEN_BYTES;
}

/** Makes the entries of some rows, and writes their etags to `etagAt`; returns the end of the etags. */
function packGroup(first: u32, last: u32, work: usize, etagAt: usize): usize {
  const id = nodeIn(asked + ASKED_LISTS, 0);
  for (let i = first; i < last; i += 1) fetch(spanStart(rowAt(rowOf(i)), id));
  for (let i = first; i < last; i += 1) fetch(openingAt(keyOf(i)));
  for (let i = first; i < last; i += 1) fetch(hashedAt(keyOf(i)));
  let texts = work;
  let text = work + usize(GROUP) * TEXTS_BYTES;
  let to = etagAt;
  for (let i = first; i < last; i += 1, texts += TEXTS_BYTES) {
    to = packEntry(i, to);
    const end = putSlot(i, text);
    noteText(texts, text, end);
    text = end + TEXT_GAP;
  }
  texts = work;
  for (let i = first; i < last; i += 1, texts += TEXTS_BYTES) hashText(texts, entryAt(i) + ENTRY_SLOT);
  return to;
}

/** Makes an entry, and writes its etag to `etagAt`; returns the end of the etag. */
function packEntry(number: u32, etagAt: usize): usize {
  const entry = entryAt(number);
  const what = seenAt(rowOf(number));
  const key = load<u32>(what, SEEN_KEY);
  v128.store(entry, v128.load(what + SEEN_IDENTITY));
  store<f64>(entry, load<f64>(what), ENTRY_LSN);
  store<u32>(entry, key, ENTRY_KEY);
  const at = rowAt(rowOf(number));
  const etag = load<u32>(asked, ASKED_ETAG);
  const from = spanStart(at, etag);
  const size = spanEnd(at, etag) - from;
  const end = copyShort(from, size, reserve(etagAt, size));
  store<u32>(entry, u32(etagAt - out), ENTRY_ETAG);
  store<u32>(entry, u32(end - out), ENTRY_ETAG_END);
  return end;
}

/** Returns the key of the row from which an entry is made. */
function keyOf(entry: u32): u32 {
  return load<u32>(seenAt(rowOf(entry)), SEEN_KEY);
}

/** Writes what the hash of a slot is made of: the id, then the key. */
function putSlot(number: u32, work: usize): usize {
  const at = rowAt(rowOf(number));
  const key = load<u32>(entryAt(number), ENTRY_KEY);
  const id = nodeIn(asked + ASKED_LISTS, 0);
  const start = spanStart(at, id) + 1;
  const size = spanEnd(at, id) - start - 1;
  store<u8>(work, TYPE_TEXT);
  store<u32>(work, u32(size), 1);
  return copyShort(hashedAt(key), hashedBytes(key), copyShort(start, size, work + 5));
}

/** Returns the end of the segment that begins with an entry, and writes its number of entries and its lowest LSN. */
function segmentEnd(first: u32, part: usize): u32 {
  let low = load<f64>(entryAt(first), ENTRY_LSN);
  let high = low;
  let end = first + 1;
  for (; end < entryCount && end - first < SEGMENT_ENTRIES_MAX; end += 1) {
    const lsn = load<f64>(entryAt(end), ENTRY_LSN);
    if (max(high, lsn) - min(low, lsn) >= LSN_SPAN) break;
    low = min(low, lsn);
    high = max(high, lsn);
  }
  store<u32>(part, end - first);
  store<f64>(part, low, 16);
  return end;
}

/** Writes a segment to `dataAt`: entries, keys, and then the names. Returns the end of the names. */
function packSegment(first: u32, last: u32, part: usize, dataAt: usize): usize {
  const lsnBase = load<f64>(part, 16);
  store<u32>(part, u32(dataAt - out), 4);
  let stored = reserve(dataAt, usize(last - first) * STORED_BYTES);
  let to = stored + usize(last - first) * STORED_BYTES;
  let number: i32 = -1;
  let before: u32 = 0;
  for (let i = first; i < last; i += 1, stored += STORED_BYTES) {
    const entry = entryAt(i);
    const key = load<u32>(entry, ENTRY_KEY);
    if (number < 0 || !isSameKey(key, before)) {
      to = storeKey(packedAt(key), packedBytes(key), to);
      before = key;
      number += 1;
    }
    const lsn = bswap(u32(load<f64>(entry, ENTRY_LSN) - lsnBase));
    storeEntry(stored, entry, entry + ENTRY_SLOT, load<u64>(seenAt(rowOf(i)), SEEN_ETAG), lsn, number);
  }
  store<u32>(part, u32(to - out), 8);
  for (let i = first; i < last; i += 1) to = packName(rowAt(rowOf(i)), to);
  store<u32>(part, u32(to - out), 12);
  return to;
}

/** Whether two keys have the same values, although they may have been computed from others. */
function isSameKey(one: u32, other: u32): bool {
  if (one == other) return true;
  const size = packedBytes(one);
  return size == packedBytes(other) && isSame(packedAt(one), packedAt(other), size);
}

/** Writes the id and the source key of a row; returns the end. An object or an array counts as a missing value. */
function packName(at: usize, target: usize): usize {
  let to = target;
  for (let i: u32 = 0; i < load<u32>(asked, ASKED_NAMES); i += 1) {
    const node = nodeIn(asked + ASKED_LISTS, i);
    const from = spanStart(at, node);
    const byte: u32 = load<u8>(from);
    const size: usize = byte == 0x7b || byte == 0x5b ? 0 : spanEnd(at, node) - from;
    store<u32>(reserve(to, size + 4), u32(size));
    to = copyShort(from, size, to + 4);
  }
  return to;
}

/** Writes the operation that creates the document of an entry, and a comma; returns the end. */
function packOperation(number: u32, target: usize): usize {
  const entry = entryAt(number);
  const key = load<u32>(entry, ENTRY_KEY);
  const at = rowAt(rowOf(number));
  const document = load<u32>(asked, ASKED_DOCUMENT);
  const from = spanStart(at, document);
  const until = spanEnd(at, document) - 1;
  const added = addedBytes(key);
  reserve(target, openingBytes(key) + (until - from) + added + 4);
  store<u32>(entry, u32(target - out), ENTRY_OPERATION);
  let to = copyShort(openingAt(key), openingBytes(key), target);
  store<u32>(entry, u32(to - out), ENTRY_DOCUMENT);
  to = copyKept(at, from, until, to);
  if (added > 0) {
    // A plain document has an id, so what is added follows another property.
    store<u8>(to, 0x2c);
    to = copyShort(addedAt(key), added, to + 1);
  }
  // The ends of the document and of the operation.
  store<u16>(to, 0x7d7d);
  store<u32>(entry, u32(to + 2 - out), ENTRY_END);
  store<u8>(to, 0x2c, 2);
  return to + 3;
}
