/**
 * The last clean comparison, and the documents that it has found on neither side although the ledger counts them (absent
 * documents). Invariant: a proof and its absent documents change in one transaction. Each of these documents was unseen by a
 * comparison of all documents, and by every comparison of changes since that became the proof. All methods that write are
 * called inside a transaction of the store; they open none.
 */
import type { Database } from '../lib/sqlite/sqlite.ts';
import { bytes, jsonText, number, text, type Columns } from '../lib/sqlite/column.ts';

/** The record of a comparison that found no difference. */
export interface Proof {
  readonly atMs: number;
  readonly fingerprint: string;
  /** The details of the verdict as JSON text, for the report and for a later comparison of changes. */
  readonly details: string;
}

export class ProofRecord {
  readonly #sql;

  constructor(database: Database) {
    this.#sql = {
      put: database.prepare(
        'INSERT INTO proofs (at_ms, fingerprint, details) VALUES (@atMs, @fingerprint, @details)',
      ),
      drop: database.prepare('DELETE FROM proofs'),
      last: database.prepare<[], Columns>(LAST_PROOF),
      note: database.prepare('INSERT INTO absent (is_proven, identity) VALUES (0, ?)'),
      forget: database.prepare('DELETE FROM absent WHERE is_proven = 0'),
      keep: database.prepare(
        'INSERT INTO absent (is_proven, identity) SELECT 1, identity FROM absent WHERE is_proven = 0',
      ),
      dropAbsent: database.prepare('DELETE FROM absent WHERE is_proven = 1'),
      dropSeen: database.prepare(
        'DELETE FROM absent WHERE is_proven = 1 AND identity IN (SELECT identity FROM candidates)',
      ),
      absent: database.prepare<[], Columns>('SELECT identity FROM absent WHERE is_proven = 1'),
    };
  }

  last(): Proof | null {
    return proofIn(this.#sql.last.get());
  }

  /**
   * Replaces the last proof. A comparison of all documents brings its own absent documents. One of changes has made each
   * document that it has seen a candidate; of the absent ones, only those that it has not seen stay.
   */
  replace(proof: Proof, extent: 'all' | 'changes'): void {
    this.#sql.drop.run();
    this.#sql.put.run(proof);
    if (extent === 'changes') this.#sql.dropSeen.run();
    else {
      this.#sql.dropAbsent.run();
      this.#sql.keep.run();
    }
  }

  drop(): void {
    this.#sql.drop.run();
    this.#sql.dropAbsent.run();
  }

  /** Records the absent documents of the comparison in progress. */
  note(absent: readonly Buffer[]): void {
    this.#sql.forget.run();
    for (const identity of absent) this.#sql.note.run(identity);
  }

  /** Forgets the comparison in progress. */
  forget(): void {
    this.#sql.forget.run();
  }

  /** Returns the absent documents of the last proof. */
  absent(): Buffer[] {
    return this.#sql.absent.all().map((row) => bytes(row, 'identity', 16));
  }
}

/** The query of the last proof, also for a reader that has no record. */
export const LAST_PROOF = 'SELECT * FROM proofs ORDER BY number DESC LIMIT 1';

export function proofIn(row: Columns | undefined): Proof | null {
  if (row === undefined) return null;
  return {
    atMs: number(row, 'at_ms'),
    fingerprint: text(row, 'fingerprint'),
    details: jsonText(row, 'details'),
  };
}
