/**
 * The bytes of a segment: packed documents of one page of the copy. This module does no input or output: `units.ts`
 * stores segments, and `segment-reader.ts` reads them. Sizes are in bytes:
 *
 *   entries   for each document: identity 16 | slot 16 | etag 8 | lsn - lsnBase 4 | number of its key 2
 *   keys      after the last entry: length 2 | typed values; consecutive documents with the same key share it
 *   names     stored separately until the commit: id and source key of each document, as JSON texts of the page
 */
import { ByteOutput } from '../../documents/byte-output.ts';
import { HASH_BYTES, writeWord } from '../../documents/hash.ts';
import type { KeyComponent } from '../../epk/effective-key.ts';
import { assert } from '../../lib/assert.ts';
import { ETAG_BYTES, NO_ETAG, writeContentMark, writeEtag, writeEtagOf } from './etag-hash.ts';
import {
  keyBytesMax,
  scannedKeyBytesMax,
  unpackKey,
  writeKey,
  writeScannedKey,
  type ScannedKey,
} from './key-bytes.ts';

/** The size of an entry, which begins with the identity. */
export const ENTRY_BYTES = 46;
const SLOT_AT = 16;
const ETAG_AT = 32;
const LSN_AT = 40;
const KEY_AT = 44;
/** Stands for an unknown LSN. */
const NO_LSN = 0xffff_ffff;
/**
 * The most documents in a segment. A look-up reads a whole segment, so segments are small. Smaller ones would waste
 * more space, because each leaves a part of an SQLite page unused.
 */
export const SEGMENT_ENTRIES_MAX = 256;

/** A document that the copy is about to write. */
export interface SegmentEntry {
  /** Eight 32-bit words: four of the identity's hash, then four of the slot's, as in `Rekey`. */
  readonly hashes: Uint32Array;
  readonly targetKey: readonly KeyComponent[];
  /** The etag of the source version; null if it is unknown or is added later by `SegmentBuilder.etag`. */
  readonly etag: string | null;
  readonly lsn: number | null;
}

/** A document whose key is read from the page in which it was found. */
export type ScannedEntry = Pick<SegmentEntry, 'hashes' | 'lsn'> & ScannedKey;

/** A finished segment: entries and keys in `data`, and the names separately. */
export interface FinishedSegment {
  readonly count: number;
  readonly lsnBase: number;
  readonly data: Buffer;
  readonly names: Buffer;
}

/** An entry of a segment, as it is read. */
export interface Stored {
  readonly identity: Buffer;
  readonly slot: Buffer;
  readonly targetKey: readonly KeyComponent[];
  /** The hash of the source etag; null if it is unknown. */
  readonly etag: Buffer | null;
  readonly lsn: number | null;
}

/** A complete segment, as offsets in the memory that all segments of the page share. */
interface Closed {
  readonly count: number;
  readonly lsnBase: number;
  readonly start: number;
  readonly dataEnd: number;
  readonly namesEnd: number;
}

/**
 * Packs the documents of a page into segments; used for one page after another. For each page the caller calls `begin`
 * if it provides memory, then `add` and `name` for each document, then `finish`.
 */
export class SegmentBuilder {
  readonly #entries = Buffer.alloc(SEGMENT_ENTRIES_MAX * ENTRY_BYTES);
  readonly #lsns = new Float64Array(SEGMENT_ENTRIES_MAX);
  #keys = Buffer.alloc(32_768);
  #keysEnd = 0;
  #lastKey = { start: 0, end: 0 };
  #keyCount = 0;
  #names = Buffer.alloc(65_536);
  #namesEnd = 0;
  #count = 0;
  #lsnMin = Infinity;
  #lsnMax = -Infinity;
  #closed: Closed[] = [];
  #memory = new ByteOutput(0);

  /**
   * Makes the next `finish` put the segments into `memory`, where they are valid until `memory` is cleared. Without
   * this call they get memory of their own.
   */
  begin(memory: ByteOutput): void {
    this.#memory = memory;
  }

  add({ hashes, targetKey, etag, lsn }: SegmentEntry): void {
    const at = this.#begin(hashes, lsn);
    writeEtag(this.#entries, at + ETAG_AT, etag);
    this.#growKeys(keyBytesMax(targetKey));
    this.#putKeyNumber(at, writeKey(this.#keys, this.#keysEnd + 2, targetKey));
  }

  /** Adds a document of a page, with its key as it is on the page, and without an etag. */
  addScanned(entry: ScannedEntry): void {
    const at = this.#begin(entry.hashes, entry.lsn);
    writeEtag(this.#entries, at + ETAG_AT, null);
    this.#growKeys(scannedKeyBytesMax(entry));
    this.#putKeyNumber(at, writeScannedKey(this.#keys, this.#keysEnd + 2, entry));
  }

  /** Sets the etag of the last added document. It is JSON text in the page; `start` 0 means that there is no etag. */
  etag(page: Uint8Array, start: number, end: number): void {
    writeEtagOf(page, start, end, this.#entries, (this.#count - 1) * ENTRY_BYTES + ETAG_AT);
  }

  /**
   * Sets, in place of the etag, the hash of the last added document's content, of which 64 bits are kept. For documents
   * whose source version is not known.
   */
  content(words: Uint32Array): void {
    writeContentMark(this.#entries, (this.#count - 1) * ENTRY_BYTES + ETAG_AT, words);
  }

  /**
   * Adds a value to the name of the last added document: first its id, then its source key. `start` 0: the value is
   * missing.
   */
  name(page: Uint8Array, start: number, end: number): void {
    this.#namesEnd = this.#appendName(page, start, end);
  }

  finish(): FinishedSegment[] {
    if (this.#count > 0) this.#close();
    const { bytes } = this.#memory;
    const slice = (from: number, to: number): Buffer =>
      Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
    const parts = this.#closed.map(({ count, lsnBase, start, dataEnd, namesEnd }) => ({
      count,
      lsnBase,
      data: slice(start, dataEnd),
      names: slice(dataEnd, namesEnd),
    }));
    this.#closed = [];
    this.#memory = new ByteOutput(0);
    return parts;
  }

  /** Begins an entry with its hashes and its LSN, and returns its offset. */
  #begin(hashes: Uint32Array, lsn: number | null): number {
    if (this.#count === SEGMENT_ENTRIES_MAX || this.#isTooFar(lsn)) this.#close();
    const at = this.#count * ENTRY_BYTES;
    // Words are written high byte first, so that bytes have the same order as words.
    for (let i = 0; i < 8; i += 1) writeWord(this.#entries, at + 4 * i, hashes[i] ?? 0);
    this.#lsns[this.#count] = lsn ?? -1;
    if (lsn !== null) {
      this.#lsnMin = Math.min(this.#lsnMin, lsn);
      this.#lsnMax = Math.max(this.#lsnMax, lsn);
    }
    this.#count += 1;
    return at;
  }

  #isTooFar(lsn: number | null): boolean {
    if (lsn === null) return false;
    return Math.max(lsn, this.#lsnMax) - Math.min(lsn, this.#lsnMin) >= NO_LSN;
  }

  #growKeys(sizeBytes: number): void {
    const neededBytes = this.#keysEnd + 2 + sizeBytes;
    if (neededBytes > this.#keys.length) this.#keys = grown(this.#keys, neededBytes);
  }

  /** Puts the number of the key, which was written behind the last key and ends at `end`, into the entry at `at`. */
  #putKeyNumber(at: number, end: number): void {
    const keys = this.#keys;
    const start = this.#keysEnd + 2;
    const last = this.#lastKey;
    const isSame =
      this.#keyCount > 0 &&
      last.end - last.start === end - start &&
      isEqual(keys, start, last.start, end - start);
    if (!isSame) {
      assert(end - start <= 0xff_ff, 'a target key is shorter than 64 KB: longer ones become dead letters');
      keys.writeUInt16LE(end - start, start - 2);
      this.#lastKey = { start, end };
      this.#keysEnd = end;
      this.#keyCount += 1;
    }
    const number = this.#keyCount - 1;
    this.#entries[at + KEY_AT] = number;
    this.#entries[at + KEY_AT + 1] = number >>> 8;
  }

  #appendName(page: Uint8Array, start: number, end: number): number {
    const at = this.#namesEnd;
    const sizeBytes = start === 0 ? 0 : end - start;
    if (at + 4 + sizeBytes > this.#names.length) this.#names = grown(this.#names, at + 4 + sizeBytes);
    const names = this.#names;
    for (let i = 0; i < 4; i += 1) names[at + i] = sizeBytes >>> (8 * i);
    if (sizeBytes < 64) for (let i = 0; i < sizeBytes; i += 1) names[at + 4 + i] = page[start + i] ?? 0;
    else names.set(page.subarray(start, end), at + 4);
    return at + 4 + sizeBytes;
  }

  #close(): void {
    const count = this.#count;
    const lsnBase = this.#lsnMin === Infinity ? 0 : this.#lsnMin;
    for (let i = 0; i < count; i += 1) {
      const lsn = this.#lsns[i] ?? -1;
      writeWord(this.#entries, i * ENTRY_BYTES + LSN_AT, lsn < 0 ? NO_LSN : lsn - lsnBase);
    }
    const memory = this.#memory;
    const start = memory.length;
    memory.putSlice(this.#entries, 0, count * ENTRY_BYTES);
    memory.putSlice(this.#keys, 0, this.#keysEnd);
    const dataEnd = memory.length;
    memory.putSlice(this.#names, 0, this.#namesEnd);
    this.#closed.push({ count, lsnBase, start, dataEnd, namesEnd: memory.length });
    this.#count = this.#keyCount = this.#keysEnd = this.#namesEnd = 0;
    this.#lsnMin = Infinity;
    this.#lsnMax = -Infinity;
  }
}

/** Reads the entry at a position of a segment. */
export function readEntry(
  part: Pick<FinishedSegment, 'count' | 'lsnBase' | 'data'>,
  position: number,
): Stored {
  const { count, lsnBase, data } = part;
  assert(position < count, 'the position is within the segment');
  const at = position * ENTRY_BYTES;
  let key = count * ENTRY_BYTES;
  for (let skip = data.readUInt16LE(at + KEY_AT); skip > 0; skip -= 1) key += 2 + data.readUInt16LE(key);
  const delta = data.readUInt32BE(at + LSN_AT);
  const etag = data.subarray(at + ETAG_AT, at + ETAG_AT + ETAG_BYTES);
  return {
    identity: data.subarray(at, at + HASH_BYTES),
    slot: data.subarray(at + SLOT_AT, at + SLOT_AT + HASH_BYTES),
    targetKey: unpackKey(data.subarray(key + 2, key + 2 + data.readUInt16LE(key))),
    etag: etag.equals(NO_ETAG) ? null : etag,
    lsn: delta === NO_LSN ? null : lsnBase + delta,
  };
}

/** Returns the position of the document that a segment puts into a slot; null: there is none. */
export function positionOf(
  { count, data }: Pick<FinishedSegment, 'count' | 'data'>,
  identity: Buffer,
  slot: Buffer,
): number | null {
  for (let at = data.indexOf(identity); at >= 0; at = data.indexOf(identity, at + 1)) {
    const isEntry = at % ENTRY_BYTES === 0 && at < count * ENTRY_BYTES;
    if (isEntry && slot.compare(data, at + SLOT_AT, at + SLOT_AT + HASH_BYTES) === 0) return at / ENTRY_BYTES;
  }
  return null;
}

/**
 * Returns the names of the documents of a segment. A name has `width` values: the id and the levels of the source key.
 */
export function readNames(names: Buffer, width: number): Array<Array<string | null>> {
  const documents: Array<Array<string | null>> = [];
  for (let at = 0; at < names.length;) {
    const { values, end } = readName(names, width, at);
    documents.push(values);
    at = end;
  }
  return documents;
}

function readName(
  names: Buffer,
  width: number,
  from: number,
): { readonly values: Array<string | null>; readonly end: number } {
  const values: Array<string | null> = [];
  let at = from;
  while (values.length < width) {
    const end = at + 4 + names.readUInt32LE(at);
    values.push(end === at + 4 ? null : names.toString('utf8', at + 4, end));
    at = end;
  }
  return { values, end: at };
}

/** Returns the name of the document at a position of a segment. */
export function nameIn(names: Buffer, width: number, position: number): Array<string | null> {
  let at = 0;
  for (let skip = position * width; skip > 0; skip -= 1) at += 4 + names.readUInt32LE(at);
  return readName(names, width, at).values;
}

/** Packs the name of one document, so that `readNames` can read it. */
export function packName(values: readonly (string | null)[]): Buffer {
  const texts = values.map((value) => Buffer.from(value ?? ''));
  return Buffer.concat(
    texts.flatMap((text) => {
      const size = Buffer.alloc(4);
      size.writeUInt32LE(text.length);
      return [size, text];
    }),
  );
}

/** Compares two parts of `bytes`. For so few bytes the loop is faster than a call. */
function isEqual(bytes: Buffer, one: number, other: number, count: number): boolean {
  for (let i = 0; i < count; i += 1) if (bytes[one + i] !== bytes[other + i]) return false;
  return true;
}

function grown(bytes: Buffer, size: number): Buffer<ArrayBuffer> {
  const larger = Buffer.alloc(Math.max(size, bytes.length * 2));
  larger.set(bytes);
  return larger;
}
