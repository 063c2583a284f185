import { expect, test } from 'vitest';
import { Flights } from '../../../../src/cosmos/load/flights.ts';

test('in flight: things that end in any order -> count, bytes and age are of those that are left', () => {
  let nowMs = 1000;
  const flights = new Flights({ monotonicMs: () => nowMs });
  expect(flights.now).toEqual({ count: 0, bytes: 0, oldestMs: null });
  const first = flights.begin(10);
  nowMs += 500;
  const second = flights.begin(20);
  nowMs += 100;
  const third = flights.begin(5);
  expect(flights.now).toEqual({ count: 3, bytes: 35, oldestMs: 600 });
  second[Symbol.dispose]();
  expect(flights.now).toEqual({ count: 2, bytes: 15, oldestMs: 600 });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  nowMs += 50;
  expect(flights.now).toEqual({ count: 1, bytes: 5, oldestMs: 50 });
  third[Symbol.dispose]();
  expect(flights.now).toEqual({ count: 0, bytes: 0, oldestMs: null });
});
