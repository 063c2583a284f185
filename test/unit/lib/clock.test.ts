import { expect, test } from 'vitest';
import { Countdown } from '../../../src/lib/clock.ts';
import { VirtualClock } from '../../helpers/clock.ts';

test.each([3_600_000, -3_600_000])(
  'Countdown: the clock is set by %d ms -> over after as long as without that',
  (stepMs) => {
    const clock = new VirtualClock();
    const time = new Countdown(clock, 3000);
    clock.advance(1000);
    expect(time.isOver()).toBe(false);
    clock.step(stepMs);
    expect(time.isOver()).toBe(false);
    clock.advance(1999);
    expect(time.isOver()).toBe(false);
    clock.advance(1);
    expect(time.isOver()).toBe(true);
  },
);
