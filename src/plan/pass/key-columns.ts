/**
 * The rows of a page as columns of numbers, which the kernel computes for all candidates in one call: counting a row then
 * neither allocates memory nor reads the page. Invariant: the columns are a copy, so they are valid until the next page.
 */
import type { PageScan } from '../../documents/page-scan.ts';
import { DOCUMENT_BYTES_MAX } from '../../keys/rekey.ts';
import type { KeyPlan } from '../../keys/plan.ts';
import { keyProgram } from './key-program.ts';

/** What is known of a row under a candidate. The numbers are those of wasm/row-keys.ts. */
export const ROW_STATE = {
  /** The row has to be read by the code that moves documents. */
  odd: 0,
  key: 1,
  /** A level of the key has no value. */
  keyWithoutValue: 2,
} as const;

/** The types of values, in the order in which the kernel counts them. */
export const TYPES = ['text', 'number', 'boolean', 'null', 'missing', 'object', 'array'] as const;

/** The rows under one candidate. */
export interface KeyColumn {
  readonly states: Int32Array;
  /** The first 32 bits of the effective key of version 2. */
  readonly positions: Int32Array;
  /** Two words for each level of each row: the hash of the key up to this level, its low word first. */
  readonly words: Int32Array;
}

/** A derived property makes a document longer by its path and by its text, in which a unit takes six bytes at most. */
const ADDED_BYTES_MAX = 6 * 2048 + 1024;
const ROWS_MIN = 1024;

export class KeyColumns {
  /** The number of rows up to the fence. */
  count = 0;
  /** When each document was last written, in seconds since the epoch. */
  ts = new Float64Array(0);
  /** The number of each row on the page. */
  rows = new Int32Array(0);
  /** The bytes of each document. */
  bytes = new Int32Array(0);
  /** Two words for each row: the hash of its id, its low word first; zeros if the row is odd under each candidate. */
  ids = new Int32Array(0);
  keys: readonly KeyColumn[] = [];
  /** For each candidate, how many values at the paths of its key have each type. */
  types = new Int32Array(0);
  readonly #scan: PageScan;
  readonly #program: Uint32Array;
  readonly #levels: readonly number[];
  #space = 0;
  #all = new Uint8Array(0);

  constructor(scan: PageScan, plans: readonly KeyPlan[]) {
    this.#scan = scan;
    this.#program = keyProgram(scan, plans);
    this.#levels = plans.map(({ targetPaths }) => targetPaths.length);
    this.#divide(ROWS_MIN);
  }

  /** Reads the rows of the last scanned page up to the fence. */
  read(fenceLsn: number): void {
    const scan = this.#scan;
    if (scan.count > this.#space) this.#divide(2 * scan.count);
    const { lsn, document, id, ts } = scan.nodes;
    const { taken, columns } = scan.rowKeys(
      {
        program: this.#program,
        lsn,
        document,
        id,
        ts,
        documentBytesMax: DOCUMENT_BYTES_MAX - ADDED_BYTES_MAX,
        space: this.#space,
        columnBytes: this.#all.length,
      },
      fenceLsn,
    );
    this.#all.set(columns);
    this.count = taken;
  }

  /** Makes memory for so many rows, and divides it as the kernel does. */
  #divide(space: number): void {
    const levels = this.#levels;
    const perRow = levels.reduce((sum, count) => sum + 8 + 8 * count, 24);
    const buffer = new ArrayBuffer(perRow * space + 4 * TYPES.length * levels.length);
    let end = 8 * space;
    const words = (perRowWords: number): Int32Array<ArrayBuffer> => {
      const column = new Int32Array(buffer, end, perRowWords * space);
      end += column.byteLength;
      return column;
    };
    this.#space = space;
    this.#all = new Uint8Array(buffer);
    this.ts = new Float64Array(buffer, 0, space);
    this.rows = words(1);
    this.bytes = words(1);
    this.ids = words(2);
    this.keys = levels.map((count) => ({ states: words(1), positions: words(1), words: words(2 * count) }));
    this.types = new Int32Array(buffer, end);
  }
}
