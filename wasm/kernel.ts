/**
 * The loops over bytes that take most of the time: the scan of a page, and what is made of its rows. Written in
 * AssemblyScript and compiled by `npm run build` to dist/documents/kernel.wasm. Only the files of src/documents/kernel call
 * this code; src/documents/name-tree.ts explains the tables. Tests compare the scan with a plain implementation,
 * test/unit/documents/plain-walk.ts.
 *
 * The caller divides the memory: tables | stack | known names | scratch | page | 64 zero bytes | cuts | rows. The zero bytes allow
 * loads of several bytes at the end of the page without a check. The rows are last, because they grow. Offsets in rows
 * and cuts count from the first byte of the page. Invariant: a fault is recorded in `faultKind` and `faultAt`, and ends
 * the call with a trap.
 */

import {
  hash,
  hashLong,
  TYPE_FALSE,
  TYPE_MISSING,
  TYPE_NULL,
  TYPE_NUMBER,
  TYPE_TEXT,
  TYPE_TRUE,
} from './hash';
import {
  beginNames,
  firstName,
  forgetNames,
  isName,
  keepName,
  nextName,
  nextNameBefore,
  nodeOfName,
  textBytes,
} from './known-names';

export { hash, hashLong };
export { addCursor, beginMerge, exhausted, merge, nextRival, shelve, sortShelf } from './index';
export { addRecord, forgetKeys, keysAreFull } from './known-keys';
export { beyondCount, listedCount, mappedCount, mapRows } from './map';
export { lookRows, packRows } from './pack';
export { rowKeys } from './row-keys';

// The numbers of the faults. Their texts are in src/documents/page-error.ts.
const END = 1;
const TRAILING = 2;
const PAGE = 3;
const DOCUMENTS = 4;
const ELEMENT = 5;
const COMMA = 6;
const COLON = 7;
const NAME = 8;
const CONTROL = 9;
const ESCAPE = 10;
const VALUE = 11;
const NUMBER = 12;
const DEPTH = 13;
const MEMORY = 14;

export let faultKind: i32 = 0;
export let faultAt: i32 = 0;
/** The number of rows of the last scan. */
export let count: i32 = 0;

const DEPTH_MAX: i32 = 1024;
/**
 * The bytes of a row before its values. A row has four numbers for its element: start, end, first cut and end of the
 * cuts. Two numbers for each node follow: the start and the end of its value.
 */
const ROW_HEAD: usize = 16;
const NODE_BYTES: usize = 24;
const FLAG_DOCUMENT: u32 = 1;
const FLAG_SYSTEM: u32 = 2;
const ROOT: i32 = 1;
/** The number of buckets in the hash table of a node's children; a power of two. */
const NAME_BUCKETS: u32 = 32;

let nodes: usize = 0;
let buckets: usize = 0;
let names: usize = 0;
let nameBytesMax: usize = 0;
let stride: usize = 0;
let stack: usize = 0;
let scratch: usize = 0;
let page: usize = 0;
let end: usize = 0;
let cuts: usize = 0;
let rows: usize = 0;
let row: usize = 0;
let cutEnd: usize = 0;
/** Whether the string that was read last had an escape. */
let escaped: bool = false;
// How deep in the value that is being read the document is; -1: not in it. In the document: where its current member starts,
// and whether an earlier member was kept. Locals would be slower: they are stored again after each value.
let documentDepth: i32 = -1;
let memberStart: usize = 0;
let kept = false;
/** Whether the element that is being read has an integer beyond 2^53. */
let hasLongInteger: bool = false;

/**
 * Sets the names to look for. There must be space for DEPTH_MAX + 1 numbers at `stackAt`, for a name without its escapes at
 * `scratchAt`, and for known names at `knownAt`.
 */
export function setNames(
  nodesAt: usize,
  bucketsAt: usize,
  namesAt: usize,
  longest: usize,
  nodeCount: usize,
  stackAt: usize,
  scratchAt: usize,
  knownAt: usize,
): void {
  nodes = nodesAt;
  buckets = bucketsAt;
  names = namesAt;
  nameBytesMax = longest;
  stride = ROW_HEAD + nodeCount * 8;
  stack = stackAt;
  scratch = scratchAt;
  forgetNames(knownAt);
}

function fail(kind: i32, at: usize): void {
  faultKind = at >= end ? END : kind;
  faultAt = i32((at >= end ? end : at) - page);
  unreachable();
}

function open(pageAt: usize, sizeBytes: usize, cutsAt: usize, rowsAt: usize): void {
  page = pageAt;
  end = pageAt + sizeBytes;
  cuts = cutsAt;
  rows = rowsAt;
  faultKind = 0;
  beginNames();
  reset();
}

function reset(): void {
  row = rows;
  cutEnd = cuts;
  count = 0;
}

/** Scans a page of a feed: an object with an array `Documents`. */
export function scanFeed(pageAt: usize, sizeBytes: usize, cutsAt: usize, rowsAt: usize): void {
  open(pageAt, sizeBytes, cutsAt, rowsAt);
  let found = false;
  let at = space(page);
  if (load<u8>(at) != 0x7b) fail(PAGE, at);
  at = space(at + 1);
  if (load<u8>(at) == 0x7d) at += 1;
  else {
    while (true) {
      const name = at;
      if (load<u8>(at) != 0x22) fail(NAME, at);
      at = string(at + 1);
      const isDocuments = isDocumentsName(name + 1, at - 1);
      at = space(at);
      if (load<u8>(at) != 0x3a) fail(COLON, at);
      at = space(at + 1);
      if (isDocuments) {
        if (load<u8>(at) != 0x5b) fail(DOCUMENTS, at);
        at = array(at, 1);
        found = true;
      } else at = value(at, 0, 1);
      at = space(at);
      const byte = load<u8>(at);
      if (byte == 0x7d) break;
      if (byte != 0x2c) fail(COMMA, at);
      at = space(at + 1);
    }
    at += 1;
  }
  trailing(at);
  if (!found) fail(DOCUMENTS, at);
}

/** Scans an array of objects, such as the reply to a batch. */
export function scanArray(pageAt: usize, sizeBytes: usize, cutsAt: usize, rowsAt: usize): void {
  open(pageAt, sizeBytes, cutsAt, rowsAt);
  const at = space(page);
  if (load<u8>(at) != 0x5b) fail(PAGE, at);
  trailing(array(at, 0));
}

function trailing(from: usize): void {
  const at = space(from);
  if (at < end) fail(TRAILING, at);
}

function array(from: usize, above: i32): usize {
  // If the page has several members `Documents`, the last one counts, so the rows of earlier ones are dropped.
  reset();
  let at = space(from + 1);
  if (load<u8>(at) == 0x5d) return at + 1;
  while (true) {
    if (load<u8>(at) != 0x7b) fail(ELEMENT, at);
    const capacity = usize(memory.size()) << 16;
    if (row + stride > capacity) {
      // The memory for rows grows to one and a half times its size, so that it grows rarely.
      const more = i32((stride + (capacity >> 1)) >> 16) + 1;
      if (memory.grow(more) < 0) fail(MEMORY, at);
    }
    memory.fill(row, 0, stride);
    const cutsFirst = u32(cutEnd - cuts) >> 3;
    store<u32>(row, u32(at - page));
    store<u32>(row, cutsFirst, 8);
    store<u32>(row, cutsFirst, 12);
    hasLongInteger = false;
    at = value(at, ROOT, above + 1);
    store<u32>(row, u32(at - page), 4);
    // No value has the node 0, so its entry in the row is free.
    store<u32>(row, u32(hasLongInteger), ROW_HEAD + 4);
    row += stride;
    count += 1;
    at = space(at);
    const byte = load<u8>(at);
    if (byte == 0x5d) return at + 1;
    if (byte != 0x2c) fail(COMMA, at);
    at = space(at + 1);
  }
}

/** Reads the value of the node `asked`, which is inside `above` objects and arrays; returns the end of the value. */
function value(from: usize, asked: i32, above: i32): usize {
  let at = from;
  let node = asked;
  let depth: i32 = 0;
  // The object or array around the current value: twice its node, plus 1 for an object.
  let top: u32 = 0;
  documentDepth = -1;
  // The entry of the name that was read last.
  let known = firstName();
  while (true) {
    if (node != 0) begin(node, at);
    const byte: u32 = load<u8>(at);
    let opened = false;
    if (byte == 0x22) at = string(at + 1);
    else if (byte == 0x7b || byte == 0x5b) {
      if (depth + above >= DEPTH_MAX) fail(DEPTH, at);
      const start = at;
      at = space(at + 1);
      if (load<u8>(at) == byte + 2) at += 1;
      else {
        opened = true;
        depth += 1;
        store<u32>(stack + (usize(depth) << 2), top);
        top = (u32(node) << 1) | u32(byte == 0x7b);
        if (node != 0 && byte == 0x7b && flagsOf(node) & FLAG_DOCUMENT) {
          documentDepth = depth;
          kept = false;
          memberStart = start + 1;
        }
      }
    } else at = scalar(at, byte);

    if (!opened) {
      // Here a value has ended. The objects and arrays around it may end as well.
      while (true) {
        if (node != 0) store<u32>(row + ROW_HEAD + (usize(node) << 3), u32(at - page), 4);
        if (depth == 0) return at;
        let next: u32 = load<u8>(at);
        if (next <= 0x20) {
          at = space(at);
          next = load<u8>(at);
        }
        const close = next == 0x5d + ((top & 1) << 5);
        if (!close && next != 0x2c) fail(COMMA, at);
        if (depth == documentDepth) {
          if (node != 0 && flagsOf(node) & FLAG_SYSTEM) {
            if (kept) cut(memberStart - 1, at);
            else cut(memberStart, close ? at : at + 1);
          } else kept = true;
          memberStart = at + 1;
        }
        at += 1;
        if (!close) {
          if (load<u8>(at) <= 0x20) at = space(at);
          break;
        }
        if (depth == documentDepth) documentDepth = -1;
        node = i32(top >> 1);
        top = load<u32>(stack + (usize(depth) << 2));
        depth -= 1;
      }
    }
    // Here the next member or element begins.
    if (top & 1) {
      const next = nextName(known);
      if (isName(next, at, top)) {
        known = next;
        node = nodeOfName(known);
        at += textBytes(known);
      } else {
        at = name(at, top, known);
        known = nameEntry;
        node = nameNode;
      }
      if (load<u8>(at) <= 0x20) at = space(at);
    } else node = 0;
  }
}

// What `name` has read: the node of the member, and the entry of its name.
let nameNode: i32 = 0;
let nameEntry: usize = 0;

/** Reads the name of a member of an object, and its colon; returns the address after them. */
function name(from: usize, object: u32, before: usize): usize {
  const other = nextNameBefore(before);
  if (isName(other, from, object)) {
    nameEntry = other;
    nameNode = nodeOfName(other);
    return from + textBytes(other);
  }
  if (load<u8>(from) != 0x22) fail(NAME, from);
  const nameEnd = string(from + 1);
  nameNode = object > 1 ? child(i32(object >> 1), from + 1, nameEnd - 1) : 0;
  const at = space(nameEnd);
  if (load<u8>(at) != 0x3a) fail(COLON, at);
  nameEntry = keepName(before, from, at + 1 - from, object, nameNode);
  return at + 1;
}

function flagsOf(node: i32): u32 {
  return load<u32>(nodes + usize(node) * NODE_BYTES);
}

/**
 * Records where the value of a node starts. If its name is repeated, the earlier value and all values in it are
 * dropped.
 */
function begin(node: i32, at: usize): void {
  const first = row + ROW_HEAD + (usize(node) << 3);
  if (load<u32>(first) != 0) {
    const last = load<i32>(nodes + usize(node) * NODE_BYTES, 4);
    memory.fill(first, 0, usize(last - node + 1) << 3);
    for (let below = node; below <= last; below += 1) {
      if (flagsOf(below) & FLAG_DOCUMENT) {
        const cutsFirst = load<u32>(row, 8);
        cutEnd = cuts + (usize(cutsFirst) << 3);
        store<u32>(row, cutsFirst, 12);
      }
    }
  }
  store<u32>(first, u32(at - page));
}

/** Records a cut, that is, the bytes of a system property to leave out. Adjacent cuts become a single one. */
function cut(from: usize, to: usize): void {
  if (u32(cutEnd - cuts) >> 3 > load<u32>(row, 8) && load<u32>(cutEnd - 4) == u32(from - page)) {
    store<u32>(cutEnd - 4, u32(to - page));
    return;
  }
  store<u32>(cutEnd, u32(from - page));
  store<u32>(cutEnd, u32(to - page), 4);
  cutEnd += 8;
  store<u32>(row, u32(cutEnd - cuts) >> 3, 12);
}

function space(from: usize): usize {
  let at = from;
  while (true) {
    const byte = load<u8>(at);
    if (byte > 0x20) return at;
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) return at;
    at += 1;
  }
}

/** Reads a string whose opening quote is before `from`; returns the address after the closing quote. */
function string(from: usize): usize {
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

function scalar(from: usize, byte: u32): usize {
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

/** Returns the child of a node by its name, which is in the page from `from` to `to`; 0: there is no such child. */
function child(parent: i32, from: usize, to: usize): i32 {
  let at = from;
  let sizeBytes = to - from;
  if (escaped) {
    // The longest escape has six bytes for one byte of a name, so a longer text cannot be a wanted name.
    if (sizeBytes > nameBytesMax * 6) return 0;
    sizeBytes = unescape(from, to);
    at = scratch;
  }
  const first: u32 = sizeBytes > 0 ? load<u8>(at) : 0;
  const last: u32 = sizeBytes > 0 ? load<u8>(at + sizeBytes - 1) : 0;
  let node = i32(
    load<u8>(
      buckets + usize(parent) * NAME_BUCKETS + ((first + 3 * last + 5 * u32(sizeBytes)) & (NAME_BUCKETS - 1)),
    ),
  );
  while (node != 0) {
    const entry = nodes + usize(node) * NODE_BYTES;
    if (load<u32>(entry, 16) == u32(sizeBytes) && same(names + usize(load<u32>(entry, 12)), at, sizeBytes)) {
      return node;
    }
    node = load<i32>(entry, 8);
  }
  return 0;
}

function same(a: usize, b: usize, sizeBytes: usize): bool {
  for (let i: usize = 0; i < sizeBytes; i += 1) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

function isDocumentsName(from: usize, to: usize): bool {
  let at = from;
  let sizeBytes = to - from;
  if (escaped) {
    if (sizeBytes > 54) return false;
    sizeBytes = unescape(from, to);
    at = scratch;
  }
  return sizeBytes == 9 && load<u64>(at) == 0x746e656d75636f44 && load<u8>(at + 8) == 0x73;
}

/**
 * Writes the contents of a string without escapes to the scratch memory, encoded as in name-tree.ts; returns the size
 * in bytes.
 */
function unescape(from: usize, to: usize): usize {
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

/**
 * Copies the page's bytes from `from` to `until`, without the cuts of the row, to `to`; returns the end of the copy.
 */
export function copyKept(rowAt: usize, from: usize, until: usize, to: usize): usize {
  let out = to;
  let start = page + from;
  const last = load<u32>(rowAt, 12);
  for (let i = load<u32>(rowAt, 8); i < last; i += 1) {
    const entry = cuts + (usize(i) << 3);
    const stop = page + usize(load<u32>(entry));
    memory.copy(out, start, stop - start);
    out += stop - start;
    start = page + usize(load<u32>(entry, 4));
  }
  const stop = page + until;
  memory.copy(out, start, stop - start);
  return out + (stop - start);
}

/**
 * The most bytes that the texts of an identity may have together. Usually they are far shorter; the caller hashes
 * longer ones.
 */
const IDENTITY_BYTES_MAX: usize = 4096;

/**
 * Writes the identity hash of a row's values at `nodeCount` nodes to `out`. The nodes are packed into two numbers, one
 * byte for each node, the first in the lowest byte. Returns false for values that the caller has to hash: a text with
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
  const values = rowAt + ROW_HEAD;
  for (let i: u32 = 0; i < nodeCount; i += 1) {
    const node = ((i < 4 ? firstNodes : otherNodes) >> ((i & 3) << 3)) & 0xff;
    const entry = values + (usize(node) << 3);
    const start = load<u32>(entry);
    if (start == 0) {
      store<u8>(to, TYPE_MISSING);
      to += 1;
      continue;
    }
    const from = page + usize(start);
    const until = page + usize(load<u32>(entry, 4));
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

/**
 * What `digest` writes into its table for a row without an entry. BEYOND: the row is beyond the fence. LEFT: the caller
 * has to read the row. NO_LSN: the row has no LSN.
 */
const BEYOND: u32 = 0;
const LEFT: u32 = 1;
const NO_LSN: u32 = 2;
const FIRST_ENTRY: u32 = 4;
/** The bytes of an entry before its name: size, identity and contribution. */
const ENTRY_HEAD: usize = 36;
const ENTRY_NAME_MAX: usize = 2048;

let entryEnd: usize = 0;

/**
 * Writes the entries of the rows of the last scan to `out`, in the layout of src/documents/comparison-entries.ts.
 * Writes two numbers for each row to `table`: where its entry starts, plus FIRST_ENTRY, or else why it has no entry;
 * and how many bytes of its document were hashed. There must be space at `work` for 112 bytes, the texts of an identity
 * and the largest document. Returns the end of the entries.
 */
export function digest(
  fenceLsn: f64,
  lsnNode: usize,
  documentNode: usize,
  documentBytesMax: u32,
  stopNode: usize,
  plainKeyBytesMax: u32,
  identityFirst: u32,
  identityOthers: u32,
  identityCount: u32,
  slotFirst: u32,
  slotOthers: u32,
  slotCount: u32,
  namesFirst: u32,
  namesOthers: u32,
  namesCount: u32,
  work: usize,
  table: usize,
  out: usize,
): usize {
  entryEnd = out;
  let rowAt = rows;
  for (let i: i32 = 0; i < count; i += 1, rowAt += stride) {
    const tableAt = table + (usize(i) << 3);
    const lsn = wholeAt(rowAt, lsnNode);
    if (lsn < 0 || f64(lsn) > fenceLsn) {
      store<u32>(tableAt, lsn < 0 ? NO_LSN : BEYOND);
      continue;
    }
    store<u32>(tableAt, LEFT);
    const document = rowAt + ROW_HEAD + (documentNode << 3);
    const from = usize(load<u32>(document));
    const until = usize(load<u32>(document, 4));
    if (u32(until - from) > documentBytesMax) continue;
    if (stopNode != 0 && load<u32>(rowAt + ROW_HEAD + (stopNode << 3)) != 0) continue;
    if (plainKeyBytesMax != 0 && !isPlain(rowAt, slotFirst, slotOthers, slotCount, plainKeyBytesMax))
      continue;
    const text = work + 112;
    if (!identity(rowAt, identityFirst, identityOthers, identityCount, text, work)) continue;
    if (!identity(rowAt, slotFirst, slotOthers, slotCount, text, work + 16)) continue;
    const textEnd = copyKept(rowAt, from, until, text);
    hashLong(text, textEnd - text, work + 64, work + 32);
    const capacity = usize(memory.size()) << 16;
    if (entryEnd + ENTRY_HEAD + ENTRY_NAME_MAX + 16 > capacity && memory.grow(i32(capacity >> 17) + 1) < 0)
      unreachable();
    const entry = entryEnd;
    if (!putName(rowAt, namesFirst, namesOthers, namesCount, entry + ENTRY_HEAD)) continue;
    memory.copy(entry + 4, work, 16);
    hash(work, 48, entry + 20);
    store<u32>(entry, u32(entryEnd - entry));
    store<u32>(tableAt, FIRST_ENTRY + u32(entry - out));
    store<u32>(tableAt, u32(textEnd - text), 4);
  }
  return entryEnd;
}

function nodeIn(first: u32, others: u32, i: u32): usize {
  return usize(((i < 4 ? first : others) >> ((i & 3) << 3)) & 0xff);
}

/** Returns the integer without a sign at a node of a row; -1: the row has no such value. */
function wholeAt(rowAt: usize, node: usize): i64 {
  const entry = rowAt + ROW_HEAD + (node << 3);
  const start = load<u32>(entry);
  const until = load<u32>(entry, 4);
  if (start == 0 || until - start > 18) return -1;
  let whole: i64 = 0;
  for (let at = start; at < until; at += 1) {
    const digit = u32(load<u8>(page + usize(at))) - 0x30;
    if (digit > 9) return -1;
    whole = whole * 10 + i64(digit);
  }
  return whole;
}

/** Returns whether the id of a row is a text, neither empty nor too long, and all levels of its key are short texts. */
function isPlain(rowAt: usize, first: u32, others: u32, nodeCount: u32, keyBytesMax: u32): bool {
  let keyBytes: u32 = 0;
  for (let i: u32 = 0; i < nodeCount; i += 1) {
    const entry = rowAt + ROW_HEAD + (nodeIn(first, others, i) << 3);
    const start = load<u32>(entry);
    if (start == 0 || load<u8>(page + usize(start)) != 0x22) return false;
    const sizeBytes = load<u32>(entry, 4) - start - 2;
    if (i > 0) keyBytes += sizeBytes;
    else if (sizeBytes == 0 || sizeBytes > 1023) return false;
  }
  return keyBytes <= keyBytesMax;
}

/**
 * Writes the name of an entry to `to`: the values at the nodes, each followed by a line feed, then zeros up to the next
 * word. Returns false if the name is too long.
 */
function putName(rowAt: usize, first: u32, others: u32, nodeCount: u32, to: usize): bool {
  let at = to;
  for (let i: u32 = 0; i < nodeCount; i += 1) {
    const entry = rowAt + ROW_HEAD + (nodeIn(first, others, i) << 3);
    const start = usize(load<u32>(entry));
    if (start != 0) {
      const byte = load<u8>(page + start);
      if (byte != 0x7b && byte != 0x5b) {
        const sizeBytes = usize(load<u32>(entry, 4)) - start;
        if (at - to + sizeBytes > ENTRY_NAME_MAX) return false;
        memory.copy(at, page + start, sizeBytes);
        at += sizeBytes;
      }
    }
    store<u8>(at, 0x0a);
    at += 1;
  }
  store<u32>(at, 0);
  entryEnd = (at + 4) & ~3;
  return true;
}
