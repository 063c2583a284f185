/**
 * The verify file beside the ledger: how far a comparison has come, and what earlier ones have proven. What always
 * holds: positions, sums and runs of a side change in one transaction, so that whatever ends the process, the next one
 * goes on where they agree. Whoever compares holds the file's lock.
 */
import { existsSync } from 'node:fs';
import { NotReadyError } from '../lib/errors.ts';
import { assert } from '../lib/assert.ts';
import {
  asDatabaseError,
  migrate,
  openDatabase,
  refuseForeignFile,
  withDatabaseErrors,
} from '../lib/sqlite.ts';
import type { Database } from '../lib/sqlite.ts';
import { bytes, jsonText, number, oneOf, orNull, text } from '../state/column.ts';
import type { Columns } from '../state/column.ts';
import { MoverLock } from '../state/lock.ts';
import { Transactions } from '../state/transaction.ts';
import { CandidateStore } from './recheck/candidate-store.ts';
import { SHELVES } from './pass/buckets.ts';
import { RunFile, type Chunk } from './pass/chunk-file.ts';
import type { Run } from './pass/entry-chunks.ts';
import type { SideName } from '../cosmos/side.ts';

/** Of what is being compared. */
export interface Subject {
  readonly fingerprint: string;
  readonly sourceRid: string;
  readonly targetRid: string;
}

export interface Begun extends Subject {
  readonly beganAtMs: number;
  /** `changes`: only what has changed since the last clean comparison; that says nothing about all the others. */
  readonly extent: 'all' | 'changes';
  /** What an earlier one has found was brought right before this one began. */
  readonly isAfterRepair: boolean;
  /** `listed`: both sides were read, and what may differ is among the candidates. `done`: it has its verdict. */
  readonly stage: 'reading' | 'listed' | 'done';
  /** Null: not yet, or nobody knows. */
  readonly listedAtMs: number | null;
}

/** A stretch of a side, and how far it was read. */
export interface Part {
  readonly min: string;
  readonly max: string;
  readonly rangeId: string;
  /** Null: from the beginning. */
  readonly position: string | null;
  /** Documents beyond it are left out. */
  readonly fenceLsn: number;
  readonly isDone: boolean;
  readonly documents: number;
}

/** All that belongs together of a side. */
export interface Checkpoint {
  readonly parts: readonly Part[];
  readonly buckets: Buffer;
  readonly refused: Readonly<Record<string, number>>;
  /** What was read since the last one (pass/entry-chunks.ts). */
  readonly entries: Uint32Array;
}

/** What a side has contributed, all in all. */
export interface Sums {
  readonly buckets: Buffer;
  readonly refused: Readonly<Record<string, number>>;
  /** Documents that are in the buckets once more, since they were read again; known when all is listed. */
  readonly repeated: number;
}

/** A comparison that ended clean. */
export interface Proof {
  readonly atMs: number;
  readonly fingerprint: string;
  /** JSON text. */
  readonly details: string;
}

/** It holds a few rows and the sums of two sides. */
const CACHE_KIB = 1024;

/** Where the comparisons of a migration are remembered. */
export function verifyPath(ledger: string): string {
  return `${ledger}-verify`;
}

export class VerifyStore {
  readonly candidates: CandidateStore;
  readonly #database: Database;
  /** Nothing where whoever opened it holds the lock for longer. */
  readonly #lock: MoverLock | undefined;
  readonly #transactions: Transactions;
  readonly #runs: RunFile;
  readonly #sql;
  /** Where the next chunk of runs is written. */
  #runsEnd: number;

  private constructor(database: Database, lock: MoverLock | undefined) {
    this.#database = database;
    this.#lock = lock;
    this.#transactions = new Transactions(database);
    this.candidates = new CandidateStore(database, this.#transactions);
    this.#sql = {
      begun: database.prepare<[], Columns>('SELECT * FROM comparison'),
      begin: database.prepare(
        `INSERT INTO comparison
           (id, fingerprint, source_rid, target_rid, started_at_ms, stage, extent, is_after_repair)
         VALUES (1, @fingerprint, @sourceRid, @targetRid, @beganAtMs, 'reading', @extent, @isAfterRepair)`,
      ),
      stage: database.prepare('UPDATE comparison SET stage = ?'),
      listed: database.prepare("UPDATE comparison SET stage = 'listed', listed_at_ms = ?"),
      parts: database.prepare<[string], Columns>('SELECT * FROM parts WHERE side = ? ORDER BY min'),
      dropParts: database.prepare('DELETE FROM parts WHERE side = ?'),
      addPart: database.prepare(
        `INSERT INTO parts (side, min, max, range_id, position, fence_lsn, is_done, documents)
         VALUES (@side, @min, @max, @rangeId, @position, @fenceLsn, @isDone, @documents)`,
      ),
      sums: database.prepare<[string], Columns>('SELECT buckets, refused, repeated FROM sums WHERE side = ?'),
      setSums: database.prepare(
        `INSERT INTO sums (side, buckets, refused) VALUES (@side, @buckets, @refused)
         ON CONFLICT (side) DO UPDATE SET buckets = @buckets, refused = @refused`,
      ),
      setRepeated: database.prepare('UPDATE sums SET repeated = ? WHERE side = ?'),
      addChunk: database.prepare('INSERT INTO chunks (side, start, shelf_ends) VALUES (?, ?, ?)'),
      chunk: database.prepare<[string, number], Columns>(
        'SELECT * FROM chunks WHERE side = ? AND number > ? ORDER BY number LIMIT 1',
      ),
      lastChunk: database.prepare<[], Columns>('SELECT * FROM chunks ORDER BY number DESC LIMIT 1'),
      prove: database.prepare(
        'INSERT INTO proofs (at_ms, fingerprint, details) VALUES (@atMs, @fingerprint, @details)',
      ),
      disprove: database.prepare('DELETE FROM proofs'),
      proof: database.prepare<[], Columns>(LAST_PROOF),
    };
    this.#runs = new RunFile(`${database.name}-runs`);
    const last = this.#sql.lastChunk.get();
    this.#runsEnd = last === undefined ? 0 : endOf(chunkIn(last));
  }

  /** Nobody else compares until it is released; refuses when somebody does. */
  static hold(path: string): MoverLock {
    return takeLock(path);
  }

  /** Refuses when somebody else compares with it; `held` is the lock of whoever holds it already. */
  static open(path: string, held?: MoverLock): VerifyStore {
    refuseForeignFile(path, 'verify');
    const lock = held === undefined ? takeLock(path) : undefined;
    let database: Database | undefined;
    try {
      database = withDatabaseErrors(openDatabase({ path, cacheKib: CACHE_KIB }));
      migrate(database, 'verify');
      return new VerifyStore(database, lock);
    } catch (error) {
      database?.close();
      lock?.release();
      throw asDatabaseError(error, path);
    }
  }

  /** Whether somebody compares with it now. */
  static isAtWork(path: string): boolean {
    return MoverLock.isHeld(path);
  }

  /** What the last clean comparison has proven, for those who only look: without the lock, also while one is at work. */
  static lastProof(path: string): Proof | null {
    if (!existsSync(path)) return null;
    refuseForeignFile(path, 'verify');
    const database = openDatabase({ path, readonly: true });
    try {
      // One that was killed while it made the file has proven nothing.
      const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'proofs'").all();
      return tables.length === 0 ? null : proofIn(database.prepare<[], Columns>(LAST_PROOF).get());
    } catch (error) {
      throw asDatabaseError(error, path);
    } finally {
      database.close();
    }
  }

  /** The comparison that was begun, if there is one. */
  begun(): Begun | null {
    const row = this.#sql.begun.get();
    if (row === undefined) return null;
    return {
      fingerprint: text(row, 'fingerprint'),
      sourceRid: text(row, 'source_rid'),
      targetRid: text(row, 'target_rid'),
      beganAtMs: number(row, 'started_at_ms'),
      extent: oneOf(row, 'extent', ['all', 'changes'] as const),
      isAfterRepair: number(row, 'is_after_repair') === 1,
      stage: oneOf(row, 'stage', ['reading', 'listed', 'done'] as const),
      listedAtMs: orNull(row, 'listed_at_ms', number),
    };
  }

  /** Forgets what was begun, and begins anew. */
  begin(subject: Omit<Begun, 'stage' | 'listedAtMs'>): void {
    this.#transactions.run(() => {
      this.#forget();
      this.#sql.begin.run({ ...subject, isAfterRepair: Number(subject.isAfterRepair) });
    });
    this.#dropRuns();
  }

  /** The comparison has its verdict; what was found stays until the next one begins. Of proofs the last one counts, and is kept. */
  end(proof?: Proof): void {
    this.#transactions.durable(() => {
      if (proof !== undefined) {
        this.#sql.disprove.run();
        this.#sql.prove.run(proof);
      }
      this.#sql.stage.run('done');
    });
  }

  /** It has ended with differences: what was proven before is not so any more. */
  disprove(): void {
    this.#transactions.durable(() => {
      this.#sql.disprove.run();
      this.#sql.stage.run('done');
    });
  }

  /** What was found to differ was brought right since: it is to be looked at once more, and nothing else. */
  reopen(): void {
    this.#transactions.durable(() => {
      this.candidates.reopen();
      this.#sql.stage.run('listed');
    });
  }

  parts(side: SideName): Part[] {
    return this.#sql.parts.all(side).map((row) => ({
      min: text(row, 'min'),
      max: text(row, 'max'),
      rangeId: text(row, 'range_id'),
      position: orNull(row, 'position', text),
      fenceLsn: number(row, 'fence_lsn'),
      isDone: number(row, 'is_done') === 1,
      documents: number(row, 'documents'),
    }));
  }

  sums(side: SideName): Sums | undefined {
    const row = this.#sql.sums.get(side);
    if (row === undefined) return undefined;
    const counts: unknown = JSON.parse(jsonText(row, 'refused'));
    const entries = Object.entries(counts ?? {}).map(([reason, count]) => [reason, Number(count)] as const);
    return {
      buckets: bytes(row, 'buckets'),
      refused: Object.fromEntries(entries),
      repeated: number(row, 'repeated'),
    };
  }

  checkpoint(side: SideName, { parts, buckets, refused, entries }: Checkpoint): void {
    // What is written and then not committed is written over.
    const chunk = entries.length === 0 ? undefined : this.#runs.write(this.#runsEnd, entries);
    this.#transactions.run(() => {
      this.#sql.dropParts.run(side);
      for (const part of parts) this.#sql.addPart.run({ ...part, side, isDone: part.isDone ? 1 : 0 });
      this.#sql.setSums.run({ side, buckets, refused: JSON.stringify(refused) });
      if (chunk !== undefined) this.#sql.addChunk.run(side, chunk.start, Buffer.from(chunk.ends.buffer));
    });
    if (chunk !== undefined) this.#runsEnd = endOf(chunk);
  }

  /** The entries of a shelf, run by run; each stands until the next one. */
  *runs(side: SideName, shelf: number): Generator<Run> {
    for (let row = this.#sql.chunk.get(side, 0); row !== undefined;) {
      yield this.#runs.read(chunkIn(row), shelf);
      row = this.#sql.chunk.get(side, number(row, 'number'));
    }
  }

  /** Everything was listed: the runs have done their work. */
  listed(repeated: Readonly<Record<SideName, number>>, nowMs: number): void {
    this.#transactions.durable(() => {
      for (const side of ['source', 'target'] as const) this.#sql.setRepeated.run(repeated[side], side);
      this.#database.exec('DELETE FROM chunks');
      this.#sql.listed.run(nowMs);
    });
    this.#dropRuns();
  }

  /** What the last clean comparison has proven. */
  proof(): Proof | null {
    return proofIn(this.#sql.proof.get());
  }

  [Symbol.dispose](): void {
    try {
      this.#runs.close();
      this.#database.close();
    } finally {
      this.#lock?.release();
    }
  }

  #dropRuns(): void {
    this.#runs.drop();
    this.#runsEnd = 0;
  }

  #forget(): void {
    for (const table of ['comparison', 'parts', 'sums', 'chunks', 'candidates'])
      this.#database.exec(`DELETE FROM ${table}`);
  }
}

const LAST_PROOF = 'SELECT * FROM proofs ORDER BY number DESC LIMIT 1';

function proofIn(row: Columns | undefined): Proof | null {
  if (row === undefined) return null;
  return {
    atMs: number(row, 'at_ms'),
    fingerprint: text(row, 'fingerprint'),
    details: jsonText(row, 'details'),
  };
}

function takeLock(path: string): MoverLock {
  try {
    return MoverLock.take(path);
  } catch (error) {
    if (!(error instanceof NotReadyError)) throw error;
    throw new NotReadyError('another cosmig verify is at work', {
      why: `it, or a cosmig cutover that compares by itself, holds ${path}`,
      hint: 'wait for it to end or stop it, then run the same command again',
      cause: error,
    });
  }
}

function chunkIn(row: Columns): Chunk {
  const ends = Uint8Array.from(bytes(row, 'shelf_ends', 4 * SHELVES));
  return { start: number(row, 'start'), ends: new Uint32Array(ends.buffer) };
}

function endOf({ start, ends }: Chunk): number {
  const size = ends.at(-1);
  assert(size !== undefined, 'a chunk has all shelves');
  return start + size;
}
