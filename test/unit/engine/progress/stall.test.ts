import { describe, expect, test } from 'vitest';
import type { RangeWait, WaitReason } from '../../../../src/cosmos/bulk/operation.ts';
import { ServiceTime } from '../../../../src/engine/progress/service-time.ts';
import { Waits, Watchdog } from '../../../../src/engine/progress/stall.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

const rangeWait = (reason: WaitReason, sinceMs: number, range = '7'): RangeWait => ({
  range,
  reason,
  sinceMs,
  operations: 1,
  inFlight: 0,
});

const trouble = {
  kind: 'denied',
  status: 403,
  substatus: 0,
  what: 'the service answered 403',
  chargeRu: 0,
} as const;

describe('what a run waits for', () => {
  test.each<readonly [WaitReason, string | null]>([
    ['throttled', 'throttled by the target (range 7, 5 s)'],
    ['denied', 'the target refuses access (range 7, 5 s)'],
    ['splitting', 'a range of the target is splitting (range 7, 5 s)'],
    ['nothing to do', null],
    ['in flight', null],
    ['no budget', null],
  ])('a range of the target that is %s', (reason, told) => {
    const clock = new VirtualClock();
    const sinceMs = clock.now();
    clock.advance(5000);
    expect(new Waits(clock).now([rangeWait(reason, sinceMs)])).toBe(told);
  });

  test('short waits are nobody’s business, and of several the longest is told', () => {
    const clock = new VirtualClock();
    const waits = new Waits(clock);
    const sinceMs = clock.now();
    clock.advance(1500);
    expect(waits.now([rangeWait('throttled', sinceMs)])).toBeNull();
    clock.advance(1500);
    const later = sinceMs + 500;
    expect(waits.now([rangeWait('throttled', later), rangeWait('denied', sinceMs, '3')])).toContain(
      'range 3',
    );
  });

  test('a side that is asked again and again, until it answers', () => {
    const clock = new VirtualClock();
    const waits = new Waits(clock);
    const wait = { reason: 'denied', delayMs: 2000, attempt: 1, lastedMs: 0, trouble } as const;
    waits.see('source', wait);
    expect(waits.now([])).toBeNull();
    clock.advance(2000);
    waits.see('source', { ...wait, attempt: 2 });
    expect(waits.now([])).toBe('the source: the service answered 403');
    clock.advance(10_000);
    expect(waits.now([])).toBeNull();
  });
});

describe('a run that has not moved for long', () => {
  const clock = new VirtualClock();
  const sinceMs = clock.now();
  const waits = new Waits(clock);
  clock.advance(40_000);
  const idle = rangeWait('nothing to do', sinceMs);
  const flying = { ...rangeWait('in flight', sinceMs), inFlight: 2 };
  const calm = { target: [idle], source: [idle], feeds: [{ range: '5', sinceMs: null }] };
  test.each([
    [{ target: [idle, flying] }, 'the target does not answer (range 7, 40 s)'],
    [{ source: [idle, flying] }, 'the source does not answer (range 7, 40 s)'],
    [{ feeds: [...calm.feeds, { range: '6', sinceMs }] }, 'the source does not answer (range 6, 40 s)'],
    [
      { target: [rangeWait('no budget', sinceMs)] },
      'the RU/s of the target are spent by what was sent (range 7, 40 s)',
    ],
    [{}, 'requests are under way and not answered'],
  ])('waits for whom it has asked: %j', (parts, told) => {
    expect(waits.whyStill(31, { ...calm, ...parts })).toBe(told);
  });

  test('waits for the side that was in trouble last, if it has not moved since', () => {
    const wait = { reason: 'denied', delayMs: 100, attempt: 1, lastedMs: 0, trouble } as const;
    waits.see('source', wait);
    clock.advance(45_000);
    expect(waits.now([])).toBeNull();
    expect(waits.whyStill(61, calm)).toBe('the source: the service answered 403');
    expect(waits.whyStill(31, calm)).toBe('requests are under way and not answered');
  });
});

test('the watchdog tells once in a while that nothing moves, and is quiet when something does', () => {
  const clock = new VirtualClock();
  const watchdog = new Watchdog(clock);
  expect(watchdog.look('a')).toBeNull();
  clock.advance(29_000);
  expect(watchdog.look('a')).toBeNull();
  clock.advance(2000);
  expect(watchdog.look('a')).toBe(31);
  expect(watchdog.look('a')).toBeNull();
  clock.advance(30_000);
  expect(watchdog.look('a')).toBe(61);
  expect(watchdog.look('b')).toBeNull();
});

test.each([3_600_000, -3_600_000])(
  'the service’s time comes from its replies, %d ms away, and never goes back',
  (awayMs) => {
    const clock = new VirtualClock();
    const time = new ServiceTime(clock);
    expect(time.nowMs()).toBe(clock.now());
    const theirs = Math.ceil(clock.now() / 1000) * 1000 + awayMs;
    time.see(new Date(theirs).toUTCString());
    expect(time.nowMs()).toBe(theirs);
    clock.advance(500);
    time.see(new Date(theirs).toUTCString());
    time.see('not a date');
    time.see(undefined);
    expect(time.nowMs()).toBe(theirs + 500);
  },
);

test('a clock that is set while a run lasts is believed until the next reply at most', () => {
  const clock = new VirtualClock();
  const time = new ServiceTime(clock);
  const theirs = Math.ceil(clock.now() / 1000) * 1000;
  time.see(new Date(theirs).toUTCString());
  clock.advance(24 * 3_600_000);
  time.see(new Date(theirs + 2000).toUTCString());
  expect(time.nowMs()).toBe(theirs + 2000);
});
