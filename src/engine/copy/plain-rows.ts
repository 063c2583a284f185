/**
 * Finds the plain rows of a page and has them packed, in the order of the target's ranges. What depends on the values of a
 * key alone is computed once, by src/keys, for all documents with these values; the kernel does the rest. Invariant: a row
 * is packed only if its target document is made of its own bytes and of what it shares with others that have the same key
 * values.
 */
import { must } from '../../lib/assert.ts';
import { putCreate } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { IdentityHasher } from '../../documents/identity.ts';
import { KEYS_MAX, type KeyRecord } from '../../documents/kernel/pack-kernel.ts';
import { PagePacker } from '../../documents/packing/page-packer.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import type { LiveRanges } from '../../cosmos/feed/live-ranges.ts';
import type { Rekey, SharedKey } from '../../keys/rekey.ts';
import { keyBytesMax, writeKey } from '../../state/segments/key-bytes.ts';
import type { CopiedPage } from './copied-page.ts';

// What is known of the range of a key, if not its index in the target.
/** The key has not been met. */
const NEW = -1;
/** The range is to be looked up. */
const STALE = -2;
/** Documents with this key are not plain: they are refused, or there is no space for what they share. */
const NOT_PLAIN = -3;

interface Parts {
  readonly rekey: Rekey;
  /** The nodes of the id and of the levels of the source key. */
  readonly names: readonly number[];
  readonly inputs: readonly number[];
  /** The node of the property that marks a deleted document. */
  readonly marker: number | undefined;
  readonly ranges: Pick<LiveRanges, 'list' | 'indexOf'>;
}

export class PlainRows {
  readonly #packer: PagePacker;
  readonly #rekey: Rekey;
  readonly #ranges: Parts['ranges'];
  /** The ranges in which the keys were looked up. */
  #list: LiveRanges['list'];
  // By the numbers of the keys. They are not in one object for each key, since each row would wait for the memory of
  // its object.
  readonly #rangeOfKey = new Int32Array(KEYS_MAX).fill(NEW);
  readonly #effectiveKeys: string[] = [];
  /** The plain rows of the page, by the index of their range. */
  #rows: number[][] = [];
  // The memory for a record, and for the key in it.
  readonly #record = new ByteOutput(8 * 1024);
  #packed = Buffer.alloc(1024);
  readonly #hasher = new IdentityHasher();

  private constructor(packer: PagePacker, { rekey, ranges }: Parts) {
    this.#packer = packer;
    this.#rekey = rekey;
    this.#ranges = ranges;
    this.#list = ranges.list;
  }

  /** Returns undefined if no row of the migration can be plain. */
  static of(scan: PageScan, parts: Parts): PlainRows | undefined {
    const { rekey, names, inputs, marker } = parts;
    const { emptyNodes } = rekey;
    if (emptyNodes === undefined) return undefined;
    const empty = marker === undefined ? emptyNodes : [...emptyNodes, marker];
    return new PlainRows(new PagePacker(scan, { names, empty, inputs }), parts);
  }

  /** Looks at all rows of the last scan. */
  look(): void {
    const ranges = this.#rangeOfKey;
    if (!this.#packer.look()) ranges.fill(NEW);
    const { list } = this.#ranges;
    if (this.#list !== list) ranges.forEach((range, key) => (ranges[key] = range < 0 ? range : STALE));
    this.#list = list;
    this.#rows = list.map(() => []);
  }

  /** Returns the LSN of a row; undefined if it has to be read. */
  lsn(row: number): number | undefined {
    return this.#packer.lsn(row);
  }

  /** Takes a row that is plain. Returns false if it is not. */
  take(row: number): boolean {
    const number = this.#packer.key(row);
    if (number === undefined) return false;
    const known = this.#rangeOfKey[number] ?? NEW;
    const range = known >= 0 ? known : this.#findRange(number, row, known);
    if (range === NOT_PLAIN) return false;
    must(this.#rows[range], 'the ranges cover every key').push(row);
    return true;
  }

  /** Packs all rows that were taken. */
  pack(copied: CopiedPage): void {
    const { packed, effectiveKeys, rangeIndexes } = copied;
    let entry = 0;
    for (const [range, rows] of this.#rows.entries())
      for (const row of rows) {
        this.#packer.add(row);
        effectiveKeys[entry] = this.#effectiveKeys[this.#packer.key(row) ?? -1] ?? '';
        rangeIndexes[entry] = range;
        entry += 1;
      }
    this.#packer.pack(packed);
    copied.ranges = this.#list;
  }

  /** Returns the range of a key that is new or whose range is to be looked up, or NOT_PLAIN. */
  #findRange(number: number, row: number, known: number): number {
    const isPlain = known === NEW ? this.#learn(number, row) : known !== NOT_PLAIN;
    const range = isPlain ? this.#ranges.indexOf(this.#effectiveKeys[number] ?? '') : NOT_PLAIN;
    this.#rangeOfKey[number] = range;
    return range;
  }

  /** Computes what the documents with a key share. Returns false if they are not plain. */
  #learn(number: number, row: number): boolean {
    const shared = this.#rekey.shared(row);
    if (shared === undefined || !this.#packer.addRecord(number, this.#recordOf(shared))) return false;
    this.#effectiveKeys[number] = shared.effectiveKey;
    return true;
  }

  #recordOf({ key, added }: SharedKey): KeyRecord {
    const record = this.#record;
    record.clear();
    putCreate(record, key);
    const openingBytes = record.length;
    if (added !== '') record.putText(added);
    const addedBytes = record.length - openingBytes;
    if (keyBytesMax(key) > this.#packed.length) this.#packed = Buffer.alloc(keyBytesMax(key));
    const packedBytes = writeKey(this.#packed, 0, key);
    record.putSlice(this.#packed, 0, packedBytes);
    const before = record.length;
    this.#hasher.clear();
    for (const value of key) this.#hasher.add(value);
    this.#hasher.writeTo(record);
    return {
      bytes: record.bytes,
      openingBytes,
      addedBytes,
      packedBytes,
      hashedBytes: record.length - before,
    };
  }
}
