/**
 * The ledger of one migration: one SQLite file. A second, small file next to it holds the mover's lock (lock.ts).
 *
 * While a mover works, the file is in WAL mode, and other processes read it through the mover's -wal and -shm files. A
 * clean close switches back to the rollback journal, so that the file alone is complete and can be read in a read-only
 * folder. After a crash the -wal and -shm files remain. SQLite reads both, and keeps -shm in memory if it cannot write
 * to the folder.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { LedgerError, NotReadyError } from '../lib/errors.ts';
import { asContentsError, asDatabaseError, withDatabaseErrors } from '../lib/sqlite/database-errors.ts';
import { migrate, openDatabase, openToRead, refuseForeignFile, type Database } from '../lib/sqlite/sqlite.ts';
import { withLazyStatements } from '../lib/sqlite/lazy-statements.ts';
import { text, type Columns } from '../lib/sqlite/column.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { createPrivately, isLogMissing } from '../lib/sqlite/file.ts';
import { changeCounter, checkFile, checkRows, checkTables, openTables } from '../lib/sqlite/table-sums.ts';
import { ChangeMark } from './change-mark.ts';
import { CounterStore } from './counters.ts';
import { EntryStore } from './segments/segment-reader.ts';
import { MapStore } from './segments/map-store.ts';
import { SegmentSearch } from './segments/segment-search.ts';
import { HistoryStore } from './reading/history.ts';
import { Journal } from './journal.ts';
import { MigrationStore, type FirstContainers } from './migration.ts';
import { IndexBuild, type BuildSizes } from './index/build.ts';
import { IndexRunStore } from './index/runs.ts';
import { countKnown, liveIn, type KnownDocuments, type IdentitySpan } from './index/known-documents.ts';
import { LeaseStore } from './leases.ts';
import { LetterStore } from './dead-letters.ts';
import { NextTurnStore } from './turns/next-turn.ts';
import { SearchedEndStore } from './turns/searched-ends.ts';
import { MoverLock, type MigrationProgress } from './lock.ts';
import { Lookup } from './index/lookup.ts';
import { UnitStore } from './units.ts';
import { RowStore } from './rows.ts';
import { takeLock } from './reading/lock-holder.ts';
import { RunStore } from './runs.ts';
import { TokenStore } from './session-tokens.ts';
import { Transactions } from '../lib/sqlite/transaction.ts';

/** The page size of the file in bytes. An index block fills one page. */
const PAGE_SIZE = 4096;
/**
 * The size of SQLite's cache. A small cache is enough: the copy only appends, and a look-up reads two pages of a large
 * file.
 */
const CACHE_KIB = 4096;

/**
 * The tables that are checked whenever a command opens the ledger only to read it, because such commands rely on them.
 * All are small.
 */
const TABLES_OF_READERS = ['migration', 'leases', 'session_tokens', 'counters'] as const;

export interface OpenLedger {
  readonly path: string;
  readonly spec: MigrationSpec;
  readonly nowMs: number;
  /** Only the first command of a migration may create the file. */
  readonly create: 'if-missing' | 'never';
  /** The containers, if the command has inspected them. */
  readonly containers?: FirstContainers;
}

export class Ledger {
  readonly migration: MigrationStore;
  /** What the commit of this ledger's cutover has left for the next turn. */
  readonly nextTurn: NextTurnStore;
  readonly searchedEnds: SearchedEndStore;
  readonly runs: RunStore;
  readonly history: HistoryStore;
  readonly journal: Journal;
  readonly leases: LeaseStore;
  /** Session tokens of the source. */
  readonly tokens: TokenStore;
  readonly targetTokens: TokenStore;
  readonly units: UnitStore;
  readonly rows: RowStore;
  readonly letters: LetterStore;
  readonly counters: CounterStore;
  readonly lookup: Lookup;
  readonly segments: SegmentSearch;
  readonly map: MapStore;
  readonly #database: Database;
  readonly #lock: MoverLock | null;
  readonly #countChanges: () => number;
  #mark: ChangeMark | null = null;
  readonly #index;

  private constructor(database: Database, lock: MoverLock | null) {
    this.#database = database;
    this.#lock = lock;
    this.#countChanges = changeCounter(database);
    const transactions = new Transactions(database, () => this.#mark?.raise(this.#countChanges()));
    this.journal = new Journal(database, transactions);
    this.nextTurn = new NextTurnStore(database, transactions);
    this.searchedEnds = new SearchedEndStore(database, transactions, this.journal);
    const { journal, nextTurn } = this;
    this.migration = new MigrationStore(database, { transactions, journal, nextTurn });
    this.runs = new RunStore(database, transactions);
    this.history = new HistoryStore(database, transactions);
    this.leases = new LeaseStore(database, transactions);
    this.tokens = new TokenStore(database, 'source');
    this.targetTokens = new TokenStore(database, 'target');
    this.rows = new RowStore(database);
    this.letters = new LetterStore(database, transactions);
    this.counters = new CounterStore(database);
    const { rows, leases, letters, counters, tokens, targetTokens } = this;
    const stores = { rows, leases, letters, counters, tokens, targetTokens };
    this.units = new UnitStore({ database, transactions, ...stores });
    this.#index = {
      transactions,
      rows,
      runs: new IndexRunStore(database),
      entries: new EntryStore(database),
    };
    this.lookup = new Lookup(this.#index);
    this.segments = new SegmentSearch(database, rows);
    this.map = new MapStore({
      database,
      transactions,
      counters,
      takeSequences: (count) => this.units.takeSequences(count),
    });
  }

  /** Creates or opens the ledger for a mover, and takes the mover's lock. */
  static open({ path, spec, nowMs, create, containers }: OpenLedger): Ledger {
    if (create === 'never') refuseMissingLedger(path);
    return Ledger.#take(path, (ledger) => ledger.migration.pin(spec, nowMs, containers));
  }

  /** Opens the ledger for a decision of the operator: takes the mover's lock, needs no spec, and creates no file. */
  static openForOperator(path: string): Ledger {
    refuseMissingLedger(path);
    return Ledger.#take(path, () => {});
  }

  static #take(path: string, hold: (ledger: Ledger) => void): Ledger {
    const lacksLog = isLogMissing(path);
    refuseForeignFile(path, 'ledger');
    const lock = takeLock(path);
    let database: Database | undefined;
    try {
      database = withDatabaseErrors(openDatabase({ path, pageSize: PAGE_SIZE, cacheKib: CACHE_KIB }));
      // This creates triggers, so it comes before the statements are prepared: after a new trigger SQLite prepares all
      // of them again.
      openTables(database, 'ledger');
      const ledger = new Ledger(withLazyStatements(database), lock);
      hold(ledger);
      ledger.#readSmallTables();
      ledger.#mark = ChangeMark.open(path, database);
      if (lacksLog) ledger.#mark.suspect();
      return ledger;
    } catch (error) {
      if (database !== undefined) closeAsOneFile(database);
      lock.release();
      throw asContentsError(error, path);
    }
  }

  /** Opens the ledger to read it, even while a mover works or after a crash. Changes no byte of the file. */
  static openReadonly(path: string): Ledger {
    refuseMissingLedger(path);
    const database = withDatabaseErrors(openToRead(path));
    try {
      migrate(database, 'ledger');
      checkTables(database, 'ledger');
      const ledger = new Ledger(withLazyStatements(database), null);
      ledger.atOnce(() => checkRows(database, TABLES_OF_READERS));
      ledger.#readSmallTables();
      return ledger;
    } catch (error) {
      database.close();
      throw error instanceof LedgerError && isUnmigrated(error)
        ? unfinished(path, error)
        : asContentsError(error, path);
    }
  }

  /**
   * Looks into a file that may be a ledger. `hasBegun`: whether the migration has anchored its ranges; false also for a
   * file whose creation was interrupted, for example by a full disk or a SIGKILL. The first command of the migration
   * completes such a file. `ledgerName`: the name of the ledger in the reservation of its target. Refuses a file of a
   * newer cosmig or another program.
   */
  static peek(path: string): { readonly hasBegun: boolean; readonly ledgerName: string | undefined } {
    const nothing = { hasBegun: false, ledgerName: undefined };
    if (!existsSync(path)) return nothing;
    refuseForeignFile(path, 'ledger');
    const database = openToRead(path);
    try {
      const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'leases'").all();
      if (tables.length === 0) return nothing;
      checkRows(database, TABLES_OF_READERS);
      const migration = database.prepare<[], Columns>('SELECT ledger_name FROM migration').get();
      return {
        hasBegun: database.prepare('SELECT 1 FROM leases LIMIT 1').all().length > 0,
        ledgerName: migration === undefined ? undefined : text(migration, 'ledger_name'),
      };
    } catch (error) {
      throw asContentsError(error, path);
    } finally {
      database.close();
    }
  }

  /** Whether a mover works with this ledger now. */
  static isRunning(path: string): boolean {
    return MoverLock.isHeld(path);
  }

  /**
   * Returns how far the migration had come, if the ledger lacks changes that were durable: it was restored from an older
   * copy, or its write-ahead log was lost. Otherwise returns null.
   */
  missed(): MigrationProgress | null {
    const own = this.#progress();
    const recorded = this.#lock?.read() ?? null;
    const known = recorded?.createdAtMs === own.createdAtMs ? recorded : null;
    if (known !== null && known.run > own.run) return known;
    return this.#mark?.isAhead === true ? (known ?? own) : null;
  }

  /** Records the progress of this ledger next to it, so that an older copy is recognized later. Durable. */
  noteProgress(): void {
    this.#lock?.note(this.#progress());
    this.#mark?.reset(this.#countChanges());
  }

  /**
   * Checks the whole file: its pages, its indexes, and the rows of every table. The time grows with the size of the
   * file. Throws a LedgerError for damage.
   */
  check(): void {
    this.atOnce(() => {
      checkTables(this.#database, 'ledger');
      checkFile(this.#database);
    });
  }

  #progress(): MigrationProgress {
    const { createdAtMs, phase } = this.migration.read();
    return { createdAtMs, phase, run: this.runs.last()?.number ?? 0 };
  }

  /** Calls `body`, which reads one consistent state of the ledger even while a mover works. */
  atOnce<T>(body: () => T): T {
    return this.#index.transactions.atOnce(body);
  }

  /** Returns a build of this index over its segments. The caller runs the build step by step. */
  buildIndex(indexId: number, sizes?: BuildSizes): IndexBuild {
    return new IndexBuild(this.#index, indexId, sizes);
  }

  /** Whether this index is finished, so that `lookup` finds its documents. */
  isIndexed(indexId: number): boolean {
    return this.#index.runs.state(indexId)?.phase === 'done';
  }

  /**
   * Counts the documents that the ledger knows, in steps that all see the same state of the ledger. Nothing else may be
   * read through this object until the last step. `some`: documents to look up, in order. Returns null if the copy of a
   * range is not indexed yet.
   */
  *known(some: readonly Buffer[] = []): Generator<void, KnownDocuments | null> {
    const database = this.#database;
    const { transactions, ...stores } = this.#index;
    if (!this.leases.live().every(({ indexId }) => this.isIndexed(indexId))) return null;
    transactions.read(() => database.exec('BEGIN'));
    try {
      return yield* countKnown(stores, some);
    } catch (error) {
      throw asDatabaseError(error, database.name);
    } finally {
      database.exec('COMMIT');
    }
  }

  /** Returns the documents of a span that `known` counts on both sides, except those that `isKnown` knows already. */
  liveIn(span: IdentitySpan, isKnown: (identity: Buffer) => boolean): Buffer[] {
    return this.atOnce(() => [...liveIn(this.#index, span, isKnown)]);
  }

  /** Writes a consistent copy of the ledger, while a mover may continue. Refuses to overwrite a file. */
  backup(to: string): void {
    if (existsSync(to)) {
      throw new NotReadyError(`${to} exists already`, {
        why: 'a backup overwrites nothing',
        hint: 'give another path, or remove that file',
      });
    }
    // `backup()` of better-sqlite3 is not used, because it is asynchronous.
    const part = `${to}.part`;
    try {
      rmSync(part, { force: true });
      // SQLite writes into an empty file, and keeps its permissions.
      createPrivately(part);
      // Errors of a prepared statement would name the ledger instead of the copy, so `exec` is used.
      this.#database.exec(`VACUUM INTO '${part.replaceAll("'", "''")}'`);
      const file = openSync(part, 'r+');
      fsyncSync(file);
      closeSync(file);
      renameSync(part, to);
    } catch (error) {
      rmSync(part, { force: true });
      const isOurs = error instanceof Error && 'code' in error && error.code === 'SQLITE_CORRUPT';
      throw asDatabaseError(error, isOurs ? this.#database.name : to);
    }
  }

  /** Closes the ledger and leaves one complete file, unless another process is reading it. */
  close(): void {
    try {
      if (this.#lock === null) this.#database.close();
      else closeAsOneFile(this.#database);
    } finally {
      this.#mark?.close();
      this.#lock?.release();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Reads all small tables once, so that a damaged file is refused now and not in the middle of a run. */
  #readSmallTables(): void {
    this.migration.read();
    this.leases.all();
    this.tokens.all();
    this.targetTokens.all();
    this.counters.all();
    this.runs.last();
  }
}

/** Closes a ledger that was opened for writing, and leaves WAL mode. */
function closeAsOneFile(database: Database): void {
  try {
    database.pragma('journal_mode = DELETE');
  } catch (error) {
    const trouble = asDatabaseError(error, database.name);
    // If another process reads the WAL, or if the disk is full, the WAL stays, and the next run uses it.
    if (!(trouble instanceof NotReadyError) && !isFull(trouble)) throw trouble;
  } finally {
    database.close();
  }
}

export function refuseMissingLedger(path: string): void {
  if (existsSync(path)) return;
  throw new LedgerError(`there is no ledger at ${path}`, {
    why: 'no cosmig copy has begun it, or the file was moved',
    hint: 'run cosmig copy first, or check --ledger and the working directory',
  });
}

function isFull(trouble: unknown): boolean {
  return trouble instanceof LedgerError && codeOf(trouble) === 'SQLITE_FULL';
}

/**
 * Whether an error of `openReadonly` means that the ledger must be upgraded before it can be read, which the next command
 * that writes it does.
 */
export function mustBeUpgraded(error: unknown): boolean {
  return error instanceof LedgerError && error.cause instanceof LedgerError && isUnmigrated(error.cause);
}

/**
 * Whether an error of `migrate` means that the file must be upgraded, which is impossible because it was opened only to
 * read.
 */
function isUnmigrated(trouble: LedgerError): boolean {
  return codeOf(trouble) === 'SQLITE_READONLY';
}

function codeOf({ cause }: LedgerError): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}

/** The error for a file that a command which does not write cannot read yet. */
export class UnmigratedLedger extends LedgerError {}

function unfinished(path: string, cause: unknown): UnmigratedLedger {
  return new UnmigratedLedger(`${path} was created by an older cosmig, or its creation was interrupted`, {
    why: 'it must be upgraded before it can be read, and this command does not write',
    hint: 'run cosmig copy or cosmig tail with this cosmig once',
    cause,
  });
}
