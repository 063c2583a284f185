/** Ledgers as runs have left them, for the page and the metrics. */
import { join } from 'node:path';
import { readFacts, type Facts } from '../../../../src/report/watch/facts.ts';
import type { Ledger } from '../../../../src/state/ledger.ts';
import { NO_LOAD } from '../../../helpers/run-load.ts';
import { beginLease, openLedger, temporaryFolder, NOW_MS } from '../../state/making.ts';

const SIDE = {
  ...NO_LOAD.source,
  ru: 500,
  throttled: 7,
  allowedRu: 400,
  containerRu: 1000,
  requests: { count: 3, bytes: 900, oldestMs: 1500 },
  ranges: [
    { id: '0', min: '', max: '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF', ru: 200, throttled: 0, isResting: false },
    { id: '1', min: '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF', max: 'FF', ru: 300, throttled: 7, isResting: true },
  ],
};

/** What a reader finds in a ledger while a run works on it. */
export function factsOf(fill: (ledger: Ledger, path: string) => void, atMs = NOW_MS + 60_000): Facts {
  const path = join(temporaryFolder(), 'ledger.db');
  const ledger = openLedger(path);
  fill(ledger, path);
  const facts = readFacts(path, atMs);
  ledger.close();
  return facts;
}

/** A run that copies for a minute and is throttled. */
export function copying(ledger: Ledger): void {
  beginLease(ledger);
  ledger.migration.enter({ phase: 'copying' }, NOW_MS);
  ledger.runs.begin({ command: 'copy', pid: 1, nowMs: NOW_MS });
  for (let second = 1; second <= 59; second += 1) {
    const read = second * 100;
    ledger.history.add({
      atMs: NOW_MS + second * 1000,
      command: 'copy',
      read,
      written: read,
      deleted: 0,
      moved: 0,
      sourceRu: read,
      targetRu: read * 6,
      throttled: 0,
      openLetters: 0,
      lagSeconds: null,
    });
  }
  const waitsFor = 'throttled by the target';
  const report = {
    lagSeconds: null,
    waitsFor,
    expected: 10_000,
    inFlight: 40,
    pages: { count: 2, bytes: 5000, oldestMs: 4200 },
    steps: [],
    source: SIDE,
    target: SIDE,
  };
  ledger.runs.report({ atMs: NOW_MS + 59_000, ...report });
}
