/**
 * Hashes of 128 bits, in three forms: four words of 32 bits while a page is read; 16 bytes in the ledger, each word
 * with its high byte first, so that the bytes sort like the words; and a short string as the key of a Map.
 */
import { hashKernel } from './kernel/hash-kernel.ts';

/** How many words of 32 bits a hash has. */
export const HASH_WORDS = 4;
export const HASH_BYTES = 16;

/** Writes the hash of a few bytes as four words to `out[at]`. */
export function hashBytes(bytes: Uint8Array, out: Uint32Array, at: number): void {
  const kernel = hashKernel();
  kernel.reserve(bytes.length);
  kernel.bytes.set(bytes, kernel.start);
  kernel.hash(kernel.start + bytes.length, out, at);
}

/**
 * Writes the content hash of some bytes to `out[at]`. It differs from the hash of `hashBytes` and is faster for many
 * bytes. `PageScan.hashContent` computes the same hash.
 */
export function hashContentBytes(bytes: Uint8Array, out: Uint32Array, at: number): void {
  const kernel = hashKernel();
  kernel.reserve(bytes.length);
  kernel.bytes.set(bytes, kernel.start);
  kernel.hashLong(kernel.start + bytes.length, out, at);
}

/** Returns the hash at `words[at]` in the form of the ledger. */
export function hashToBytes(words: Uint32Array, at = 0): Buffer {
  const bytes = Buffer.alloc(HASH_BYTES);
  for (let i = 0; i < HASH_WORDS; i += 1) writeWord(bytes, 4 * i, words[at + i] ?? 0);
  return bytes;
}

/** Returns hashes, given in the form of the ledger, as words: four for each hash. */
export function wordsOf(...hashes: readonly Buffer[]): Uint32Array {
  const words = new Uint32Array(hashes.length * HASH_WORDS);
  hashes.forEach((hash, i) => toWords(hash, words, i * HASH_WORDS));
  return words;
}

/** Writes a hash, given in the form of the ledger, as four words to `out[at]`. */
export function toWords(hash: Buffer, out: Uint32Array, at: number): void {
  for (let i = 0; i < HASH_WORDS; i += 1) out[at + i] = hash.readUInt32BE(4 * i);
}

/**
 * Returns a hash, given in the form of the ledger, as the key of a Map. `mapKeyOfWords` returns another text for the
 * same hash, so one Map must not use both.
 */
export function mapKey(hash: Buffer): string {
  return hash.toString('latin1');
}

/** Returns the hash at `words[at]` as the key of a Map: eight UTF-16 units, which are faster to make than digits. */
export function mapKeyOfWords(words: Uint32Array, at: number): string {
  const [a, b] = [words[at] ?? 0, words[at + 1] ?? 0];
  const [c, d] = [words[at + 2] ?? 0, words[at + 3] ?? 0];
  // fromCharCode uses only the lower 16 bits of each number.
  return String.fromCharCode(a, a >>> 16, b, b >>> 16, c, c >>> 16, d, d >>> 16);
}

/** Writes a word of 32 bits to `out[at]`, high byte first. */
export function writeWord(out: Uint8Array, at: number, word: number): void {
  out[at] = word >>> 24;
  out[at + 1] = word >>> 16;
  out[at + 2] = word >>> 8;
  out[at + 3] = word;
}
