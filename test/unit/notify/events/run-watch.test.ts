/** Stalls, dead letters and proofs as notifications, from the figures that a run leaves. */
import { beforeEach, expect, test } from 'vitest';
import type { RunSnapshot } from '../../../../src/engine/progress/snapshot.ts';
import { JournalReader } from '../../../../src/notify/events/journal-reader.ts';
import type { Happening } from '../../../../src/notify/events/happening.ts';
import { RunWatch } from '../../../../src/notify/events/run-watch.ts';
import { NO_DIFFERENCES } from '../../../../src/verify/verdict.ts';
import { VirtualClock } from '../../../helpers/clock.ts';
import { NO_LOAD, NOTHING } from '../../../helpers/run-load.ts';
import { VERDICT } from '../../report/verdict.ts';

let clock: VirtualClock;
let happened: Happening[];
let watch: RunWatch;

beforeEach(() => {
  [clock, happened] = [new VirtualClock(), []];
  const journal = new JournalReader('there-is-no-such-ledger.db');
  watch = new RunWatch(journal, { clock, notify: (happening) => happened.push(happening) });
});

type Figures = Partial<Pick<RunSnapshot, 'goal' | 'lagSeconds' | 'waitsFor'>> & {
  readonly read?: number;
  readonly letters?: number;
};

function snapshot({ read = 0, letters = 0, ...figures }: Figures = {}): RunSnapshot {
  const side = { ru: 0, throttled: 0, allowedRu: null, containerRu: null, ranges: [] };
  return {
    migration: 'a -> b',
    goal: 'copy',
    phase: 'copying',
    complete: false,
    documents: { read, written: read, deleted: 0, moved: 0, deadLettered: letters },
    ru: { source: 0, target: 0 },
    throttled: 0,
    durationMs: 0,
    lagSeconds: null,
    ranges: [],
    waitsFor: null,
    sweepPending: false,
    outlook: { documents: null, readBefore: 0, uncommitted: 0, targetRu: null },
    load: { ...NO_LOAD, source: side, target: side },
    ...figures,
  };
}

/** The run shows the same figures for so many seconds. */
function pass(seconds: number, figures?: Figures): void {
  for (let second = 0; second < seconds; second += 1) {
    if (figures !== undefined) watch.onSnapshot(snapshot(figures));
    clock.advance(1000);
    watch.look();
  }
}

const events = (): unknown[] => happened.map(({ event, stalled }) => [event, stalled?.seconds]);

test('stall: nothing moves for an hour -> notified after 1, 2, 4 ... minutes, then that it moves', () => {
  pass(10, { read: 1 });
  pass(3600, { read: 2, waitsFor: 'throttled by the target' });
  expect(events()).toEqual([60, 120, 240, 480, 960, 1920].map((seconds) => ['stalled', seconds]));
  expect(happened[0]?.text).toBe('nothing has moved for 60 s: throttled by the target');
  happened = [];
  pass(1, { read: 3 });
  expect(happened.map(({ event }) => event)).toEqual(['moving']);
});

test('stall: the run shows nothing at all, as while it connects -> notified', () => {
  pass(61);
  expect(events()).toEqual([['stalled', 60]]);
});

test('stall: a tail with nothing to do -> not a stall; one that falls behind -> a stall', () => {
  pass(600, { goal: 'tail', lagSeconds: 3 });
  expect(happened).toEqual([]);
  pass(200, { goal: 'tail', lagSeconds: 300 });
  expect(events()).toEqual([
    ['stalled', 60],
    ['stalled', 120],
  ]);
});

test.each(['stopping writers', 'watching for late writes', 'after the commit'] as const)(
  'stall: the step "%s" of a cutover -> not a stall',
  (name) => {
    watch.onSnapshot(snapshot({ goal: 'catch-up' }));
    watch.onStep({ name, stoppedAtMs: null });
    pass(600);
    expect(happened).toEqual([]);
  },
);

test('stall: a comparison that reads nothing -> a stall; one that rechecks -> not', () => {
  const progress = {
    stage: 'reading',
    source: 5,
    target: 5,
    open: 0,
    oldestOpenMs: null,
    waitsFor: null,
    expected: null,
    ru: 0,
    throttled: 0,
    budgetRu: null,
    requests: NOTHING,
  };
  watch.onCompare(progress);
  pass(62);
  expect(events()).toEqual([['stalled', 60]]);
  watch.onCompare({ ...progress, stage: 'rechecking', open: 3 });
  pass(600);
  expect(events().slice(1)).toEqual([['moving', 62]]);
});

test('dead letters: one after the other up to 1000 -> the first, then at doubling numbers', () => {
  for (let letters = 0; letters <= 1000; letters += 1) pass(1, { read: letters, letters });
  expect(happened.map(({ event }) => event)).toEqual(Array<string>(10).fill('dead-letters'));
  expect(happened[0]?.text).toBe('1 dead letter is open; see cosmig dead-letters list');
  expect(happened.at(-1)?.text).toBe('512 dead letters are open; see cosmig dead-letters list');
});

test.each([
  [true, 'equal'],
  [false, 'differs'],
  [null, 'not proven'],
] as const)('proof: equal is %j -> %s, with counts', (equal, result) => {
  watch.onVerdict({ ...VERDICT, equal }, null);
  expect(happened).toMatchObject([
    {
      event: 'proof',
      proof: { result, source: 66_003, target: 66_000, differences: NO_DIFFERENCES, openLetters: 5 },
    },
  ]);
});
