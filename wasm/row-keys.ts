/**
 * The keys that the rows of a page would have under several candidates, as columns of numbers: for each row and level two
 * words of a hash, and the position in the hash space. What is read or computed for one candidate is kept for the others.
 * The input is a program (src/plan/pass/key-program.ts), which lists the levels of each candidate. Invariant: a key is
 * only computed if it certainly equals the one of src/keys; the state of any other row is ODD, and the caller has to
 * read it.
 */
import { hash, TYPE_FALSE, TYPE_MISSING, TYPE_NULL, TYPE_NUMBER, TYPE_TEXT, TYPE_TRUE } from './hash';
import { page } from './page';
import { rowAt, spanEnd, spanStart, wholeAt } from './rows';
import { count } from './scan';
import { instantOf, NO_INSTANT, putPieces } from './instant';

// The states of a row under a candidate.
const ODD: u32 = 0;
const KEY: u32 = 1;
const KEY_WITHOUT_VALUE: u32 = 2;

// The kinds of levels.
const LEVEL_STORED: u32 = 0;
const LEVEL_COPIED: u32 = 1;

// The parts of a template, and its filters.
const PART_END: u32 = 0;
const PART_TEXT: u32 = 1;
const FILTER_END: u32 = 0;
const FILTER_HASH: u32 = 1;
const FILTER_TIME: u32 = 2;
const FILTER_LOWER: u32 = 3;
const FILTER_UPPER: u32 = 4;
const FILTER_TRIM: u32 = 5;
const FILTER_SLICE: u32 = 6;
const FILTER_PAD: u32 = 7;
const FILTER_DEFAULT: u32 = 8;

/** Texts of a key have at most this many bytes together, which is certainly a valid key. */
const KEY_BYTES_MAX: u32 = 1000;
/** `slice` without an end. */
const NO_END: i32 = 0x7fffffff;

// What is kept of a value or a template for the other candidates: tag, state, bytes of the text, position, hash.
const KEPT_BYTES: usize = 24;
/** A node or a template without a value, or with a value that only the caller can read. */
const WITHOUT_VALUE: u32 = 2;
const UNREADABLE: u32 = 0;
const READ: u32 = 1;
/** An object or an array, which counts as missing at a key path and cannot be copied. */
const COMPOSITE: u32 = 3;

// The memory at `work`: what is kept of 256 nodes and of templates, a hash, the hashes of levels, texts.
const KEPT_TEMPLATES: usize = 256 * 24;
const TEMPLATES_MAX: usize = 64;
const HASH_AT: usize = KEPT_TEMPLATES + TEMPLATES_MAX * 24;
const LEVELS_AT: usize = HASH_AT + 16;
const INPUT_AT: usize = LEVELS_AT + 48;
const TEXT_BYTES: usize = 2048;
const KEY_AT: usize = INPUT_AT + TEXT_BYTES;
const VALUE_AT: usize = KEY_AT + TEXT_BYTES;

let row: usize = 0;
let program: usize = 0;
let work: usize = 0;
/** A number that is different for each row: what was kept under another tag is of another row. */
let tag: u32 = 0;

// The value of a placeholder while its filters are applied: its type, and the bytes of its text.
let type: u32 = 0;
let from: usize = 0;
let to: usize = 0;

/**
 * Writes the columns of the rows up to the fence to `out`; returns their number. `space` is the number of rows for which
 * each column has space. The columns, in this order: time (a double), row, bytes of the document, id (two words); then for
 * each candidate: state, position, two words for each level; then for each candidate seven counts of the types of values.
 * A number without sign at a node that is missing or written otherwise counts as 0.
 */
export function rowKeys(
  fenceLsn: f64,
  lsnNode: u32,
  documentNode: u32,
  idNode: u32,
  tsNode: u32,
  documentBytesMax: u32,
  programAt: usize,
  workAt: usize,
  out: usize,
  space: usize,
): u32 {
  program = programAt;
  work = workAt;
  memory.fill(work, 0, HASH_AT);
  const candidates = load<u32>(program);
  const rowColumn = out + 8 * space;
  const bytesColumn = rowColumn + 4 * space;
  const idColumn = bytesColumn + 4 * space;
  const keysColumn = idColumn + 8 * space;
  let end = keysColumn;
  let list = program + 8;
  for (let i: u32 = 0; i < candidates; i += 1) {
    const levels = load<u32>(list);
    end += (8 + 8 * usize(levels)) * space;
    list += 8 + 4 * usize(load<u32>(list, 4)) + 8 * usize(levels);
  }
  const typesAt = end;
  memory.fill(typesAt, 0, 28 * usize(candidates));
  let taken: usize = 0;
  tag = 0;
  for (let i: u32 = 0; i < u32(count); i += 1) {
    row = rowAt(i);
    if (countAt(lsnNode) > fenceLsn) continue;
    tag += 1;
    const bytes = u32(endOf(documentNode) - startOf(documentNode));
    store<f64>(out + 8 * taken, countAt(tsNode));
    store<u32>(rowColumn + 4 * taken, i);
    store<u32>(bytesColumn + 4 * taken, bytes);
    const id = readNode(idNode);
    const isPlain =
      load<u32>(id, 4) == READ &&
      load<u8>(startOf(idNode)) == 0x22 &&
      load<u32>(id, 8) > 0 &&
      bytes <= documentBytesMax;
    store<u64>(idColumn + 8 * taken, isPlain ? load<u64>(id, 16) : 0);
    list = program + 8;
    let column = keysColumn;
    let types = typesAt;
    for (let c: u32 = 0; c < candidates; c += 1) {
      const levels = load<u32>(list);
      const absent = load<u32>(list, 4);
      const levelsAt = list + 8 + 4 * usize(absent);
      countTypes(levelsAt, levels, types);
      let state = isPlain ? KEY : ODD;
      for (let a: u32 = 0; a < absent && state != ODD; a += 1)
        if (startOf(load<u32>(list + 8 + 4 * usize(a))) != page) state = ODD;
      const words = column + 8 * space + 8 * usize(levels) * taken;
      if (state != ODD) state = readLevels(levelsAt, levels, words, column + 4 * space + 4 * taken);
      store<u32>(column + 4 * taken, state);
      list = levelsAt + 8 * usize(levels);
      column += (8 + 8 * usize(levels)) * space;
      types += 28;
    }
    taken += 1;
  }
  return u32(taken);
}

/** Reads the levels of a key of the row; returns its state. */
function readLevels(levelsAt: usize, levels: u32, words: usize, position: usize): u32 {
  let state = KEY;
  let bytes: u32 = 0;
  const hashes = work + LEVELS_AT;
  for (let level: u32 = 0; level < levels; level += 1) {
    const kind = load<u32>(levelsAt + 8 * usize(level));
    const asked = load<u32>(levelsAt + 8 * usize(level), 4);
    const kept = kind <= LEVEL_COPIED ? readNode(asked) : readTemplate(asked);
    const found = load<u32>(kept, 4);
    if (found == UNREADABLE || (found == COMPOSITE && kind == LEVEL_COPIED)) return ODD;
    if (found != READ) state = KEY_WITHOUT_VALUE;
    bytes += load<u32>(kept, 8);
    if (level == 0) store<u32>(position, load<u32>(kept, 12));
    store<u64>(hashes + 8 * usize(level), load<u64>(kept, 16));
    if (level > 0) hash(hashes, 8 * usize(level + 1), work + HASH_AT);
    store<u64>(words + 8 * usize(level), level == 0 ? load<u64>(kept, 16) : load<u64>(work + HASH_AT));
  }
  return bytes <= KEY_BYTES_MAX ? state : ODD;
}

/** Reads the value at a node, or what was kept of it: its state, the bytes of its text, its position and its hash. */
function readNode(node: u32): usize {
  const kept = work + usize(node) * KEPT_BYTES;
  if (load<u32>(kept) == tag) return kept;
  store<u32>(kept, tag);
  store<u32>(kept, 0, 8);
  const start = startOf(node);
  const byte: u32 = load<u8>(start);
  const input = work + INPUT_AT;
  if (start == page || byte == 0x7b || byte == 0x5b) {
    store<u32>(kept, start == page ? WITHOUT_VALUE : COMPOSITE, 4);
    store<u8>(input, TYPE_MISSING);
    keep(kept, input, 1);
    return kept;
  }
  const end = endOf(node);
  store<u32>(kept, UNREADABLE, 4);
  if (byte == 0x22) {
    const size = end - start - 2;
    if (size > KEY_BYTES_MAX || !copyText(input + 1, start + 1, size)) return kept;
    store<u32>(kept, u32(size), 8);
    store<u8>(input, TYPE_TEXT);
    store<u8>(input + 1 + size, 0xff);
    keep(kept, input, size + 2);
  } else if (byte == 0x74 || byte == 0x66 || byte == 0x6e) {
    store<u8>(input, byte == 0x74 ? TYPE_TRUE : byte == 0x66 ? TYPE_FALSE : TYPE_NULL);
    keep(kept, input, 1);
  } else {
    const value = doubleOf(start, end);
    if (isNaN(value)) return kept;
    store<u8>(input, TYPE_NUMBER);
    store<f64>(input, value, 1);
    keep(kept, input, 9);
  }
  store<u32>(kept, READ, 4);
  return kept;
}

/** Keeps the hash of a value in the form that the service hashes (src/epk/effective-key.ts), and its position. */
function keep(kept: usize, input: usize, size: usize): void {
  hash(input, size, work + HASH_AT);
  store<u64>(kept, load<u64>(work + HASH_AT), 16);
  // The effective key begins with the second half of the hash, of which the two highest bits are cleared.
  store<u32>(kept, load<u32>(work + HASH_AT, 12) & 0x3fffffff, 12);
}

/** Computes the text of a template, or returns what was kept of it. */
function readTemplate(number: u32): usize {
  const kept = work + KEPT_TEMPLATES + usize(number) * KEPT_BYTES;
  if (load<u32>(kept) == tag) return kept;
  store<u32>(kept, tag);
  store<u32>(kept, 0, 8);
  const input = work + KEY_AT;
  let at = input + 1;
  let part = program + usize(load<u32>(program + usize(load<u32>(program, 4)) + 4 * usize(number)));
  store<u32>(kept, UNREADABLE, 4);
  for (let kind = load<u32>(part); kind != PART_END; kind = load<u32>(part)) {
    if (kind == PART_TEXT) {
      from = part + 8;
      to = from + usize(load<u32>(part, 4));
      part += 8 + ((to - from + 3) & ~3);
    } else {
      const read = readPlaceholder(load<u32>(part, 4), part + 12);
      if (read == UNREADABLE) return kept;
      if (read == WITHOUT_VALUE) {
        store<u8>(input, TYPE_MISSING);
        keep(kept, input, 1);
        store<u32>(kept, WITHOUT_VALUE, 4);
        return kept;
      }
      part += 12 + usize(load<u32>(part, 8));
    }
    if (at - input + (to - from) > usize(KEY_BYTES_MAX)) return kept;
    memory.copy(at, from, to - from);
    at += to - from;
  }
  store<u8>(input, TYPE_TEXT);
  store<u8>(at, 0xff);
  store<u32>(kept, u32(at - input) - 1, 8);
  keep(kept, input, at - input + 1);
  store<u32>(kept, READ, 4);
  return kept;
}

/** Sets `type`, `from` and `to` to the value of a placeholder after its filters; returns whether there is one. */
function readPlaceholder(node: u32, filters: usize): u32 {
  const start = startOf(node);
  let isMissing = start == page;
  if (!isMissing && !readText(start, endOf(node))) return UNREADABLE;
  for (let at = filters; load<u32>(at) != FILTER_END; at += 8 + usize(load<u32>(at, 4))) {
    const kind = load<u32>(at);
    if (kind == FILTER_DEFAULT) {
      if (!isMissing) continue;
      isMissing = false;
      type = TYPE_TEXT;
      from = at + 12;
      to = from + usize(load<u32>(at, 8));
    } else if (!isMissing && !filter(kind, at + 8)) return UNREADABLE;
  }
  return isMissing ? WITHOUT_VALUE : READ;
}

/** Takes the text of a value as it is written; returns false if the text that the program works with may differ. */
function readText(start: usize, end: usize): bool {
  const byte: u32 = load<u8>(start);
  from = start;
  to = end;
  if (byte == 0x22) {
    type = TYPE_TEXT;
    from = start + 1;
    to = end - 1;
    if (to - from > usize(KEY_BYTES_MAX)) return false;
    for (let at = from; at < to; at += 16) {
      const found = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(0x5c)));
      if (found != 0 && usize(ctz(found)) + at < to) return false;
    }
    return true;
  }
  if (byte == 0x74 || byte == 0x66 || byte == 0x6e) {
    type = byte == 0x74 ? TYPE_TRUE : byte == 0x66 ? TYPE_FALSE : TYPE_NULL;
    return true;
  }
  if (byte == 0x7b || byte == 0x5b) return false;
  type = TYPE_NUMBER;
  const first = start + usize(byte == 0x2d);
  // A number is written as JavaScript would print it if it is a short integer. -0 is printed as 0.
  if (end - first > 15 || (first > start && load<u8>(first) == 0x30)) return false;
  for (let at = first; at < end; at += 1) if (u32(load<u8>(at)) - 0x30 > 9) return false;
  return true;
}

/** Applies a filter to the value; returns false if it has to be done by the caller. */
function filter(kind: u32, argument: usize): bool {
  const value = work + VALUE_AT;
  if (kind == FILTER_HASH) {
    const bucket = bucketOf(load<u32>(argument));
    type = TYPE_NUMBER;
    from = value;
    to = putDigits(value, bucket);
    return true;
  }
  if (kind == FILTER_TIME) {
    if (type != TYPE_TEXT && type != TYPE_NUMBER) return false;
    const instant = instantOf(from, to, type == TYPE_NUMBER);
    if (instant == NO_INSTANT) return false;
    type = TYPE_TEXT;
    from = value;
    to = putPieces(value, argument, instant);
    return true;
  }
  if (kind == FILTER_PAD) {
    if (type != TYPE_TEXT && type != TYPE_NUMBER) return false;
  }
  // These filters count or change characters, which are bytes only in ASCII.
  for (let at = from; at < to; at += 1) if (load<u8>(at) > 0x7f) return false;
  type = TYPE_TEXT;
  const size = to - from;
  if (kind == FILTER_LOWER || kind == FILTER_UPPER) {
    const first: u32 = kind == FILTER_LOWER ? 0x41 : 0x61;
    for (let i: usize = 0; i < size; i += 1) {
      const byte: u32 = load<u8>(from + i);
      store<u8>(value + i, byte - first < 26 ? byte ^ 0x20 : byte);
    }
    from = value;
    to = value + size;
  } else if (kind == FILTER_TRIM) {
    while (from < to && load<u8>(from) == 0x20) from += 1;
    while (from < to && load<u8>(to - 1) == 0x20) to -= 1;
  } else if (kind == FILTER_SLICE) {
    const length = i32(size);
    const first = within(load<i32>(argument), length);
    const last = load<i32>(argument, 4) == NO_END ? length : within(load<i32>(argument, 4), length);
    to = from + usize(max(first, last));
    from += usize(first);
  } else {
    const isNegative = size > 0 && load<u8>(from) == 0x2d;
    const wanted = usize(load<u32>(argument));
    if (size < wanted) {
      const sign = usize(isNegative);
      memory.copy(value + sign + (wanted - size), from + sign, size - sign);
      memory.fill(value + sign, 0x30, wanted - size);
      if (isNegative) store<u8>(value, 0x2d);
      from = value;
      to = value + wanted;
    }
  }
  return true;
}

/** Returns a position of `slice` as an offset: a negative one counts from the end. */
function within(position: i32, length: i32): i32 {
  return position < 0 ? max(0, length + position) : min(position, length);
}

/** Returns the result of the filter `hash` (src/keys/filters/hash.ts) for the value. */
function bucketOf(buckets: u32): u32 {
  const input = work + INPUT_AT;
  let size: usize = 1;
  store<u8>(input, type);
  if (type == TYPE_TEXT) {
    memory.copy(input + 1, from, to - from);
    store<u8>(input + 1 + (to - from), 0xff);
    size = to - from + 2;
  } else if (type == TYPE_NUMBER) {
    store<f64>(input, doubleOf(from, to), 1);
    size = 9;
  }
  hash(input, size, work + HASH_AT);
  return load<u32>(work + HASH_AT) % buckets;
}

function putDigits(at: usize, value: u32): usize {
  let size: usize = 1;
  for (let rest = value / 10; rest > 0; rest /= 10) size += 1;
  let rest = value;
  for (let i = size; i > 0; i -= 1) {
    store<u8>(at + i - 1, 0x30 + (rest % 10));
    rest /= 10;
  }
  return at + size;
}

/** Copies a text in blocks of 16 bytes; returns false if it has an escape. Bytes after the text may be overwritten. */
function copyText(target: usize, source: usize, size: usize): bool {
  for (let at: usize = 0; at < size; at += 16) {
    const bytes = v128.load(source + at);
    const found = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(0x5c)));
    if (found != 0 && usize(ctz(found)) + at < size) return false;
    v128.store(target + at, bytes);
  }
  return true;
}

/**
 * Returns a number without an exponent and with at most 15 digits. Both the digits and the power of ten are then exact as
 * doubles, so their quotient is rounded once, to the double that is nearest to the number. NaN: another number.
 */
function doubleOf(start: usize, end: usize): f64 {
  const isNegative = load<u8>(start) == 0x2d;
  let whole: i64 = 0;
  let scale: f64 = 1;
  let digits = 0;
  let isFraction = false;
  for (let at = start + usize(isNegative); at < end; at += 1) {
    const byte: u32 = load<u8>(at);
    if (byte == 0x2e) {
      isFraction = true;
      continue;
    }
    const digit = byte - 0x30;
    if (digit > 9) return NaN;
    digits += 1;
    if (digits > 15) return NaN;
    whole = whole * 10 + i64(digit);
    if (isFraction) scale *= 10;
  }
  return isNegative && whole != 0 ? -f64(whole) / scale : f64(whole) / scale;
}

/** Counts the types of the values at the paths of a key; text, number, boolean, null, missing, object, array. */
function countTypes(levelsAt: usize, levels: u32, types: usize): void {
  for (let level: u32 = 0; level < levels; level += 1) {
    if (load<u32>(levelsAt + 8 * usize(level)) != LEVEL_STORED) continue;
    const start = startOf(load<u32>(levelsAt + 8 * usize(level), 4));
    let number: usize = 4;
    if (start != page) {
      const byte: u32 = load<u8>(start);
      if (byte == 0x22) number = 0;
      else if (byte == 0x7b) number = 5;
      else if (byte == 0x5b) number = 6;
      else if (byte == 0x74 || byte == 0x66) number = 2;
      else if (byte == 0x6e) number = 3;
      else number = 1;
    }
    store<u32>(types + 4 * number, load<u32>(types + 4 * number) + 1);
  }
}

/** Returns where the value at a node starts; the start of the page: there is none. */
function startOf(node: u32): usize {
  return spanStart(row, node);
}

function endOf(node: u32): usize {
  return spanEnd(row, node);
}

/** Returns the integer without a sign at a node; 0: the row has no such value. */
function countAt(node: u32): f64 {
  return f64(max<i64>(0, wholeAt(row, node, 18)));
}
