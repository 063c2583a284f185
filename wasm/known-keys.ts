/**
 * The keys that were computed already, by the bytes of the values from which they are computed. The kernel finds a key for
 * each document; the caller computes it once, in src/keys, and leaves its record here. Invariant: a key is found only for
 * exactly the same bytes.
 *
 * A key has eight words: the next key of its bucket plus 1; the hash of its input; the address and the size of the input;
 * the address of its record, 0 until there is one; and the sizes of the record's four parts, the last two in one word.
 * Inputs and records share the memory after the keys.
 */
import { hash } from './hash';
import { fetch, nodeIn, spanEnd, spanStart } from './rows';

const BUCKETS: u32 = 32768;
const KEYS_MAX: u32 = 32768;
const KEY_BYTES: usize = 32;
/** The longest input, with the byte after each value. Longer inputs are hardly ever shared. */
const INPUT_BYTES_MAX: usize = 256;
/** Follows each value, also a missing one. JSON values have no control characters, so no value contains this byte. */
const VALUE_END: u32 = 0;
/** Stands for the address of a key that is not there. It can be read, too. */
const NO_KEY: usize = 0;

let buckets: usize = 0;
let keys: usize = 0;
let unusedAt: usize = 0;
let unusedEnd: usize = 0;
let keyCount: u32 = 0;
let lacksSpace: bool = false;

/** Forgets all keys. From now on they have the memory from `at` to `end`. */
export function forgetKeys(at: usize, end: usize): void {
  buckets = at;
  keys = buckets + (usize(BUCKETS) << 2);
  unusedAt = keys + usize(KEYS_MAX) * KEY_BYTES;
  unusedEnd = end;
  keyCount = 0;
  lacksSpace = false;
  memory.fill(buckets, 0, usize(BUCKETS) << 2);
}

/** Whether a key or a record has found no space. Then the caller lets all keys be forgotten. */
export function keysAreFull(): bool {
  return lacksSpace;
}

/** Reserves memory for the record of a key. Returns its address; 0: there is no space for it. */
export function addRecord(
  key: u32,
  openingBytes: u32,
  addedBytes: u32,
  packedBytes: u32,
  hashedBytes: u32,
): usize {
  const sizeBytes = usize(openingBytes + addedBytes + packedBytes + hashedBytes);
  if (unusedAt + sizeBytes + 16 > unusedEnd) {
    lacksSpace = true;
    return 0;
  }
  const at = keys + usize(key) * KEY_BYTES;
  store<u32>(at, u32(unusedAt), 16);
  store<u32>(at, openingBytes, 20);
  store<u32>(at, addedBytes, 24);
  store<u32>(at, packedBytes | (hashedBytes << 16), 28);
  unusedAt += sizeBytes;
  return unusedAt - sizeBytes;
}

/** Copies the values at some nodes of a row to `input`; returns the end of the copy. 0: their key is not kept. */
export function putInput(rowAt: usize, nodesAt: usize, nodeCount: u32, input: usize): usize {
  let to = input;
  for (let i: u32 = 0; i < nodeCount; i += 1) {
    const node = nodeIn(nodesAt, i);
    const start = spanStart(rowAt, node);
    const size = spanEnd(rowAt, node) - start;
    if (to - input + size + 1 > INPUT_BYTES_MAX) return 0;
    if (size > 0) {
      const byte: u32 = load<u8>(start);
      if (byte == 0x7b || byte == 0x5b) return 0;
      for (let at: usize = 0; at < size; at += 16) v128.store(to + at, v128.load(start + at));
      to += size;
    }
    store<u8>(to, VALUE_END);
    to += 1;
  }
  return to;
}

function bucketOf(mark: u32): usize {
  return buckets + (usize(mark & (BUCKETS - 1)) << 2);
}

/**
 * Fetches what `findKey` will read for some hashes, which are `strideBytes` apart. Each address is read from the memory, so
 * the processor waits for one step of all keys, and not for each step of each key.
 */
export function fetchKeys(marksAt: usize, strideBytes: usize, count: u32): void {
  const end = marksAt + strideBytes * usize(count);
  for (let at = marksAt; at < end; at += strideBytes) fetch(bucketOf(load<u32>(at)));
  for (let at = marksAt; at < end; at += strideBytes) fetch(firstKey(load<u32>(at)));
  for (let at = marksAt; at < end; at += strideBytes) {
    const key = firstKey(load<u32>(at));
    if (key != NO_KEY) fetch(usize(load<u32>(key, 8)));
  }
}

/** Returns the address of the first key in a bucket. */
function firstKey(mark: u32): usize {
  const link = load<u32>(bucketOf(mark));
  return link == 0 ? NO_KEY : keys + usize(link - 1) * KEY_BYTES;
}

/**
 * Returns the number of the key of an input, a new number if the key is not known; -1: the key is not kept. `mark` is
 * the first word of the input's hash.
 */
export function findKey(mark: u32, input: usize, size: usize): i32 {
  const bucket = bucketOf(mark);
  for (let link = load<u32>(bucket); link != 0;) {
    const at = keys + usize(link - 1) * KEY_BYTES;
    if (
      load<u32>(at, 4) == mark &&
      usize(load<u32>(at, 12)) == size &&
      isSame(usize(load<u32>(at, 8)), input, size)
    )
      return i32(link - 1);
    link = load<u32>(at);
  }
  const padded = (size + 15) & ~15;
  if (keyCount == KEYS_MAX || unusedAt + padded > unusedEnd) {
    lacksSpace = true;
    return -1;
  }
  const at = keys + usize(keyCount) * KEY_BYTES;
  store<u32>(at, load<u32>(bucket));
  store<u32>(at, mark, 4);
  store<u32>(at, u32(unusedAt), 8);
  store<u32>(at, u32(size), 12);
  store<u32>(at, 0, 16);
  for (let i: usize = 0; i < padded; i += 16) v128.store(unusedAt + i, v128.load(input + i));
  unusedAt += padded;
  keyCount += 1;
  store<u32>(bucket, keyCount);
  return i32(keyCount - 1);
}

/** Compares in blocks of 16 bytes: zeros follow both inputs up to the end of their last block. */
function isSame(one: usize, other: usize, size: usize): bool {
  for (let at: usize = 0; at < size; at += 16)
    if (v128.any_true(v128.xor(v128.load(one + at), v128.load(other + at)))) return false;
  return true;
}

// The parts of a key's record, in their order. Precondition: the key has its record.

export function openingAt(key: u32): usize {
  return usize(load<u32>(keys + usize(key) * KEY_BYTES, 16));
}

export function openingBytes(key: u32): usize {
  return usize(load<u32>(keys + usize(key) * KEY_BYTES, 20));
}

export function addedAt(key: u32): usize {
  return openingAt(key) + openingBytes(key);
}

export function addedBytes(key: u32): usize {
  return usize(load<u32>(keys + usize(key) * KEY_BYTES, 24));
}

export function packedAt(key: u32): usize {
  return addedAt(key) + addedBytes(key);
}

export function packedBytes(key: u32): usize {
  return usize(load<u32>(keys + usize(key) * KEY_BYTES, 28) & 0xffff);
}

export function hashedAt(key: u32): usize {
  return packedAt(key) + packedBytes(key);
}

export function hashedBytes(key: u32): usize {
  return usize(load<u32>(keys + usize(key) * KEY_BYTES, 28) >> 16);
}
