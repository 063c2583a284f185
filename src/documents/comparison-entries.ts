/**
 * Makes the entries by which two sides are compared. An entry has the identity of a document and its contribution to a
 * sum. The kernel makes the entries for all rows of a page in one call. Invariant: an entry is the same as if its row
 * were read value by value; the kernel makes no entry for a row whose values must be decoded, and the caller reads that
 * row itself.
 *
 * An entry consists of words of 32 bits: one for the size of the entry in bytes, four for the identity, four for the
 * contribution, and the rest for the name. The name consists of the values of some nodes, written as on the page and
 * each followed by a line feed. Zeros fill its last word. The contribution is a hash over the hashes of identity, slot
 * and content. If copies must expire together with their originals, the caller adds one more word: the instant at which
 * the document expires (verify/pass/expiry.ts).
 */
import { packNodes, type AskedOfRows } from './kernel/scan-kernel.ts';
import { lsnMissing } from './page-error.ts';
import type { PageScan } from './page-scan.ts';

/** The offset of each part of an entry, in words. */
export const ENTRY = { size: 0, identity: 1, contribution: 5, name: 9 } as const;

/** The nodes from which the entries of a side are made. */
export interface EntryNodes {
  /** The nodes of the id and of the levels of the source key, in this order. */
  readonly identity: readonly number[];
  readonly slot: readonly number[];
  readonly name: readonly number[];
  /** A row that has a value at this node gets no entry. Undefined: no node has this effect. */
  readonly stop: number | undefined;
  /**
   * A row gets an entry only if the id and all levels of the target key are texts, and the levels have at most this
   * many bytes together. Undefined: rows are not limited in this way.
   */
  readonly plainKeyBytesMax: number | undefined;
  readonly documentBytesMax: number;
}

/**
 * The first number of a row in the kernel's table. BEYOND: the row is above the fence. LEFT: the row has no entry, so
 * the caller must read it. NO_LSN: the row has no LSN. A number from FIRST_ENTRY on: the row has an entry, and the
 * number is FIRST_ENTRY plus the entry's offset in bytes.
 */
const BEYOND = 0;
const LEFT = 1;
const NO_LSN = 2;
const FIRST_ENTRY = 4;

/** The functions that receive the rows of a page. */
export interface EntryTakers {
  /** Called first, with all entries of the page. The bytes are valid until the call returns. */
  readonly take: (entries: Uint8Array) => void;
  /**
   * Called for a row with an entry: the word at which the entry starts, and how many bytes of the document were hashed.
   */
  readonly entry: (row: number, atWord: number, sizeBytes: number) => void;
  /** Called for a row that has no entry and is not above the fence. */
  readonly left: (row: number) => void;
}

export class Digests {
  readonly #scan: PageScan;
  readonly #asked: AskedOfRows;
  #table = new Uint32Array(0);

  constructor(scan: PageScan, nodes: EntryNodes) {
    this.#scan = scan;
    this.#asked = {
      lsn: scan.nodes.lsn,
      document: scan.nodes.document,
      documentBytesMax: nodes.documentBytesMax,
      stop: nodes.stop ?? 0,
      plainKeyBytesMax: nodes.plainKeyBytesMax ?? 0,
      identity: packNodes(nodes.identity),
      slot: packNodes(nodes.slot),
      name: packNodes(nodes.name),
    };
  }

  /**
   * Passes to the given functions each row of the last scan whose LSN is not above the fence, and returns how many
   * rows these are. Throws a ServiceError if a row has no LSN.
   */
  read(fenceLsn: number, { take, entry, left }: EntryTakers): number {
    const scan = this.#scan;
    const found = scan.digest(this.#asked, fenceLsn);
    // The table is copied, because the functions called below may read rows, and the kernel then reuses its memory.
    if (this.#table.length < found.table.length) this.#table = new Uint32Array(found.table.length * 2);
    const table = this.#table;
    table.set(found.table);
    for (let row = 0; row < scan.count; row += 1) if (table[2 * row] === NO_LSN) throw lsnMissing();
    take(found.entries);
    let documents = 0;
    for (let row = 0; row < scan.count; row += 1) {
      const entryAt = table[2 * row] ?? BEYOND;
      if (entryAt === BEYOND) continue;
      documents += 1;
      if (entryAt === LEFT) left(row);
      else entry(row, (entryAt - FIRST_ENTRY) >>> 2, table[2 * row + 1] ?? 0);
    }
    return documents;
  }
}
