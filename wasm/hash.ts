/** The 128-bit hashes of the kernel, and the types of values in their input. */

// The types of values in the input of a hash, the same as in src/epk/encoding.ts.
export const TYPE_MISSING: u32 = 0;
export const TYPE_NULL: u32 = 1;
export const TYPE_FALSE: u32 = 2;
export const TYPE_TRUE: u32 = 3;
export const TYPE_NUMBER: u32 = 5;
export const TYPE_TEXT: u32 = 8;

const C1: u64 = 0x87c37b91114253d5;
const C2: u64 = 0x4cf5ad432745937f;

/**
 * Writes the MurmurHash3 (x64, 128 bits, seed 0) of some bytes to `out`: h1, then h2, both little-endian. Up to 15
 * bytes after the input are overwritten with zeros, so that its last block is as long as all others.
 */
export function hash(at: usize, sizeBytes: usize, out: usize): void {
  let h1: u64 = 0;
  let h2: u64 = 0;
  const blocksEnd = at + (sizeBytes & ~15);
  for (let p = at; p < blocksEnd; p += 16) {
    h1 ^= rotl(load<u64>(p) * C1, 31) * C2;
    h1 = (rotl(h1, 27) + h2) * 5 + 0x52dce729;
    h2 ^= rotl(load<u64>(p, 8) * C2, 33) * C1;
    h2 = (rotl(h2, 31) + h1) * 5 + 0x38495ab5;
  }
  if (sizeBytes & 15) {
    v128.store(at + sizeBytes, i64x2.splat(0));
    h1 ^= rotl(load<u64>(blocksEnd) * C1, 31) * C2;
    h2 ^= rotl(load<u64>(blocksEnd, 8) * C2, 33) * C1;
  }
  h1 ^= u64(sizeBytes);
  h2 ^= u64(sizeBytes);
  h1 += h2;
  h2 += h1;
  h1 = mix(h1);
  h2 = mix(h2);
  h1 += h2;
  h2 += h1;
  store<u64>(out, h1);
  store<u64>(out, h2, 8);
}

function mix(half: u64): u64 {
  let h = half;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccd;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53;
  return h ^ (h >> 33);
}

/**
 * Writes another hash of 128 bits, which is faster for long inputs, to `out`. Blocks of 16 bytes go alternately into
 * two MurmurHash3 computations, which the processor can run in parallel. Their two results and the size are then hashed
 * together. Up to 31 bytes after the input are overwritten with zeros. There must be space for 48 bytes at `work`.
 */
export function hashLong(at: usize, sizeBytes: usize, work: usize, out: usize): void {
  let a1: u64 = 0;
  let a2: u64 = 0;
  let b1: u64 = 0;
  let b2: u64 = 0;
  const blocksEnd = at + ((sizeBytes + 31) & ~31);
  v128.store(at + sizeBytes, i64x2.splat(0));
  v128.store(at + sizeBytes + 16, i64x2.splat(0));
  for (let p = at; p < blocksEnd; p += 32) {
    a1 ^= rotl(load<u64>(p) * C1, 31) * C2;
    b1 ^= rotl(load<u64>(p, 16) * C1, 31) * C2;
    a1 = (rotl(a1, 27) + a2) * 5 + 0x52dce729;
    b1 = (rotl(b1, 27) + b2) * 5 + 0x52dce729;
    a2 ^= rotl(load<u64>(p, 8) * C2, 33) * C1;
    b2 ^= rotl(load<u64>(p, 24) * C2, 33) * C1;
    a2 = (rotl(a2, 31) + a1) * 5 + 0x38495ab5;
    b2 = (rotl(b2, 31) + b1) * 5 + 0x38495ab5;
  }
  store<u64>(work, a1);
  store<u64>(work, a2, 8);
  store<u64>(work, b1, 16);
  store<u64>(work, b2, 24);
  store<u64>(work, u64(sizeBytes), 32);
  hash(work, 40, out);
}
