/** The steps of a cutover as notifications, in their order, also when they happen within one look. */
import { beforeEach, expect, test } from 'vitest';
import { CutoverStory } from '../../../../src/notify/events/cutover-story.ts';
import type { Happening } from '../../../../src/notify/events/happening.ts';
import type { JournalEvent } from '../../../../src/state/journal.ts';

let happened: Happening[];
let story: CutoverStory;
let number: number;

beforeEach(() => {
  [happened, number] = [[], 0];
  story = new CutoverStory((happening) => happened.push(happening));
});

function take(...entries: JournalEvent[]): boolean[] {
  return entries.map((entry) => story.take({ ...entry, number: (number += 1), atMs: number * 10 }));
}

const steps = (): unknown[] => happened.map(({ cutover }) => cutover?.step);
const change = { range: '0', ids: ['"hidden"'], what: 'written' } as const;

test('cutover story: stopped and drained within one look -> the stop comes before what follows it', () => {
  story.writersStoppedAtMs = 15;
  take(
    { event: 'phase', phase: 'ready' },
    { event: 'phase', phase: 'fencing' },
    { event: 'phase', phase: 'drained' },
  );
  expect(steps()).toEqual(['gate passed', 'stopping writers', 'writers stopped', 'drained']);
  expect(happened.map(({ atMs }) => atMs)).toEqual([10, 20, 15, 30]);
});

test('cutover story: the writers stop after the look at the fence -> notified once', () => {
  take({ event: 'phase', phase: 'ready' }, { event: 'phase', phase: 'fencing' });
  story.lookAtWriters();
  story.writersStoppedAtMs = 25;
  story.lookAtWriters();
  story.lookAtWriters();
  expect(steps()).toEqual(['gate passed', 'stopping writers', 'writers stopped']);
});

test('cutover story: the source is written to after the fence -> notified, and the second fencing is not a stop', () => {
  take(
    { event: 'phase', phase: 'ready' },
    { event: 'phase', phase: 'fencing' },
    { event: 'phase', phase: 'drained' },
    { event: 'fence restarted', ...change },
    { event: 'phase', phase: 'fencing' },
    { event: 'phase', phase: 'drained' },
  );
  expect(steps()).toEqual(['gate passed', 'stopping writers', 'drained', 'fence restarted', 'drained']);
});

test('cutover story: it backs out and is tried again -> the reason without its details, and all steps again', () => {
  const why = 'the cutover did not finish in time: writes were still arriving: "hidden"';
  take(
    { event: 'phase', phase: 'ready' },
    { event: 'phase', phase: 'fencing' },
    { event: 'phase', phase: 'tailing', why },
    { event: 'writers resumed' },
    { event: 'phase', phase: 'ready' },
    { event: 'phase', phase: 'fencing' },
  );
  expect(steps()).toEqual([
    'gate passed',
    'stopping writers',
    'backed out',
    'writers resumed',
    'gate passed',
    'stopping writers',
  ]);
  expect(happened[2]?.cutover?.reason).toBe('the cutover did not finish in time');
  expect(JSON.stringify(happened)).not.toContain('hidden');
});

test('cutover story: many late writes -> the first, then at doubling numbers, then all', () => {
  const repaired = { documents: 2, byOthers: 0, ids: ['"hidden"'] };
  take({ event: 'phase', phase: 'committed', stoppedMs: 4200, likeSource: [], proof: null, repaired });
  for (let n = 0; n < 100; n += 1) take({ event: 'late write', ...change });
  take({ event: 'late write watch ended', isForgotten: false });
  expect(happened[0]?.cutover).toEqual({ step: 'committed', stoppedSeconds: 4.2, repaired: 2 });
  expect(happened.slice(1).map(({ cutover }) => cutover?.lateWrites)).toEqual([1, 2, 4, 8, 16, 32, 64, 100]);
  expect(JSON.stringify(happened)).not.toContain('hidden');
});

test('cutover story: entries of the copy and of other commands -> not steps of a cutover', () => {
  const taken = take(
    { event: 'phase', phase: 'copying' },
    { event: 'phase', phase: 'tailing', why: null },
    { event: 'ledger restored', missedRun: 1 },
    { event: 'dead letters discarded', discarded: 1, letter: 1, reason: null },
  );
  expect(taken).toEqual([false, false, false, false]);
  expect(happened).toEqual([]);
});
