import { describe, expect, test } from 'vitest';
import { CutoverLine } from '../../../src/report/cutover-line.ts';
import type { Step } from '../../../src/engine/cutover/contract.ts';
import { VirtualClock } from '../../helpers/clock.ts';
import { NOTHING, snapshotOf } from '../../helpers/run-load.ts';

const SNAPSHOT = snapshotOf({
  phase: 'fencing',
  complete: false,
  documents: { read: 12_345, written: 12_000, deleted: 0, moved: 0, deadLettered: 0 },
  ru: { source: 1, target: 2 },
  durationMs: 9000,
  lagSeconds: 3.2,
  outlook: { documents: 2_000_000, readBefore: 0, uncommitted: 0, targetRu: 4000 },
});
const PROOF = {
  stage: 'reading',
  source: 1_200_000,
  target: 900_000,
  open: 0,
  oldestOpenMs: null,
  waitsFor: null,
  expected: 2_000_000,
  ru: 9,
  throttled: 0,
  budgetRu: null,
  requests: NOTHING,
};

interface Case {
  readonly name: Step['name'];
  readonly stopped?: boolean;
  readonly proof?: object;
  readonly waitsFor?: string;
  readonly line: string;
}

describe('cutover line', () => {
  test.each<Case>([
    { name: 'catching up', line: 'catching up            12,345 docs     210/s  lag 3 s' },
    {
      name: 'stopping writers',
      stopped: true,
      line: 'running --on-fence  writers stopped 17 s of at most 120 s',
    },
    {
      name: 'draining',
      stopped: true,
      line: 'catching up            12,345 docs     210/s  lag 3 s  writers stopped 17 s of at most 120 s',
    },
    {
      name: 'watching the fence',
      stopped: true,
      line: 'waiting for quiet   writers stopped 17 s of at most 120 s',
    },
    {
      name: 'comparing',
      stopped: true,
      proof: PROOF,
      line: 'comparing           60%  1,200,000 source    900,000 target  writers stopped 17 s of at most 120 s',
    },
    {
      name: 'comparing',
      stopped: true,
      proof: { ...PROOF, source: 12, target: 14 },
      line: 'comparing                  12 source         14 target  writers stopped 17 s of at most 120 s',
    },
    {
      name: 'comparing',
      stopped: true,
      proof: { ...PROOF, stage: 'rechecking', open: 3 },
      line: 'comparing                   3 documents to recheck  writers stopped 17 s of at most 120 s',
    },
    {
      name: 'repairing',
      stopped: true,
      waitsFor: 'the target is throttled',
      line: 'repairing           writers stopped 17 s of at most 120 s  waits: the target is throttled',
    },
    { name: 'resuming writers', line: 'backed out, running --on-abort  for 17 s' },
    { name: 'after the commit', line: 'committed, checking settings  for 17 s' },
    { name: 'watching for late writes', line: 'watching for late writes  17 s of 60 s' },
  ])('step $name -> its line', ({ name, stopped = false, proof, waitsFor = null, line }) => {
    const clock = new VirtualClock(1_000_000);
    const shown = new CutoverLine(clock, { deadlineMs: 120_000, watchMs: 60_000 });
    shown.onStep({ name, stoppedAtMs: stopped ? 1_000_000 : null });
    if (proof !== undefined) shown.onProof(proof as typeof PROOF);
    clock.advance(17_900);
    const rates = { documents: 210.4, ru: null };
    expect(shown.line({ ...SNAPSHOT, waitsFor }, rates, Infinity)).toBe(line);
    // The time since the writers stopped is shown even on a narrow line.
    const narrow = shown.line({ ...SNAPSHOT, waitsFor }, rates, 60);
    expect(narrow.length).toBeLessThanOrEqual(60);
    expect(narrow.includes('writers stopped 17 s of at most 120 s')).toBe(stopped);
  });

  test('the hook after the commit -> named while it runs, and only then', async () => {
    const clock = new VirtualClock(1_000_000);
    const shown = new CutoverLine(clock, { deadlineMs: 120_000, watchMs: 60_000 });
    const line = (): string => shown.line(SNAPSHOT, { documents: null, ru: null }, 77);
    shown.onStep({ name: 'after the commit', stoppedAtMs: null });
    clock.advance(2000);
    await shown.duringHook(async () => {
      clock.advance(4000);
      expect(line()).toBe('committed, running --on-commit  for 4 s');
    });
    expect(line()).toBe('committed, checking settings  for 0 s');
    await expect(shown.duringHook(async () => Promise.reject(new Error('exit code 1')))).rejects.toThrow();
    expect(line()).toBe('committed, checking settings  for 0 s');
  });

  test('progress object -> the same for scripts', () => {
    const clock = new VirtualClock(1_000_000);
    const shown = new CutoverLine(clock, { deadlineMs: 120_000, watchMs: 60_000 });
    expect(shown.picture()).toEqual({
      step: 'catching up',
      stoppedMs: null,
      deadlineMs: 120_000,
      proof: null,
    });
    shown.onStep({ name: 'comparing', stoppedAtMs: 1_000_000 });
    shown.onProof(PROOF);
    clock.advance(4000);
    expect(shown.picture()).toEqual({
      step: 'comparing',
      stoppedMs: 4000,
      deadlineMs: 120_000,
      proof: PROOF,
    });
    shown.onStep({ name: 'repairing', stoppedAtMs: 1_000_000 });
    expect(shown.picture()).toMatchObject({ step: 'repairing', proof: null });
  });
});
