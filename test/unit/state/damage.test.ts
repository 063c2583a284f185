/** Random damage to the files of a ledger: its contents are the same, or it is refused, or it knows that changes are lost. */
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LedgerError } from '../../../src/lib/errors.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { damage, type OlderFiles } from '../../helpers/damage.ts';
import { contentsOf, execIn, rowsIn } from '../../helpers/database-file.ts';
import { draws } from '../../helpers/generated.ts';
import { sized } from '../../helpers/nightly.ts';
import {
  beginLease,
  buildIndex,
  hashOf,
  intendPage,
  NOW_MS,
  openLedger,
  rowOf,
  SPEC,
  temporaryFolder,
} from './making.ts';

const SEEDS = sized({ daily: draws(120), nightly: 5000 });
const ENDINGS = ['', '-wal', '-shm', '-mark', '-lock'];

/** Copies all files of a ledger to a new folder. */
function copyAll(path: string): string {
  const copy = join(temporaryFolder(), 'ledger.db');
  for (const ending of ENDINGS) if (existsSync(path + ending)) copyFileSync(path + ending, copy + ending);
  return copy;
}

/** A ledger with something in every table that a run fills, while a mover has it open; and earlier states of it. */
function filled(path: string): { readonly ledger: Ledger; readonly older: Required<OlderFiles> } {
  const ledger = openLedger(path);
  const older = { wal: [] as Buffer[], database: [] as Buffer[] };
  const keepLog = (): void => {
    older.wal.push(readFileSync(`${path}-wal`));
    // Brings the log into the database, as SQLite does by itself in longer runs.
    execIn(path, 'PRAGMA wal_checkpoint(PASSIVE)');
    older.database.push(readFileSync(path));
  };
  ledger.migration.pinContainers({ sourceRid: 'abc=', targetRid: 'def=', sourceTtl: -1 });
  ledger.runs.begin({ command: 'copy', pid: 7, nowMs: NOW_MS });
  ledger.noteProgress();
  const lease = beginLease(ledger);
  for (let unit = 0; unit < 12; unit += 1) {
    const documents = Array.from({ length: 40 }, (_, n) => ({
      identity: `d${unit}.${n}`,
      slot: `s${unit}.${n}`,
    }));
    intendPage(ledger, { lease, documents, position: `"${unit}"` })();
    if (unit % 4 === 0) keepLog();
  }
  buildIndex(ledger, lease.indexId);
  for (let n = 0; n < 60; n += 1) {
    const unit = ledger.units.nextUnit();
    const claim = {
      kind: 'write' as const,
      identity: hashOf(`r${n}`),
      slot: hashOf(`t${n}`),
      targetKey: ['t'],
      name: ['"r"', '"k"'],
    };
    ledger.units.intend([{ unit, lease: lease.number, feed: 'LV', claims: [claim] }]);
    if (n % 20 === 0) keepLog();
    // The last ones stay open.
    if (n > 55) continue;
    ledger.units.commit([{ unit, move: null, rows: [rowOf(`r${n}`, n % 3 === 0 ? null : `t${n}`)] }], {
      tokens: [{ rangeId: '0', token: `0:-1#${n}` }],
      targetTokens: [{ rangeId: '0', token: `0:-1#${n}` }],
      counters: { read: 1 },
    });
  }
  return { ledger, older };
}

/** The tables whose rows are checked when they are read, instead of all when the file is opened. */
const READ_LATER = ['documents', 'index_blocks', 'outcomes', 'segment_names', 'segments'];

/** All that the next run would believe; throws where it would end with an error. */
function believed(path: string): unknown {
  const read = ((): unknown => {
    using ledger = Ledger.open({ path, spec: SPEC, nowMs: NOW_MS, create: 'never' });
    if (ledger.missed() !== null) return 'lost';
    const names = [
      ...Array.from({ length: 60 }, (_, n) => `r${n}`),
      ...Array.from({ length: 480 }, (_, n) => `d${Math.floor(n / 40)}.${n % 40}`),
      'unknown',
    ];
    const documents = names.map((name) => ledger.lookup.find(hashOf(name), 1));
    return { documents, intents: ledger.units.unsettled().map((unit) => ledger.units.readIntent(unit, 1)) };
  })();
  if (read === 'lost') return read;
  const others = Object.entries(contentsOf(path)).filter(([table]) => !READ_LATER.includes(table));
  return { read, others: Object.fromEntries(others) };
}

/** What `read` returns, or 'refused' if the ledger is refused. */
function outcomeOf(read: () => unknown, what: string): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof LedgerError) return 'refused';
    throw new Error(what, { cause: error });
  }
}

describe('ledger: random damage', () => {
  test('after a kill or a clean end -> refused, known to have lost changes, or the same contents', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const { ledger, older } = filled(path);
    const killed = copyAll(path);
    ledger.close();
    const first = Number(process.env['COSMIG_SEED'] ?? 1);
    const seen = new Set<string>();
    const expected = believed(killed);
    for (let seed = first; seed < first + SEEDS; seed += 1) {
      const copy = copyAll(seed % 2 === 0 ? killed : path);
      const what = `seed ${seed}: ${damage(copy, seededRandom(seed), older)}`;
      const found = outcomeOf(() => believed(copy), what);
      expect({ what, found }).toEqual({ what, found: expect.toBeOneOf([expected, 'refused', 'lost']) });
      seen.add(typeof found === 'string' ? found : 'same');
      rmSync(dirname(copy), { recursive: true });
    }
    expect([...seen].toSorted()).toEqual(['lost', 'refused', 'same']);
  }, 600_000);
});

describe('ledger: damage', () => {
  /** A closed ledger, in which SQL then changes what cosmig has written. */
  function changedBy(sql: string): string {
    const path = join(temporaryFolder(), 'ledger.db');
    filled(path).ledger.close();
    execIn(path, sql);
    return path;
  }

  test.each([
    ['a row that is gone', 'DELETE FROM documents WHERE identity = (SELECT min(identity) FROM documents)'],
    ['a row that another one replaced', 'UPDATE outcomes SET first_sequence = 1 WHERE segment = 3'],
    ['a row that is new', "INSERT INTO overrides VALUES (x'00', x'00', 1)"],
    ['a position', 'UPDATE leases SET lv_position = \'"1"\''],
    ['a token', "UPDATE session_tokens SET tokens = '0:-1#1'"],
    ['an open intent that is gone', 'DELETE FROM claims; DELETE FROM intents'],
    ['a sum that is gone', "DELETE FROM table_sums WHERE name = 'runs'"],
    ['the numbers that rows have had', 'DELETE FROM sqlite_sequence'],
    ['a row number that is too high', "UPDATE sqlite_sequence SET seq = 9e9 WHERE name = 'segments'"],
  ])('%s -> refused when it is opened', (_what, sql) => {
    expect(() => openLedger(changedBy(sql))).toThrow(/ledger\.db is damaged/);
  });
});

test('ledger: a damaged rule of a table -> refused when it is opened', () => {
  const path = join(temporaryFolder(), 'ledger.db');
  filled(path).ledger.close();
  const bytes = readFileSync(path);
  // There is no dead letter yet, so SQLite sees nothing wrong. Later, closing one would fail.
  const rule = "IN ('open', 'closed', 'discarded')";
  // A page that SQLite has split still has an old copy of it.
  for (let at = bytes.indexOf(rule); at >= 0; at = bytes.indexOf(rule))
    bytes.write(rule.replace('closed', 'clozed'), at);
  writeFileSync(path, bytes);
  expect(() => openLedger(path)).toThrow(/ledger\.db is damaged/);
});

/** The page number of the root of a table or an index. */
function rootOf(path: string, name: string): number {
  const [row] = rowsIn(path, `SELECT rootpage FROM sqlite_schema WHERE name = '${name}'`);
  return (row as { rootpage: number }).rootpage;
}

test('ledger: an index of SQLite that has lost its entries -> refused when it is opened', () => {
  const path = join(temporaryFolder(), 'ledger.db');
  filled(path).ledger.close();
  const bytes = readFileSync(path);
  const at = (rootOf(path, 'index_blocks_by_first_entry') - 1) * 4096;
  // An empty leaf: no entries, and its contents begin at the end of the page.
  bytes.fill(0, at, at + 4096);
  bytes.set([0x0a, 0, 0, 0, 0, 0x10, 0, 0], at);
  writeFileSync(path, bytes);
  // The tables are whole, and SQLite sees nothing wrong when it looks for a document: it would find none.
  expect(rowsIn(path, "SELECT 1 FROM index_blocks WHERE run > 0 AND first_entry > x''")).toEqual([]);
  expect(() => openLedger(path)).toThrow(/ledger\.db is damaged/);
});

describe('change mark', () => {
  test('the log of a killed run removed -> known, until it is noted', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const { ledger } = filled(path);
    // Puts everything so far into the file, so that it is whole without the log.
    execIn(path, 'PRAGMA wal_checkpoint(PASSIVE)');
    ledger.leases.change(1, { sweepPending: true });
    const copy = copyAll(path);
    ledger.close();
    rmSync(`${copy}-wal`);
    {
      using without = openLedger(copy);
      expect(without.missed()).not.toBeNull();
      // New changes do not hide it.
      for (let n = 0; n < 9; n += 1) without.runs.begin({ command: 'tail', pid: 7, nowMs: NOW_MS });
    }
    {
      using again = openLedger(copy);
      expect(again.missed()).not.toBeNull();
      again.noteProgress();
      expect(again.missed()).toBeNull();
    }
    using later = openLedger(copy);
    expect(later.missed()).toBeNull();
  });

  test('a power cut after the end of a range -> the range is copied on, and nothing counts as lost', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const { ledger } = filled(path);
    execIn(path, 'PRAGMA wal_checkpoint(PASSIVE)');
    expect(ledger.leases.endCopy(1, 7)).toMatchObject({ phase: 'tail', copiedLsn: 7 });
    const copy = copyAll(path);
    ledger.close();
    rmSync(`${copy}-wal`);
    using without = openLedger(copy);
    expect(without.leases.get(1)).toMatchObject({ phase: 'copy', copiedLsn: null });
    expect(without.missed()).toBeNull();
  });

  test('only the database of a killed run was copied -> known, until it is noted', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const { ledger } = filled(path);
    execIn(path, 'PRAGMA wal_checkpoint(PASSIVE)');
    ledger.leases.change(1, { sweepPending: true });
    const copy = join(temporaryFolder(), 'ledger.db');
    copyFileSync(path, copy);
    ledger.close();
    for (let n = 0; n < 2; n += 1) {
      using without = openLedger(copy);
      expect(without.missed()).not.toBeNull();
    }
    {
      using known = openLedger(copy);
      known.noteProgress();
    }
    using later = openLedger(copy);
    expect(later.missed()).toBeNull();
  });

  test('the database of a clean end was copied, or backed up -> nothing is missing', () => {
    const path = join(temporaryFolder(), 'ledger.db');
    const { ledger } = filled(path);
    const backup = join(temporaryFolder(), 'backup.db');
    ledger.backup(backup);
    ledger.close();
    const copy = join(temporaryFolder(), 'ledger.db');
    copyFileSync(path, copy);
    for (const one of [backup, copy]) {
      using ledger = openLedger(one);
      expect(ledger.missed()).toBeNull();
    }
  });

  test.each([
    ['missing', undefined],
    ['damaged', '{"createdAtMs":1,"changes":9e99,'],
    ['of another ledger', JSON.stringify({ createdAtMs: 1, changes: 1e9, checksum: 1 })],
  ])('%s -> ignored', (_what, text) => {
    const path = join(temporaryFolder(), 'ledger.db');
    filled(path).ledger.close();
    if (text === undefined) rmSync(`${path}-mark`);
    else writeFileSync(`${path}-mark`, text);
    using ledger = openLedger(path);
    expect(ledger.missed()).toBeNull();
  });
});
