/** The kernel that hashes bytes. All hashes of the process share its memory. */
import { copyHash, FREE_AT, growTo, instantiate, PADDING_BYTES } from './instance.ts';

/** The memory that the kernel needs for a hash and for the last block of its input. */
export const HASH_RESERVED_BYTES = 64;

/** Hashes bytes that the caller has written to `bytes` from `start` on, after `reserve`. */
class HashKernel {
  readonly #exports = instantiate();
  readonly start = FREE_AT + HASH_RESERVED_BYTES;
  bytes = new Uint8Array(this.#exports.memory.buffer);

  /** Makes space for `sizeBytes` bytes. Afterwards `bytes` may be another array with the same contents. */
  reserve(sizeBytes: number): void {
    const neededBytes = this.start + sizeBytes + PADDING_BYTES;
    // This compares with `bytes.length`, because access to the memory object would take longer than hashing.
    if (neededBytes <= this.bytes.length) return;
    growTo(this.#exports.memory, neededBytes);
    this.bytes = new Uint8Array(this.#exports.memory.buffer);
  }

  /** Writes the hash of the bytes from `start` to `end` as four words to `out[at]`. */
  hash(end: number, out: Uint32Array, at: number): void {
    this.#exports.hash(this.start, end - this.start, FREE_AT);
    copyHash(this.bytes, FREE_AT, out, at);
  }

  /**
   * Writes the content hash of the bytes from `start` to `end` as four words to `out[at]`. It differs from the result
   * of `hash` and is faster for long inputs.
   */
  hashLong(end: number, out: Uint32Array, at: number): void {
    this.#exports.hashLong(this.start, end - this.start, FREE_AT + 16, FREE_AT);
    copyHash(this.bytes, FREE_AT, out, at);
  }
}

let hashing: HashKernel | undefined;

export function hashKernel(): HashKernel {
  return (hashing ??= new HashKernel());
}
