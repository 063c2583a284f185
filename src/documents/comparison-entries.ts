/**
 * Entries by which two sides are compared: the identity of a document and its contribution to a sum. The kernel
 * makes them for all rows of a page at once. Invariant: an entry equals what reading its row value by value would
 * give; a row whose values must be decoded gets no entry and is left to the caller.
 *
 * An entry consists of words: size in bytes 1 | identity 4 | contribution 4 | name. The name has the values of some
 * nodes as in the page, each followed by a line feed, and zeros up to the next word. The contribution is the hash
 * of identity, slot and content, concatenated.
 */
import { packNodes, type AskedOfRows } from './wasm-kernel.ts';
import { PageError } from './page-error.ts';
import type { PageScan } from './page-scan.ts';

/** Offsets in an entry, in words. */
export const ENTRY = { size: 0, identity: 1, contribution: 5, name: 9 } as const;

/** The nodes from which the entries of a side are made. */
export interface EntryNodes {
  /** The id first, then the levels of the key. */
  readonly identity: readonly number[];
  readonly slot: readonly number[];
  readonly name: readonly number[];
  /** Rows that have a value here get no entry. */
  readonly stop: number | undefined;
  /**
   * Rows get no entry unless the id and all levels of the slot are texts, and the levels have at most this many
   * bytes together.
   */
  readonly plainKeyBytesMax: number | undefined;
  readonly documentBytesMax: number;
}

const BEYOND = 0;
const LEFT = 1;
const NO_LSN = 2;
const FIRST_ENTRY = 4;

/** Receives the rows of a page. */
export interface EntryTakers {
  /** Called first, with all entries, which are valid until it returns. */
  readonly take: (entries: Uint8Array) => void;
  /** A row with an entry: the word where it starts, and how many bytes of the document were hashed. */
  readonly entry: (row: number, atWord: number, sizeBytes: number) => void;
  /** A row without an entry. */
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
   * Reports the rows of the last scan up to a fence, and returns their number. A row without an LSN means a damaged
   * page.
   */
  read(fenceLsn: number, { take, entry, left }: EntryTakers): number {
    const scan = this.#scan;
    const found = scan.digest(this.#asked, fenceLsn);
    // Copied, since the kernel reuses its memory as soon as a row is read.
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
