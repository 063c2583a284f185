/**
 * The names of members that were read before. The objects of a page nearly always have the same names in the same order. So
 * a name is compared with the two that came after the name before it; if one is equal, it need not be read byte by byte and
 * looked up among the wanted names. Invariant: a name is found only for exactly the same bytes, in an object of the same
 * node.
 *
 * An entry has the text of a name from its first quote to its colon, zeros up to 32 bytes, and five words: the object, which
 * is twice its node plus 1; the node of the member; the bytes of the text; and the two entries that came next, the later one
 * first. The first entry stands for the start of a value: it is of no object, so it equals no name. The others are found by
 * a hash.
 */
const ENTRY_BYTES: usize = 64;
const OBJECT: usize = 32;
const NODE: usize = 36;
const TEXT_BYTES: usize = 40;
const NEXT: usize = 44;
const NEXT_BEFORE: usize = 48;
/** Longer texts are not kept. */
const TEXT_BYTES_MAX: usize = 32;

/** A hash has this many bits. An entry is at the position of its hash, or up to three after it. */
const HASH_BITS: u64 = 8;
const PROBES: u32 = 4;
const ENTRIES: usize = 1 + (1 << 8) + 3;
const MIX: u64 = 0x9e3779b97f4a7c15;
/**
 * How many entries a page may write. A page with more names uses values as names, such as ids, which do not come again:
 * keeping them costs time, and takes the entries of names that do.
 */
const WRITTEN_MAX: i32 = 256;

/** Masks: 32 bytes of ones, then zeros from here on. The mask of a text begins as many bytes before as the text has. */
let zeros: usize = 0;
let entries: usize = 0;
let writable: i32 = 0;
/** Which of the entries in question was replaced last. */
let replaced: u32 = 0;

/** Forgets all names. From now on they have 16.7 KB of memory at an address. */
export function forgetNames(at: usize): void {
  zeros = at + 32;
  entries = zeros + 32;
  memory.fill(at, 0xff, 32);
  memory.fill(zeros, 0, 32 + ENTRIES * ENTRY_BYTES);
  expect(entries, entries);
  expect(entries, entries);
}

/** Called for each page. */
export function beginNames(): void {
  writable = WRITTEN_MAX;
}

/** Returns the entry that stands for the start of a value. */
export function firstName(): usize {
  return entries;
}

/** Returns the entry that came last after another one. */
export function nextName(entry: usize): usize {
  return usize(load<u32>(entry, NEXT));
}

/** Returns the entry that came after another one before its present `nextName`. */
export function nextNameBefore(entry: usize): usize {
  return usize(load<u32>(entry, NEXT_BEFORE));
}

export function nodeOfName(entry: usize): i32 {
  return load<i32>(entry, NODE);
}

/** Returns the bytes of a name from its first quote to its colon. */
export function textBytes(entry: usize): usize {
  return usize(load<u32>(entry, TEXT_BYTES));
}

/** Whether a member of an object begins with the name of an entry. At least 32 bytes can be read there. */
export function isName(entry: usize, at: usize, object: u32): bool {
  const mask = zeros - textBytes(entry);
  const start = v128.and(v128.xor(v128.load(at), v128.load(entry)), v128.load(mask));
  const rest = v128.and(v128.xor(v128.load(at, 16), v128.load(entry, 16)), v128.load(mask, 16));
  return load<u32>(entry, OBJECT) == object && !v128.any_true(v128.or(start, rest));
}

/**
 * Keeps the name that came after the entry `before`, from its first quote to its colon. Returns its entry; `before` if the
 * name is not kept.
 */
export function keepName(before: usize, at: usize, sizeBytes: usize, object: u32, node: i32): usize {
  if (sizeBytes > TEXT_BYTES_MAX || writable == 0) return before;
  const mask = zeros - sizeBytes;
  const start = v128.and(v128.load(at), v128.load(mask));
  const rest = v128.and(v128.load(at, 16), v128.load(mask, 16));
  const home = entries + ENTRY_BYTES * (1 + hashOf(at, sizeBytes, object));
  let entry = home;
  for (let probe: u32 = 1; probe < PROBES && textBytes(entry) > 0 && !isName(entry, at, object); probe += 1)
    entry += ENTRY_BYTES;
  if (!isName(entry, at, object)) {
    if (textBytes(entry) > 0) {
      replaced = (replaced + 1) % PROBES;
      entry = home + usize(replaced) * ENTRY_BYTES;
    }
    v128.store(entry, start);
    v128.store(entry, rest, 16);
    store<u32>(entry, object, OBJECT);
    store<i32>(entry, node, NODE);
    store<u32>(entry, u32(sizeBytes), TEXT_BYTES);
    expect(entry, entries);
    expect(entry, entries);
    writable -= 1;
  }
  expect(before, entry);
  return entry;
}

function expect(before: usize, entry: usize): void {
  store<u32>(before, load<u32>(before, NEXT), NEXT_BEFORE);
  store<u32>(before, u32(entry), NEXT);
}

/** Hashes the first and the last eight bytes of a text. */
function hashOf(at: usize, sizeBytes: usize, object: u32): usize {
  const isShort = sizeBytes < 8;
  const first = isShort ? load<u64>(at) << ((8 - sizeBytes) << 3) : load<u64>(at);
  const last = isShort ? 0 : load<u64>(at + sizeBytes - 8);
  const mixed = (first ^ u64(object)) * MIX;
  return usize(((mixed ^ (mixed >> 32) ^ last) * MIX) >> (64 - HASH_BITS));
}
