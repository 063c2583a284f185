/** What a comparison needs to know of each document of a page, for `cosmig verify`: one entry a row, in a single pass. */
import { hash, hashLong } from './hash';
import { copyKept, identity } from './identity';
import { page } from './page';
import { count, ROW_HEAD, rows, stride } from './scan';

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
