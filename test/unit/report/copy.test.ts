import { expect, test } from 'vitest';
import type { RunSnapshot } from '../../../src/engine/run.ts';
import { runText } from '../../../src/report/copy.ts';
import { NO_LOAD } from '../../helpers/run-load.ts';

const SNAPSHOT: RunSnapshot = {
  migration: 'shop/orders -> shop/by-tenant',
  goal: 'catch-up',
  phase: 'tailing',
  complete: true,
  documents: { read: 1, written: 0, deleted: 0, moved: 0, deadLettered: 0 },
  ru: { source: 1, target: 1 },
  throttled: 0,
  durationMs: 900,
  lagSeconds: 3,
  ranges: [],
  waitsFor: null,
  sweepPending: false,
  outlook: { documents: null, readBefore: 0, uncommitted: 0, targetRu: null },
  load: NO_LOAD,
};

test.each<[what: string, known: Partial<RunSnapshot>, lag: string]>([
  ['has caught up with a change that is seconds old', {}, 'none: what was there is replicated'],
  ['was stopped before it had caught up', { complete: false }, '3 s'],
  ['is a tail without an end', { goal: 'tail' }, '3 s'],
])('result of a run that %s -> its lag', (_what, known, lag) => {
  const rows = runText({ ...SNAPSHOT, ...known }, false).split('\n');
  expect(rows.find((row) => row.startsWith('lag'))).toBe(`lag                  ${lag}`);
});
