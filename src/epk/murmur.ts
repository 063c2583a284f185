/**
 * MurmurHash3 with seed 0, in the two variants that Cosmos DB uses for partition keys.
 *
 * A 64-bit word is a pair of int32 (`h`igh and `l`ow): a BigInt would allocate memory at every step, and cosmig hashes
 * every document. Both functions read whole blocks, so the bytes from `length` to the end of the block must be zero.
 * Zeros add nothing to the hash, so it does not matter how many bytes of the last block are missing.
 */

/** The bytes after `length` must be zero up to the next multiple of this. */
export const BLOCK_BYTES = 16;

/** Returns the hash of the x86 variant: an unsigned integer of 32 bits. */
export function murmur32(bytes: DataView, length: number): number {
  let h = 0;
  for (let at = 0; at < length; at += 4) {
    let k = Math.imul(bytes.getInt32(at, true), 0xcc9e2d51);
    k = (k << 15) | (k >>> 17);
    h ^= Math.imul(k, 0x1b873593);
    // A partial last block is mixed in without rotating the state.
    if (at + 4 <= length) {
      h = (h << 13) | (h >>> 19);
      h = (Math.imul(h, 5) + 0xe6546b64) | 0;
    }
  }
  h ^= length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const C1H = 0x87c37b91 | 0;
const C1L = 0x114253d5;
const C2H = 0x4cf5ad43;
const C2L = 0x2745937f;

/**
 * Writes the hash of the x64 variant to the first 16 bytes of `out`, in the order of Cosmos DB: h2, then h1, both
 * big-endian.
 */
export function murmur128(bytes: DataView, length: number, out: DataView): void {
  let h1h = 0;
  let h1l = 0;
  let h2h = 0;
  let h2l = 0;
  let low = 0;
  let rest = 0;

  for (let at = 0; at < length; at += 16) {
    // k1 * c1, rotated left by 31, * c2
    let kl = bytes.getInt32(at, true);
    let kh = multiplyHigh(kl, bytes.getInt32(at + 4, true), C1L, C1H);
    kl = Math.imul(kl, C1L);
    low = (kl << 31) | (kh >>> 1);
    rest = (kh << 31) | (kl >>> 1);
    h1h ^= multiplyHigh(low, rest, C2L, C2H);
    h1l ^= Math.imul(low, C2L);

    // k2 * c2, rotated left by 33, * c1
    kl = bytes.getInt32(at + 8, true);
    kh = multiplyHigh(kl, bytes.getInt32(at + 12, true), C2L, C2H);
    kl = Math.imul(kl, C2L);
    low = (kh << 1) | (kl >>> 31);
    rest = (kl << 1) | (kh >>> 31);
    const k2h = multiplyHigh(low, rest, C1L, C1H);
    const k2l = Math.imul(low, C1L);

    // A partial last block is mixed in without rotating the state.
    if (at + 16 > length) {
      h2h ^= k2h;
      h2l ^= k2l;
      break;
    }

    // h1 rotated left by 27, + h2, * 5 + 0x52dce729
    low = (h1l << 27) | (h1h >>> 5);
    rest = (h1h << 27) | (h1l >>> 5);
    h1l = (low + h2l) | 0;
    h1h = (rest + h2h + carry(low, h1l)) | 0;
    h1h = multiplyHigh(h1l, h1h, 5, 0);
    low = Math.imul(h1l, 5);
    h1l = (low + 0x52dce729) | 0;
    h1h = (h1h + carry(low, h1l)) | 0;

    // h2 rotated left by 31, + h1, * 5 + 0x38495ab5
    h2h ^= k2h;
    h2l ^= k2l;
    low = (h2l << 31) | (h2h >>> 1);
    rest = (h2h << 31) | (h2l >>> 1);
    h2l = (low + h1l) | 0;
    h2h = (rest + h1h + carry(low, h2l)) | 0;
    h2h = multiplyHigh(h2l, h2h, 5, 0);
    low = Math.imul(h2l, 5);
    h2l = (low + 0x38495ab5) | 0;
    h2h = (h2h + carry(low, h2l)) | 0;
  }

  put(out, H1, h1h, h1l ^ length);
  put(out, H2, h2h, h2l ^ length);
  add(out, H1, H2);
  add(out, H2, H1);
  mix(out, H1);
  mix(out, H2);
  add(out, H1, H2);
  add(out, H2, H1);
}

/** Offsets of the two halves h1 and h2 in the result. */
const H1 = 8;
const H2 = 0;

/**
 * Does the last mixing of one half: twice an xor with itself >> 33 and a multiplication by a constant, then another
 * xor.
 */
function mix(words: DataView, at: number): void {
  let h = words.getInt32(at);
  let l = words.getInt32(at + 4) ^ (h >>> 1);
  h = multiplyHigh(l, h, 0xed558ccd | 0, 0xff51afd7 | 0);
  l = Math.imul(l, 0xed558ccd) ^ (h >>> 1);
  h = multiplyHigh(l, h, 0x1a85ec53, 0xc4ceb9fe | 0);
  l = Math.imul(l, 0x1a85ec53) ^ (h >>> 1);
  put(words, at, h, l);
}

function add(words: DataView, sum: number, addend: number): void {
  const before = words.getInt32(sum + 4);
  const l = (before + words.getInt32(addend + 4)) | 0;
  put(words, sum, words.getInt32(sum) + words.getInt32(addend) + carry(before, l), l);
}

function put(words: DataView, at: number, high: number, low: number): void {
  words.setInt32(at, high);
  words.setInt32(at + 4, low);
}

/** Returns the upper word of the 64-bit product of a and b. The lower word is `Math.imul(al, bl)`. */
function multiplyHigh(al: number, ah: number, bl: number, bh: number): number {
  const a0 = al & 0xffff;
  const a1 = al >>> 16;
  const b0 = bl & 0xffff;
  const b1 = bl >>> 16;
  const middle = Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16);
  const other = Math.imul(a0, b1) + (middle & 0xffff);
  const upper = Math.imul(a1, b1) + (middle >>> 16) + (other >>> 16);
  return (upper + Math.imul(ah, bl) + Math.imul(al, bh)) | 0;
}

/** Returns the carry of an addition to `before` that gave `sum`: 1 if it exceeded 32 bits. */
function carry(before: number, sum: number): number {
  return sum >>> 0 < before >>> 0 ? 1 : 0;
}
