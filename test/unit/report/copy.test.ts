import { expect, test } from 'vitest';
import type { RunSnapshot } from '../../../src/engine/progress/snapshot.ts';
import { runText } from '../../../src/report/copy.ts';
import { snapshotOf } from '../../helpers/run-load.ts';

test.each([
  ['copy', false, 'copied'],
  ['tail', false, 'tailing, stopped'],
  ['catch-up', false, 'tailing, stopped'],
  ['catch-up', true, 'replicating back, stopped'],
] as const)('result of a run with the goal %s, back: %s -> phase %s', (goal, isBack, phase) => {
  const rows = runText(snapshotOf({ goal, phase: 'tailing' }), isBack).split('\n');
  expect(rows).toContain(`phase                ${phase}`);
});

test.each<[what: string, known: Partial<RunSnapshot>, lag: string]>([
  ['has caught up with a change that is seconds old', {}, 'none: what was there is replicated'],
  ['was stopped before it had caught up', { complete: false }, '3 s'],
  ['is a tail without an end', { goal: 'tail' }, '3 s'],
])('result of a run that %s -> its lag', (_what, known, lag) => {
  const rows = runText(snapshotOf({ lagSeconds: 3, ...known }), false).split('\n');
  expect(rows.find((row) => row.startsWith('lag'))).toBe(`lag                  ${lag}`);
});
