/** What a return would catch up with, and how long it would stop the writers, from what the ledgers know. */
import { expect, test } from 'vitest';
import { NO_LOAD } from '../../../helpers/run-load.ts';
import { paceNow } from '../../../../src/report/watch/rates/pace.ts';
import { catchUpOf, stopEstimateOf } from '../../../../src/report/status/stop-estimate.ts';
import type { HistoryEntry } from '../../../../src/state/reading/history.ts';

type Known = Parameters<typeof stopEstimateOf>[0];

function moment(atMs: number, read: number): HistoryEntry {
  const none = { written: 0, deleted: 0, moved: 0, sourceRu: 0, targetRu: 0, throttled: 0, openLetters: 0 };
  return { command: 'reverse', atMs, read, lagSeconds: null, ...none };
}

const HISTORY = [moment(1000, 10), moment(2000, 30), moment(9000, 500)];
const KNOWN: Known = {
  proof: { comparedFromMs: 2500, readMs: 60_000 },
  history: HISTORY,
  read: 530,
  documents: 1000,
  comparesAll: false,
  lagMs: null,
};

test.each<[what: string, known: Partial<Known>, expected: ReturnType<typeof stopEstimateOf>]>([
  ['half of the documents have changed', {}, { ms: 30_000, changes: 500, comparesAll: false }],
  ['few have changed -> the time of quiet', { read: 40 }, { ms: 5000, changes: 10, comparesAll: false }],
  ['a stream that is behind', { read: 40, lagMs: 2000 }, { ms: 7000, changes: 10, comparesAll: false }],
  ['more changes than documents', { read: 9000 }, { ms: 60_000, changes: 8970, comparesAll: false }],
  ['changes were not reported', { comparesAll: true }, { ms: 60_000, changes: 500, comparesAll: true }],
  [
    'the number of documents is unknown',
    { documents: null },
    { ms: 60_000, changes: 500, comparesAll: false },
  ],
  ['nothing was recorded before it', { history: [] }, { ms: 31_800, changes: 530, comparesAll: false }],
  ['it is not known how long it took', { proof: { comparedFromMs: 1, readMs: null } }, null],
  ['there was none', { proof: null }, null],
])('stop estimate: the last comparison, and %s', (_what, known, expected) => {
  expect(stopEstimateOf({ ...KNOWN, ...known })).toEqual(expected);
});

test.each<[what: string, sinceMs: number, nowMs: number, read: number | undefined]>([
  ['of a run that goes on', 0, 10_000, 61.25],
  ['of which one moment was recorded', 9000, 10_000, undefined],
  ['that has recorded nothing for a minute', 0, 70_000, undefined],
])('rates now %s', (_what, sinceMs, nowMs, read) => {
  expect(paceNow(HISTORY, { sinceMs, nowMs })?.documents).toBe(read);
});

/** A minute in which 120 changes were replicated, for 120 RU of the source and 1,200 RU of the target. */
function minute(lagSeconds: number | null): HistoryEntry[] {
  const end = { sourceRu: 120, targetRu: 1200, lagSeconds };
  return [
    { ...moment(100_000, 50), lagSeconds: 0 },
    { ...moment(160_000, 170), ...end },
    // The run ends, or another one begins, and knows no lag yet.
    { ...moment(161_000, 170), ...end, lagSeconds: null },
  ];
}
const sidesWith = (
  source: number | null,
  target: number | null,
): Parameters<typeof catchUpOf>[0]['report'] => ({
  source: { ...NO_LOAD.source, allowedRu: source },
  target: { ...NO_LOAD.target, allowedRu: target },
});
const BUDGETS = sidesWith(400, 400);
/** Nothing has tailed for a quarter of an hour. */
const LATER_MS = 160_000 + 15 * 60_000;
const since = (ms: number): string => new Date(ms).toISOString();

test.each<[what: string, ...known: Parameters<typeof catchUpOf>, expected: ReturnType<typeof catchUpOf>]>([
  [
    'at the rate of its last hour, and with the RU/s that it had',
    { history: minute(0), report: BUDGETS },
    LATER_MS,
    { since: since(160_000), changes: 1800, ms: 45_000, isTooMuch: false },
  ],
  [
    'what it was behind at its end counts, too',
    { history: minute(20), report: BUDGETS },
    LATER_MS,
    { since: since(140_000), changes: 1840, ms: 46_000, isTooMuch: false },
  ],
  [
    'too much, so that the gate would refuse: as much arrives as can be replicated',
    { history: minute(0), report: sidesWith(400, 30) },
    LATER_MS,
    { since: since(160_000), changes: 1800, ms: 600_000, isTooMuch: true },
  ],
  [
    'without a limit for reads, that for writes decides',
    { history: minute(0), report: sidesWith(null, 400) },
    LATER_MS,
    { since: since(160_000), changes: 1800, ms: 45_000, isTooMuch: false },
  ],
  [
    'without a limit for writes, the time is not known',
    { history: minute(0), report: sidesWith(400, null) },
    LATER_MS,
    { since: since(160_000), changes: 1800, ms: null, isTooMuch: false },
  ],
  [
    'a run of a second has no rate',
    { history: minute(0).slice(1), report: BUDGETS },
    LATER_MS,
    { since: since(160_000), changes: null, ms: null, isTooMuch: false },
  ],
  ['no run has tailed', { history: minute(0).slice(2), report: BUDGETS }, LATER_MS, null],
])('catch-up: %s', (_what, known, nowMs, expected) => {
  expect(catchUpOf(known, nowMs)).toEqual(expected);
});
