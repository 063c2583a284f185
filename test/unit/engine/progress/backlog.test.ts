import { expect, test } from 'vitest';
import { Backlog } from '../../../../src/engine/progress/backlog.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

test('backlog: a slow start, and idle time -> the estimate is bounded, and follows the documents that ended', () => {
  const clock = new VirtualClock();
  const backlog = new Backlog(clock);
  const end = (documents: number): void => {
    for (let n = 0; n < documents; n += 1) backlog.end();
  };
  expect(backlog.drainMs).toBe(0);
  clock.advance(3_600_000);
  expect(backlog.drainMs).toBe(0);
  backlog.expect(100);
  clock.advance(1000);
  // Nothing has ended yet: the same time again.
  expect(backlog.drainMs).toBe(1000);
  // The estimate from a few of many is bounded.
  end(10);
  expect(backlog.drainMs).toBe(4000);
  clock.advance(1000);
  end(70);
  backlog.expect(20);
  expect(backlog.drainMs).toBe(1000);
  end(40);
  expect(backlog.drainMs).toBe(0);
  clock.advance(3_600_000);
  backlog.expect(10);
  clock.advance(100);
  end(5);
  expect(backlog.drainMs).toBe(100);
});
