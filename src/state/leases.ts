/**
 * Owns the leases: up to which position each part of the key space was read. Invariant: the leases that are not replaced
 * cover the key space without gap or overlap, and no position is an empty text.
 */
import { assert, must } from '../lib/assert.ts';
import { NotReadyError } from '../lib/errors.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import { list, number, oneOf, orNull, text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import type { FeedName } from './rows.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';

/**
 * `copy`: read up to the anchor. `recopy`: read again up to a new anchor, because the source has forgotten changes.
 * `tail`: read from the anchor on. `replaced`: other leases read this part after a split or a merge.
 */
const PHASES = ['copy', 'recopy', 'tail', 'replaced'] as const;
export type LeasePhase = (typeof PHASES)[number];

/** The whole key space: `min` is included, `max` is not. */
export const KEY_SPACE = { min: '', max: 'FF' } as const;

/**
 * Where the change feed ended when the anchor was taken: before the copy started, or after the source had forgotten
 * changes.
 */
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
  /** The numbers of the leases that this lease has replaced. */
  readonly parents: readonly number[];
  readonly min: string;
  readonly max: string;
  readonly phase: LeasePhase;
  /** The position in LV; null: at the beginning. */
  readonly lvPosition: string | null;
  /** The position in AVAD; null: AVAD is not read. */
  readonly avadPosition: string | null;
  /** A position in LV from before AVAD was primed. `recopy` starts here. */
  readonly restartPosition: string | null;
  readonly anchor: Anchor | null;
  /**
   * No page of the copy came from a replica beyond this LSN; null: the copy is not complete. If a document is replaced
   * after this LSN, the copy or the tail has already seen it, unless its id is new (engine/tail/renames.ts).
   */
  readonly copiedLsn: number | null;
  /** Whether deletes or renames may have been missed, so that a full comparison is due. */
  readonly sweepPending: boolean;
  /** How often deletes or renames may have been missed since the last full comparison. */
  readonly misses: number;
  /** How many documents the lease has read. */
  readonly documents: number;
}

/** A lease before it is stored. Without `indexId` it gets an index of its own. */
export type NewLease = Omit<Lease, 'number' | 'indexId' | 'documents' | 'misses'> & {
  readonly indexId?: number;
};

/** The move of a position to the end of a page. */
export interface Move {
  readonly lease: number;
  readonly feed: FeedName;
  /** The new position. Null: the position stays, because the tail reads a part of the page again. */
  readonly position: string | null;
  /** How many documents the page had. */
  readonly documents?: number;
  /**
   * Whether the page has deletes or renames without the identity of the document. Their copies stay in the target until
   * a full comparison finds them.
   */
  readonly misses?: boolean;
}

/** Changes of a lease other than the move of its position by a commit. */
export type LeaseChange = Partial<
  Pick<
    Lease,
    'phase' | 'lvPosition' | 'avadPosition' | 'restartPosition' | 'anchor' | 'copiedLsn' | 'sweepPending'
  >
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
           anchor_etag, anchor_lsn, anchor_session, copied_lsn, sweep_pending)
         VALUES (@indexId, @rangeId, @parents, @min, @max, @phase, @lvPosition, @avadPosition, @restartPosition,
           @anchorEtag, @anchorLsn, @anchorSession, @copiedLsn, @sweepPending)`,
      ),
      ownIndex: database.prepare('UPDATE leases SET index_id = number WHERE number = ?'),
      update: database.prepare(
        `UPDATE leases SET phase = @phase, lv_position = @lvPosition, avad_position = @avadPosition,
           restart_position = @restartPosition, anchor_etag = @anchorEtag, anchor_lsn = @anchorLsn,
           anchor_session = @anchorSession, copied_lsn = @copiedLsn, sweep_pending = @sweepPending
         WHERE number = @number`,
      ),
      replace: database.prepare("UPDATE leases SET phase = 'replaced' WHERE number = ?"),
      moveLv: database.prepare(
        `UPDATE leases SET lv_position = coalesce(@position, lv_position), documents_read = documents_read + @documents,
           sweep_pending = sweep_pending + @misses
         WHERE number = @lease AND phase <> 'replaced'`,
      ),
      moveAvad: database.prepare(
        `UPDATE leases SET avad_position = coalesce(@position, avad_position), documents_read = documents_read + @documents,
           sweep_pending = sweep_pending + @misses
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

  /** Returns the leases that are not replaced, in the order of the key space. */
  live(): Lease[] {
    return this.#transactions.read(() => this.#sql.live.all().map(parseLease));
  }

  /** Returns all leases, including replaced ones. */
  all(): Lease[] {
    return this.#transactions.read(() => this.#sql.all.all().map(parseLease));
  }

  get(lease: number): Lease {
    const row = must(this.#sql.get.get(lease), `there is a lease ${lease}`);
    return parseLease(row);
  }

  /** Stores the leases of all ranges when the anchors are taken, before the copy starts. Durable. */
  begin(leases: readonly NewLease[]): Lease[] {
    assert(this.live().length === 0, 'a migration is anchored once');
    return this.#transactions.durable(() => {
      const numbers = leases.map((lease) => this.#insert(lease));
      this.#checkTiling();
      return numbers.map((one) => this.get(one));
    });
  }

  /** Replaces leases after a split or a merge. All pages that were read of the parents must be committed. Durable. */
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

  /** Changes a lease and returns it. `sweepPending: true` counts as one more miss. Durable. */
  change(lease: number, change: LeaseChange): Lease {
    return this.#transactions.durable(() => this.#change(lease, change));
  }

  /**
   * Ends the copy of a range at its anchor, and returns the lease, whose tail may begin. Like a COMMIT it becomes durable with
   * the next durable transaction: after a power cut the range continues from its position and reaches the anchor again.
   */
  endCopy(lease: number, copiedLsn: number | null): Lease {
    return this.#transactions.run(() => this.#change(lease, { phase: 'tail', copiedLsn }));
  }

  /** Moves a position. Called inside a COMMIT of units.ts; opens no transaction. */
  move({ lease, feed, position, documents = 0, misses = false }: Move): void {
    assert(position !== '', 'a position is never empty');
    const statement = feed === 'LV' ? this.#sql.moveLv : this.#sql.moveAvad;
    const { changes } = statement.run({ lease, position, documents, misses: misses ? 1 : 0 });
    assert(changes === 1, `the lease ${lease} that moves is being read`);
  }

  #change(lease: number, change: LeaseChange): Lease {
    const before = this.get(lease);
    const misses = before.misses + (change.sweepPending === true ? 1 : 0);
    this.#sql.update.run(columnsOf({ ...before, ...change, misses }));
    return this.get(lease);
  }

  #insert(lease: NewLease): number {
    const columns = columnsOf({ misses: 1, ...lease, indexId: lease.indexId ?? 0, number: 0, documents: 0 });
    const inserted = Number(this.#sql.insert.run(columns).lastInsertRowid);
    if (lease.indexId === undefined) this.#sql.ownIndex.run(inserted);
    return inserted;
  }

  /**
   * Joins two indexes into one, which is then built from scratch, because look-ups need the documents of both in one
   * index.
   */
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
  const { anchor, sweepPending, misses, parents, ...columns } = lease;
  return {
    ...columns,
    parents: JSON.stringify(parents),
    anchorEtag: anchor?.etag ?? null,
    anchorLsn: anchor?.lsn ?? null,
    anchorSession: anchor?.session ?? null,
    sweepPending: sweepPending ? Math.max(1, misses) : 0,
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
    copiedLsn: orNull(row, 'copied_lsn', number),
    sweepPending: number(row, 'sweep_pending') > 0,
    misses: number(row, 'sweep_pending'),
    documents: number(row, 'documents_read'),
  };
}
