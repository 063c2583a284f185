/**
 * The kernel's two passes over the rows of a page of the copy (wasm/pack.ts), and the keys that it knows
 * (wasm/known-keys.ts). They work in the memory of the scan. Invariant: the keys are those of one owner at a time.
 */
import { assert } from '../../lib/assert.ts';
import { scanKernel } from './scan-kernel.ts';

/** The most keys that are known. Their numbers are smaller. */
export const KEYS_MAX = 32_768;
/** The memory for the keys, their values and their records. */
const KEYS_BYTES = 5 * 1024 * 1024;
/**
 * The memory for the texts of a group of 16 rows that are hashed: identities and the values of keys, or slots, which are an id
 * and the hashed form of a key.
 */
const WORK_BYTES = 96 * 1024;
/** The longest record of a key. A document with a longer one is read by the caller. */
const RECORD_BYTES_MAX = 4096;
const SEEN_BYTES = 40;
/** A list of segments has one more, which is empty. */
const PART_BYTES = 24;

/** What all documents with the same key share: four parts, one after the other in `bytes`. */
export interface KeyRecord {
  readonly bytes: Uint8Array;
  /** The size of an operation that creates a document, up to the document. */
  readonly openingBytes: number;
  /** The size of the members that are added to the document. */
  readonly addedBytes: number;
  /** The size of the key as a segment has it. */
  readonly packedBytes: number;
  /** The size of the key as it is hashed in a slot. */
  readonly hashedBytes: number;
}

/** What was packed: both arrays are views of memory that the next call overwrites. */
export interface Packed {
  readonly parts: DataView;
  readonly bytes: Uint8Array;
}

class PackKernel {
  readonly #kernel = scanKernel();
  readonly #keysAt = this.#kernel.keep(KEYS_BYTES);
  #owner: object | undefined;
  #askedAt = 0;
  #workAt = 0;

  /**
   * Returns whether the keys that are known are those of `owner`. If not, or if there is no space for more, all are
   * forgotten, and from now on it owns them.
   */
  owns(owner: object): boolean {
    const { forgetKeys, keysAreFull } = this.#kernel.exports;
    if (this.#owner === owner && keysAreFull() === 0) return true;
    this.#owner = owner;
    forgetKeys(this.#keysAt, this.#keysAt + KEYS_BYTES);
    return false;
  }

  /** Looks at the rows of the last scan, and copies what it sees of them to `seen`. */
  look(asked: Uint32Array, seen: Uint8Array): void {
    const kernel = this.#kernel;
    const { count } = kernel;
    this.#askedAt = kernel.reserve(asked.byteLength);
    this.#workAt = kernel.reserve(WORK_BYTES);
    const seenAt = kernel.reserve(count * SEEN_BYTES);
    new Uint32Array(kernel.bytes.buffer, this.#askedAt, asked.length).set(asked);
    kernel.exports.lookRows(this.#askedAt, this.#workAt, seenAt);
    seen.set(kernel.bytes.subarray(seenAt, seenAt + count * SEEN_BYTES));
  }

  /** Stores the record of a key. Returns false if it is too long, or if there is no space left. */
  addRecord(key: number, record: KeyRecord): boolean {
    const { openingBytes, addedBytes, packedBytes, hashedBytes, bytes } = record;
    const sizeBytes = openingBytes + addedBytes + packedBytes + hashedBytes;
    if (sizeBytes > RECORD_BYTES_MAX) return false;
    const { exports } = this.#kernel;
    const at = exports.addRecord(key, openingBytes, addedBytes, packedBytes, hashedBytes);
    if (at === 0) return false;
    this.#kernel.bytes.set(bytes.subarray(0, sizeBytes), at);
    return true;
  }

  /** Packs the first `count` rows of a list. Precondition: `look` was called for their page, and each key has a record. */
  pack(list: Uint32Array, count: number): Packed {
    assert(count > 0, 'a row is packed');
    const kernel = this.#kernel;
    const listAt = kernel.reserve(count * 4);
    const partsAt = kernel.reserve((count + 1) * PART_BYTES);
    const outAt = kernel.reserve(0);
    new Uint32Array(kernel.bytes.buffer, listAt, count).set(list.subarray(0, count));
    const end = kernel.exports.packRows(listAt, count, this.#workAt, partsAt, outAt);
    const { bytes } = kernel;
    return {
      parts: new DataView(bytes.buffer, partsAt, (count + 1) * PART_BYTES),
      bytes: bytes.subarray(outAt, end),
    };
  }
}

let packing: PackKernel | undefined;

export function packKernel(): PackKernel {
  return (packing ??= new PackKernel());
}
