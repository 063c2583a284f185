/**
 * The plan file next to the ledger: how far the source was read, and what was measured. Invariant: positions and
 * measures change in one transaction, so after a crash the next run resumes from a state in which they agree. The
 * process that measures holds the file's lock. A file that has lost changes is started again.
 */
import { realPath } from '../../lib/sqlite/file.ts';
import { bytes, json, number, orNull, text, type Columns } from '../../lib/sqlite/column.ts';
import { changeCount, openTables } from '../../lib/sqlite/table-sums.ts';
import { asErrorOfReplaceable, DamagedFile, withDatabaseErrors } from '../../lib/sqlite/database-errors.ts';
import { openDatabase, refuseForeignFile, type Database } from '../../lib/sqlite/sqlite.ts';
import { Transactions } from '../../lib/sqlite/transaction.ts';
import type { ReadPart } from '../../cosmos/feed/fenced-pass.ts';
import { ChangeMark } from '../../state/change-mark.ts';
import { MoverLock } from '../../state/lock.ts';
import { ExactFile, exactPath, type ExactChunk } from '../exact/exact-file.ts';
import type { ExactFigures } from '../exact/exact-figures.ts';
import type { ExactEntries } from '../exact/exact-entries.ts';
import type { SavedMeasure } from '../pass/candidate-measure.ts';
import type { Proposal, SavedPages } from '../pass/page-measure.ts';
import type { PlanSummary } from '../summary.ts';

/** What a pass is about. Another subject begins another pass. */
export interface PlanSubject {
  /** The candidates, and what else decides what is measured. */
  readonly fingerprint: string;
  readonly sourceRid: string;
}

export interface BegunPass extends PlanSubject {
  readonly startedAtMs: number;
  /** The service's time when the pass began, in seconds since the epoch. */
  readonly nowTs: number;
  /** What reading has cost up to the last checkpoint. */
  readonly readRu: number;
}

export interface PlanCheckpoint {
  readonly parts: readonly ReadPart[];
  readonly totals: SavedPages['totals'];
  /** Saved one after the other, because the sketches of all candidates together take tens of megabytes. */
  readonly candidates: ReadonlyArray<{ save(): SavedMeasure }>;
  readonly readRu: number;
  /** The entries of all documents, if they are kept (`--exact`). */
  readonly exact?: ExactEntries | undefined;
}

/** A small cache is enough: the rows are read once, when a pass resumes. */
const CACHE_KIB = 1024;
/** The sketches of a measure; those of the levels of its key are `sample-0`, `sample-1` and so on. */
const SKETCHES = ['biggest', 'lastDay', 'lastHour', 'space', 'heat', 'slots'] as const;

/** What the command does when the file was damaged and is deleted. */
const THEN = 'plan then reads the source from the beginning';
/** The words for the process that holds the lock of the file. */
const HOLDER = { what: 'another cosmig plan is running', holder: 'it' };

/** Returns the path of the plan file of a ledger. */
export function planPath(ledger: string): string {
  return `${realPath(ledger)}-plan`;
}

export class PlanStore {
  readonly #database: Database;
  readonly #lock: MoverLock;
  readonly #transactions: Transactions;
  readonly #path: string;
  #mark: ChangeMark | undefined;
  readonly #sql;

  private constructor(path: string, database: Database, lock: MoverLock) {
    this.#path = path;
    this.#database = database;
    this.#lock = lock;
    this.#transactions = new Transactions(database, () => this.#mark?.raise(changeCount(database)));
    this.#sql = {
      begun: database.prepare<[], Columns>('SELECT * FROM pass'),
      begin: database.prepare(
        `INSERT INTO pass (id, fingerprint, source_rid, started_at_ms, now_ts)
         VALUES (1, @fingerprint, @sourceRid, @startedAtMs, @nowTs)`,
      ),
      measured: database.prepare('UPDATE pass SET read_ru = @readRu, totals = @totals, heads = @heads'),
      setTotals: database.prepare<[string], Columns>('UPDATE pass SET totals = ?'),
      readRu: database.prepare('UPDATE pass SET read_ru = ?'),
      parts: database.prepare<[], Columns>('SELECT * FROM parts ORDER BY number'),
      dropParts: database.prepare('DELETE FROM parts'),
      addPart: database.prepare(
        `INSERT INTO parts (min, max, range_id, position, fence_lsn, is_done, documents)
         VALUES (@min, @max, @rangeId, @position, @fenceLsn, @isDone, @documents)`,
      ),
      sketch: database.prepare<[number, string], Columns>(
        'SELECT bytes FROM sketches WHERE candidate = ? AND name = ?',
      ),
      chunks: database.prepare<[], Columns>('SELECT chunk FROM exact_chunks ORDER BY number'),
      addChunk: database.prepare('INSERT INTO exact_chunks (chunk) VALUES (?)'),
      figures: database.prepare<[number], Columns>('SELECT figures FROM exact_figures WHERE candidate = ?'),
      addFigures: database.prepare('INSERT INTO exact_figures (candidate, figures) VALUES (?, ?)'),
      keepSummary: database.prepare(
        'INSERT OR REPLACE INTO result (id, taken_at_ms, summary) VALUES (1, ?, ?)',
      ),
      setSketch: database.prepare(
        `INSERT INTO sketches (candidate, name, bytes) VALUES (?, ?, ?)
         ON CONFLICT (candidate, name) DO UPDATE SET bytes = excluded.bytes`,
      ),
    };
  }

  /** Opens the plan file; refuses if another process measures. */
  static open(path: string): PlanStore {
    refuseForeignFile(path, 'plan');
    const lock = MoverLock.takeFor(path, HOLDER);
    let database: Database | undefined;
    try {
      database = withDatabaseErrors(openDatabase({ path, cacheKib: CACHE_KIB }));
      openTables(database, 'plan');
      const store = new PlanStore(path, database, lock);
      store.#mark = ChangeMark.open(path, database);
      if (store.#mark.isAhead) store.#startAgain();
      return store;
    } catch (error) {
      database?.close();
      lock.release();
      throw asErrorOfReplaceable(error, path, THEN);
    }
  }

  /** Returns the candidates that an earlier pass over this container had proposed; none: there was no such pass. */
  static proposalsIn(path: string, sourceRid: string): readonly Proposal[] {
    using store = PlanStore.open(path);
    const row = store.#sql.begun.get();
    if (row === undefined || text(row, 'source_rid') !== sourceRid) return [];
    return (json(row, 'totals') as Partial<SavedPages['totals']>).proposals ?? [];
  }

  /** Returns the pass that was begun last; null: none. */
  begun(): BegunPass | null {
    const row = this.#sql.begun.get();
    if (row === undefined) return null;
    return {
      fingerprint: text(row, 'fingerprint'),
      sourceRid: text(row, 'source_rid'),
      startedAtMs: number(row, 'started_at_ms'),
      nowTs: number(row, 'now_ts'),
      readRu: number(row, 'read_ru'),
    };
  }

  /** Forgets the last pass and begins another. */
  begin(pass: Omit<BegunPass, 'readRu'>): void {
    this.#transactions.durable(() => this.#forget());
    // SQLite leaves what it deletes in free pages, where values could be read that the next pass shows as hashes.
    this.#transactions.read(() => this.#database.exec('VACUUM'));
    this.exactFile().drop();
    this.#transactions.durable(() => this.#sql.begin.run(pass));
  }

  parts(): ReadPart[] {
    return this.#sql.parts.all().map((row) => ({
      min: text(row, 'min'),
      max: text(row, 'max'),
      rangeId: text(row, 'range_id'),
      position: orNull(row, 'position', text),
      fenceLsn: number(row, 'fence_lsn'),
      isDone: number(row, 'is_done') === 1,
      documents: number(row, 'documents'),
    }));
  }

  /** Returns what was measured up to the last checkpoint; undefined: there was none. */
  pages(): SavedPages | undefined {
    const row = this.#sql.begun.get();
    if (row === undefined) return undefined;
    const heads = json(row, 'heads') as readonly Head[];
    if (heads.length === 0) return undefined;
    return {
      totals: json(row, 'totals') as SavedPages['totals'],
      candidates: heads.map((head, candidate) => this.#measure(head, candidate)),
    };
  }

  checkpoint({ parts, totals, candidates, readRu, exact }: PlanCheckpoint): void {
    const chunks = exact?.unsaved() ?? [];
    this.#transactions.run(() => {
      for (const chunk of chunks) this.#sql.addChunk.run(JSON.stringify(chunk));
      this.#sql.dropParts.run();
      for (const part of parts) this.#sql.addPart.run({ ...part, isDone: part.isDone ? 1 : 0 });
      const heads = candidates.map((one, candidate) => this.#saveMeasure(one.save(), candidate));
      // Charges have fractions, and columns of numbers hold integers.
      this.#sql.measured.run({
        readRu: Math.round(readRu),
        totals: JSON.stringify(totals),
        heads: JSON.stringify(heads),
      });
    });
    exact?.markSaved();
  }

  /** The chunks of the file of `--exact` that were recorded. */
  exactChunks(): ExactChunk[] {
    return this.#sql.chunks.all().map((row) => json(row, 'chunk') as ExactChunk);
  }

  /** Returns the figures that were counted for each candidate; undefined: the entries were not counted yet. */
  exactFigures(): ExactFigures[] | undefined {
    const found: ExactFigures[] = [];
    for (let row = this.#sql.figures.get(0); row !== undefined; row = this.#sql.figures.get(found.length))
      found.push(json(row, 'figures') as ExactFigures);
    return found.length === 0 ? undefined : found;
  }

  /** Keeps the figures instead of the entries, which are no longer needed. */
  keepExactFigures(figures: readonly ExactFigures[], readRu: number): void {
    this.#transactions.durable(() => {
      for (const [candidate, one] of figures.entries())
        this.#sql.addFigures.run(candidate, JSON.stringify(one));
      this.#sql.readRu.run(readRu);
      this.#database.exec('DELETE FROM exact_chunks');
    });
    this.exactFile().drop();
  }

  /** The file with the entries of all documents. */
  exactFile(): ExactFile {
    return new ExactFile(exactPath(this.#path));
  }

  /** Saves what became known of all documents after the last page. */
  setTotals(totals: SavedPages['totals']): void {
    this.#transactions.run(() => this.#sql.setTotals.run(JSON.stringify(totals)));
  }

  /** Keeps what the plan has found, in short, for the page of a migration (plan-record.ts). */
  keepSummary(summary: PlanSummary, takenAtMs: number): void {
    this.#transactions.run(() => this.#sql.keepSummary.run(takenAtMs, JSON.stringify(summary)));
  }

  [Symbol.dispose](): void {
    try {
      this.#database.close();
      this.#mark?.close();
    } finally {
      this.#lock.release();
    }
  }

  #saveMeasure(measure: SavedMeasure, candidate: number): Head {
    for (const name of SKETCHES) this.#sql.setSketch.run(candidate, name, measure[name]);
    for (const [level, sample] of measure.samples.entries())
      this.#sql.setSketch.run(candidate, `sample-${level}`, sample);
    for (const [key, { sample }] of measure.unique.entries())
      this.#sql.setSketch.run(candidate, `unique-${key}`, sample);
    return headOf(measure);
  }

  #measure({ levels, conflicts, ...head }: Head, candidate: number): SavedMeasure {
    const read = (name: string): Buffer => {
      const row = this.#sql.sketch.get(candidate, name);
      if (row === undefined) throw new DamagedFile(this.#database.name, `the sketch ${name} is missing`);
      return bytes(row, 'bytes');
    };
    return {
      ...head,
      biggest: read('biggest'),
      lastDay: read('lastDay'),
      lastHour: read('lastHour'),
      space: read('space'),
      heat: read('heat'),
      slots: read('slots'),
      samples: Array.from({ length: levels }, (_none, level) => read(`sample-${level}`)),
      unique: conflicts.map((examples, key) => ({ sample: read(`unique-${key}`), examples })),
    };
  }

  #startAgain(): void {
    this.#transactions.durable(() => this.#forget());
    this.#mark?.reset(changeCount(this.#database));
  }

  #forget(): void {
    for (const table of ['pass', 'parts', 'sketches', 'exact_chunks', 'exact_figures', 'result'])
      this.#database.exec(`DELETE FROM ${table}`);
  }
}

/** What a measure has besides its sketches, the number of levels of its key, and examples for each unique key. */
type Head = Omit<SavedMeasure, (typeof SKETCHES)[number] | 'samples' | 'unique'> & {
  readonly levels: number;
  readonly conflicts: ReadonlyArray<SavedMeasure['unique'][number]['examples']>;
};

function headOf(measure: SavedMeasure): Head {
  const { documents, missing, types, refused, texts, collided, samples, unique } = measure;
  const conflicts = unique.map(({ examples }) => examples);
  return { documents, missing, types, refused, texts, collided, levels: samples.length, conflicts };
}
