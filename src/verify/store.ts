/**
 * The verify file next to the ledger: the progress of a comparison, and the last clean result. Invariant: positions,
 * sums and entries of a side change in one transaction, so after a crash the next run resumes from a state in which
 * they agree. The process that compares holds the file's lock.
 */
import { existsSync } from 'node:fs';
import { realPath } from '../lib/sqlite/file.ts';
import { changeCount, checkRows, openTables } from '../lib/sqlite/table-sums.ts';
import { asErrorOfReplaceable, withDatabaseErrors } from '../lib/sqlite/database-errors.ts';
import { openDatabase, openToRead, refuseForeignFile, type Database } from '../lib/sqlite/sqlite.ts';
import { memberOf } from '../lib/json/json.ts';
import { bytes, json, number, oneOf, orNull, text, type Columns } from '../lib/sqlite/column.ts';
import { ChangeMark, isAhead } from '../state/change-mark.ts';
import { MoverLock } from '../state/lock.ts';
import { Transactions } from '../lib/sqlite/transaction.ts';
import { ProgressRecord } from './progress-record.ts';
import { LAST_PROOF, proofIn, ProofRecord, type Proof } from './proof-record.ts';
import { LastVerdictRecord } from './last-verdict.ts';
import { SpreadRecord } from './spread.ts';
import { CandidateStore } from './recheck/candidate-store.ts';
import { SHELVES } from './pass/buckets.ts';
import { ChunkFile, endOf, type Chunk } from './pass/chunk-file.ts';
import type { EntryChunk } from './pass/entry-chunks.ts';
import type { ReadPart } from '../cosmos/feed/fenced-pass.ts';
import type { SideName } from '../cosmos/side.ts';

/** The spec and the containers that a comparison is about. */
export interface Subject {
  readonly fingerprint: string;
  readonly sourceRid: string;
  readonly targetRid: string;
  /** The default TTL of the target; null: it is off, or expiry is not compared. */
  readonly targetTtl: number | null;
}

export interface Begun extends Subject {
  readonly beganAtMs: number;
  /** `all`: every document is compared. `changes`: only documents that changed since the last clean comparison. */
  readonly extent: 'all' | 'changes';
  /** Whether the differences that an earlier comparison found were repaired before this comparison began. */
  readonly isAfterRepair: boolean;
  /**
   * `reading`: the sides are being read. `listed`: both were read, and every document that may differ is a candidate.
   * `done`: the comparison has its verdict.
   */
  readonly stage: 'reading' | 'listed' | 'done';
  /** When the candidates were listed; null: not listed yet, or the time is not known. */
  readonly listedAtMs: number | null;
  /** How long it takes to read both sides; null: not known. */
  readonly readMs: number | null;
  /** Whether documents with a property that feeds hide are among the candidates (recheck/hidden-properties.ts). */
  readonly knowsHidden: boolean;
}

/** The state of one side between two pages. All fields are written in one transaction, so they always agree. */
export interface Checkpoint extends Omit<Sums, 'repeated'> {
  readonly parts: readonly ReadPart[];
  /** The entries added since the last checkpoint (pass/entry-chunks.ts). */
  readonly entries: Uint32Array;
}

/** The sums of one side. */
export interface Sums {
  readonly buckets: Buffer;
  readonly refused: Readonly<Record<string, number>>;
  readonly longIntegers: number;
  /**
   * How many documents were read twice and so count twice in the buckets. Not known until the candidates are listed.
   */
  readonly repeated: number;
}

/** What is known when all candidates are listed. */
export interface Listed {
  readonly nowMs: number;
  /** How long it takes to read both sides; null: not known. */
  readonly readMs: number | null;
  readonly knowsHidden: boolean;
  /** The documents that the ledger counts, and that the pass has found on neither side. */
  readonly absent: readonly Buffer[];
}

/**
 * Returns the moment after which nothing that a comparison has read was read: what was written later may be missing in it.
 */
export function comparedFromMs(proof: Pick<Proof, 'atMs' | 'details'>): number {
  return proof.atMs - (readMsOf(proof) ?? 0);
}

/** Returns how long the last comparison of all documents took to read both sides; null: not known. */
export function readMsOf({ details }: Pick<Proof, 'details'>): number | null {
  const readMs = memberOf(JSON.parse(details), 'readMs');
  return typeof readMs === 'number' ? readMs : null;
}

/** A small cache is enough: the file has a few rows and the sums of two sides. */
const CACHE_KIB = 1024;

/** What the command does when the file was damaged and is deleted. */
const THEN = 'verify then compares from the beginning';
/** The words for the process that holds the lock of the file. */
const HOLDER = {
  what: 'another cosmig verify is running',
  holder: 'it, or a cosmig cutover that compares by itself,',
};

/** Returns the path of the verify file of a ledger. */
export function verifyPath(ledger: string): string {
  return `${realPath(ledger)}-verify`;
}

export class VerifyStore {
  readonly candidates: CandidateStore;
  readonly progress: ProgressRecord;
  readonly spread: SpreadRecord;
  readonly verdict: LastVerdictRecord;
  readonly #proof: ProofRecord;
  readonly #database: Database;
  /** The lock to release at the end; undefined: the caller holds the lock, for longer than the store is open. */
  readonly #lock: MoverLock | undefined;
  readonly #transactions: Transactions;
  #mark: ChangeMark | undefined;
  readonly #chunks: ChunkFile;
  readonly #sql;
  /** The offset in the chunk file at which the next chunk is written. */
  #chunksEnd: number;

  private constructor(database: Database, lock: MoverLock | undefined) {
    this.#database = database;
    this.#lock = lock;
    this.#transactions = new Transactions(database, () => this.#mark?.raise(changeCount(database)));
    this.candidates = new CandidateStore(database, this.#transactions);
    this.progress = new ProgressRecord(database, this.#transactions);
    this.spread = new SpreadRecord(database, this.#transactions);
    this.verdict = new LastVerdictRecord(database, this.#transactions);
    this.#proof = new ProofRecord(database);
    this.#sql = {
      begun: database.prepare<[], Columns>('SELECT * FROM comparison'),
      begin: database.prepare(
        `INSERT INTO comparison
           (id, fingerprint, source_rid, target_rid, target_ttl, started_at_ms, stage, extent, is_after_repair)
         VALUES (1, @fingerprint, @sourceRid, @targetRid, @targetTtl, @beganAtMs, 'reading', @extent, @isAfterRepair)`,
      ),
      stage: database.prepare('UPDATE comparison SET stage = ?'),
      listed: database.prepare(
        `UPDATE comparison SET stage = 'listed', listed_at_ms = @nowMs, read_ms = @readMs,
           knows_hidden = @knowsHidden`,
      ),
      parts: database.prepare<[string], Columns>('SELECT * FROM parts WHERE side = ? ORDER BY min'),
      dropParts: database.prepare('DELETE FROM parts WHERE side = ?'),
      addPart: database.prepare(
        `INSERT INTO parts (side, min, max, range_id, position, fence_lsn, is_done, documents, counted_with)
         VALUES (@side, @min, @max, @rangeId, @position, @fenceLsn, @isDone, @documents, @countedWith)`,
      ),
      sums: database.prepare<[string], Columns>('SELECT * FROM sums WHERE side = ?'),
      setSums: database.prepare(
        `INSERT INTO sums (side, buckets, refused, long_integers) VALUES (@side, @buckets, @refused, @longIntegers)
         ON CONFLICT (side) DO UPDATE SET buckets = @buckets, refused = @refused, long_integers = @longIntegers`,
      ),
      setRepeated: database.prepare('UPDATE sums SET repeated = ? WHERE side = ?'),
      addChunk: database.prepare('INSERT INTO chunks (side, start, shelf_ends) VALUES (?, ?, ?)'),
      chunk: database.prepare<[string, number], Columns>(
        'SELECT * FROM chunks WHERE side = ? AND number > ? ORDER BY number LIMIT 1',
      ),
      lastChunk: database.prepare<[], Columns>('SELECT * FROM chunks ORDER BY number DESC LIMIT 1'),
    };
    this.#chunks = new ChunkFile(`${database.name}-runs`);
    const last = this.#sql.lastChunk.get();
    this.#chunksEnd = last === undefined ? 0 : endOf(chunkIn(last));
  }

  /** Takes the lock that keeps other processes from comparing; refuses if another process compares already. */
  static hold(path: string): MoverLock {
    return MoverLock.takeFor(path, HOLDER);
  }

  /**
   * Opens the verify file; refuses if another process compares. `moverLock` is the lock, if the caller has taken it already.
   */
  static open(path: string, moverLock?: MoverLock): VerifyStore {
    refuseForeignFile(path, 'verify');
    const lock = moverLock === undefined ? MoverLock.takeFor(path, HOLDER) : undefined;
    let database: Database | undefined;
    try {
      database = withDatabaseErrors(openDatabase({ path, cacheKib: CACHE_KIB }));
      openTables(database, 'verify');
      const store = new VerifyStore(database, lock);
      store.#mark = ChangeMark.open(path, database);
      if (store.#mark.isAhead) store.#startAgain();
      return store;
    } catch (error) {
      database?.close();
      lock?.release();
      throw asErrorOfReplaceable(error, path, THEN);
    }
  }

  /** Returns whether a process holds the lock, that is, compares now. */
  static isInUse(path: string): boolean {
    return MoverLock.isHeld(path);
  }

  /** Returns the last clean comparison. Needs no lock, so it can be called while another process compares. */
  static lastProof(path: string): Proof | null {
    if (!existsSync(path)) return null;
    refuseForeignFile(path, 'verify');
    // The mark is read before the file: a process that compares now changes the file first, so its mark is not ahead.
    const mark = ChangeMark.read(path);
    const database = openToRead(path);
    try {
      // The table is missing if a process was killed while it created the file.
      const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'proofs'").all();
      if (tables.length === 0) return null;
      checkRows(database, ['proofs']);
      return mark !== null && isAhead(mark, database)
        ? null
        : proofIn(database.prepare<[], Columns>(LAST_PROOF).get());
    } catch (error) {
      throw asErrorOfReplaceable(error, path, THEN);
    } finally {
      database.close();
    }
  }

  /** Returns the comparison that was started last; null: none. */
  begun(): Begun | null {
    const row = this.#sql.begun.get();
    if (row === undefined) return null;
    return {
      fingerprint: text(row, 'fingerprint'),
      sourceRid: text(row, 'source_rid'),
      targetRid: text(row, 'target_rid'),
      targetTtl: orNull(row, 'target_ttl', number),
      beganAtMs: number(row, 'started_at_ms'),
      extent: oneOf(row, 'extent', ['all', 'changes'] as const),
      isAfterRepair: number(row, 'is_after_repair') === 1,
      knowsHidden: number(row, 'knows_hidden') === 1,
      stage: oneOf(row, 'stage', ['reading', 'listed', 'done'] as const),
      listedAtMs: orNull(row, 'listed_at_ms', number),
      readMs: orNull(row, 'read_ms', number),
    };
  }

  /** Discards the current comparison and starts a new one. */
  begin(subject: Omit<Begun, 'stage' | 'listedAtMs' | 'readMs' | 'knowsHidden'>): void {
    this.#transactions.run(() => {
      this.#forget();
      this.#sql.begin.run({ ...subject, isAfterRepair: Number(subject.isAfterRepair) });
    });
    this.#dropChunks();
  }

  /**
   * Marks the comparison as done, and replaces the last proof if a new one is given. The candidates stay in the file
   * until the next comparison starts.
   */
  end(proof?: Proof): void {
    this.#transactions.durable(() => {
      if (proof !== undefined) this.#proof.replace(proof, this.begun()?.extent ?? 'all');
      this.#sql.stage.run('done');
    });
  }

  /** Marks the comparison as done and deletes the last proof: the differences that were found make it void. */
  disprove(): void {
    this.#transactions.durable(() => {
      this.#proof.drop();
      this.#sql.stage.run('done');
    });
  }

  /** Makes the confirmed candidates open again, so that the next run checks only these. Called after a repair. */
  reopen(): void {
    this.#transactions.durable(() => {
      this.candidates.reopen();
      this.#sql.stage.run('listed');
    });
  }

  parts(side: SideName): ReadPart[] {
    return this.#sql.parts.all(side).map((row) => ({
      min: text(row, 'min'),
      max: text(row, 'max'),
      rangeId: text(row, 'range_id'),
      position: orNull(row, 'position', text),
      fenceLsn: number(row, 'fence_lsn'),
      isDone: number(row, 'is_done') === 1,
      documents: number(row, 'documents'),
      countedWith: orNull(row, 'counted_with', text),
    }));
  }

  sums(side: SideName): Sums | undefined {
    const row = this.#sql.sums.get(side);
    if (row === undefined) return undefined;
    const counts: unknown = json(row, 'refused');
    const entries = Object.entries(counts ?? {}).map(([reason, count]) => [reason, Number(count)] as const);
    return {
      buckets: bytes(row, 'buckets'),
      refused: Object.fromEntries(entries),
      longIntegers: number(row, 'long_integers'),
      repeated: number(row, 'repeated'),
    };
  }

  checkpoint(side: SideName, { parts, buckets, refused, longIntegers, entries }: Checkpoint): void {
    // If the transaction below fails, the next chunk overwrites this one.
    const chunk = entries.length === 0 ? undefined : this.#chunks.write(this.#chunksEnd, entries);
    this.#transactions.run(() => {
      this.#sql.dropParts.run(side);
      for (const part of parts)
        this.#sql.addPart.run({
          ...part,
          side,
          isDone: part.isDone ? 1 : 0,
          countedWith: part.countedWith ?? null,
        });
      this.#sql.setSums.run({ side, buckets, refused: JSON.stringify(refused), longIntegers });
      if (chunk !== undefined) this.#sql.addChunk.run(side, chunk.start, Buffer.from(chunk.ends.buffer));
    });
    if (chunk !== undefined) this.#chunksEnd = endOf(chunk);
  }

  /** Yields the entries of a shelf, chunk by chunk. Each chunk is valid until the next one is read. */
  *entries(side: SideName, shelf: number): Generator<EntryChunk> {
    for (let row = this.#sql.chunk.get(side, 0); row !== undefined;) {
      yield this.#chunks.read(chunkIn(row), shelf);
      row = this.#sql.chunk.get(side, number(row, 'number'));
    }
  }

  /** Records that all candidates are listed, and deletes the entries, which are no longer needed. */
  listed(repeated: Readonly<Record<SideName, number>>, { knowsHidden, absent, ...at }: Listed): void {
    this.#transactions.durable(() => {
      for (const side of ['source', 'target'] as const) this.#sql.setRepeated.run(repeated[side], side);
      this.#database.exec('DELETE FROM chunks');
      this.#proof.note(absent);
      this.#sql.listed.run({ ...at, knowsHidden: Number(knowsHidden) });
    });
    this.#dropChunks();
  }

  /** Returns the last clean comparison. */
  proof(): Proof | null {
    return this.#proof.last();
  }

  /** Returns the documents that the ledger counts, and that the last clean comparison has found on neither side. */
  absent(): readonly Buffer[] {
    return this.#proof.absent();
  }

  [Symbol.dispose](): void {
    try {
      this.#chunks.close();
      this.#database.close();
      this.#mark?.close();
    } finally {
      this.#lock?.release();
    }
  }

  #dropChunks(): void {
    this.#chunks.drop();
    this.#chunksEnd = 0;
  }

  /** Forgets everything: the file has lost durable changes, so a later comparison may have refuted its proof. */
  #startAgain(): void {
    this.#transactions.durable(() => {
      this.#forget();
      this.#proof.drop();
      this.#database.exec('DELETE FROM last_verdict');
    });
    this.#dropChunks();
    this.#mark?.reset(changeCount(this.#database));
  }

  #forget(): void {
    for (const table of ['comparison', 'parts', 'sums', 'chunks', 'candidates'])
      this.#database.exec(`DELETE FROM ${table}`);
    this.#proof.forget();
  }
}

function chunkIn(row: Columns): Chunk {
  const ends = Uint8Array.from(bytes(row, 'shelf_ends', 4 * SHELVES));
  return { start: number(row, 'start'), ends: new Uint32Array(ends.buffer) };
}
