/**
 * Owns what the commit of a cutover leaves for the next turn, in which the data moves in the other direction: where to
 * read the container that is now in use, and where the other one ended. Invariant: the record is written by the
 * transaction that commits the cutover. So there is never a moment in which both directions, or neither, may move data.
 */
import type { Database } from '../../lib/sqlite/sqlite.ts';
import { jsonText, number, oneOf, orNull, type Columns } from '../../lib/sqlite/column.ts';
import { checksumOf, refuseChanged } from '../../lib/sqlite/table-sums.ts';
import type { Transactions } from '../../lib/sqlite/transaction.ts';
import type { NewLease } from '../leases.ts';
import { DELETE_MODES, type DeleteMode } from '../migration.ts';

/** Where reading of one range begins: the part of a lease that anchors know. */
export type AnchoredRange = Pick<NewLease, 'rangeId' | 'min' | 'max' | 'avadPosition' | 'restartPosition'> & {
  readonly anchor: NonNullable<NewLease['anchor']>;
};

/** Where one range of the container that is no longer in use ended. */
export interface ClosedEnd {
  readonly rangeId: string;
  readonly min: string;
  readonly max: string;
  readonly lsn: number | null;
  /** The position in the latest-version feed; null if only the feed of all versions is read. */
  readonly lv: string | null;
  readonly avad: string | null;
}

/** What a commit leaves for the next turn. */
export interface NextTurn {
  readonly number: number;
  readonly deletes: DeleteMode;
  readonly keptUntilMs: number;
  /** The default time to live that the other container had, which is paused while it is kept; null: it had none. */
  readonly pausedTtl: number | null;
  readonly anchors: readonly AnchoredRange[];
  readonly closedEnds: readonly ClosedEnd[];
}

/** The record as it is stored. `begunAtMs`: when the ledger of the next turn had begun; null if it has not. */
export type StoredTurn = NextTurn & {
  readonly begunAtMs: number | null;
  /** When the operator gave the way back up; null: it is open. */
  readonly endedAtMs: number | null;
};

export class NextTurnStore {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#sql = {
      get: database.prepare<[], Columns>('SELECT * FROM next_turn'),
      put: database.prepare(
        `INSERT INTO next_turn (number, delete_mode, kept_until_ms, paused_ttl, anchors, closed_ends, begun_at_ms, ended_at_ms, checksum)
         VALUES (@number, @deletes, @keptUntilMs, @pausedTtl, @anchors, @closedEnds, @begunAtMs, @endedAtMs, @checksum)
         ON CONFLICT (number) DO UPDATE SET begun_at_ms = @begunAtMs, ended_at_ms = @endedAtMs, checksum = @checksum`,
      ),
    };
  }

  /** Returns what the commit has left; null before a commit, and if no way back was wanted. */
  read(): StoredTurn | null {
    const row = this.#transactions.read(() => this.#sql.get.get());
    if (row === undefined) return null;
    const columns = {
      number: number(row, 'number'),
      deletes: oneOf(row, 'delete_mode', DELETE_MODES),
      keptUntilMs: number(row, 'kept_until_ms'),
      pausedTtl: orNull(row, 'paused_ttl', number),
      anchors: jsonText(row, 'anchors'),
      closedEnds: jsonText(row, 'closed_ends'),
      begunAtMs: orNull(row, 'begun_at_ms', number),
      endedAtMs: orNull(row, 'ended_at_ms', number),
    };
    refuseChanged(number(row, 'checksum'), ...Object.values(columns));
    return {
      ...columns,
      anchors: JSON.parse(columns.anchors) as AnchoredRange[],
      closedEnds: JSON.parse(columns.closedEnds) as ClosedEnd[],
    };
  }

  /** Stores the record. Called inside the transaction that commits the cutover; opens none. */
  leave(next: NextTurn): void {
    this.#put({ ...next, begunAtMs: null, endedAtMs: null });
  }

  /** Records that the ledger of the next turn has begun, so that its loss is noticed. Durable. */
  begin(next: StoredTurn, nowMs: number): void {
    this.#transactions.durable(() => this.#put({ ...next, begunAtMs: nowMs }));
  }

  /** Records that the operator has given the way back up. Durable. */
  end(next: StoredTurn, nowMs: number): void {
    this.#transactions.durable(() => this.#put({ ...next, endedAtMs: nowMs }));
  }

  #put({ number: turn, deletes, keptUntilMs, pausedTtl, begunAtMs, endedAtMs, ...lists }: StoredTurn): void {
    const [anchors, closedEnds] = [JSON.stringify(lists.anchors), JSON.stringify(lists.closedEnds)];
    const columns = {
      number: turn,
      deletes,
      keptUntilMs,
      pausedTtl,
      anchors,
      closedEnds,
      begunAtMs,
      endedAtMs,
    };
    this.#sql.put.run({ ...columns, checksum: checksumOf(...Object.values(columns)) });
  }
}
