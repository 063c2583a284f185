/** What a comparison needs to know of each document of a page, for `cosmig verify`: one entry a row, in a single pass. */
import { hash, hashLong } from './hash';
import { identity } from './identity';
import { copyKept, hasValue, packedNode, rowAt, spanEnd, spanStart, wholeAt } from './rows';
import { count } from './scan';

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
  lsnNode: u32,
  documentNode: u32,
  documentBytesMax: u32,
  stopNode: u32,
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
  for (let row: u32 = 0; row < u32(count); row += 1) {
    const at = rowAt(row);
    const tableAt = table + (usize(row) << 3);
    const lsn = wholeAt(at, lsnNode, 18);
    if (lsn < 0 || f64(lsn) > fenceLsn) {
      store<u32>(tableAt, lsn < 0 ? NO_LSN : BEYOND);
      continue;
    }
    store<u32>(tableAt, LEFT);
    const from = spanStart(at, documentNode);
    const until = spanEnd(at, documentNode);
    if (u32(until - from) > documentBytesMax) continue;
    if (stopNode != 0 && hasValue(at, stopNode)) continue;
    if (plainKeyBytesMax != 0 && !isPlain(at, slotFirst, slotOthers, slotCount, plainKeyBytesMax)) continue;
    const text = work + 112;
    if (!identity(at, identityFirst, identityOthers, identityCount, text, work)) continue;
    if (!identity(at, slotFirst, slotOthers, slotCount, text, work + 16)) continue;
    const textEnd = copyKept(at, from, until, text);
    hashLong(text, textEnd - text, work + 64, work + 32);
    const capacity = usize(memory.size()) << 16;
    if (entryEnd + ENTRY_HEAD + ENTRY_NAME_MAX + 16 > capacity && memory.grow(i32(capacity >> 17) + 1) < 0)
      unreachable();
    const entry = entryEnd;
    if (!putName(at, namesFirst, namesOthers, namesCount, entry + ENTRY_HEAD)) continue;
    memory.copy(entry + 4, work, 16);
    hash(work, 48, entry + 20);
    store<u32>(entry, u32(entryEnd - entry));
    store<u32>(tableAt, FIRST_ENTRY + u32(entry - out));
    store<u32>(tableAt, u32(textEnd - text), 4);
  }
  return entryEnd;
}

/** Returns whether the id of a row is a text, neither empty nor too long, and all levels of its key are short texts. */
function isPlain(at: usize, first: u32, others: u32, nodeCount: u32, keyBytesMax: u32): bool {
  let keyBytes: u32 = 0;
  for (let i: u32 = 0; i < nodeCount; i += 1) {
    const node = packedNode(first, others, i);
    const from = spanStart(at, node);
    if (!hasValue(at, node) || load<u8>(from) != 0x22) return false;
    const sizeBytes = u32(spanEnd(at, node) - from) - 2;
    if (i > 0) keyBytes += sizeBytes;
    else if (sizeBytes == 0 || sizeBytes > 1023) return false;
  }
  return keyBytes <= keyBytesMax;
}

/**
 * Writes the name of an entry to `to`: the values at the nodes, each followed by a line feed, then zeros up to the next
 * word. Returns false if the name is too long.
 */
function putName(row: usize, first: u32, others: u32, nodeCount: u32, to: usize): bool {
  let at = to;
  for (let i: u32 = 0; i < nodeCount; i += 1) {
    const node = packedNode(first, others, i);
    if (hasValue(row, node)) {
      const from = spanStart(row, node);
      const byte = load<u8>(from);
      if (byte != 0x7b && byte != 0x5b) {
        const sizeBytes = spanEnd(row, node) - from;
        if (at - to + sizeBytes > ENTRY_NAME_MAX) return false;
        memory.copy(at, from, sizeBytes);
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
