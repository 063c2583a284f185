import { beforeEach, describe, expect, test } from 'vitest';
import { type Priority, RuMeter } from '../../../../src/emulator/partitions/ru-meter.ts';
import { VirtualClock } from '../../../helpers/clock.ts';

const BUDGET = 400;

let clock: VirtualClock;
let meter: RuMeter;

beforeEach(() => {
  clock = new VirtualClock(0);
  meter = new RuMeter({ nowMs: () => clock.now() });
});

/** Requests of `ru` each until one is refused; how many were admitted. */
function drain(ru: number, priority: Priority = 'high', budget = BUDGET): number {
  for (let admitted = 0; ; admitted += 1) {
    if (meter.admit('0', budget, priority) !== undefined) return admitted;
    meter.charge('0', ru, priority);
  }
}

const next = (): void => clock.advance(1000 - (clock.now() % 1000));

describe('the budget of a second', () => {
  test('is spent once, and is whole again at the next second', () => {
    expect(drain(10)).toBe(40);
    clock.advance(999);
    expect(drain(10)).toBe(0);
    clock.advance(1);
    expect(drain(10)).toBe(40);
  });

  test('is exact in hundredths of a unit', () => {
    expect(drain(0.1, 'high', 1000)).toBe(10_000);
  });

  test('is not banked', () => {
    drain(10);
    clock.advance(3_600_000);
    expect(drain(10)).toBe(40);
  });

  test('counts per bucket', () => {
    drain(10);
    expect([meter.admit('0', BUDGET, 'high'), meter.admit('1', BUDGET, 'high')]).toEqual([1000, undefined]);
  });

  test.each([
    [0, 1000],
    [250, 750],
    [999, 1],
    [999.2, 1],
    [250.5, 750],
  ])('used up at once and asked again at %f ms: wait %i ms', (atMs, waitMs) => {
    drain(10);
    clock.advance(atMs);
    expect(meter.admit('0', BUDGET, 'high')).toBe(waitMs);
  });
});

describe('debt', () => {
  test.each([
    // [charge of the one request, milliseconds until the next is admitted]
    [BUDGET, 1000],
    [BUDGET + 1, 1000],
    [2 * BUDGET - 1, 1000],
    [2 * BUDGET, 2000],
    [2 * BUDGET + 1, 2000],
    [10 * BUDGET, 10_000],
  ])('a request of %i RU runs to its end, and is paid for by the seconds after', (ru, waitMs) => {
    expect(meter.admit('0', BUDGET, 'high')).toBeUndefined();
    meter.charge('0', ru, 'high');
    expect(meter.admit('0', BUDGET, 'high')).toBe(waitMs);
    clock.advance(waitMs - 1);
    expect(meter.admit('0', BUDGET, 'high')).toBe(1);
    clock.advance(1);
    expect(meter.admit('0', BUDGET, 'high')).toBeUndefined();
  });

  test('leaves only the rest of the second in which it ends', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', BUDGET + 300, 'high');
    next();
    expect(drain(10)).toBe(10);
  });

  test('whoever waits as long as told is admitted, whatever was overshot', () => {
    for (let i = 1; i < 200; i += 1) {
      expect(meter.admit('0', BUDGET, 'high')).toBeUndefined();
      meter.charge('0', BUDGET + i * 37.77, 'high');
      clock.advance((i * 137) % 1000);
      clock.advance(meter.admit('0', BUDGET, 'high') ?? 0);
    }
  });
});

describe('a changed budget', () => {
  test('that is higher helps at once', () => {
    drain(10);
    expect(drain(10, 'high', 1000)).toBe(60);
  });

  test('that is lower counts what was used', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 100, 'high');
    expect(drain(10, 'high', 150)).toBe(5);
  });

  test('that is lower than what was used makes no debt', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 300, 'high');
    expect(meter.admit('0', 100, 'high')).toBe(1000);
    next();
    expect(drain(10, 'high', 100)).toBe(10);
  });

  test('that is lower leaves a debt as it is', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', BUDGET + 250, 'high');
    expect(meter.admit('0', 100, 'high')).toBe(3000);
  });

  test('of Infinity means not metered, and nothing of it is held against a later one', () => {
    meter.admit('0', Infinity, 'high');
    meter.charge('0', 1e9, 'high');
    expect(meter.admit('0', Infinity, 'low')).toBeUndefined();
    expect(drain(10)).toBe(40);
    expect(meter.admit('0', Infinity, 'high')).toBeUndefined();
    expect(meter.spent('0').totalRu).toBe(1e9 + 400);
  });

  test('of 0 admits nothing', () => {
    expect(meter.admit('0', 0, 'high')).toBe(1000);
  });
});

describe('priority', () => {
  /** A second in which High uses `ru`. */
  function highUses(ru: number): void {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', ru, 'high');
    next();
  }

  test('Low alone has the whole budget', () => {
    expect(drain(10, 'low')).toBe(40);
    next();
    expect(drain(10, 'low')).toBe(40);
  });

  test('Low gets what High did not use in the second before', () => {
    highUses(300);
    expect(drain(10, 'low')).toBe(10);
    expect(drain(10, 'high')).toBe(30);
  });

  test('what High uses now comes out of its own reserve first', () => {
    highUses(300);
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 200, 'high');
    expect(drain(10, 'low')).toBe(10);
    expect(drain(10, 'high')).toBe(10);
  });

  test('under a storm of both Low is refused and High is not', () => {
    highUses(BUDGET);
    for (let second = 0; second < 5; second += 1) {
      expect(meter.admit('0', BUDGET, 'low')).toBe(1000);
      expect(drain(10, 'high')).toBe(40);
      next();
    }
  });

  test('an idle High keeps half of its claim each second, and in the end nothing', () => {
    highUses(320);
    const shares = Array.from({ length: 14 }, () => {
      const share = drain(1, 'low');
      next();
      return share;
    });
    expect(shares).toEqual([80, 240, 320, 360, 380, 390, 395, 398, 399, 400, 400, 400, 400, 400]);
  });

  test('a claim decays while nobody looks', () => {
    highUses(320);
    clock.advance(2000);
    expect(drain(1, 'low')).toBe(320);
  });

  test('the claim follows a falling use at once', () => {
    highUses(320);
    highUses(40);
    expect(drain(10, 'low')).toBe(36);
  });

  test('the claim is never more than the budget', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', BUDGET, 'high');
    next();
    meter.admit('0', 100, 'high');
    next();
    expect(drain(10, 'low', 100)).toBe(5);
  });

  test('Low pays for a debt like everyone', () => {
    meter.admit('0', BUDGET, 'low');
    meter.charge('0', 3 * BUDGET, 'low');
    expect([meter.admit('0', BUDGET, 'high'), meter.admit('0', BUDGET, 'low')]).toEqual([3000, 3000]);
  });
});

describe('what was spent', () => {
  test('is told in total and for the last whole second', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 5, 'high');
    meter.charge('0', 2.5, 'low');
    expect(meter.spent('0')).toEqual({ totalRu: 7.5, throttled: 0, lastSecondRu: 0 });
    next();
    expect(meter.spent('0')).toEqual({ totalRu: 7.5, throttled: 0, lastSecondRu: 7.5 });
    next();
    expect(meter.spent('0')).toEqual({ totalRu: 7.5, throttled: 0, lastSecondRu: 0 });
  });

  test('counts the refusals', () => {
    drain(10);
    drain(10);
    expect(meter.spent('0').throttled).toBe(2);
  });

  test('is forgotten with the range, and nothing for one that never was', () => {
    drain(10);
    meter.forget('0');
    const nothing = { totalRu: 0, throttled: 0, lastSecondRu: 0 };
    expect([meter.spent('0'), meter.spent('never')]).toEqual([nothing, nothing]);
    expect(drain(10)).toBe(40);
  });

  test('a charge without a request, such as a purge, is counted but not metered', () => {
    meter.charge('0', 1000, 'low');
    expect(meter.spent('0').totalRu).toBe(1000);
    expect(drain(10)).toBe(40);
  });
});
