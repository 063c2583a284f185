/**
 * Finds the plain rows of a page and has them packed, in the order of the target's ranges. What depends on the values of a
 * key alone is computed once, by src/keys, for all documents with these values; the kernel does the rest. Invariant: a row
 * is packed only if its target document is made of its own bytes and of what it shares with others that have the same key
 * values.
 */
import { putCreate } from '../../documents/batch-body.ts';
import { ByteOutput } from '../../documents/byte-output.ts';
import { IdentityHasher } from '../../documents/identity.ts';
import type { KeyRecord } from '../../documents/kernel/pack-kernel.ts';
import { PagePacker } from '../../documents/packing/page-packer.ts';
import type { PageScan } from '../../documents/page-scan.ts';
import type { LiveRanges } from '../../cosmos/feed/live-ranges.ts';
import type { Rekey, SharedKey } from '../../keys/rekey.ts';
import { keyBytesMax, writeKey } from '../../state/segments/key-bytes.ts';
import type { CopiedPage } from './copied-page.ts';

/** A key whose documents may be plain. */
interface KnownKey {
  readonly effectiveKey: string;
  /** The index of its range in the target; -1 until it is looked up. */
  range: number;
}

/** Stands for a key whose documents are not plain: they are refused, or there is no space for what they share. */
const NOT_PLAIN = null;

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
  /** By the numbers of the keys. */
  #keys: Array<KnownKey | typeof NOT_PLAIN | undefined> = [];
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
    if (!this.#packer.look()) this.#keys = [];
    const { list } = this.#ranges;
    if (this.#list !== list) for (const key of this.#keys) if (key) key.range = -1;
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
    let key = this.#keys[number];
    if (key === undefined) key = this.#keys[number] = this.#learn(number, row);
    if (key === NOT_PLAIN) return false;
    if (key.range < 0) key.range = this.#ranges.indexOf(key.effectiveKey);
    this.#rows[key.range]?.push(row);
    return true;
  }

  /** Packs all rows that were taken. */
  pack(copied: CopiedPage): void {
    for (const rows of this.#rows) for (const row of rows) this.#packer.add(row);
    const { packed, effectiveKeys, rangeIndexes } = copied;
    this.#packer.pack(packed);
    copied.ranges = this.#list;
    for (let entry = 0; entry < packed.count; entry += 1) {
      const key = this.#keys[packed.key(entry)];
      effectiveKeys[entry] = key?.effectiveKey ?? '';
      rangeIndexes[entry] = key?.range ?? -1;
    }
  }

  #learn(number: number, row: number): KnownKey | typeof NOT_PLAIN {
    const shared = this.#rekey.shared(row);
    if (shared === undefined || !this.#packer.addRecord(number, this.#recordOf(shared))) return NOT_PLAIN;
    return { effectiveKey: shared.effectiveKey, range: -1 };
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
