/** The rows of the last scan, as the parts of the kernel read them after it: where the values at the nodes are. */
import { page } from './page';
import { cuts, ROW_HEAD, rows, stride } from './scan';

export function rowAt(row: u32): usize {
  return rows + usize(row) * stride;
}

/** Returns the node with this index in a list of nodes. */
export function nodeIn(nodesAt: usize, index: u32): u32 {
  return load<u32>(nodesAt + (usize(index) << 2));
}

/** Returns the node with this index among nodes packed into two numbers, a byte each, the first in the lowest byte. */
export function packedNode(first: u32, others: u32, index: u32): u32 {
  return ((index < 4 ? first : others) >> ((index & 3) << 3)) & 0xff;
}

export function hasValue(at: usize, node: u32): bool {
  return load<u32>(at + ROW_HEAD + (usize(node) << 3)) != 0;
}

/** Returns where a value starts. A missing value has no bytes: it starts and ends at the start of the page. */
export function spanStart(at: usize, node: u32): usize {
  return page + usize(load<u32>(at + ROW_HEAD + (usize(node) << 3)));
}

export function spanEnd(at: usize, node: u32): usize {
  return page + usize(load<u32>(at + ROW_HEAD + (usize(node) << 3), 4));
}

/**
 * Returns the integer without a sign at a node of a row; -1: there is none, or it has more digits. At most 18 fit into the
 * result, and 15 into a double without loss.
 */
export function wholeAt(at: usize, node: u32, digitsMax: usize): i64 {
  const from = spanStart(at, node);
  const until = spanEnd(at, node);
  if (from == until || until - from > digitsMax) return -1;
  let whole: i64 = 0;
  for (let digitAt = from; digitAt < until; digitAt += 1) {
    const digit = u32(load<u8>(digitAt)) - 0x30;
    if (digit > 9) return -1;
    whole = whole * 10 + i64(digit);
  }
  return whole;
}

/** Copies the page from `from` to `until`, without the cuts of the row, to `to`; returns the end of the copy. */
export function copyKept(at: usize, from: usize, until: usize, to: usize): usize {
  let out = to;
  let start = from;
  const last = cuts + (usize(load<u32>(at, 12)) << 3);
  for (let cut = cuts + (usize(load<u32>(at, 8)) << 3); cut < last; cut += 8) {
    const stop = page + usize(load<u32>(cut));
    memory.copy(out, start, stop - start);
    out += stop - start;
    start = page + usize(load<u32>(cut, 4));
  }
  if (start < until) {
    memory.copy(out, start, until - start);
    out += until - start;
  }
  return out;
}

/** Copies a short text in blocks of 16 bytes; returns the end of the copy. Up to 15 bytes after it are overwritten. */
export function copyShort(from: usize, size: usize, to: usize): usize {
  for (let at: usize = 0; at < size; at += 16) v128.store(to + at, v128.load(from + at));
  return to + size;
}

let fetched: u32 = 0;

/** Reads a byte that is needed soon: the processor fetches the memory around it, and does not wait for it. */
export function fetch(at: usize): void {
  // The sum is not used. Without it, the compiler would leave out the load.
  fetched += load<u8>(at);
}
