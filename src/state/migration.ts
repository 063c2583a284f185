/**
 * Owns what a migration is: the pinned spec, the containers by `_rid`, the source's TTL, how deletes are found, the phase;
 * its runs and its journal.
 */
import { LedgerError, NotReadyError } from '../lib/errors.ts';
import type { Database } from '../lib/sqlite.ts';
import { fingerprint, pinnedOf, refuseChanges } from '../spec/fingerprint.ts';
import type { Pinned } from '../spec/fingerprint.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { jsonText, number, oneOf, orNull, text, texts } from './column.ts';
import type { Columns } from './column.ts';
import type { Transactions } from './transaction.ts';

const DELETES = ['avad', 'marker', 'reconcile'] as const;
export type DeleteMode = (typeof DELETES)[number];

/** The containers as they were when the migration began. */
export interface Containers {
  readonly sourceRid: string;
  readonly targetRid: string;
  /** Seconds; -1: on, without a default; null: off. */
  readonly sourceTtl: number | null;
}

export interface Facts {
  readonly pinned: Pinned;
  readonly fingerprint: string;
  readonly createdAtMs: number;
  /** Null until they were seen. */
  readonly containers: Containers | null;
  /** Null until it is decided; never changes after that. */
  readonly deletes: DeleteMode | null;
  /** A word of the engine's table of phases. */
  readonly phase: string;
}

export interface Run {
  readonly number: number;
  readonly command: string;
  /** For people: that it is still running is for the lock to say. */
  readonly pid: number;
  readonly beganAtMs: number;
  readonly endedAtMs: number | null;
  readonly outcome: string | null;
  /** What it said last of how it goes; null when it has said nothing. */
  readonly said: Said | null;
}

/** How a run goes, for those who look from outside. */
export interface Said {
  readonly atMs: number;
  /** Null: a range is still being copied, or nobody knows. */
  readonly lagSeconds: number | null;
  /** What it waits for, in a few words; null when it works. */
  readonly waitsFor: string | null;
  /** How many documents the source had when it began; null where it does not say. */
  readonly expected: number | null;
}

export interface JournalEntry {
  readonly number: number;
  readonly atMs: number;
  readonly event: string;
  /** JSON text. */
  readonly details: string;
}

export class FactStore {
  readonly #transactions: Transactions;
  readonly #path: string;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#path = database.name;
    this.#sql = {
      get: database.prepare<[], Columns>('SELECT * FROM migration'),
      create: database.prepare(
        `INSERT INTO migration (only, pinned, fingerprint, created_at_ms, phase)
         VALUES (1, @pinned, @fingerprint, @nowMs, 'new') ON CONFLICT DO NOTHING`,
      ),
      containers: database.prepare(
        'UPDATE migration SET source_rid = @sourceRid, target_rid = @targetRid, source_ttl = @sourceTtl',
      ),
      deletes: database.prepare('UPDATE migration SET deletes = ?'),
      phase: database.prepare('UPDATE migration SET phase = ?'),
      begin: database.prepare('INSERT INTO runs (command, pid, began_at_ms) VALUES (@command, @pid, @nowMs)'),
      end: database.prepare('UPDATE runs SET ended_at_ms = @nowMs, outcome = @outcome WHERE number = @run'),
      say: database.prepare(
        'UPDATE runs SET said_at_ms = @nowMs, said = @said WHERE number = (SELECT max(number) FROM runs)',
      ),
      lastRun: database.prepare<[], Columns>('SELECT * FROM runs ORDER BY number DESC LIMIT 1'),
      note: database.prepare('INSERT INTO journal (at_ms, event, details) VALUES (@nowMs, @event, @details)'),
      lastCutover: database.prepare<[number], Columns>(
        `SELECT number, at_ms, event, details FROM (
           SELECT *, row_number() OVER (
             PARTITION BY event IN ('straggler', 'late write') ORDER BY number DESC
           ) AS newest
           FROM journal WHERE number >= (SELECT max(number) FROM journal WHERE event = 'phase ready')
         ) WHERE newest <= ? ORDER BY number DESC`,
      ),
      lastOf: database
        .prepare<[string], string>(
          `SELECT event FROM journal WHERE event IN (SELECT value FROM json_each(?))
           ORDER BY number DESC LIMIT 1`,
        )
        .pluck(),
      journal: database.prepare<[{ after: number; limit: number }], Columns>(
        'SELECT * FROM journal WHERE number > @after ORDER BY number LIMIT @limit',
      ),
    };
  }

  /**
   * Pins the spec, or refuses one that is not the pinned one, by the names of its fields. Durable. An endpoint may be
   * another, after a fail-over for one, if the containers behind it are those that are pinned.
   */
  hold(spec: MigrationSpec, nowMs: number, seen?: Containers): void {
    const pinned = JSON.stringify(pinnedOf(spec));
    if (this.#sql.get.get() === undefined) {
      this.#transactions.durable(() =>
        this.#sql.create.run({ pinned, fingerprint: fingerprint(spec), nowMs }),
      );
    }
    const { pinned: held, containers } = this.read();
    const isSame =
      seen !== undefined &&
      containers?.sourceRid === seen.sourceRid &&
      containers.targetRid === seen.targetRid;
    const { sourceEndpoint, targetEndpoint } = pinnedOf(spec);
    refuseChanges(isSame ? { ...held, sourceEndpoint, targetEndpoint } : held, spec);
  }

  read(): Facts {
    const row = this.#transactions.read(() => this.#sql.get.get());
    if (row === undefined) {
      throw new LedgerError(`${this.#path} holds no migration yet`, {
        why: 'it was created and its first run ended before it wrote anything',
        hint: 'run cosmig copy',
      });
    }
    const sourceRid = orNull(row, 'source_rid', text);
    return {
      // A field that a later cosmig added is not there, and differs from any value by that.
      pinned: texts(row, 'pinned') as Pinned,
      fingerprint: text(row, 'fingerprint'),
      createdAtMs: number(row, 'created_at_ms'),
      containers:
        sourceRid === null
          ? null
          : { sourceRid, targetRid: text(row, 'target_rid'), sourceTtl: orNull(row, 'source_ttl', number) },
      deletes: orNull(row, 'deletes', (from, name) => oneOf(from, name, DELETES)),
      phase: text(row, 'phase'),
    };
  }

  /** Pins the containers, or refuses others by name. Durable. */
  holdContainers(seen: Containers): void {
    const { containers } = this.read();
    if (containers === null) {
      this.#transactions.durable(() => this.#sql.containers.run(seen));
      return;
    }
    if (containers.sourceRid !== seen.sourceRid)
      throw recreated('source', containers.sourceRid, seen.sourceRid);
    if (containers.targetRid !== seen.targetRid)
      throw recreated('target', containers.targetRid, seen.targetRid);
    if (containers.sourceTtl !== seen.sourceTtl) {
      throw new NotReadyError("the source container's TTL was changed after the migration began", {
        why: `its default was ${ttlText(containers.sourceTtl)} and is ${ttlText(seen.sourceTtl)}`,
        hint: 'put the old value back, or begin a new migration with --ledger and an empty target',
      });
    }
  }

  /** Once. Durable. */
  decideDeletes(mode: DeleteMode): void {
    const { deletes } = this.read();
    if (deletes === mode) return;
    if (deletes !== null) {
      throw new NotReadyError(`this migration finds deletes by ${deletes}, and that cannot become ${mode}`, {
        why: 'what another mode would have seen is gone',
        hint: `make ${deletes} possible again, or begin a new migration with --ledger and an empty target`,
      });
    }
    this.#transactions.durable(() => this.#sql.deletes.run(mode));
  }

  /** A transition and its line in the journal. Durable. */
  enter(phase: string, { nowMs, details = {} }: { readonly nowMs: number; readonly details?: object }): void {
    this.#transactions.durable(() => {
      this.#sql.phase.run(phase);
      this.#sql.note.run({ nowMs, event: `phase ${phase}`, details: JSON.stringify(details) });
    });
  }

  note(event: string, { nowMs, details = {} }: { readonly nowMs: number; readonly details?: object }): void {
    this.#transactions.run(() => this.#sql.note.run({ nowMs, event, details: JSON.stringify(details) }));
  }

  journal(window: { readonly after: number; readonly limit: number }): JournalEntry[] {
    return this.#sql.journal.all(window).map(parseEntry);
  }

  /** Which of these events was noted last; null when none of them was. */
  lastOf(events: readonly string[]): string | null {
    return this.#sql.lastOf.get(JSON.stringify(events)) ?? null;
  }

  /**
   * What the last cutover that has passed its gate has written down; nothing when there was none. The newest lines of its
   * steps and as many of those who still write, who may write without end and hide no step.
   */
  lastCutover(limit: number): JournalEntry[] {
    return this.#sql.lastCutover.all(limit).map(parseEntry).toReversed();
  }

  /** How the run goes that is on. */
  say({ atMs, ...said }: Said): void {
    this.#transactions.run(() => this.#sql.say.run({ nowMs: atMs, said: JSON.stringify(said) }));
  }

  /** Durable. */
  beginRun(run: { readonly command: string; readonly pid: number; readonly nowMs: number }): number {
    return this.#transactions.durable(() => Number(this.#sql.begin.run(run).lastInsertRowid));
  }

  endRun(run: number, { outcome, nowMs }: { readonly outcome: string; readonly nowMs: number }): void {
    this.#transactions.run(() => this.#sql.end.run({ run, outcome, nowMs }));
  }

  lastRun(): Run | null {
    const row = this.#sql.lastRun.get();
    if (row === undefined) return null;
    return {
      number: number(row, 'number'),
      command: text(row, 'command'),
      pid: number(row, 'pid'),
      beganAtMs: number(row, 'began_at_ms'),
      endedAtMs: orNull(row, 'ended_at_ms', number),
      outcome: orNull(row, 'outcome', text),
      said: saidIn(row),
    };
  }
}

function saidIn(row: Columns): Said | null {
  const atMs = orNull(row, 'said_at_ms', number);
  if (atMs === null) return null;
  const {
    lagSeconds = null,
    waitsFor = null,
    expected = null,
  } = JSON.parse(jsonText(row, 'said')) as Partial<Said>;
  return { atMs, lagSeconds, waitsFor, expected };
}

function parseEntry(row: Columns): JournalEntry {
  return {
    number: number(row, 'number'),
    atMs: number(row, 'at_ms'),
    event: text(row, 'event'),
    details: text(row, 'details'),
  };
}

function recreated(side: 'source' | 'target', was: string, is: string): NotReadyError {
  return new NotReadyError(`the ${side} container was deleted and created again`, {
    why: `its _rid was ${was} when the migration began and is ${is} now, so what the ledger knows of it is void`,
    hint: 'begin a new migration with --ledger and an empty target',
    details: { side, was, is },
  });
}

function ttlText(ttl: number | null): string {
  return ttl === null ? 'off' : ttl === -1 ? 'on without a default' : `${ttl} s`;
}
