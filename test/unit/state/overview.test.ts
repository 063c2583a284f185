import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Ledger } from '../../../src/state/ledger.ts';
import { readOverview } from '../../../src/state/overview.ts';
import { beginLease, crashCopy, NOW_MS, openLedger, temporaryFolder } from './making.ts';

function somePath(): string {
  return join(temporaryFolder(), 'ledger.db');
}

describe('a picture', () => {
  test('is of one moment: what a mover commits meanwhile is not in it', () => {
    const path = somePath();
    using ledger = openLedger(path);
    using reader = Ledger.openReadonly(path);
    const seen = reader.atOnce(() => {
      const before = reader.migration.read().phase;
      ledger.migration.enter({ phase: 'copying' }, NOW_MS);
      return [before, reader.migration.read().phase];
    });
    expect(seen).toEqual(['new', 'new']);
    expect(reader.migration.read().phase).toBe('copying');
  });

  test('that could not be finished holds no moment back', () => {
    const path = somePath();
    using ledger = openLedger(path);
    using reader = Ledger.openReadonly(path);
    const broken = (): never => {
      throw new Error('not now');
    };
    expect(() => reader.atOnce(broken)).toThrow('not now');
    ledger.migration.enter({ phase: 'copying' }, NOW_MS);
    expect(reader.atOnce(() => reader.migration.read().phase)).toBe('copying');
  });

  test('says by the lock who is running, not by what was written', () => {
    const path = somePath();
    const ledger = openLedger(path);
    beginLease(ledger);
    ledger.runs.begin({ command: 'copy', pid: 7, nowMs: NOW_MS });
    const crashed = crashCopy(path);
    expect(readOverview(path)).toMatchObject({ isRunning: true, lastRun: { pid: 7, endedAtMs: null } });
    expect(readOverview(crashed)).toMatchObject({ isRunning: false, lastRun: { pid: 7, endedAtMs: null } });
    ledger.runs.end(1, { outcome: 'done', nowMs: NOW_MS + 5 });
    ledger.close();
    expect(readOverview(path)).toMatchObject({ isRunning: false, lastRun: { outcome: 'done' } });
  });
});

describe('an operator', () => {
  test('has the lock for as long as the ledger is open, and needs no spec', () => {
    const path = somePath();
    openLedger(path).close();
    const ledger = Ledger.openForOperator(path);
    expect(() => openLedger(path)).toThrow(/another cosmig is working/);
    ledger.close();
    openLedger(path).close();
  });

  test('begins no ledger, and waits for no mover', () => {
    const path = somePath();
    expect(() => Ledger.openForOperator(path)).toThrow(/there is no ledger/);
    expect(readdirSync(dirname(path))).toEqual([]);
    using _mover = openLedger(path);
    const before = readFileSync(path);
    expect(() => Ledger.openForOperator(path)).toThrow(/another cosmig is working/);
    expect(readFileSync(path)).toEqual(before);
    expect(existsSync(`${path}-lock`)).toBe(true);
  });
});
