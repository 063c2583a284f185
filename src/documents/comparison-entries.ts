/**
 * Entries of a page's documents, by which two sides are compared: who a document is and what it has to contribute to a
 * sum, made by the kernel for all rows in one go. What always holds: an entry says the same as what is read of its row
 * one by one, and rows of which their bytes do not say all are left to whoever can decode them.
 *
 * An entry is whole words: its size in bytes, the identity (four), the contribution (four), then the name: the values
 * at some nodes as they stand in the page, a line feed behind each, and zeros up to the next word. The contribution is
 * the hash of identity, slot and content, one behind the other.
 */
import { packNodes, type AskedOfRows } from './wasm-kernel.ts';
import { PageError } from './page-error.ts';
import type { PageScan } from './page-scan.ts';

/** Where in an entry, in words. */
export const ENTRY = { size: 0, identity: 1, contribution: 5, name: 9 } as const;

/** What is asked of the rows of a side. */
export interface EntryNodes {
  /** The id first, then the levels of the key. */
  readonly identity: readonly number[];
  readonly slot: readonly number[];
  readonly name: readonly number[];
  /** Rows that have a value here are left over. */
  readonly stop: number | undefined;
  /** Rows are left over unless their id is a text, and the levels of the slot texts that have no more bytes together. */
  readonly plainKeyBytesMax: number | undefined;
  readonly documentBytesMax: number;
}

const BEYOND = 0;
const LEFT = 1;
const NO_LSN = 2;
const FIRST_ENTRY = 4;

/** What becomes of the rows of a page. */
export interface EntryTakers {
  /** All entries, before anything else is told; they stand until the function returns. */
  readonly take: (entries: Uint8Array) => void;
  /** A row's entry, by the word where it starts, and how many bytes of its document were hashed. */
  readonly entry: (row: number, atWord: number, sizeBytes: number) => void;
  /** A row that is left over. */
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

  /** Gives the rows of the last scan up to a fence, and how many there are; a row without an LSN damages the page. */
  read(fenceLsn: number, { take, entry, left }: EntryTakers): number {
    const scan = this.#scan;
    const found = scan.digest(this.#asked, fenceLsn);
    // The kernel's memory is its own again as soon as a row is looked at.
    if (this.#table.length < found.table.length) this.#table = new Uint32Array(found.table.length * 2);
    const table = this.#table;
    table.set(found.table);
    for (let row = 0; row < scan.count; row += 1)
      if (table[2 * row] === NO_LSN) throw new PageError('a document has no _lsn', scan.elementStart(row));
    take(found.entries);
    let documents = 0;
    for (let row = 0; row < scan.count; row += 1) {
      const place = table[2 * row] ?? BEYOND;
      if (place === BEYOND) continue;
      documents += 1;
      if (place === LEFT) left(row);
      else entry(row, (place - FIRST_ENTRY) >>> 2, table[2 * row + 1] ?? 0);
    }
    return documents;
  }
}
