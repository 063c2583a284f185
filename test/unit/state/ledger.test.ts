import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LedgerError, NotReadyError } from '../../../src/lib/errors.ts';
import { migrate, openDatabase } from '../../../src/lib/sqlite/sqlite.ts';
import { loadDriver } from '../../../src/lib/sqlite/sqlite-driver.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import {
  beginLease,
  buildIndex,
  crashCopy,
  hashOf,
  intendPage,
  NOW_MS,
  openLedger,
  rowOf,
  SPEC,
  temporaryFolder,
} from './making.ts';
import { execIn } from '../../helpers/database-file.ts';

/** The names and bytes of everything next to a ledger. */
function bytesBeside(path: string): Record<string, string> {
  const folder = dirname(path);
  return Object.fromEntries(
    readdirSync(folder)
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, name)).toString('base64')]),
  );
}

/** The ledger and its log: what -shm holds is locks and an index of the log, and no memory. */
function ledgerBytes(path: string): Record<string, string> {
  return Object.fromEntries(Object.entries(bytesBeside(path)).filter(([name]) => !name.endsWith('-shm')));
}

/** A copy of a ledger in the middle of a large transaction, as a crash leaves it: a part of it is in the file already. */
function halfWritten(path: string): string {
  const copy = join(temporaryFolder(), 'ledger.db');
  const Driver = loadDriver();
  const database = new Driver(path);
  database.pragma('cache_size = 1');
  database.exec('BEGIN IMMEDIATE; DELETE FROM leases; CREATE TABLE filling (bytes BLOB)');
  const fill = database.prepare('INSERT INTO filling VALUES (zeroblob(100000))');
  for (let n = 0; n < 10; n += 1) fill.run();
  copyFileSync(path, copy);
  copyFileSync(`${path}-journal`, `${copy}-journal`);
  database.exec('ROLLBACK');
  database.close();
  return copy;
}

function somePath(): string {
  return join(temporaryFolder(), 'ledger.db');
}

function pictureOf(ledger: Ledger): unknown {
  const { migration, runs, leases, tokens, counters, letters } = ledger;
  return [migration.read(), leases.all(), tokens.all(), counters.all(), letters.counts(), runs.last()];
}

function fill(ledger: Ledger): void {
  ledger.migration.pinContainers({ sourceRid: 'abc=', targetRid: 'def=', sourceTtl: -1 });
  ledger.migration.decideDeleteMode('avad');
  ledger.migration.enter({ phase: 'copying' }, NOW_MS);
  ledger.runs.begin({ command: 'copy', pid: 7, nowMs: NOW_MS });
  const lease = beginLease(ledger);
  intendPage(ledger, { lease, documents: [{ identity: 'd', slot: 's' }], position: '"1"' })();
  ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null }], {
    tokens: [{ rangeId: '0', token: '0:-1#9' }],
    counters: { read: 1, written: 1 },
  });
}

describe('ledger', () => {
  test('opened again after a clean end or a crash -> the same contents', () => {
    const path = somePath();
    const ledger = openLedger(path);
    fill(ledger);
    const picture = pictureOf(ledger);
    const copy = crashCopy(path);
    ledger.close();
    for (const one of [path, copy]) {
      using reopened = openLedger(one);
      expect(pictureOf(reopened)).toEqual(picture);
      expect(reopened.journal.entries({ after: 0, limit: 10 })).toEqual([
        { number: 1, atMs: NOW_MS, event: 'phase', phase: 'copying' },
      ]);
    }
  });

  test('hasBegun: interrupted before the anchor -> false, after it -> true', () => {
    const path = somePath();
    expect(Ledger.peek(path).hasBegun).toBe(false);
    writeFileSync(path, '');
    expect(Ledger.peek(path).hasBegun).toBe(false);
    // Its tables are there, and nothing was pinned yet.
    const interrupted = openDatabase({ path });
    migrate(interrupted, 'ledger');
    interrupted.close();
    expect(Ledger.peek(path).hasBegun).toBe(false);
    using ledger = openLedger(path);
    expect(Ledger.peek(path).hasBegun).toBe(false);
    beginLease(ledger);
    expect(Ledger.peek(path).hasBegun).toBe(true);
    expect(Ledger.peek(crashCopy(path)).hasBegun).toBe(true);
  });

  test('a process is killed in a transaction of the rollback journal -> the next command rolls back, and reads', () => {
    const path = somePath();
    const ledger = openLedger(path);
    const { documents } = beginLease(ledger);
    ledger.close();
    expect(Ledger.peek(halfWritten(path)).hasBegun).toBe(true);
    using read = Ledger.openReadonly(halfWritten(path));
    expect(read.leases.live()).toMatchObject([{ documents }]);
  });

  test('closed -> one file next to its lock', () => {
    const path = somePath();
    openLedger(path).close();
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['ledger.db', 'ledger.db-lock', 'ledger.db-mark']);
  });

  test('other settings -> refused, naming the options that changed', () => {
    const path = somePath();
    openLedger(path).close();
    const open = (): Ledger => openLedger(path, { ...SPEC, partitionKey: ['/zip'], missingKey: 'fail' });
    expect(open).toThrow(NotReadyError);
    expect(open).toThrow(/another .*--partition-key.*--missing-key|another .*--missing-key.*--partition-key/);
    openLedger(path, { ...SPEC, deadLettersMax: 5 }).close();
  });

  test.each([
    ['a recreated source', { sourceRid: 'new=' }, /source container was deleted and created again/],
    ['a recreated target', { targetRid: 'new=' }, /target container was deleted and created again/],
    ['another TTL', { sourceTtl: 60 }, /TTL was changed/],
  ])('%s -> refused', (_what, change, message) => {
    using ledger = openLedger(somePath());
    const containers = { sourceRid: 'abc=', targetRid: 'def=', sourceTtl: null };
    ledger.migration.pinContainers(containers);
    ledger.migration.pinContainers(containers);
    expect(() => ledger.migration.pinContainers({ ...containers, ...change })).toThrow(message);
  });

  test('delete mode: another one later -> refused', () => {
    using ledger = openLedger(somePath());
    ledger.migration.decideDeleteMode('avad');
    ledger.migration.decideDeleteMode('avad');
    expect(() => ledger.migration.decideDeleteMode('reconcile')).toThrow(/cannot become reconcile/);
  });

  test('missing, foreign, damaged or newer file -> refused, not changed', () => {
    const path = somePath();
    const never = (): Ledger => Ledger.open({ path, spec: SPEC, nowMs: NOW_MS, create: 'never' });
    expect(never).toThrow(/there is no ledger/);
    expect(() => Ledger.openReadonly(path)).toThrow(/there is no ledger/);
    expect(readdirSync(dirname(path))).toEqual([]);

    writeFileSync(path, 'not a database, but long enough to be taken for a header of one'.repeat(100));
    expect(never).toThrow(LedgerError);
    expect(() => Ledger.openReadonly(path)).toThrow(LedgerError);

    const foreign = somePath();
    const other = openDatabase({ path: foreign });
    other.exec('CREATE TABLE theirs (a)');
    other.close();
    expect(() => openLedger(foreign)).toThrow(/not a cosmig database/);

    const newer = somePath();
    openLedger(newer).close();
    const later = openDatabase({ path: newer });
    later.exec("INSERT INTO cosmig_schema VALUES (999, 'ledger', '0999_later.sql', 'x', 'now')");
    later.close();
    expect(() => openLedger(newer)).toThrow(/newer than this cosmig/);
    expect(() => Ledger.openReadonly(newer)).toThrow(/newer than this cosmig/);

    const damaged = somePath();
    openLedger(damaged).close();
    truncateSync(damaged, 8192);
    expect(() => openLedger(damaged)).toThrow(LedgerError);
    expect(() => Ledger.openReadonly(damaged)).toThrow(LedgerError);
  });

  test.each([
    "UPDATE migration SET pinned_spec = '{'",
    "UPDATE migration SET pinned_spec = '[]'",
    "UPDATE migration SET delete_mode = 'sometimes'",
  ])('%s -> reported as damaged', (sql) => {
    const path = somePath();
    openLedger(path).close();
    const database = openDatabase({ path });
    database.exec(sql);
    database.close();
    expect(() => openLedger(path)).toThrow(/damaged/);
    expect(() => Ledger.openReadonly(path)).toThrow(/damaged/);
  });

  test('a damaged table of migrations -> reported as damaged, also by a look', () => {
    const path = somePath();
    openLedger(path).close();
    const database = openDatabase({ path });
    database.exec('ALTER TABLE cosmig_schema RENAME COLUMN sha256 TO sha257');
    database.close();
    expect(() => openLedger(path)).toThrow(/is damaged/);
    expect(() => Ledger.openReadonly(path)).toThrow(/is damaged/);
    expect(() => Ledger.peek(path)).toThrow(/is damaged/);
  });

  test('contents that cosmig never writes -> reported as damaged', () => {
    const path = somePath();
    openLedger(path).close();
    const database = openDatabase({ path });
    database.exec(
      "INSERT INTO leases (index_id, range_id, parents, min, max, phase) VALUES (1, '0', '{', '', 'FF', 'copy')",
    );
    database.close();
    expect(() => openLedger(path)).toThrow(/damaged/);
  });
});

describe('ledger damaged within', () => {
  /** A copy with its index, whose bytes are then changed by SQL. */
  function damagedBy(sql: string): Ledger {
    const path = somePath();
    const ledger = openLedger(path);
    const lease = beginLease(ledger);
    const documents = ['a', 'b', 'c'].map((identity) => ({ identity, slot: `s${identity}` }));
    intendPage(ledger, { lease, documents, position: '"1"' })();
    buildIndex(ledger, lease.indexId);
    ledger.close();
    const reopened = openLedger(path);
    // As if the disk had changed it meanwhile: what a run finds when it opens the file was checked already.
    execIn(path, sql);
    return reopened;
  }

  test.each([
    ['a segment with fewer documents', 'UPDATE segments SET documents = 0'],
    ['a segment with another LSN', 'UPDATE segments SET lsn_base = lsn_base + 1'],
    ['outcomes with other numbers', 'UPDATE outcomes SET first_sequence = first_sequence + 1'],
    ['a block of the index of another run', 'UPDATE index_blocks SET checksum = checksum + 1'],
    ['a segment that is too short', "UPDATE segments SET entries = x'00112233'"],
    ['a segment of zeros', 'UPDATE segments SET entries = zeroblob(length(entries) + 9)'],
    ['a segment that is gone', 'DELETE FROM outcomes; DELETE FROM segments'],
  ])('%s -> LedgerError that names it', (_what, sql) => {
    using ledger = damagedBy(sql);
    expect(() => ['a', 'b', 'c'].map((name) => ledger.lookup.find(hashOf(name), 1))).toThrow(LedgerError);
    expect(() => ['a', 'b', 'c'].map((name) => ledger.lookup.find(hashOf(name), 1))).toThrow(/damaged/);
  });

  test('tables of another shape -> refused on opening', () => {
    const path = somePath();
    openLedger(path).close();
    const database = openDatabase({ path });
    database.exec('ALTER TABLE leases RENAME COLUMN range_id TO rbnge_id');
    database.close();
    expect(() => openLedger(path)).toThrow(/is damaged/);
    expect(() => Ledger.openReadonly(path)).toThrow(/is damaged/);
    expect(() => Ledger.openForOperator(path)).toThrow(/is damaged/);
  });

  test.each([
    ['another state', "UPDATE documents SET state = 'quarantined'"],
    ['another slot', "UPDATE documents SET slot = x'000102030405060708090a0b0c0d0e0f'"],
    ['another version', "UPDATE documents SET etag = x'0001020304050607'"],
    ['another LSN', 'UPDATE documents SET lsn = lsn + 1'],
  ])('a row with %s -> LedgerError when it is read', (_what, sql) => {
    const path = somePath();
    using ledger = openLedger(path);
    ledger.units.commit([{ unit: ledger.units.nextUnit(), move: null, rows: [rowOf('a', 's')] }]);
    expect(ledger.rows.find(hashOf('a'))?.lsn).toBe(1);
    execIn(path, sql);
    expect(() => ledger.rows.find(hashOf('a'))).toThrow(/damaged/);
  });

  test.each([
    ['names', 'UPDATE segment_names SET names = zeroblob(length(names))'],
    ['entries', 'UPDATE segments SET entries = zeroblob(length(entries))'],
  ])('an open intent with other %s -> LedgerError when it is settled', (_what, sql) => {
    const path = somePath();
    using ledger = openLedger(path);
    const lease = beginLease(ledger);
    intendPage(ledger, { lease, documents: [{ identity: 'a', slot: 's' }], position: '"1"' });
    const [unit = 0] = ledger.units.unsettled();
    expect(unit).toBeGreaterThan(0);
    execIn(path, sql);
    expect(() => ledger.units.readIntent(unit, 1)).toThrow(/damaged/);
  });

  test('garbage in a table -> refused by a mover; a reader gets a LedgerError when it reads the table', () => {
    const path = somePath();
    const ledger = openLedger(path);
    buildIndex(ledger, beginLease(ledger).indexId);
    const root = (name: string): number => {
      const database = openDatabase({ path, readonly: true });
      const found = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name);
      database.close();
      return Number(found);
    };
    const unit = root('index_builds');
    ledger.close();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, (unit - 1) * 4096, unit * 4096);
    writeFileSync(path, bytes);
    expect(() => openLedger(path)).toThrow(/is damaged/);
    using damaged = Ledger.openReadonly(path);
    expect(() => damaged.isIndexed(1)).toThrow(LedgerError);
  });
});

describe('ledger opened read-only', () => {
  test('after a clean end -> no byte changes, no file is created', () => {
    const path = somePath();
    const ledger = openLedger(path);
    fill(ledger);
    const picture = pictureOf(ledger);
    ledger.close();
    const before = bytesBeside(path);
    const reader = Ledger.openReadonly(path);
    expect(pictureOf(reader)).toEqual(picture);
    expect(Ledger.isRunning(path)).toBe(false);
    expect(bytesBeside(path)).toEqual(before);
    reader.close();
    expect(bytesBeside(path)).toEqual(before);
  });

  test('while a mover works or after a crash -> file and log do not change', () => {
    const path = somePath();
    using ledger = openLedger(path);
    fill(ledger);
    const picture = pictureOf(ledger);
    const before = ledgerBytes(path);
    const reader = Ledger.openReadonly(path);
    expect(pictureOf(reader)).toEqual(picture);
    expect(Ledger.isRunning(path)).toBe(true);
    reader.close();
    expect(ledgerBytes(path)).toEqual(before);

    const crashed = crashCopy(path);
    const left = ledgerBytes(crashed);
    const visitor = Ledger.openReadonly(crashed);
    expect(pictureOf(visitor)).toEqual(picture);
    visitor.close();
    expect(ledgerBytes(crashed)).toEqual(left);
  });

  test('a reader is open -> the mover can close', () => {
    const path = somePath();
    const ledger = openLedger(path);
    const reader = Ledger.openReadonly(path);
    reader.migration.read();
    ledger.close();
    expect(reader.migration.read().phase).toBe('new');
    reader.close();
    openLedger(path).close();
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['ledger.db', 'ledger.db-lock', 'ledger.db-mark']);
  });
});

/** Windows has other permissions. */
const isWindows = process.platform === 'win32';

describe.skipIf(isWindows)('files of a ledger', () => {
  test('created -> only the owner may read them, the log and a backup included', () => {
    const path = somePath();
    using ledger = openLedger(path);
    fill(ledger);
    ledger.backup(`${path}.backup`);
    const names = readdirSync(dirname(path)).filter((name) => !name.endsWith('-journal'));
    const modes = names.map((name) => [name, (statSync(join(dirname(path), name)).mode & 0o777).toString(8)]);
    expect(Object.fromEntries(modes)).toEqual({
      'ledger.db': '600',
      'ledger.db-lock': '600',
      'ledger.db-mark': '600',
      'ledger.db-shm': '600',
      'ledger.db-wal': '600',
      'ledger.db.backup': '600',
    });
  });

  test('a ledger that the operator has made readable for others -> stays so', () => {
    const path = somePath();
    openLedger(path).close();
    chmodSync(path, 0o640);
    openLedger(path).close();
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });
});

describe('recorded progress', () => {
  const runs = (ledger: Ledger, count: number): void => {
    for (let n = 0; n < count; n += 1) {
      ledger.runs.begin({ command: 'tail', pid: 7, nowMs: NOW_MS });
      ledger.noteProgress();
    }
  };

  test('an older copy of the ledger -> detected, once', () => {
    const path = somePath();
    const backup = join(temporaryFolder(), 'backup.db');
    {
      using ledger = openLedger(path);
      runs(ledger, 2);
      ledger.backup(backup);
      expect(ledger.missed()).toBeNull();
      runs(ledger, 2);
      ledger.migration.enter({ phase: 'copying' }, NOW_MS);
      ledger.noteProgress();
    }
    copyFileSync(backup, path);
    {
      using older = openLedger(path);
      expect(older.missed()).toEqual({ createdAtMs: NOW_MS, run: 4, phase: 'copying' });
      runs(older, 1);
      expect(older.missed()).toBeNull();
    }
    using again = openLedger(path);
    expect(again.missed()).toBeNull();
  });

  test('an older copy from the same run -> detected by what it lacks', () => {
    const path = somePath();
    const backup = join(temporaryFolder(), 'backup.db');
    {
      using ledger = openLedger(path);
      runs(ledger, 1);
      ledger.backup(backup);
      ledger.migration.decideDeleteMode('avad');
    }
    copyFileSync(backup, path);
    using older = openLedger(path);
    expect(older.missed()).toMatchObject({ run: 1 });
  });

  test('a new ledger or a copy at another path -> not taken for an older one', () => {
    const path = somePath();
    const backup = join(temporaryFolder(), 'backup.db');
    {
      using ledger = openLedger(path);
      runs(ledger, 2);
      ledger.backup(backup);
      runs(ledger, 2);
    }
    using copy = openLedger(backup);
    expect(copy.missed()).toBeNull();
    rmSync(path);
    using recreated = Ledger.open({ path, spec: SPEC, nowMs: NOW_MS + 1, create: 'if-missing' });
    expect(recreated.missed()).toBeNull();
    using reader = Ledger.openReadonly(path);
    expect(reader.missed()).toBeNull();
  });

  test('killed while recording -> the next mover starts', () => {
    const path = somePath();
    {
      using ledger = openLedger(path);
      runs(ledger, 3);
    }
    // A journal whose transaction has not ended: who may only read cannot roll it back.
    const header = Buffer.alloc(512);
    header.write('d9d505f920a163d7', 'hex');
    writeFileSync(`${path}-lock-journal`, header);
    expect(Ledger.isRunning(path)).toBe(false);
    using ledger = openLedger(path);
    expect(ledger.missed()).toBeNull();
    expect(ledger.runs.last()?.number).toBe(3);
  });

  test('recording -> the lock stays held', () => {
    const path = somePath();
    using ledger = openLedger(path);
    for (let n = 0; n < 20; n += 1) {
      runs(ledger, 1);
      expect(Ledger.isRunning(path)).toBe(true);
    }
    expect(() => openLedger(path)).toThrow(/another cosmig is working/);
  });

  test.each([
    ['reverse', /^stop that one with Ctrl-C/],
    ['cutover', /^wait for that one to end/],
  ])('another process asks for the lock -> it reads that cosmig %s has it', (command, hint) => {
    const path = somePath();
    using ledger = openLedger(path);
    ledger.runs.begin({ command, pid: 7, nowMs: NOW_MS });
    expect(() => Ledger.openForOperator(path)).toThrow(
      expect.objectContaining({
        why: expect.stringContaining(`"cosmig ${command}" (process 7)`) as string,
        hint: expect.stringMatching(hint) as string,
      }) as Error,
    );
  });
});

describe('backup', () => {
  test('while a mover works -> a complete ledger', () => {
    const folder = temporaryFolder();
    using ledger = openLedger(join(folder, 'ledger.db'));
    fill(ledger);
    const to = join(folder, "the operator's backup.db");
    using reader = Ledger.openReadonly(join(folder, 'ledger.db'));
    reader.backup(to);
    expect(() => ledger.backup(to)).toThrow(/exists already/);
    intendPage(ledger, { lease: ledger.leases.get(1), documents: [], position: '"2"' })();
    using copy = openLedger(to);
    expect(copy.leases.get(1).lvPosition).toBe('"1"');
    expect(readdirSync(folder)).not.toContain("the operator's backup.db.part");
  });
});
