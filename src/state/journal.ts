/**
 * Owns the journal: what happened to a migration, in order. Every event has a name and typed fields, and only this
 * module writes and parses it. Names and fields are persisted, so they never change.
 */
import { LedgerError } from '../lib/errors.ts';
import type { Database } from '../lib/sqlite/sqlite.ts';
import { json, number, text } from '../lib/sqlite/column.ts';
import type { Columns } from '../lib/sqlite/column.ts';
import type { Phase } from './migration.ts';
import type { SourceChange } from './source-change.ts';
import type { Transactions } from '../lib/sqlite/transaction.ts';

/** The migration has entered a phase. Some phases have more fields than their name. */
export type PhaseEntry =
  | { readonly phase: Exclude<Phase, 'tailing' | 'committed'> }
  /** `why`: the reason why a cutover ended without a commit; null at the end of the copy. */
  | { readonly phase: 'tailing'; readonly why: string | null }
  | ({ readonly phase: 'committed' } & Commitment);

/** What a cutover knew when it committed: what had been compared while the writers were stopped. */
export interface ProofBasis {
  /**
   * `all`: every document. `changes`: the documents that had changed on either side since an earlier comparison had
   * found both sides equal; and each side had as many documents as the ledger expects.
   */
  readonly compared: 'all' | 'changes';
  /** When the earlier comparison of `changes` ended; null: every document was compared. */
  readonly sinceMs: number | null;
  /** How many documents each side had; null: not counted again after a repair. */
  readonly documents: { readonly source: number; readonly target: number } | null;
}

/** The documents that a cutover repaired in the target while the writers were stopped. */
export interface Repaired {
  readonly documents: number;
  /**
   * How many of them differed only after both sides had been found equal, since another process had changed them in the
   * target.
   */
  readonly byOthers: number;
  /** The ids of some of the documents, as JSON texts. Those of `byOthers` come first. */
  readonly ids: readonly string[];
}

/** What a cutover committed. */
export interface Commitment {
  /** How long the writers were stopped. */
  readonly stoppedMs: number;
  /** Settings of the target that the cutover has to set to the source's values after the commit. */
  readonly likeSource: readonly string[];
  readonly proof: ProofBasis | null;
  /** Absent in the journals of older versions. */
  readonly repaired?: Repaired;
  /** Whether a hook has to switch the application. Absent in the journals of older versions. */
  readonly hasHook?: boolean;
}

export type JournalEvent =
  | ({ readonly event: 'phase' } & PhaseEntry)
  /** A cutover backed out, and its hook let the application write to the source again. */
  | { readonly event: 'writers resumed' }
  /** The source changed after the writers were stopped, so the cutover started its fence from scratch. */
  | ({ readonly event: 'fence restarted' } & SourceChange)
  /** The source changed after the commit. This change is not in the target. */
  | ({ readonly event: 'late write' } & SourceChange)
  | { readonly event: 'target settings applied'; readonly settings: readonly string[] }
  /** The time to live of the target was restored: it was paused while the target was not in use. */
  | { readonly event: 'ttl restored' }
  /** The time to live of the source was paused while the source is kept. */
  | { readonly event: 'ttl paused' }
  /** The hook that points the application to the target has succeeded, or the cutover has no such hook. */
  | { readonly event: 'application switched' }
  /** `isForgotten`: the feed of the source no longer had the changes since the commit. */
  | { readonly event: 'late write watch ended'; readonly isForgotten: boolean }
  /** The ledger begins with a target that another ledger or another tool has filled (`--adopt-target`). */
  | { readonly event: 'adoption begun' }
  /**
   * After the copy into an adopted target, both sides were compared. `left`: documents that only the target has, and that
   * nothing shows to be copies.
   */
  | { readonly event: 'adoption compared'; readonly left: number }
  /** Another process has written to the container that only cosmig may write to, in a turn after the first one. */
  | ({ readonly event: 'written by others' } & SourceChange)
  /** A container of the migration was deleted and created again, as a command has noticed. */
  | { readonly event: 'container recreated'; readonly container: 'source' | 'target' }
  /** A run has ended because the service listed ranges of a container that do not cover its keys exactly once. */
  | {
      readonly event: 'ranges unusable';
      readonly container: 'source' | 'target';
      /** What is wrong with the list, in words. */
      readonly what: string;
    }
  /** A later run has listed the ranges of both containers, and they cover all keys. */
  | { readonly event: 'ranges usable' }
  /** The ledger was restored from an older copy. `missedRun`: the newest run that this copy does not have. */
  | { readonly event: 'ledger restored'; readonly missedRun: number }
  | {
      readonly event: 'dead letters discarded';
      readonly discarded: number;
      /** The number of the letter, if the operator discarded a single one. Otherwise null, and `reason` is set. */
      readonly letter: number | null;
      readonly reason: string | null;
    };

/** An event with its number and its time. */
export type JournalEntry = JournalEvent & { readonly number: number; readonly atMs: number };

/** The commit of the migration, and the events that followed it. */
export interface Committed extends Required<Omit<Commitment, 'hasHook'>> {
  readonly atMs: number;
  /** Whether a hook has to switch the application; null: not known. */
  readonly hasHook: boolean | null;
  readonly since: ReadonlySet<JournalEvent['event']>;
}

const PHASE = 'phase ';
const NONE_REPAIRED: Repaired = { documents: 0, byOthers: 0, ids: [] };

export class Journal {
  readonly #transactions: Transactions;
  readonly #sql;

  constructor(database: Database, transactions: Transactions) {
    this.#transactions = transactions;
    this.#sql = {
      append: database.prepare(
        'INSERT INTO journal (at_ms, event, details) VALUES (@nowMs, @event, @details)',
      ),
      entries: database.prepare<[{ after: number; limit: number }], Columns>(
        'SELECT * FROM journal WHERE number > @after ORDER BY number LIMIT @limit',
      ),
      newest: database.prepare<[number], Columns>('SELECT * FROM journal ORDER BY number DESC LIMIT ?'),
      lastCutover: database.prepare<[number], Columns>(
        `SELECT number, at_ms, event, details FROM (
           SELECT *, row_number() OVER (
             PARTITION BY event IN ('fence restarted', 'late write') ORDER BY number DESC
           ) AS newest
           FROM journal WHERE number >= (SELECT max(number) FROM journal WHERE event = 'phase ready')
         ) WHERE newest <= ? ORDER BY number DESC`,
      ),
      commit: database.prepare<[], Columns>(
        "SELECT * FROM journal WHERE event = 'phase committed' ORDER BY number DESC LIMIT 1",
      ),
      eventsAfter: database.prepare<[number], Columns>('SELECT DISTINCT event FROM journal WHERE number > ?'),
      adoption: database
        .prepare<[], string>("SELECT DISTINCT event FROM journal WHERE event LIKE 'adoption %'")
        .pluck(),
      recreated: database.prepare<[], Columns>(
        "SELECT * FROM journal WHERE event = 'container recreated' ORDER BY number DESC LIMIT 1",
      ),
      ranges: database.prepare<[], Columns>(
        "SELECT * FROM journal WHERE event IN ('ranges unusable', 'ranges usable') ORDER BY number DESC LIMIT 1",
      ),
      byOthers: database.prepare<[number], Columns>(
        "SELECT * FROM journal WHERE event = 'written by others' ORDER BY number DESC LIMIT ?",
      ),
      lastStop: database
        .prepare<[], string>(
          `SELECT event FROM journal WHERE event IN ('phase fencing', 'writers resumed')
           ORDER BY number DESC LIMIT 1`,
        )
        .pluck(),
    };
  }

  append(event: JournalEvent, nowMs: number): void {
    this.#transactions.run(() => this.#sql.append.run({ ...columnsOf(event), nowMs }));
  }

  /** Records, once, that the migration begins with a target that others have filled. Durable. */
  beginAdoption(nowMs: number): void {
    this.#transactions.durable(() => {
      if (this.adoption() === null) this.append({ event: 'adoption begun' }, nowMs);
    });
  }

  entries(window: { readonly after: number; readonly limit: number }): JournalEntry[] {
    return this.#sql.entries.all(window).map(parseEntry);
  }

  /** Returns the newest events, the oldest of them first. */
  newest(limit: number): JournalEntry[] {
    return this.#sql.newest.all(limit).map(parseEntry).toReversed();
  }

  /**
   * Returns the events since a cutover last passed its gate; none if no cutover has. A cutover may record any number of
   * changes of the source, so only the newest `limit` of them are returned, and the newest `limit` other events.
   */
  lastCutover(limit: number): JournalEntry[] {
    return this.#sql.lastCutover.all(limit).map(parseEntry).toReversed();
  }

  /** Returns the commit of the migration; null before the commit. */
  commit(): Committed | null {
    const row = this.#sql.commit.get();
    if (row === undefined) return null;
    const entry = parseEntry(row);
    if (entry.event !== 'phase' || entry.phase !== 'committed') return null;
    const { atMs, stoppedMs, likeSource, proof, repaired = NONE_REPAIRED, hasHook = null } = entry;
    const since = this.#sql.eventsAfter.all(entry.number).map((one) => nameIn(one));
    return { atMs, stoppedMs, likeSource, proof, repaired, hasHook, since: new Set(since) };
  }

  /** Returns the commit while the application was not switched over after it; null: there is none, or it was. */
  unfinished(): Committed | null {
    const commit = this.commit();
    return commit?.since.has('application switched') === true ? null : commit;
  }

  /**
   * Whether the migration began with a target that others have filled; null: no, it was empty. `to be compared`: yes, and
   * the comparison that follows its copy was not made yet.
   */
  adoption(): 'to be compared' | 'compared' | null {
    const events = this.#sql.adoption.all();
    if (events.length === 0) return null;
    return events.includes('adoption compared') ? 'compared' : 'to be compared';
  }

  /** Returns the container that was noticed to be deleted and created again; null: none. */
  recreated(): 'source' | 'target' | null {
    const row = this.#sql.recreated.get();
    const entry = row === undefined ? null : parseEntry(row);
    return entry?.event === 'container recreated' ? entry.container : null;
  }

  /** Returns the container whose ranges the last run could not use, and why; null: no run has found that since. */
  unusableRanges(): { readonly container: 'source' | 'target'; readonly what: string } | null {
    const row = this.#sql.ranges.get();
    const entry = row === undefined ? null : parseEntry(row);
    return entry?.event === 'ranges unusable' ? entry : null;
  }

  /** Returns the newest writes of others to the container that only cosmig may write to, the newest of them first. */
  writtenByOthers(limit: number): Array<SourceChange & { readonly atMs: number }> {
    return this.#sql.byOthers.all(limit).flatMap((row) => {
      const entry = parseEntry(row);
      return entry.event === 'written by others' ? [entry] : [];
    });
  }

  /** Whether a cutover has begun to stop the writers, and the journal does not say that they resumed later. */
  mayWritersBeStopped(): boolean {
    return this.#sql.lastStop.get() === 'phase fencing';
  }
}

function columnsOf(entry: JournalEvent): { readonly event: string; readonly details: string } {
  if (entry.event !== 'phase') {
    const { event, ...details } = entry;
    return { event, details: JSON.stringify(details) };
  }
  const { event: _event, phase, ...details } = entry;
  return { event: PHASE + phase, details: JSON.stringify(details) };
}

const NAMES: Readonly<Record<Exclude<JournalEvent['event'], 'phase'>, true>> = {
  'writers resumed': true,
  'fence restarted': true,
  'late write': true,
  'target settings applied': true,
  'ttl restored': true,
  'ttl paused': true,
  'application switched': true,
  'late write watch ended': true,
  'adoption begun': true,
  'adoption compared': true,
  'written by others': true,
  'container recreated': true,
  'ranges unusable': true,
  'ranges usable': true,
  'ledger restored': true,
  'dead letters discarded': true,
};

function nameIn(row: Columns): JournalEvent['event'] {
  const event = text(row, 'event');
  if (event.startsWith(PHASE)) return 'phase';
  if (Object.hasOwn(NAMES, event)) return event as keyof typeof NAMES;
  throw new LedgerError(`the journal of the ledger has an event that this cosmig does not know: ${event}`, {
    why: 'a newer cosmig has worked with the ledger, or it is damaged',
    hint: 'use the newest cosmig that has worked with it',
  });
}

/** Parses an entry. Its fields are those that `columnsOf` wrote, since only this module writes the journal. */
function parseEntry(row: Columns): JournalEntry {
  const event = nameIn(row);
  const name = event === 'phase' ? { event, phase: text(row, 'event').slice(PHASE.length) } : { event };
  const details = json(row, 'details') as object;
  return { ...details, ...name, number: number(row, 'number'), atMs: number(row, 'at_ms') } as JournalEntry;
}
