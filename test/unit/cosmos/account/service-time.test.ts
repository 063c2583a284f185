import { describe, expect, test } from 'vitest';
import { ServiceTime } from '../../../../src/cosmos/account/service-time.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

const HOUR_MS = 3_600_000;

/** The service's time is that of the virtual clock's machine, plus `offMs`; its dates have whole seconds. */
function rig({ offMs = 0, isKnown = true } = {}): {
  clock: VirtualClock;
  time: ServiceTime;
  /** What the service's own clock shows. */
  trueMs: () => number;
  /** A reply whose date is off by so much. */
  reply: (wrongMs?: number) => void;
} {
  const clock = new VirtualClock();
  const time = new ServiceTime(clock);
  const startMs = clock.now() - clock.monotonicMs() + offMs;
  const trueMs = (): number => startMs + clock.monotonicMs();
  const reply = (wrongMs = 0): void => time.see(new Date(trueMs() + wrongMs).toUTCString());
  if (isKnown) for (let replies = 0; replies < 3; replies += 1) reply();
  return { clock, time, trueMs, reply };
}

test('no reply yet -> the time of this machine; no date, or no valid one -> ignored', () => {
  const { clock, time } = rig({ isKnown: false });
  expect(time.nowMs()).toBe(clock.now());
  time.see(undefined);
  time.see('not a date');
  clock.advance(1500);
  expect(time.nowMs()).toBe(clock.now());
  expect(time.nowTs()).toBe(Math.floor(clock.now() / 1000));
});

test.each([-HOUR_MS * 24, -60_000, 60_000, HOUR_MS * 24])(
  'this machine is %d ms off -> the third reply is believed',
  (offMs) => {
    const { clock, time, trueMs, reply } = rig({ offMs, isKnown: false });
    reply();
    reply();
    expect(time.nowMs()).toBe(clock.now());
    reply();
    expect(time.nowMs()).toBe(trueMs());
  },
);

test.each([HOUR_MS, -HOUR_MS])(
  'the clock of this machine is set by %d ms -> the time goes on as before',
  (stepMs) => {
    const { clock, time, trueMs, reply } = rig();
    clock.step(stepMs);
    clock.advance(5000);
    expect(time.nowMs()).toBe(trueMs());
    reply();
    expect(time.nowMs()).toBe(trueMs());
  },
);

test('dates in whole seconds, and replies that overtake each other -> the time never goes back', () => {
  const { clock, time, trueMs, reply } = rig();
  let before = time.nowMs();
  for (const lateMs of [300, 2900, 9500, 0, 700]) {
    clock.advance(100);
    reply(-lateMs);
    expect(time.nowMs()).toBeGreaterThanOrEqual(before);
    expect(Math.abs(time.nowMs() - trueMs())).toBeLessThan(1000);
    before = time.nowMs();
  }
});

describe('wrong dates', () => {
  test.each([24 * HOUR_MS, 60_000, -24 * HOUR_MS, -60_000])(
    'one that is %d ms off -> nothing changes',
    (wrongMs) => {
      const { clock, time, trueMs, reply } = rig();
      for (let replies = 0; replies < 100; replies += 1) {
        clock.advance(1000);
        reply(replies % 3 === 0 ? wrongMs : 0);
        expect(Math.abs(time.nowMs() - trueMs())).toBeLessThan(1000);
      }
    },
  );

  test('they are wrong in different ways -> nothing changes', () => {
    const { clock, time, trueMs, reply } = rig();
    for (let replies = 0; replies < 20; replies += 1) {
      clock.advance(60_000);
      reply(replies * 100_000 + 50_000);
    }
    expect(time.nowMs()).toBe(trueMs());
  });

  test('ahead for seconds -> no document expires; ahead for long -> believed', () => {
    const { clock, time, trueMs, reply } = rig();
    for (let passedMs = 0; passedMs < 29_000; passedMs += 1000) {
      reply(HOUR_MS);
      clock.advance(1000);
      expect(time.nowMs()).toBe(trueMs());
    }
    clock.advance(1000);
    reply(HOUR_MS);
    expect(time.nowMs()).toBe(trueMs() + HOUR_MS);
  });

  test('behind -> three of them are believed, since that makes no document expire', () => {
    const { time, trueMs, reply } = rig();
    reply(-HOUR_MS);
    reply(-HOUR_MS);
    expect(time.nowMs()).toBe(trueMs());
    reply(-HOUR_MS);
    expect(time.nowMs()).toBe(trueMs() - HOUR_MS);
  });

  test('ahead by a little, again and again -> the time does not creep', () => {
    const { clock, time, trueMs, reply } = rig();
    for (let replies = 0; replies < 50; replies += 1) {
      clock.advance(100);
      reply(replies % 2 === 0 ? 2000 : 0);
    }
    expect(time.nowMs() - trueMs()).toBeLessThanOrEqual(2000);
  });
});

test('the computer has slept, and its clock shows it -> the third reply is believed', () => {
  const { clock, time, trueMs, reply } = rig();
  clock.step(HOUR_MS);
  reply(HOUR_MS);
  reply(HOUR_MS);
  expect(time.nowMs()).toBe(trueMs());
  reply(HOUR_MS);
  expect(time.nowMs()).toBe(trueMs() + HOUR_MS);
});
