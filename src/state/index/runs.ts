/**
 * Owns the sorted runs of an index on the disk: writes blocks, reads blocks in order, and finds the block of an entry.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { bytes, number, oneOf, orNull } from '../../lib/sqlite/column.ts';
import type { Columns } from '../../lib/sqlite/column.ts';
import { checksumOf, refuseChanged } from '../../lib/sqlite/table-sums.ts';
import { MAP_INDEX } from '../segments/map-store.ts';
import { INDEX_BYTES } from './entry.ts';

const PHASES = ['collect', 'merge', 'done'] as const;

/** How far the build of an index has come. */
export interface BuildState {
  readonly phase: (typeof PHASES)[number];
  /** The last segment whose entries are in a run. */
  readonly scannedTo: number;
  /** The run that is being written; null if there is none. */
  readonly output: number | null;
  /** The last entry that was written to `output` or left out; null at the start. */
  readonly consumed: Buffer | null;
}

export interface IndexRun {
  readonly number: number;
  readonly level: number;
}

export interface Block {
  readonly number: number;
  readonly data: Buffer;
}

export class IndexRunStore {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      state: database.prepare<[number], Columns>('SELECT * FROM index_builds WHERE index_id = ?'),
      begin: database.prepare(
        "INSERT INTO index_builds (index_id, phase) VALUES (?, 'collect') ON CONFLICT DO NOTHING",
      ),
      keepState: database.prepare(
        `UPDATE index_builds SET phase = @phase, last_segment = @scannedTo, output_run = @output, last_entry = @consumed
         WHERE index_id = @indexId`,
      ),
      open: database
        .prepare<[number], number>(
          // CROSS JOIN: SQLite begins with the names, of which only pages in flight have any.
          `SELECT count(*) FROM segment_names CROSS JOIN segments ON number = segment WHERE index_id = ?`,
        )
        .pluck(),
      runs: database.prepare<[number], Columns>(
        'SELECT number, level FROM index_runs WHERE index_id = ? ORDER BY level, number',
      ),
      addRun: database.prepare('INSERT INTO index_runs (index_id, level) VALUES (?, ?)'),
      dropRun: database.prepare('DELETE FROM index_runs WHERE number = ?'),
      addBlock: database.prepare(
        'INSERT INTO index_blocks (run, first_entry, checksum, entries) VALUES (?, ?, ?, ?)',
      ),
      dropBlock: database.prepare('DELETE FROM index_blocks WHERE number = ?'),
      dropBlocks: database.prepare('DELETE FROM index_blocks WHERE run = ?'),
      blockWith: database.prepare<[number, Buffer], Columns>(
        'SELECT number, run, checksum, entries FROM index_blocks WHERE run = ? AND first_entry <= ? ORDER BY first_entry DESC LIMIT 1',
      ),
      blockAfter: database.prepare<[number, Buffer], Columns>(
        'SELECT number, run, checksum, entries FROM index_blocks WHERE run = ? AND first_entry > ? ORDER BY first_entry LIMIT 1',
      ),
      entryBytes: database
        .prepare<[number], number>('SELECT coalesce(sum(length(entries)), 0) FROM index_blocks WHERE run = ?')
        .pluck(),
      doneOf: database
        .prepare<[number], number>(
          `SELECT index_runs.number FROM index_runs JOIN index_builds USING (index_id)
           WHERE index_id IN (?, ${MAP_INDEX}) AND phase = 'done' ORDER BY index_id DESC`,
        )
        .pluck(),
      done: database
        .prepare<[], number>(
          `SELECT index_runs.number FROM index_runs JOIN index_builds USING (index_id) WHERE phase = 'done'`,
        )
        .pluck(),
    };
  }

  state(indexId: number): BuildState | null {
    const row = this.#sql.state.get(indexId);
    if (row === undefined) return null;
    return {
      phase: oneOf(row, 'phase', PHASES),
      scannedTo: number(row, 'last_segment'),
      output: orNull(row, 'output_run', number),
      consumed: orNull(row, 'last_entry', (from, name) => bytes(from, name, INDEX_BYTES)),
    };
  }

  begin(indexId: number): void {
    this.#sql.begin.run(indexId);
  }

  keepState(indexId: number, state: BuildState): void {
    this.#sql.keepState.run({ indexId, ...state });
  }

  /** Whether a unit of work with documents of this index is not committed. */
  hasOpenSegments(indexId: number): boolean {
    return (this.#sql.open.get(indexId) ?? 0) > 0;
  }

  /** Returns the runs of an index, those of the lowest level first. */
  runs(indexId: number): IndexRun[] {
    return this.#sql.runs
      .all(indexId)
      .map((row) => ({ number: number(row, 'number'), level: number(row, 'level') }));
  }

  addRun(indexId: number, level: number): number {
    return Number(this.#sql.addRun.run(indexId, level).lastInsertRowid);
  }

  dropRun(run: number): void {
    this.#sql.dropBlocks.run(run);
    this.#sql.dropRun.run(run);
  }

  addBlock(run: number, data: Buffer): void {
    this.#sql.addBlock.run(run, data.subarray(0, INDEX_BYTES), checksumOf(run, data), data);
  }

  dropBlock(block: number): void {
    this.#sql.dropBlock.run(block);
  }

  /** Returns the only block of a run that can contain this entry. */
  blockWith(run: number, entry: Buffer): Block | null {
    return parseBlock(this.#sql.blockWith.get(run, entry));
  }

  /** Returns the first block of a run that begins after this entry. */
  blockAfter(run: number, entry: Buffer): Block | null {
    return parseBlock(this.#sql.blockAfter.get(run, entry));
  }

  /** Returns the number of entries in a run. */
  entryCount(run: number): number {
    return (this.#sql.entryBytes.get(run) ?? 0) / INDEX_BYTES;
  }

  /**
   * Returns the runs of an index and of the map, as far as they are finished. With null, returns the runs of all finished
   * indexes.
   */
  finished(indexId: number | null): number[] {
    return indexId === null ? this.#sql.done.all() : this.#sql.doneOf.all(indexId);
  }
}

function parseBlock(row: Columns | undefined): Block | null {
  if (row === undefined) return null;
  const data = bytes(row, 'entries');
  refuseChanged(number(row, 'checksum'), number(row, 'run'), data);
  return { number: number(row, 'number'), data };
}
