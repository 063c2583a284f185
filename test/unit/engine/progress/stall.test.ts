import { describe, expect, test } from 'vitest';
import type { RangeWait, WaitReason } from '../../../../src/cosmos/bulk/operation.ts';
import { ServiceWaits, Watchdog } from '../../../../src/engine/progress/stall.ts';
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

describe('stall: what a run waits for', () => {
  test.each<readonly [WaitReason, string | null]>([
    ['throttled', 'throttled by the target (range 7, 5 s)'],
    ['denied', 'the target refuses access (range 7, 5 s)'],
    ['splitting', 'a range of the target is splitting (range 7, 5 s)'],
    ['nothing to do', null],
    ['in flight', null],
    ['no budget', null],
  ])('a range of the target is %s -> %s', (reason, expected) => {
    const clock = new VirtualClock();
    const sinceMs = clock.monotonicMs();
    clock.advance(5000);
    expect(new ServiceWaits(clock).current([rangeWait(reason, sinceMs)])).toBe(expected);
  });

  test('short waits -> not reported; of several long ones the longest is', () => {
    const clock = new VirtualClock();
    const waits = new ServiceWaits(clock);
    const sinceMs = clock.monotonicMs();
    clock.advance(1500);
    expect(waits.current([rangeWait('throttled', sinceMs)])).toBeNull();
    clock.advance(1500);
    const later = sinceMs + 500;
    expect(waits.current([rangeWait('throttled', later), rangeWait('denied', sinceMs, '3')])).toContain(
      'range 3',
    );
  });

  test('a side throttles reads again and again -> named, with how long', () => {
    const clock = new VirtualClock();
    const waits = new ServiceWaits(clock);
    const wait = { reason: 'throttled', delayMs: 3000, attempt: 1, lastedMs: 0, trouble } as const;
    waits.record('source', wait);
    clock.advance(3000);
    waits.record('source', { ...wait, attempt: 2 });
    expect(waits.current([])).toBe('throttled by the source (3 s)');
  });

  test('a side retries again and again -> reported until it answers', () => {
    const clock = new VirtualClock();
    const waits = new ServiceWaits(clock);
    const wait = { reason: 'denied', delayMs: 2000, attempt: 1, lastedMs: 0, trouble } as const;
    waits.record('source', wait);
    expect(waits.current([])).toBeNull();
    clock.advance(2000);
    waits.record('source', { ...wait, attempt: 2 });
    expect(waits.current([])).toBe('the source: the service answered 403');
    clock.advance(10_000);
    expect(waits.current([])).toBeNull();
  });
});

describe('stall: a run that has not moved for long', () => {
  const clock = new VirtualClock();
  const sinceMs = clock.monotonicMs();
  const waits = new ServiceWaits(clock);
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
      'requests in flight have used up the RU/s of the target (range 7, 40 s)',
    ],
    [{}, 'requests in flight are not answered'],
  ])('%j -> waits for the side that it asked', (parts, expected) => {
    expect(waits.explainStall(31, { ...calm, ...parts })).toBe(expected);
  });

  test('a side was in trouble since the last progress -> waits for that side', () => {
    const wait = { reason: 'denied', delayMs: 100, attempt: 1, lastedMs: 0, trouble } as const;
    waits.record('source', wait);
    clock.advance(45_000);
    expect(waits.current([])).toBeNull();
    expect(waits.explainStall(61, calm)).toBe('the source: the service answered 403');
    expect(waits.explainStall(31, calm)).toBe('requests in flight are not answered');
  });
});

test('stall: nothing moves -> a warning at intervals; something moves -> none', () => {
  const clock = new VirtualClock();
  const watchdog = new Watchdog(clock);
  expect(watchdog.stalledSeconds('a')).toBeNull();
  clock.advance(29_000);
  expect(watchdog.stalledSeconds('a')).toBeNull();
  clock.advance(2000);
  expect(watchdog.stalledSeconds('a')).toBe(31);
  expect(watchdog.stalledSeconds('a')).toBeNull();
  clock.advance(30_000);
  expect(watchdog.stalledSeconds('a')).toBe(61);
  expect(watchdog.stalledSeconds('b')).toBeNull();
});
