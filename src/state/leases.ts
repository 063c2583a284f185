/**
 * Owns the leases: which part of the key space was read up to which position. Invariant: the leases that are not replaced
 * cover the key space without gap or overlap, and no position is empty.
 */
import { assert, must } from '../lib/assert.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import { list, number, oneOf, orNull, text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import type { FeedName } from './rows.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';

/** Up to the anchor; again, after history was lost; behind the anchor; and replaced by others after a split or merge. */
const PHASES = ['copy', 'recopy', 'tail', 'replaced'] as const;
export type LeasePhase = (typeof PHASES)[number];

/** The whole key space, as [min, max). */
export const KEY_SPACE = { min: '', max: 'FF' } as const;

/** The end of the change feed before the copy starts, or after history was lost. */
export interface Anchor {
  readonly etag: string;
  readonly lsn: number;
  readonly session: string;
}

export interface Lease {
  readonly number: number;
  /** Leases that descend from the same range share one index. */
  readonly indexId: number;
  readonly rangeId: string;
  /** Numbers of the leases it came from. */
  readonly parents: readonly number[];
  readonly min: string;
  readonly max: string;
  readonly phase: LeasePhase;
  /** Null: from the beginning. */
  readonly lvPosition: string | null;
  /** Null: AVAD is not read. */
  readonly avadPosition: string | null;
  /** A position of LV from before AVAD was primed. Where history was lost, reading starts again from here. */
  readonly restartPosition: string | null;
  readonly anchor: Anchor | null;
  /** Deletes may have been missed, so a full comparison is due. */
  readonly sweepPending: boolean;
  /** How many documents were read. */
  readonly documents: number;
}

/** A lease before it is stored; without `indexId` it begins an index of its own. */
export type NewLease = Omit<Lease, 'number' | 'indexId' | 'documents'> & { readonly indexId?: number };

/** The move of a position to the end of a page. */
export interface Move {
  readonly lease: number;
  readonly feed: FeedName;
  /** Null: the position stays, since a part of the page belongs to the tail, which reads it again. */
  readonly position: string | null;
  /** How many documents the page had. */
  readonly documents?: number;
}

/** Changes of a lease besides the move of its position. */
export type LeaseChange = Partial<
  Pick<Lease, 'phase' | 'lvPosition' | 'avadPosition' | 'restartPosition' | 'anchor' | 'sweepPending'>
>;

export class LeaseStore {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#sql = {
      all: database.prepare<[], Columns>('SELECT * FROM leases ORDER BY number'),
      live: database.prepare<[], Columns>("SELECT * FROM leases WHERE phase <> 'replaced' ORDER BY min"),
      get: database.prepare<[number], Columns>('SELECT * FROM leases WHERE number = ?'),
      insert: database.prepare(
        `INSERT INTO leases (index_id, range_id, parents, min, max, phase, lv_position, avad_position, restart_position,
           anchor_etag, anchor_lsn, anchor_session, sweep_pending)
         VALUES (@indexId, @rangeId, @parents, @min, @max, @phase, @lvPosition, @avadPosition, @restartPosition,
           @anchorEtag, @anchorLsn, @anchorSession, @sweepPending)`,
      ),
      ownIndex: database.prepare('UPDATE leases SET index_id = number WHERE number = ?'),
      update: database.prepare(
        `UPDATE leases SET phase = @phase, lv_position = @lvPosition, avad_position = @avadPosition,
           restart_position = @restartPosition, anchor_etag = @anchorEtag, anchor_lsn = @anchorLsn,
           anchor_session = @anchorSession, sweep_pending = @sweepPending WHERE number = @number`,
      ),
      replace: database.prepare("UPDATE leases SET phase = 'replaced' WHERE number = ?"),
      moveLv: database.prepare(
        `UPDATE leases SET lv_position = coalesce(@position, lv_position), documents_read = documents_read + @documents
         WHERE number = @lease AND phase <> 'replaced'`,
      ),
      moveAvad: database.prepare(
        `UPDATE leases SET avad_position = coalesce(@position, avad_position), documents_read = documents_read + @documents
         WHERE number = @lease AND phase <> 'replaced'`,
      ),
      inFlight: database.prepare<[number], number>('SELECT count(*) FROM intents WHERE lease = ?').pluck(),
      reindex: database.prepare('UPDATE leases SET index_id = @into WHERE index_id = @indexId'),
      reindexSegments: database.prepare('UPDATE segments SET index_id = @into WHERE index_id = @indexId'),
      dropBlocks: database.prepare(
        'DELETE FROM index_blocks WHERE run IN (SELECT number FROM index_runs WHERE index_id = ?)',
      ),
      dropRuns: database.prepare('DELETE FROM index_runs WHERE index_id = ?'),
      dropBuild: database.prepare('DELETE FROM index_builds WHERE index_id = ?'),
    };
  }

  /** The leases that are read, in the order of the key space. */
  live(): Lease[] {
    return this.#transactions.read(() => this.#sql.live.all().map(parseLease));
  }

  /** Includes replaced leases. */
  all(): Lease[] {
    return this.#transactions.read(() => this.#sql.all.all().map(parseLease));
  }

  get(lease: number): Lease {
    const row = must(this.#sql.get.get(lease), `there is a lease ${lease}`);
    return parseLease(row);
  }

  /** Stores all anchored ranges before the copy starts. Durable. */
  begin(leases: readonly NewLease[]): Lease[] {
    assert(this.live().length === 0, 'a migration is anchored once');
    return this.#transactions.durable(() => {
      const numbers = leases.map((lease) => this.#insert(lease));
      this.#checkTiling();
      return numbers.map((one) => this.get(one));
    });
  }

  /** Replaces a lease by those of a split, or several by that of a merge. All that was read of them must be committed. Durable. */
  replace(parents: readonly number[], children: readonly NewLease[]): Lease[] {
    return this.#transactions.durable(() => {
      for (const parent of parents) {
        assert(this.get(parent).phase !== 'replaced', 'a lease is replaced once');
        assert(
          this.#sql.inFlight.get(parent) === 0,
          'child leases start when all pages of their parent are committed',
        );
      }
      const [indexId, ...others] = new Set(parents.map((parent) => this.get(parent).indexId));
      for (const other of others) this.#join(other, must(indexId, 'a child has a parent'));
      for (const parent of parents) this.#sql.replace.run(parent);
      const numbers = children.map((child) =>
        this.#insert({ ...child, parents, indexId: must(indexId, 'a child has a parent') }),
      );
      this.#checkTiling();
      return numbers.map((one) => this.get(one));
    });
  }

  /** Durable. */
  change(lease: number, change: LeaseChange): Lease {
    return this.#transactions.durable(() => {
      this.#sql.update.run(columnsOf({ ...this.get(lease), ...change }));
      return this.get(lease);
    });
  }

  /** Within a commit. */
  move({ lease, feed, position, documents = 0 }: Move): void {
    assert(position !== '', 'a position is never empty');
    const statement = feed === 'LV' ? this.#sql.moveLv : this.#sql.moveAvad;
    const { changes } = statement.run({ lease, position, documents });
    assert(changes === 1, `the lease ${lease} that moves is being read`);
  }

  #insert(lease: NewLease): number {
    const columns = columnsOf({ ...lease, indexId: lease.indexId ?? 0, number: 0, documents: 0 });
    const inserted = Number(this.#sql.insert.run(columns).lastInsertRowid);
    if (lease.indexId === undefined) this.#sql.ownIndex.run(inserted);
    return inserted;
  }

  /** Two indexes become one, which is built from scratch: a lookup may ask it for a document of either. */
  #join(indexId: number, into: number): void {
    for (const one of [indexId, into]) {
      this.#sql.dropBlocks.run(one);
      this.#sql.dropRuns.run(one);
      this.#sql.dropBuild.run(one);
    }
    this.#sql.reindex.run({ indexId, into });
    this.#sql.reindexSegments.run({ indexId, into });
  }

  #checkTiling(): void {
    let end: string = KEY_SPACE.min;
    for (const { min, max } of this.live()) {
      if (min !== end) throw untiled(end, min);
      end = max;
    }
    if (end !== KEY_SPACE.max) throw untiled(end, KEY_SPACE.max);
  }
}

function untiled(end: string, next: string): NotReadyError {
  return new NotReadyError('the ranges of the source leave a gap or overlap', {
    why: `one ends at "${end}" and the next begins at "${next}"`,
    hint: 'run the same command again, which reads the ranges again; nothing was changed',
  });
}

function columnsOf(lease: Lease): Columns {
  const { anchor, sweepPending, parents, ...columns } = lease;
  return {
    ...columns,
    parents: JSON.stringify(parents),
    anchorEtag: anchor?.etag ?? null,
    anchorLsn: anchor?.lsn ?? null,
    anchorSession: anchor?.session ?? null,
    sweepPending: sweepPending ? 1 : 0,
  };
}

function parseLease(row: Columns): Lease {
  const etag = orNull(row, 'anchor_etag', text);
  return {
    number: number(row, 'number'),
    indexId: number(row, 'index_id'),
    rangeId: text(row, 'range_id'),
    parents: list(row, 'parents').map(Number),
    min: text(row, 'min'),
    max: text(row, 'max'),
    phase: oneOf(row, 'phase', PHASES),
    lvPosition: orNull(row, 'lv_position', text),
    avadPosition: orNull(row, 'avad_position', text),
    restartPosition: orNull(row, 'restart_position', text),
    anchor:
      etag === null ? null : { etag, lsn: number(row, 'anchor_lsn'), session: text(row, 'anchor_session') },
    sweepPending: number(row, 'sweep_pending') === 1,
    documents: number(row, 'documents_read'),
  };
}
