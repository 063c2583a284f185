import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Ledger } from '../../../src/state/ledger.ts';
import { readOverview } from '../../../src/state/reading/overview.ts';
import { beginLease, crashCopy, NOW_MS, openLedger, temporaryFolder } from './making.ts';

function somePath(): string {
  return join(temporaryFolder(), 'ledger.db');
}

describe('overview', () => {
  test('commits during the read -> not included', () => {
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

  test('a read fails -> later reads see new commits', () => {
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

  test('after a crash -> isRunning comes from the lock, not from the runs', () => {
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

describe('ledger opened by an operator', () => {
  test('open -> holds the lock, needs no settings', () => {
    const path = somePath();
    openLedger(path).close();
    const ledger = Ledger.openForOperator(path);
    expect(() => openLedger(path)).toThrow(/another cosmig is working/);
    ledger.close();
    openLedger(path).close();
  });

  test('no ledger, or a running mover -> refused at once', () => {
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
