import { expect, test } from 'vitest';
import { Countdown } from '../../../src/lib/clock.ts';
import { VirtualClock } from '../../helpers/clock.ts';

test('Countdown: the clock is set back -> over no later than without that', () => {
  const clock = new VirtualClock();
  const time = new Countdown(clock, 3000);
  clock.advance(1000);
  expect(time.isOver()).toBe(false);
  clock.advance(-3_600_000);
  expect(time.isOver()).toBe(false);
  clock.advance(1999);
  expect(time.isOver()).toBe(false);
  clock.advance(1);
  expect(time.isOver()).toBe(true);
});
