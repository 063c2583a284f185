/**
 * Owns the record of the migration: the settings and containers that are pinned when the migration begins, how deletes
 * are detected, and the phase. Invariant: pinned values never change, and a command with other settings or containers is
 * refused.
 */
import { randomUUID } from 'node:crypto';
import { LedgerError, NotReadyError } from '../lib/errors.ts';
import { containerRecreated, sourceTtlChanged } from '../spec/refusals.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import { fingerprint, pinnedOf, refuseChanges } from '../spec/fingerprint.ts';
import type { Pinned } from '../spec/fingerprint.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { number, oneOf, orNull, text, texts } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import type { Journal, PhaseEntry } from './journal.ts';
import type { NextTurn, NextTurnStore } from './turns/next-turn.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';

export const DELETE_MODES = ['avad', 'marker', 'reconcile'] as const;
/** How deletes of the source are detected. */
export type DeleteMode = (typeof DELETE_MODES)[number];

/** The phases of a migration. engine/phases.ts draws the moves between them. */
const PHASES = ['new', 'copying', 'tailing', 'ready', 'fencing', 'drained', 'proven', 'committed'] as const;
export type Phase = (typeof PHASES)[number];

/** The containers as they were when the migration began. */
export interface FirstContainers {
  readonly sourceRid: string;
  readonly targetRid: string;
  /** The default TTL of the source in seconds; -1: on without a default; null: off. */
  readonly sourceTtl: number | null;
}

export interface MigrationRecord {
  readonly pinned: Pinned;
  readonly fingerprint: string;
  readonly createdAtMs: number;
  /** The random name of this ledger in the reservation of its target. */
  readonly ledgerName: string;
  /** The pinned containers; null until a command has inspected them. */
  readonly containers: FirstContainers | null;
  /** How deletes are detected; null until this is decided. It never changes after that. */
  readonly deletes: DeleteMode | null;
  readonly phase: Phase;
}

interface MigrationParts {
  readonly transactions: Transactions;
  readonly journal: Journal;
  readonly nextTurn: NextTurnStore;
}

export class MigrationStore {
  readonly #transactions: Transactions;
  readonly #journal: Journal;
  readonly #nextTurn: NextTurnStore;
  readonly #path: string;
  readonly #sql;

  constructor(database: Database, { transactions, journal, nextTurn }: MigrationParts) {
    this.#transactions = transactions;
    this.#journal = journal;
    this.#nextTurn = nextTurn;
    this.#path = database.name;
    this.#sql = {
      get: database.prepare<[], Columns>('SELECT * FROM migration'),
      create: database.prepare(
        `INSERT INTO migration (id, pinned_spec, fingerprint, created_at_ms, ledger_name, phase)
         VALUES (1, @pinned, @fingerprint, @nowMs, @ledgerName, 'new') ON CONFLICT DO NOTHING`,
      ),
      containers: database.prepare(
        'UPDATE migration SET source_rid = @sourceRid, target_rid = @targetRid, source_ttl = @sourceTtl',
      ),
      deleteMode: database.prepare('UPDATE migration SET delete_mode = ?'),
      phase: database.prepare('UPDATE migration SET phase = ?'),
    };
  }

  /**
   * Pins the settings of a new migration. For an existing one, refuses settings that differ from the pinned ones and
   * names them. Durable. An endpoint may change, for example after a fail-over, as long as it leads to the pinned
   * containers.
   */
  pin(spec: MigrationSpec, nowMs: number, seen?: FirstContainers): void {
    const pinned = JSON.stringify(pinnedOf(spec));
    if (this.#sql.get.get() === undefined) {
      this.#transactions.durable(() =>
        this.#sql.create.run({ pinned, fingerprint: fingerprint(spec), nowMs, ledgerName: randomUUID() }),
      );
    }
    const { pinned: kept, containers } = this.read();
    const isSame =
      seen !== undefined &&
      containers?.sourceRid === seen.sourceRid &&
      containers.targetRid === seen.targetRid;
    const { sourceEndpoint, targetEndpoint } = pinnedOf(spec);
    refuseChanges(isSame ? { ...kept, sourceEndpoint, targetEndpoint } : kept, spec);
  }

  read(): MigrationRecord {
    const row = this.#transactions.read(() => this.#sql.get.get());
    if (row === undefined) {
      throw new LedgerError(`${this.#path} holds no migration yet`, {
        why: 'its first run ended before it wrote anything',
        hint: 'run cosmig copy',
      });
    }
    const sourceRid = orNull(row, 'source_rid', text);
    return {
      // A field that a later cosmig has added is missing in an older record, and therefore differs from every value.
      pinned: texts(row, 'pinned_spec') as Pinned,
      fingerprint: text(row, 'fingerprint'),
      createdAtMs: number(row, 'created_at_ms'),
      ledgerName: text(row, 'ledger_name'),
      containers:
        sourceRid === null
          ? null
          : { sourceRid, targetRid: text(row, 'target_rid'), sourceTtl: orNull(row, 'source_ttl', number) },
      deletes: orNull(row, 'delete_mode', (from, name) => oneOf(from, name, DELETE_MODES)),
      phase: phaseIn(row),
    };
  }

  /** Returns which of the pinned containers is another one now; null: none. */
  recreated(seen: FirstContainers): 'source' | 'target' | null {
    const { containers } = this.read();
    if (containers === null) return null;
    if (containers.sourceRid !== seen.sourceRid) return 'source';
    return containers.targetRid === seen.targetRid ? null : 'target';
  }

  /**
   * Pins the containers, or refuses containers other than the pinned ones. After the commit the TTL of the source may
   * change: a cutover that keeps the source pauses it, and the source is no longer read. Durable.
   */
  pinContainers(seen: FirstContainers): void {
    const { containers, phase } = this.read();
    if (containers === null) {
      this.#transactions.durable(() => this.#sql.containers.run(seen));
      return;
    }
    if (containers.sourceRid !== seen.sourceRid)
      throw containerRecreated('source container', { was: containers.sourceRid, is: seen.sourceRid });
    if (containers.targetRid !== seen.targetRid)
      throw containerRecreated('target container', { was: containers.targetRid, is: seen.targetRid });
    if (phase !== 'committed' && containers.sourceTtl !== seen.sourceTtl)
      throw sourceTtlChanged({ was: containers.sourceTtl, is: seen.sourceTtl });
  }

  /** Records how deletes are detected. Refuses a second, different decision. Durable. */
  decideDeleteMode(mode: DeleteMode): void {
    const { deletes } = this.read();
    if (deletes === mode) return;
    if (deletes !== null) {
      throw new NotReadyError(`this migration detects deletes by ${deletes}, which cannot become ${mode}`, {
        why: 'the deletes that another mode would have detected so far are lost',
        hint: `make ${deletes} possible again, or begin a new migration with --ledger FILE (a new file) and an empty target`,
      });
    }
    this.#transactions.durable(() => this.#sql.deleteMode.run(mode));
  }

  /**
   * Moves the migration to another phase, and appends the move to the journal. `next`: what a commit leaves for the next
   * turn; null if there is no way back. Durable.
   */
  enter(entry: PhaseEntry, nowMs: number, next: NextTurn | null = null): void {
    this.#transactions.durable(() => {
      this.#sql.phase.run(entry.phase);
      this.#journal.append({ event: 'phase', ...entry }, nowMs);
      if (next !== null) this.#nextTurn.leave(next);
    });
  }
}

function phaseIn(row: Columns): Phase {
  const phase = text(row, 'phase');
  const known = PHASES.find((one) => one === phase);
  if (known !== undefined) return known;
  throw new LedgerError(`the ledger is in a phase that this cosmig does not know: ${phase}`, {
    why: 'a newer cosmig has worked with the ledger, or it is damaged',
    hint: 'use the newest cosmig that has worked with it',
  });
}
