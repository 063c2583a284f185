/** How long a return would stop the writers, from what the ledger and the last comparison know. */
import { expect, test } from 'vitest';
import { paceNow } from '../../../../src/report/watch/rates/pace.ts';
import { stopEstimateOf } from '../../../../src/report/status/stop-estimate.ts';
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
