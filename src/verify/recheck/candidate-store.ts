/**
 * Owns the candidates: documents that may differ, with the target keys to look under and the result of the last check. They
 * are kept on disk, so their number is not bounded by memory.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { bytes, jsonText, number, oneOf, orNull, text } from '../../lib/sqlite/column.ts';
import type { Columns } from '../../lib/sqlite/column.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';
import { KINDS, type Kind } from '../verdict.ts';

const STATES = ['open', 'equal', 'letter', 'waived', 'expired', 'confirmed'] as const;
/** open: it differs, and may be in flight. letter, waived: an open or a discarded dead letter explains it. */
export type CandidateState = (typeof STATES)[number];

/** JSON texts; null: the document has no such value. */
type Levels = readonly (string | null)[];

export interface CandidateName {
  readonly id: string;
  readonly sourceKey: Levels;
  /** Every target key under which it may be stored. */
  readonly targetKeys: readonly Levels[];
}

export interface Candidate {
  readonly identity: Buffer;
  readonly name: CandidateName;
  readonly state: CandidateState;
  readonly kind: Kind | null;
  /** What the last check saw on both sides, as a text that changes when it does. */
  readonly seen: string | null;
  /** The source's LSN when `seen` was first seen. */
  readonly fenceLsn: number | null;
  /** When it was first seen to differ. */
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

  /** Ignores documents that are listed already, as after a crash. */
  add(candidates: Iterable<{ readonly identity: Buffer; readonly name: CandidateName }>): void {
    this.#transactions.run(() => {
      for (const { identity, name } of candidates)
        this.#sql.add.run({ identity, name: JSON.stringify(name) });
    });
  }

  list(window: {
    readonly state: CandidateState;
    readonly after: Buffer;
    readonly limit: number;
  }): Candidate[] {
    return this.#sql.list.all(window).map(parse);
  }

  /** All in a state, read in pages. */
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

  /** Checks confirmed differences again, from scratch. */
  reopen(): void {
    this.#sql.reopen.run();
  }

  /** When the oldest open candidate was first seen to differ. */
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
    // Written by `add` and `set` only.
    name: JSON.parse(jsonText(row, 'name')) as CandidateName,
    state: oneOf(row, 'state', STATES),
    kind: orNull(row, 'kind', kindIn),
    seen: orNull(row, 'seen', text),
    fenceLsn: orNull(row, 'fence_lsn', number),
    sinceMs: orNull(row, 'since_ms', number),
  };
}
