/**
 * The scan of a page: where its documents are, where the wanted values are in them, and which bytes to leave out.
 * src/documents/name-tree.ts explains the tables of wanted names. Tests compare the scan with a plain implementation,
 * test/unit/documents/plain-walk.ts.
 *
 * The rows are last in the memory, because they grow. Offsets in rows and cuts count from the first byte of the page.
 */
import {
  beginPage,
  COLON,
  COMMA,
  DEPTH,
  DOCUMENTS,
  ELEMENT,
  end,
  fail,
  MEMORY,
  NAME,
  PAGE,
  page,
  TRAILING,
} from './page';
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
import { beginElement, escaped, hasLongInteger, scalar, space, string, unescape } from './text';

/** The number of rows of the last scan. */
export let count: i32 = 0;

const DEPTH_MAX: i32 = 1024;
/**
 * The bytes of a row before its values. A row has four numbers for its element: start, end, first cut and end of the
 * cuts. Two numbers for each node follow: the start and the end of its value.
 */
export const ROW_HEAD: usize = 16;
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
export let stride: usize = 0;
let stack: usize = 0;
let scratch: usize = 0;
export let cuts: usize = 0;
export let rows: usize = 0;
let row: usize = 0;
let cutEnd: usize = 0;
// How deep in the value that is being read the document is; -1: not in it. In the document: where its current member starts,
// and whether an earlier member was kept. Locals would be slower: they are stored again after each value.
let documentDepth: i32 = -1;
let memberStart: usize = 0;
let kept = false;

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

function open(pageAt: usize, sizeBytes: usize, cutsAt: usize, rowsAt: usize): void {
  cuts = cutsAt;
  rows = rowsAt;
  beginPage(pageAt, pageAt + sizeBytes);
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
    beginElement();
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

/** Returns the child of a node by its name, which is in the page from `from` to `to`; 0: there is no such child. */
function child(parent: i32, from: usize, to: usize): i32 {
  let at = from;
  let sizeBytes = to - from;
  if (escaped) {
    // The longest escape has six bytes for one byte of a name, so a longer text cannot be a wanted name.
    if (sizeBytes > nameBytesMax * 6) return 0;
    sizeBytes = unescape(from, to, scratch);
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
    sizeBytes = unescape(from, to, scratch);
    at = scratch;
  }
  return sizeBytes == 9 && load<u64>(at) == 0x746e656d75636f44 && load<u8>(at + 8) == 0x73;
}
