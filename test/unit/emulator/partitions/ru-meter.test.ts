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
  test('spent -> full again at the next second', () => {
    expect(drain(10)).toBe(40);
    clock.advance(999);
    expect(drain(10)).toBe(0);
    clock.advance(1);
    expect(drain(10)).toBe(40);
  });

  test('hundredths of a unit -> exact', () => {
    expect(drain(0.1, 'high', 1000)).toBe(10_000);
  });

  test('an idle second -> its units expire', () => {
    drain(10);
    clock.advance(3_600_000);
    expect(drain(10)).toBe(40);
  });

  test('two buckets -> independent', () => {
    drain(10);
    expect([meter.admit('0', BUDGET, 'high'), meter.admit('1', BUDGET, 'high')]).toEqual([1000, undefined]);
  });

  test.each([
    [0, 1000],
    [250, 750],
    [999, 1],
    [999.2, 1],
    [250.5, 750],
  ])('used up at once, asked again at %f ms -> wait %i ms', (atMs, waitMs) => {
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
  ])('a request of %i RU -> completes, later seconds pay', (ru, waitMs) => {
    expect(meter.admit('0', BUDGET, 'high')).toBeUndefined();
    meter.charge('0', ru, 'high');
    expect(meter.admit('0', BUDGET, 'high')).toBe(waitMs);
    clock.advance(waitMs - 1);
    expect(meter.admit('0', BUDGET, 'high')).toBe(1);
    clock.advance(1);
    expect(meter.admit('0', BUDGET, 'high')).toBeUndefined();
  });

  test('a debt ends within a second -> the rest of that second is available', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', BUDGET + 300, 'high');
    next();
    expect(drain(10)).toBe(10);
  });

  test('any debt, the stated wait -> admitted', () => {
    for (let i = 1; i < 200; i += 1) {
      expect(meter.admit('0', BUDGET, 'high')).toBeUndefined();
      meter.charge('0', BUDGET + i * 37.77, 'high');
      clock.advance((i * 137) % 1000);
      clock.advance(meter.admit('0', BUDGET, 'high') ?? 0);
    }
  });
});

describe('a changed budget', () => {
  test('higher -> available at once', () => {
    drain(10);
    expect(drain(10, 'high', 1000)).toBe(60);
  });

  test('lower -> use of this second counts', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 100, 'high');
    expect(drain(10, 'high', 150)).toBe(5);
  });

  test('lower than the use -> no debt', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 300, 'high');
    expect(meter.admit('0', 100, 'high')).toBe(1000);
    next();
    expect(drain(10, 'high', 100)).toBe(10);
  });

  test('lower with a debt -> the same debt', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', BUDGET + 250, 'high');
    expect(meter.admit('0', 100, 'high')).toBe(3000);
  });

  test('Infinity -> not metered, and no effect on a later budget', () => {
    meter.admit('0', Infinity, 'high');
    meter.charge('0', 1e9, 'high');
    expect(meter.admit('0', Infinity, 'low')).toBeUndefined();
    expect(drain(10)).toBe(40);
    expect(meter.admit('0', Infinity, 'high')).toBeUndefined();
    expect(meter.spent('0').totalRu).toBe(1e9 + 400);
  });

  test('0 -> nothing is admitted', () => {
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

  test('Low alone -> the whole budget', () => {
    expect(drain(10, 'low')).toBe(40);
    next();
    expect(drain(10, 'low')).toBe(40);
  });

  test('High used a part before -> Low gets the rest', () => {
    highUses(300);
    expect(drain(10, 'low')).toBe(10);
    expect(drain(10, 'high')).toBe(30);
  });

  test('High uses units now -> taken from its reserve first', () => {
    highUses(300);
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 200, 'high');
    expect(drain(10, 'low')).toBe(10);
    expect(drain(10, 'high')).toBe(10);
  });

  test('both compete -> Low is refused, High is not', () => {
    highUses(BUDGET);
    for (let second = 0; second < 5; second += 1) {
      expect(meter.admit('0', BUDGET, 'low')).toBe(1000);
      expect(drain(10, 'high')).toBe(40);
      next();
    }
  });

  test('High is idle -> its claim is halved each second and ends', () => {
    highUses(320);
    const shares = Array.from({ length: 14 }, () => {
      const share = drain(1, 'low');
      next();
      return share;
    });
    expect(shares).toEqual([80, 240, 320, 360, 380, 390, 395, 398, 399, 400, 400, 400, 400, 400]);
  });

  test('no requests for seconds -> the claim decays all the same', () => {
    highUses(320);
    clock.advance(2000);
    expect(drain(1, 'low')).toBe(320);
  });

  test('High uses less -> its claim falls at once', () => {
    highUses(320);
    highUses(40);
    expect(drain(10, 'low')).toBe(36);
  });

  test('a large demand -> the claim is at most the budget', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', BUDGET, 'high');
    next();
    meter.admit('0', 100, 'high');
    next();
    expect(drain(10, 'low', 100)).toBe(5);
  });

  test('a debt -> Low waits too', () => {
    meter.admit('0', BUDGET, 'low');
    meter.charge('0', 3 * BUDGET, 'low');
    expect([meter.admit('0', BUDGET, 'high'), meter.admit('0', BUDGET, 'low')]).toEqual([3000, 3000]);
  });
});

describe('what was spent', () => {
  test('charges -> the total and the last whole second', () => {
    meter.admit('0', BUDGET, 'high');
    meter.charge('0', 5, 'high');
    meter.charge('0', 2.5, 'low');
    expect(meter.spent('0')).toEqual({ totalRu: 7.5, throttled: 0, lastSecondRu: 0 });
    next();
    expect(meter.spent('0')).toEqual({ totalRu: 7.5, throttled: 0, lastSecondRu: 7.5 });
    next();
    expect(meter.spent('0')).toEqual({ totalRu: 7.5, throttled: 0, lastSecondRu: 0 });
  });

  test('refusals -> counted', () => {
    drain(10);
    drain(10);
    expect(meter.spent('0').throttled).toBe(2);
  });

  test('a forgotten or unknown range -> zero', () => {
    drain(10);
    meter.forget('0');
    const nothing = { totalRu: 0, throttled: 0, lastSecondRu: 0 };
    expect([meter.spent('0'), meter.spent('never')]).toEqual([nothing, nothing]);
    expect(drain(10)).toBe(40);
  });

  test('a charge without a request -> counted, not metered', () => {
    meter.charge('0', 1000, 'low');
    expect(meter.spent('0').totalRu).toBe(1000);
    expect(drain(10)).toBe(40);
  });
});
