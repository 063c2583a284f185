/**
 * The memory of one migration: one SQLite file, and beside it a small one that is the mover's lock.
 *
 * While a mover works the file is in WAL mode, and others read it through the mover's -wal and -shm. When it closes
 * cleanly the file goes back to the old mode and stands alone, so that reading it needs and makes no other file, not
 * even where nothing may be written. After a crash -wal and -shm are still there; SQLite reads them, and where it may
 * not write -shm it keeps that index in memory.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { LedgerError, NotReadyError } from '../lib/errors.ts';
import {
  asDatabaseError,
  migrate,
  openDatabase,
  refuseForeignFile,
  withDatabaseErrors,
} from '../lib/sqlite.ts';
import type { Database } from '../lib/sqlite.ts';
import type { MigrationSpec } from '../spec/migration-spec.ts';
import { CounterStore } from './counters.ts';
import { EntryStore } from './segments/segment-reader.ts';
import { Journal } from './journal.ts';
import { MigrationStore } from './migration.ts';
import type { Containers } from './migration.ts';
import { IndexBuild } from './index/build.ts';
import type { BuildSizes } from './index/build.ts';
import { IndexRunStore } from './index/runs.ts';
import { LeaseStore } from './leases.ts';
import { LetterStore } from './dead-letters.ts';
import { MoverLock, type Progress } from './lock.ts';
import { Lookup } from './index/lookup.ts';
import { PageStore } from './units.ts';
import { RowStore } from './rows.ts';
import { RunStore } from './runs.ts';
import { TokenStore } from './session-tokens.ts';
import { Transactions } from './transaction.ts';

/** Index blocks are made to fill one. */
const PAGE_SIZE = 4096;
/** The copy only appends, and a lookup reads two pages of a file that does not fit anyway. */
const CACHE_KIB = 4096;

export interface OpenLedger {
  readonly path: string;
  readonly spec: MigrationSpec;
  readonly nowMs: number;
  /** What to do when there is none: only a migration's first command may begin one. */
  readonly create: 'if-missing' | 'never';
  /** The containers as they are, where that was looked at. */
  readonly containers?: Containers;
}

export class Ledger {
  readonly migration: MigrationStore;
  readonly runs: RunStore;
  readonly journal: Journal;
  readonly leases: LeaseStore;
  /** Of the source. */
  readonly tokens: TokenStore;
  readonly targetTokens: TokenStore;
  readonly pages: PageStore;
  readonly rows: RowStore;
  readonly letters: LetterStore;
  readonly counters: CounterStore;
  readonly lookup: Lookup;
  readonly #database: Database;
  readonly #lock: MoverLock | null;
  readonly #index;

  private constructor(database: Database, lock: MoverLock | null) {
    this.#database = database;
    this.#lock = lock;
    const transactions = new Transactions(database);
    this.journal = new Journal(database, transactions);
    this.migration = new MigrationStore(database, transactions, this.journal);
    this.runs = new RunStore(database, transactions);
    this.leases = new LeaseStore(database, transactions);
    this.tokens = new TokenStore(database, 'source_session_tokens');
    this.targetTokens = new TokenStore(database, 'target_session_tokens');
    this.rows = new RowStore(database);
    this.letters = new LetterStore(database, transactions);
    this.counters = new CounterStore(database);
    const { rows, leases, letters, counters, tokens, targetTokens } = this;
    const stores = { rows, leases, letters, counters, tokens, targetTokens };
    this.pages = new PageStore({ database, transactions, ...stores });
    this.#index = {
      transactions,
      rows,
      runs: new IndexRunStore(database),
      entries: new EntryStore(database),
    };
    this.lookup = new Lookup(this.#index);
  }

  /** For the mover: creates the file or goes on with it, and takes the lock. */
  static open({ path, spec, nowMs, create, containers }: OpenLedger): Ledger {
    if (create === 'never') refuseMissingLedger(path);
    return Ledger.#take(path, (ledger) => ledger.migration.pin(spec, nowMs, containers));
  }

  /** For what an operator decides about it: takes the mover's lock, asks for no spec and begins nothing. */
  static openForOperator(path: string): Ledger {
    refuseMissingLedger(path);
    return Ledger.#take(path, () => {});
  }

  static #take(path: string, hold: (ledger: Ledger) => void): Ledger {
    refuseForeignFile(path, 'ledger');
    const lock = MoverLock.take(path);
    let database: Database | undefined;
    try {
      database = withDatabaseErrors(openDatabase({ path, pageSize: PAGE_SIZE, cacheKib: CACHE_KIB }));
      migrate(database, 'ledger');
      const ledger = new Ledger(database, lock);
      hold(ledger);
      ledger.#readOnce();
      return ledger;
    } catch (error) {
      database?.close();
      lock.release();
      throw asLedgerError(error, path);
    }
  }

  /** For everybody else: changes no byte of the file, while a mover works and after a crash. */
  static openReadonly(path: string): Ledger {
    refuseMissingLedger(path);
    const database = withDatabaseErrors(openDatabase({ path, readonly: true }));
    try {
      migrate(database, 'ledger');
      const ledger = new Ledger(database, null);
      ledger.#readOnce();
      return ledger;
    } catch (error) {
      database.close();
      throw error instanceof LedgerError && isUnmigrated(error)
        ? unfinished(path, error)
        : asLedgerError(error, path);
    }
  }

  /**
   * Whether ranges were anchored in it. A file whose making was interrupted, by a full disk or a SIGKILL, says no, so that
   * the first command goes on with the making; one that is newer or another program's is refused.
   */
  static hasBegun(path: string): boolean {
    if (!existsSync(path)) return false;
    refuseForeignFile(path, 'ledger');
    const database = openDatabase({ path, readonly: true });
    try {
      const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'leases'").all();
      return tables.length > 0 && database.prepare('SELECT 1 FROM leases LIMIT 1').all().length > 0;
    } catch (error) {
      throw asLedgerError(error, path);
    } finally {
      database.close();
    }
  }

  /** Whether a mover works with it now. */
  static isRunning(path: string): boolean {
    return MoverLock.isHeld(path);
  }

  /** How far the migration had come without this ledger, which is an older copy; null when it is the newest. */
  missed(): Progress | null {
    const known = this.#lock?.read() ?? null;
    const own = this.#progress();
    return known !== null && known.createdAtMs === own.createdAtMs && known.run > own.run ? known : null;
  }

  /** This ledger is the newest from now on. Durable. */
  noteProgress(): void {
    this.#lock?.note(this.#progress());
  }

  #progress(): Progress {
    const { createdAtMs, phase } = this.migration.read();
    return { createdAtMs, phase, run: this.runs.last()?.number ?? 0 };
  }

  /** What `body` reads is all of one moment, also while a mover works. */
  atOnce<T>(body: () => T): T {
    return this.#index.transactions.atOnce(body);
  }

  /** Builds an index over its segments, step by step. */
  buildIndex(indexId: number, sizes?: BuildSizes): IndexBuild {
    return new IndexBuild(this.#index, indexId, sizes);
  }

  /** Whether `lookup` finds the documents of this index. */
  isIndexed(indexId: number): boolean {
    return this.#index.runs.state(indexId)?.phase === 'done';
  }

  /** A copy of this moment; the mover goes on, also when another process calls this. Refuses to overwrite. */
  backup(to: string): void {
    if (existsSync(to)) {
      throw new NotReadyError(`${to} exists already`, {
        why: 'a backup overwrites nothing',
        hint: 'give another path, or remove that file',
      });
    }
    // Not `backup()` of better-sqlite3, which is asynchronous.
    const part = `${to}.part`;
    try {
      rmSync(part, { force: true });
      // Not a statement of the ledger's: those name the ledger as the file that is in trouble.
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

  /** Leaves one file behind, unless somebody is reading it. */
  close(): void {
    try {
      if (this.#lock !== null) this.#database.pragma('journal_mode = DELETE');
    } catch (error) {
      const trouble = asDatabaseError(error, this.#database.name);
      // A reader holds on to the WAL, or there is no room to empty it: it stays, and the next run goes on with it.
      if (!(trouble instanceof NotReadyError) && !isFull(trouble)) throw trouble;
    } finally {
      this.#database.close();
      this.#lock?.release();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** What is small is read once, so that a damaged file is refused at the door and not in mid-run. */
  #readOnce(): void {
    this.migration.read();
    this.leases.all();
    this.tokens.all();
    this.targetTokens.all();
    this.counters.all();
    this.runs.last();
  }
}

export function refuseMissingLedger(path: string): void {
  if (existsSync(path)) return;
  throw new LedgerError(`there is no ledger at ${path}`, {
    why: 'no migration was begun with it, or it is elsewhere',
    hint: 'check --ledger and the working directory; cosmig copy begins a migration',
  });
}

/** A statement that cannot even be made meets other tables than its migrations have made. */
function asLedgerError(error: unknown, path: string): unknown {
  const isStrange = error instanceof Error && 'code' in error && error.code === 'SQLITE_ERROR';
  if (!isStrange) return asDatabaseError(error, path);
  return new LedgerError(`${path} is damaged`, {
    why: `its tables are not those of a ledger: ${error.message}`,
    hint: 'restore it from a backup, or give the path of a new file',
    cause: error,
  });
}

function isFull(trouble: unknown): boolean {
  return trouble instanceof LedgerError && codeOf(trouble) === 'SQLITE_FULL';
}

/** What `migrate` says when there is something to do and nothing may be written. */
function isUnmigrated(trouble: LedgerError): boolean {
  return codeOf(trouble) === 'SQLITE_READONLY';
}

function codeOf({ cause }: LedgerError): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}

function unfinished(path: string, cause: unknown): LedgerError {
  return new LedgerError(`${path} was made by an older cosmig, or its making was interrupted`, {
    why: 'reading it would have to change it first',
    hint: 'run cosmig copy or cosmig tail with this cosmig once',
    cause,
  });
}
