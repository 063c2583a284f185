import { describe, expect, test } from 'vitest';
import { RequestNotes, waitAfter } from '../../../../src/engine/unit/last-request.ts';
import type { LastRequest, MachineMoment } from '../../../../src/state/runs.ts';

const TIMEOUT_MS = 45_000;
const at = (seconds: number, clock = 'boot 1'): MachineMoment => ({ clock, ms: seconds * 1000 });

describe('the wait after a crash', () => {
  test.each<readonly [what: string, last: LastRequest | null, now: MachineMoment | null, seconds: number]>([
    ['the next run starts at once', at(1000), at(1000), 45],
    // A request of the last second may have been on its way to the network for one timeout, and lands within another.
    ['it starts after 45 s', at(1000), at(1045), 45],
    ['it starts after 46 s', at(1000), at(1046), 45],
    ['it starts after 60 s', at(1000), at(1060), 31],
    ['it starts after 90 s', at(1000), at(1090), 1],
    ['it starts after 91 s', at(1000), at(1091), 0],
    ['it starts a day later', at(1000), at(87_400), 0],
    ['the machine was started again, and its clock shows less', at(1000), at(10, 'boot 2'), 45],
    ['the machine was started again, and its clock shows more', at(1000), at(90_000, 'boot 2'), 45],
    ['it runs on another machine', at(1000), at(1091, 'another'), 45],
    ['a snapshot of the machine was restored', at(1000), at(400), 45],
    ['the last run recorded nothing', null, at(1000), 45],
    ['the last run could not identify its clock', 'unknown', at(1000), 45],
    ['this run cannot identify its clock', at(1000), null, 45],
    ['every request was answered', 'answered', at(1000), 0],
    ['every request was answered, on another machine', 'answered', null, 0],
  ])('%s', (_what, last, now, seconds) => {
    expect(waitAfter(last, { now, requestTimeoutMs: TIMEOUT_MS })).toBe(seconds * 1000);
  });
});

describe('a run records its last request', () => {
  function lab(now: () => MachineMoment | null): { notes: RequestNotes; recorded: LastRequest[] } {
    const recorded: LastRequest[] = [];
    const notes = new RequestNotes({ noteRequest: (request) => void recorded.push(request) }, now);
    return { notes, recorded };
  }

  test('many requests -> once a second, before the request', () => {
    let ms = 5000;
    const { notes, recorded } = lab(() => ({ clock: 'boot 1', ms }));
    for (; ms < 8000; ms += 10) notes.note();
    expect(recorded).toEqual([at(5), at(6), at(7)]);
  });

  test('a process that was suspended -> again, before its next request', () => {
    let now = at(5);
    const { notes, recorded } = lab(() => now);
    notes.note();
    now = at(7205);
    notes.note();
    expect(recorded).toEqual([at(5), at(7205)]);
  });

  test('the operating system does not identify its boot -> unknown, once', () => {
    const { notes, recorded } = lab(() => null);
    for (let requests = 0; requests < 5; requests += 1) notes.note();
    expect(recorded).toEqual(['unknown']);
  });

  test('every request was answered -> recorded; the next request counts again', () => {
    const { notes, recorded } = lab(() => at(5));
    notes.allAnswered();
    expect(recorded).toEqual([]);
    notes.note();
    notes.allAnswered();
    notes.note();
    expect(recorded).toEqual([at(5), 'answered', at(5)]);
  });
});
