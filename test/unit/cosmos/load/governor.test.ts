/** Load control against a service in virtual time: ranges with RU of their own, and a queue of what is in flight. */
import { describe, expect, test } from 'vitest';
import { Governor } from '../../../../src/cosmos/load/governor.ts';
import { allowedRu, RuBudget } from '../../../../src/cosmos/load/ru-budget.ts';
import { VirtualClock } from '../../../helpers/clock.ts';
import { seededRandom } from '../../../../src/lib/random.ts';

const OPERATION_RU = 7;

interface Range {
  readonly id: string;
  /** What the service gives it, by the second. */
  readonly ru: number;
  /** How long a batch takes. */
  readonly latencyMs?: number;
}

interface Tally {
  done: number;
  throttled: number;
  spentRu: number;
  requests: number;
}

interface Service {
  readonly clock: VirtualClock;
  readonly governor: Governor;
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Lets a millisecond after the other pass, with every range eager to send. */
  readonly run: (forMs: number) => void;
}

function service(options: {
  readonly ranges: readonly Range[];
  readonly operations?: number;
  readonly ruPerSecond?: number;
  readonly known?: boolean;
  readonly seed?: number;
}): Service {
  const { ranges, operations = 20, ruPerSecond, known = false, seed = 1 } = options;
  const clock = new VirtualClock();
  const governor = new Governor({ clock, random: seededRandom(seed), ruPerSecond });
  const [first] = ranges;
  if (known && first !== undefined)
    governor.setCapacity(
      first.ru * ranges.length,
      ranges.map(({ id }) => id),
    );
  const tallies = new Map(ranges.map(({ id }) => [id, { done: 0, throttled: 0, spentRu: 0, requests: 0 }]));
  const places = ranges.map((range) => ({
    range,
    tally: tallies.get(range.id) as Tally,
    arrivals: [] as { atMs: number; operations: number }[],
    askAtMs: 0,
    second: 0,
    usedRu: 0,
  }));
  const step = (place: (typeof places)[number]): void => {
    const { range, tally, arrivals } = place;
    const nowMs = clock.now();
    const second = Math.floor(nowMs / 1000);
    if (second !== place.second) [place.second, place.usedRu] = [second, 0];
    while ((arrivals[0]?.atMs ?? Infinity) <= nowMs) {
      const operations = arrivals.shift()?.operations ?? 0;
      let [done, throttled] = [0, 0];
      for (let i = 0; i < operations; i += 1) {
        if (place.usedRu >= range.ru) throttled += 1;
        else {
          place.usedRu += OPERATION_RU;
          done += 1;
        }
      }
      const chargeRu = done * OPERATION_RU;
      const retryAfterMs = throttled > 0 ? 1000 - (nowMs % 1000) : undefined;
      tally.done += done;
      tally.throttled += throttled;
      tally.spentRu += chargeRu;
      const elapsedMs = range.latencyMs ?? 20;
      governor.observe(range.id, { chargeRu, operations, throttled, retryAfterMs, elapsedMs });
      place.askAtMs = 0;
    }
    while (place.askAtMs <= nowMs) {
      const admission = governor.admit(range.id, { inFlight: arrivals.length });
      if (admission === 'go') {
        tally.requests += 1;
        const most = governor.operationsMax(range.id);
        arrivals.push({ atMs: nowMs + (range.latencyMs ?? 20), operations: Math.min(most, operations) });
      } else {
        place.askAtMs = nowMs + (admission.delayMs ?? Infinity);
      }
    }
  };
  return {
    clock,
    governor,
    tallies,
    run: (forMs) => {
      for (let ms = 0; ms < forMs; ms += 1) {
        for (const place of places) step(place);
        clock.advance(1);
      }
    },
  };
}

const sum = (tallies: ReadonlyMap<string, Tally>, of: keyof Tally): number =>
  [...tallies.values()].reduce((total, tally) => total + tally[of], 0);

/** How many requests may be in flight to a range, found by asking. */
function limitOf(governor: Governor, range: string): number {
  for (let inFlight = 100; ; inFlight -= 1) {
    const admission = governor.admit(range, { inFlight });
    if (admission !== 'go' && admission.reason === 'in flight') continue;
    if (admission === 'go')
      governor.observe(range, { chargeRu: 0, operations: 0, throttled: 0, retryAfterMs: undefined });
    return inFlight + 1;
  }
}

describe('budget', () => {
  test.each([
    [{ kind: 'automatic' }, 4000, undefined],
    [{ kind: 'ru', ru: 500 }, 4000, 500],
    [{ kind: 'percent', percent: 30 }, 4000, 1200],
    [{ kind: 'ru', ru: 500 }, undefined, 500],
  ] as const)('%o of %s RU/s -> %s', (budget, has, expected) => {
    expect(allowedRu('target', budget, has)).toBe(expected);
  });

  test('a share of an unknown throughput -> refused, with a hint', () => {
    expect(() => allowedRu('source', { kind: 'percent', percent: 30 }, undefined)).toThrow(
      '--source-ru 30% is not valid',
    );
  });

  test('a reply costs more than expected -> the excess is owed; almost nothing is saved up', () => {
    const clock = new VirtualClock();
    const budget = new RuBudget(clock, 100);
    expect(budget.delayMs()).toBe(0);
    budget.charge(budget.reserve(), 250);
    expect(budget.delayMs()).toBe(2500);
    clock.advance(2500);
    expect(budget.delayMs()).toBe(0);
    clock.advance(3_600_000);
    budget.charge(budget.reserve(), 250);
    expect(budget.delayMs()).toBe(2400);
    expect(budget.spentRu).toBe(500);
  });

  test('the clock is set back -> nothing is gained and nothing is lost', () => {
    const clock = new VirtualClock();
    const budget = new RuBudget(clock, 100);
    budget.charge(0, 100);
    clock.step(-500_000);
    expect(budget.delayMs()).toBe(1000);
    clock.advance(1000);
    expect(budget.delayMs()).toBe(0);
  });

  test.each([0.1, 0.3, 0.8])(
    'a share of %d -> spent to within a few per cent, with no throttling',
    (share) => {
      const ranges = ['0', '1', '2', '3'].map((id) => ({ id, ru: 10_000 }));
      const { tallies, run } = service({ ranges, ruPerSecond: 40_000 * share, known: true });
      run(30_000);
      const used = sum(tallies, 'spentRu') / (40_000 * 30);
      expect(used).toBeGreaterThan(share * 0.95);
      expect(used).toBeLessThan(share * 1.02);
      expect(sum(tallies, 'throttled')).toBe(0);
      // No range is left out.
      for (const { spentRu } of tallies.values())
        expect(spentRu / (sum(tallies, 'spentRu') / 4)).toBeGreaterThan(0.9);
    },
  );
});

describe('range limit', () => {
  test('a range that answers late -> its RU are used up after a few seconds', () => {
    const { tallies, run } = service({
      ranges: [{ id: '0', ru: 6000, latencyMs: 1000 }],
      operations: 100,
      known: true,
    });
    run(10_000);
    const before = sum(tallies, 'spentRu');
    run(10_000);
    expect((sum(tallies, 'spentRu') - before) / 60_000).toBeGreaterThan(0.9);
  });

  test.each([400, 1000, 6000, 10_000])(
    'a range of %d RU/s -> its RU are used up, with hardly any throttling',
    (ru) => {
      const { tallies, run } = service({ ranges: [{ id: '0', ru }], operations: 100, known: true });
      run(2000);
      const before = structuredClone(tallies);
      run(60_000);
      const [done, throttled, spentRu] = (['done', 'throttled', 'spentRu'] as const).map(
        (of) => sum(tallies, of) - sum(before, of),
      );
      expect((spentRu ?? 0) / (ru * 60)).toBeGreaterThan(0.95);
      expect((throttled ?? 0) / ((done ?? 0) + (throttled ?? 0))).toBeLessThan(0.02);
    },
  );

  test('no throttling -> one more request in flight each second', () => {
    const { governor, run } = service({ ranges: [{ id: '0', ru: 1e9 }] });
    const limits: number[] = [];
    for (let second = 0; second < 6; second += 1) {
      run(1100);
      limits.push(limitOf(governor, '0'));
    }
    expect(limits).toEqual([3, 4, 5, 6, 7, 8]);
  });

  test('throttling -> holds at about 1 %, sheds one above, halves when it lasts, never falls to zero', () => {
    const clock = new VirtualClock();
    const governor = new Governor({ clock, random: seededRandom(1) });
    governor.admit('0', { inFlight: 0 });
    governor.observe('0', { chargeRu: 0, operations: 0, throttled: 0, retryAfterMs: undefined });
    const limits: number[] = [];
    const window = (throttled: number): void => {
      clock.advance(2000);
      const admission = governor.admit('0', { inFlight: limitOf(governor, '0') - 1 });
      expect(admission).toBe('go');
      governor.observe('0', { chargeRu: 1, operations: 1000, throttled, retryAfterMs: 10 });
      limits.push(limitOf(governor, '0'));
    };
    for (const throttled of [0, 0, 0, 0, 0, 0, 10, 20, 300, 300, 300, 300, 300, 0]) window(throttled);
    expect(limits).toEqual([3, 4, 5, 6, 7, 8, 8, 7, 6, 3, 1, 1, 1, 2]);
  });

  test('a hint -> that range rests as long as the service asks, and no other rests', () => {
    const clock = new VirtualClock();
    const governor = new Governor({ clock, random: seededRandom(1) });
    expect(governor.admit('0', { inFlight: 0 })).toBe('go');
    governor.observe('0', { chargeRu: 1, operations: 10, throttled: 10, retryAfterMs: 5000 });
    const admission = governor.admit('0', { inFlight: 0 });
    expect(admission).toMatchObject({ reason: 'throttled' });
    const { delayMs } = admission as { delayMs: number };
    expect(delayMs).toBeGreaterThanOrEqual(5000);
    expect(delayMs).toBeLessThanOrEqual(6250);
    expect(governor.admit('1', { inFlight: 0 })).toBe('go');
    clock.advance(delayMs);
    expect(governor.admit('0', { inFlight: 0 })).toBe('go');
  });

  test('a hint of 0 ms -> the range rests for a moment all the same', () => {
    const governor = new Governor({ clock: new VirtualClock(), random: seededRandom(1) });
    governor.admit('0', { inFlight: 0 });
    governor.observe('0', { chargeRu: 1, operations: 10, throttled: 10, retryAfterMs: 0 });
    const { delayMs } = governor.admit('0', { inFlight: 0 }) as { delayMs: number };
    expect(delayMs).toBeGreaterThanOrEqual(10);
  });

  test('no hint -> each rest in which nothing got through is followed by one twice as long, up to 10 s', () => {
    const { clock, governor } = service({ ranges: [{ id: '0', ru: 400 }] });
    governor.admit('0', { inFlight: 0 });
    const rest = (throttled: number, elapsedMs = 0): number => {
      governor.observe('0', { chargeRu: 1, operations: 10, throttled, retryAfterMs: undefined, elapsedMs });
      const admission = governor.admit('0', { inFlight: 0 });
      return admission === 'go' ? 0 : (admission.delayMs ?? 0);
    };
    const rests = Array.from({ length: 9 }, () => {
      const restMs = rest(10);
      clock.advance(restMs);
      return restMs;
    });
    for (const [at, restMs] of rests.entries()) {
      const least = Math.min(10_000, 100 * 2 ** at);
      expect(restMs).toBeGreaterThanOrEqual(least);
      expect(restMs).toBeLessThanOrEqual(least * 1.25 + 1);
    }
    // Some operations got through: the next rest is short again.
    expect(rest(5)).toBeLessThanOrEqual(126);
    // Refused together with the ones before: no longer rest.
    expect([rest(10, 50), rest(10, 50), rest(10, 50)].every((restMs) => restMs <= 126)).toBe(true);
    clock.advance(126);
    expect(rest(10)).toBeGreaterThanOrEqual(200);
    // A hint is kept exactly, and changes nothing about the rests without one.
    governor.observe('0', { chargeRu: 1, operations: 10, throttled: 10, retryAfterMs: 1000 });
    expect(governor.admit('0', { inFlight: 0 })).toMatchObject({ reason: 'throttled' });
  });

  test('a slow or throttled range -> the others are not slowed', () => {
    const healthy = ['1', '2', '3'].map((id) => ({ id, ru: 10_000 }));
    const calm = service({ ranges: [{ id: '0', ru: 10_000 }, ...healthy] });
    calm.run(30_000);
    const rough = service({ ranges: [{ id: '0', ru: 200, latencyMs: 900 }, ...healthy] });
    rough.run(30_000);
    for (const { id } of healthy) {
      const [was, is] = [calm, rough].map(({ tallies }) => tallies.get(id)?.done ?? 0);
      expect((is ?? 0) / (was ?? 1)).toBeGreaterThan(0.9);
    }
  });

  test('known capacity -> ranges are kept busy, with hardly any throttling', () => {
    const ranges = ['0', '1', '2', '3'].map((id) => ({ id, ru: 10_000 }));
    const { tallies, run } = service({ ranges, known: true });
    run(60_000);
    expect(sum(tallies, 'spentRu') / (40_000 * 60)).toBeGreaterThan(0.95);
    const throttled = sum(tallies, 'throttled');
    expect(throttled / (throttled + sum(tallies, 'done'))).toBeLessThan(0.02);
  });

  test('a split -> the children start with what the parent has learned', () => {
    const { governor, run } = service({ ranges: [{ id: '0', ru: 1e9 }] });
    run(8000);
    const before = limitOf(governor, '0');
    governor.replace('0', ['1', '2']);
    // A reply that comes late does no harm.
    governor.observe('0', { chargeRu: 1, operations: 1, throttled: 1, retryAfterMs: undefined });
    expect(['1', '2'].map((range) => limitOf(governor, range))).toEqual(
      [before / 2, before / 2].map(Math.ceil),
    );
  });

  test('the limit is reached -> waits for a reply', () => {
    const governor = new Governor({ clock: new VirtualClock(), random: seededRandom(1) });
    expect(governor.admit('0', { inFlight: 2 })).toEqual({ reason: 'in flight' });
  });
});
