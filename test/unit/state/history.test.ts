/** The history of a migration: bounded however long it lasts, and never without its beginning and its newest moment. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HistoryEntry } from '../../../src/state/reading/history.ts';
import { openLedger, temporaryFolder } from './making.ts';

const BEGAN_MS = 1_770_000_000_000;
const HOUR_MS = 3_600_000;

function momentAt(atMs: number): HistoryEntry {
  const read = Math.floor((atMs - BEGAN_MS) / 10);
  return {
    atMs,
    command: 'copy',
    read,
    written: read,
    deleted: 0,
    moved: 0,
    sourceRu: read * 2,
    targetRu: read * 10,
    throttled: 0,
    openLetters: 0,
    lagSeconds: null,
  };
}

function gapsOf(moments: readonly HistoryEntry[]): number[] {
  return moments.slice(1).map(({ atMs }, index) => atMs - (moments[index]?.atMs ?? 0));
}

test.each([
  ['20 minutes', 20 * 60_000, 1000],
  ['12 hours', 12 * HOUR_MS, 12_345],
  ['5 weeks', 35 * 24 * HOUR_MS, 1_000_000],
])('history of %s -> bounded and even, from its beginning to now', (_what, lengthMs, everyMs) => {
  using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  let newest = momentAt(BEGAN_MS);
  for (let passedMs = 0; passedMs <= lengthMs; passedMs += everyMs) {
    newest = momentAt(BEGAN_MS + passedMs);
    ledger.history.add(newest);
  }
  const moments = ledger.history.all();
  expect(moments.length).toBeLessThanOrEqual(720);
  expect(moments.length).toBeGreaterThan(300);
  expect(moments.at(-1)).toEqual(newest);
  const gaps = gapsOf(moments).slice(1, -1);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(lengthMs / 200);
  expect(Math.max(...gaps)).toBeLessThan(3 * Math.min(...gaps));
  expect(moments[0]?.atMs).toBeLessThanOrEqual(BEGAN_MS + lengthMs / 200);
});

test('a clock that was ahead and is set back -> what it recorded meanwhile is gone, and the history goes on', () => {
  using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  for (const atMs of [0, 1000, 9000, 9_000_000, 2000, 3000]) ledger.history.add(momentAt(BEGAN_MS + atMs));
  expect(ledger.history.all().map(({ atMs }) => atMs - BEGAN_MS)).toEqual([0, 1000, 2000, 3000]);
});

test('two moments within a second -> the newer one replaces the older one, and the first one remains', () => {
  using ledger = openLedger(join(temporaryFolder(), 'ledger.db'));
  for (const atMs of [0, 1500, 1700, 1900]) ledger.history.add(momentAt(BEGAN_MS + atMs));
  expect(ledger.history.all().map(({ atMs }) => atMs - BEGAN_MS)).toEqual([0, 1500, 1900]);
});
