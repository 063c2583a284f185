/**
 * Packs the plain rows of a page: those of which the kernel can make everything that the copy needs. A row is plain if its
 * values need no decoding, if it lacks certain values, and if its key is known. Invariant: what is packed equals, byte for
 * byte, what is made of a row value by value.
 */
import { assert } from '../../lib/assert.ts';
import { packKernel, type KeyRecord } from '../kernel/pack-kernel.ts';
import { packNodes } from '../kernel/scan-kernel.ts';
import type { PageScan } from '../page-scan.ts';
import type { PackedPage } from './packed-page.ts';

/** From which nodes rows are packed. */
export interface PlainNodes {
  /** The nodes of the id and of the levels of the source key. */
  readonly names: readonly number[];
  /** A plain row has no value at these nodes. */
  readonly empty: readonly number[];
  /** The nodes of the values from which the target key is computed. */
  readonly inputs: readonly number[];
}

/** A plain document is smaller. Larger ones are near the limit of the service, and so few that they may take longer. */
const DOCUMENT_BYTES_MAX = 1024 * 1024;
/** What the kernel has seen of a row: its LSN, and behind it the number of its key. */
const SEEN = { doubles: 5, words: 10, keyWord: 2 } as const;
/** Stands for the key of a row that is not plain. */
const NOT_PLAIN = -1;

export class PagePacker {
  readonly #scan: PageScan;
  readonly #asked: Uint32Array;
  readonly #kernel = packKernel();
  #bytes = new Uint8Array(0);
  #lsns = new Float64Array(0);
  #keys = new Int32Array(0);
  #list = new Uint32Array(0);
  #count = 0;

  constructor(scan: PageScan, { names, empty, inputs }: PlainNodes) {
    this.#scan = scan;
    const { lsn, document, etag } = scan.nodes;
    const { first, others } = packNodes(names);
    const single = [lsn, document, etag, DOCUMENT_BYTES_MAX, first, others];
    const sizes = [names, empty, inputs].map(({ length }) => length);
    this.#asked = Uint32Array.from([...single, ...sizes, ...names, ...empty, ...inputs]);
  }

  /** Looks at all rows of the last scan. Returns false if no key is known any longer. */
  look(): boolean {
    const { count } = this.#scan;
    if (this.#list.length < count) {
      this.#list = new Uint32Array(count * 2);
      this.#bytes = new Uint8Array(count * 2 * SEEN.doubles * 8);
      this.#lsns = new Float64Array(this.#bytes.buffer);
      this.#keys = new Int32Array(this.#bytes.buffer);
    }
    this.#count = 0;
    const isKnown = this.#kernel.owns(this);
    this.#kernel.look(this.#asked, this.#bytes);
    return isKnown;
  }

  /** Returns the LSN of a row; undefined if it has to be read. */
  lsn(row: number): number | undefined {
    const lsn = this.#lsns[row * SEEN.doubles] ?? -1;
    return lsn < 0 ? undefined : lsn;
  }

  /** Returns the number of the key of a row; undefined if the row is not plain. */
  key(row: number): number | undefined {
    const key = this.#keys[row * SEEN.words + SEEN.keyWord] ?? NOT_PLAIN;
    return key === NOT_PLAIN ? undefined : key;
  }

  /** Stores the record of a key. Returns false if there is no space for it; then the rows with this key are not plain. */
  addRecord(key: number, record: KeyRecord): boolean {
    return this.#kernel.addRecord(key, record);
  }

  /** Lists a plain row whose key has a record. */
  add(row: number): void {
    this.#list[this.#count] = row;
    this.#count += 1;
  }

  /** Packs all rows that were added, in this order. Precondition: no other page was scanned since `look`. */
  pack(packed: PackedPage): void {
    assert(this.#count <= this.#scan.count, 'each row is added once');
    if (this.#count === 0) packed.clear();
    else packed.fill(this.#count, this.#kernel.pack(this.#list, this.#count));
  }
}
