/**
 * Owns the candidates: the documents that may differ, each with the target keys under which to look for it, and with
 * the result of its last check. Candidates are kept on disk, so their number is not limited by memory.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { bytes, json, number, oneOf, orNull, text } from '../../lib/sqlite/column.ts';
import type { Columns } from '../../lib/sqlite/column.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';
import { KINDS, type Kind } from '../verdict.ts';

const STATES = ['open', 'equal', 'letter', 'waived', 'expired', 'confirmed'] as const;
/**
 * `open`: not decided; the document may be in flight. `equal`: both sides agree. `letter`: an open dead letter explains
 * the difference. `waived`: a discarded dead letter explains it. `expired`: the document's expiry explains it.
 * `confirmed`: the document differs.
 */
export type CandidateState = (typeof STATES)[number];

/** The levels of a key as JSON texts; null: the document has no value at this level. */
type Levels = readonly (string | null)[];

export interface CandidateName {
  readonly id: string;
  readonly sourceKey: Levels;
  /** Every target key under which the document may be stored. */
  readonly targetKeys: readonly Levels[];
}

export interface Candidate {
  readonly identity: Buffer;
  readonly name: CandidateName;
  readonly state: CandidateState;
  readonly kind: Kind | null;
  /** What the last check saw on both sides, as a text that changes whenever a side changes; null: not checked yet. */
  readonly seen: string | null;
  /** The LSN of the source when a check first returned `seen`. */
  readonly fenceLsn: number | null;
  /** When the document was first found to differ. */
  readonly sinceMs: number | null;
}

export class CandidateStore {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#sql = {
      add: database.prepare(
        "INSERT INTO candidates (identity, name, state) VALUES (@identity, @name, 'open') ON CONFLICT DO NOTHING",
      ),
      list: database.prepare<[{ state: string; after: Buffer; limit: number }], Columns>(
        'SELECT * FROM candidates WHERE state = @state AND identity > @after ORDER BY identity LIMIT @limit',
      ),
      has: database.prepare<[Buffer], number>('SELECT 1 FROM candidates WHERE identity = ?').pluck(),
      set: database.prepare(
        `UPDATE candidates SET name = @name, state = @state, kind = @kind, seen = @seen, fence_lsn = @fenceLsn,
           since_ms = @sinceMs WHERE identity = @identity`,
      ),
      reopen: database.prepare(
        "UPDATE candidates SET state = 'open', seen = NULL, fence_lsn = NULL WHERE state = 'confirmed'",
      ),
      counts: database.prepare<[], Columns>(
        'SELECT state, kind, count(*) AS documents FROM candidates GROUP BY state, kind',
      ),
      oldest: database
        .prepare<[], number | null>("SELECT min(since_ms) FROM candidates WHERE state = 'open'")
        .pluck(),
    };
  }

  /**
   * Adds open candidates. Ignores documents that are candidates already, as after a crash in the middle of the list.
   */
  add(candidates: Iterable<{ readonly identity: Buffer; readonly name: CandidateName }>): void {
    this.#transactions.run(() => {
      for (const { identity, name } of candidates)
        this.#sql.add.run({ identity, name: JSON.stringify(name) });
    });
  }

  has(identity: Buffer): boolean {
    return this.#sql.has.get(identity) !== undefined;
  }

  list(window: {
    readonly state: CandidateState;
    readonly after: Buffer;
    readonly limit: number;
  }): Candidate[] {
    return this.#sql.list.all(window).map(parse);
  }

  /** Yields all candidates in a state; reads a limited number at a time. */
  *all(state: CandidateState): Generator<Candidate> {
    const limit = 1000;
    for (let after: Buffer = Buffer.alloc(0); ;) {
      const some = this.list({ state, after, limit });
      yield* some;
      const last = some.at(-1);
      if (last === undefined) return;
      after = last.identity;
    }
  }

  set(candidates: Iterable<Candidate>): void {
    this.#transactions.run(() => {
      for (const { name, ...candidate } of candidates)
        this.#sql.set.run({ ...candidate, name: JSON.stringify(name) });
    });
  }

  counts(): ReadonlyArray<{
    readonly state: CandidateState;
    readonly kind: Kind | null;
    readonly documents: number;
  }> {
    return this.#sql.counts.all().map((row) => ({
      state: oneOf(row, 'state', STATES),
      kind: orNull(row, 'kind', kindIn),
      documents: number(row, 'documents'),
    }));
  }

  openCount(): number {
    return this.counts()
      .filter(({ state }) => state === 'open')
      .reduce((sum, { documents }) => sum + documents, 0);
  }

  /** Makes confirmed candidates open again, as if they had not been checked. */
  reopen(): void {
    this.#sql.reopen.run();
  }

  /**
   * Returns the earliest time at which a candidate that is still open was first found to differ; null: none is open.
   */
  oldestMs(): number | null {
    return this.#sql.oldest.get() ?? null;
  }
}

function kindIn(row: Columns, name: string): Kind {
  return oneOf(row, name, KINDS);
}

function parse(row: Columns): Candidate {
  return {
    identity: bytes(row, 'identity', 16),
    // Only `add` and `set` write this column, so the JSON has this type.
    name: json(row, 'name') as CandidateName,
    state: oneOf(row, 'state', STATES),
    kind: orNull(row, 'kind', kindIn),
    seen: orNull(row, 'seen', text),
    fenceLsn: orNull(row, 'fence_lsn', number),
    sinceMs: orNull(row, 'since_ms', number),
  };
}
