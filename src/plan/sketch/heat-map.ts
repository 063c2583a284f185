/**
 * Counts writes over the hash space and time: a document counts where its key is, and when it was last written. A column
 * is an interval of time. When a document is older than the first column, each pair of columns becomes one, so that any
 * history fits.
 */
import { assert } from '../../lib/assert.ts';

export const ROWS = 128;
export const COLUMNS = 64;
const ROW_BITS = 7;
/** The effective keys of the service have 126 bits: the two highest bits of the first word are zero. */
const WORD_BITS = 30;
/** The first width of a column. */
const MINUTE = 60;

export class HeatMap {
  /** The end of the last column, in seconds since the epoch. */
  readonly endTs: number;
  #secondsPerColumn = MINUTE;
  #cells = new Float64Array(ROWS * COLUMNS);

  constructor(endTs: number) {
    this.endTs = endTs;
  }

  get secondsPerColumn(): number {
    return this.#secondsPerColumn;
  }

  /** Adds `times` documents that were written at `ts`. `firstWord` has the first 32 bits of their effective key. */
  add(firstWord: number, ts: number, times: number): void {
    const ageSeconds = Math.max(0, this.endTs - 1 - ts);
    while (ageSeconds >= COLUMNS * this.#secondsPerColumn) this.#widen();
    const column = COLUMNS - 1 - Math.floor(ageSeconds / this.#secondsPerColumn);
    const at = (firstWord >>> (WORD_BITS - ROW_BITS)) * COLUMNS + column;
    this.#cells[at] = (this.#cells[at] ?? 0) + times;
  }

  writes(row: number, column: number): number {
    assert(row < ROWS && column < COLUMNS, 'the cell exists');
    return this.#cells[row * COLUMNS + column] ?? 0;
  }

  /** Adds the writes of another map, which ends at the same time. */
  merge(other: HeatMap): void {
    assert(other.endTs === this.endTs, 'maps that are added end at the same time');
    const copy = HeatMap.fromBytes(other.toBytes());
    while (copy.#secondsPerColumn < this.#secondsPerColumn) copy.#widen();
    while (this.#secondsPerColumn < copy.#secondsPerColumn) this.#widen();
    for (let at = 0; at < this.#cells.length; at += 1)
      this.#cells[at] = (this.#cells[at] ?? 0) + (copy.#cells[at] ?? 0);
  }

  toBytes(): Buffer {
    const all = new Float64Array(2 + this.#cells.length);
    all[0] = this.endTs;
    all[1] = this.#secondsPerColumn;
    all.set(this.#cells, 2);
    return Buffer.from(all.buffer);
  }

  static fromBytes(bytes: Buffer): HeatMap {
    const map = new HeatMap(bytes.readDoubleLE(0));
    map.#secondsPerColumn = bytes.readDoubleLE(8);
    map.#cells = Float64Array.from(map.#cells, (_none, at) => bytes.readDoubleLE(16 + at * 8));
    return map;
  }

  /** Doubles the width of each column. The last column keeps its end. */
  #widen(): void {
    const wide = new Float64Array(ROWS * COLUMNS);
    for (let at = 0; at < this.#cells.length; at += 1) {
      const column = COLUMNS - 1 - ((COLUMNS - 1 - (at % COLUMNS)) >> 1);
      const to = at - (at % COLUMNS) + column;
      wide[to] = (wide[to] ?? 0) + (this.#cells[at] ?? 0);
    }
    this.#cells = wide;
    this.#secondsPerColumn *= 2;
  }
}
