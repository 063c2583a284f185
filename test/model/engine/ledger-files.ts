/**
 * Owns what is left of a ledger when its process ends. A kill keeps every transaction; a power cut keeps those up to the
 * last one that was synced. Each process gets a file of its own, so that nothing of the last one can help it.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDriver, type Database } from '../../../src/lib/sqlite/sqlite-driver.ts';
import type { MigrationSpec } from '../../../src/spec/migration-spec.ts';
import type { DeleteMode } from '../../../src/state/migration.ts';
import { Ledger } from '../../../src/state/ledger.ts';

/** What `PRAGMA synchronous` says while a COMMIT waits for the disk. */
const FULL = 2;
const FULL_DISK = { code: 'SQLITE_FULL' };

/** A file of SQLite is the database and its log. */
function copy(from: string, to: string): void {
  rmSync(`${to}-wal`, { force: true });
  copyFileSync(from, to);
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`);
}

export class LedgerFiles implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cosmig-model-'));
  readonly #spec: MigrationSpec;
  readonly #losesPower: boolean;
  #opened = 0;
  #path = '';
  /** How many transactions were synced. */
  syncs = 0;
  /** Whether the disk is full: a transaction that has to be synced fails. */
  isFull = false;

  constructor(spec: MigrationSpec, { losesPower }: { readonly losesPower: boolean }) {
    this.#spec = spec;
    this.#losesPower = losesPower;
  }

  /** Opens the ledger for a new process. */
  open(deletes: DeleteMode, nowMs: number): Ledger {
    const last = this.#path;
    this.#opened += 1;
    this.#path = join(this.#folder, `${this.#opened}.db`);
    if (last === '') copy(templateOf(this.#spec, deletes, nowMs), this.#path);
    else copy(this.#losesPower ? this.#synced : last, this.#path);
    if (this.#losesPower) copy(this.#path, this.#synced);
    const ledger = Ledger.open({ path: this.#path, spec: this.#spec, nowMs, create: 'never' });
    watchCommits({
      before: (path) => {
        if (path === this.#path && this.isFull)
          throw Object.assign(new Error('database or disk is full'), FULL_DISK);
      },
      after: (path) => {
        if (path === this.#path && this.#losesPower) this.#sync();
      },
    });
    return ledger;
  }

  [Symbol.dispose](): void {
    watchCommits(null);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #synced(): string {
    return join(this.#folder, 'synced.db');
  }

  #sync(): void {
    this.syncs += 1;
    copy(this.#path, this.#synced);
  }
}

/** What to do around each COMMIT that waits for the disk. */
interface Watch {
  readonly before: (path: string) => void;
  readonly after: (path: string) => void;
}

let watch: Watch | null = null;
let isWatched = false;

function watchCommits(by: Watch | null): void {
  watch = by;
  if (isWatched) return;
  isWatched = true;
  const { prototype } = loadDriver();
  const exec: unknown = Reflect.get(prototype, 'exec');
  if (typeof exec !== 'function') throw new Error('a database of better-sqlite3 has exec');
  prototype.exec = function execAndWatch(sql) {
    const waits = watch !== null && sql === 'COMMIT' && this.pragma('synchronous', { simple: true }) === FULL;
    if (waits) watch?.before(this.name);
    const result = exec.call(this, sql) as Database;
    if (waits) watch?.after(this.name);
    return result;
  };
}

const templates = new Map<string, string>();

/** An empty ledger: to create one takes longer than a whole run. */
function templateOf(spec: MigrationSpec, deletes: DeleteMode, nowMs: number): string {
  const known = templates.get(deletes);
  if (known !== undefined && existsSync(known)) return known;
  const path = join(mkdtempSync(join(tmpdir(), 'cosmig-model-template-')), 'ledger.db');
  const containers = { sourceRid: 'source', targetRid: 'target', sourceTtl: null };
  const ledger = Ledger.open({ path, spec, nowMs, create: 'if-missing', containers });
  ledger.migration.pinContainers(containers);
  ledger.migration.decideDeleteMode(deletes);
  ledger.close();
  templates.set(deletes, path);
  return path;
}
