/**
 * Data sets that the literature on partition keys describes, each with the verdict that its text gives. They are generated
 * from a seed, at a size that a test can afford; what matters are shares and times, not their absolute size.
 */

export const NOW = 1_790_000_000;
const DAY = 86_400;
const COUNT = 16_000;

export type Item = Readonly<Record<string, string | number>>;

/** A generator of numbers from 0 to 1 that depends on its seed only. */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const isoOf = (ts: number): string => new Date(ts * 1000).toISOString();

/** Makes items that were written evenly during the last days, the newest last. */
function over(days: number, count: number, make: (n: number, ts: number) => Item): Item[] {
  return Array.from({ length: count }, (_none, n) => {
    const ts = Math.round(NOW - days * DAY + ((n + 1) / count) * days * DAY) - 1;
    return { id: `item-${n}`, ...make(n, ts), _ts: ts };
  });
}

/** Six tenants; one of them has most of the data and of the writes. */
export function tenants(seed: number, count = COUNT): Item[] {
  const chance = chanceOf(seed);
  return over(10, count, () => ({
    tenantId: chance() < 0.7 ? 'A' : 'BCDEF'.charAt(Math.floor(chance() * 5)),
    userId: `user-${Math.floor(chance() * count * 0.5)}`,
  }));
}

/** Orders with the day of the order, a category out of eight, a customer, and the id of the item. */
export function orders(seed: number, count = COUNT): Item[] {
  const chance = chanceOf(seed);
  return over(200, count, (_n, ts) => ({
    source: 'web',
    orderTime: isoOf(ts),
    orderDay: isoOf(ts).slice(0, 10),
    category: `category-${Math.floor(chance() * 8)}`,
    customerId: `customer-${Math.floor(chance() * count * 0.19)}`,
  }));
}

/** Telemetry of connected cars: a few models, months, devices. */
export function cars(seed: number, count = COUNT): Item[] {
  const chance = chanceOf(seed);
  return over(300, count, (_n, ts) => ({
    plant: 'one',
    model: `model-${Math.floor(chance() ** 2 * 12)}`,
    month: isoOf(ts).slice(0, 7),
    deviceId: `device-${Math.floor(chance() * count * 0.16)}`,
    createdAt: isoOf(ts),
  }));
}

/** News feeds: providers, months, quarters, and an id that is unique. */
export function feeds(seed: number, count = COUNT): Item[] {
  const chance = chanceOf(seed);
  return over(300, count, (n, ts) => ({
    site: 'x',
    month: isoOf(ts).slice(0, 7),
    provider: `provider-${Math.floor(chance() * count * 0.025)}`,
    createdAt: isoOf(ts),
    guid: `${n.toString(16).padStart(8, '0')}-${Math.floor(chance() * 2 ** 32).toString(16)}`,
  }));
}

/** Posts of a social network, by user and time. */
export function posts(seed: number, count = COUNT): Item[] {
  const chance = chanceOf(seed);
  return over(120, count, (_n, ts) => ({
    network: 'n',
    userId: `user-${Math.floor(chance() ** 1.5 * count * 0.25)}`,
    createdAt: isoOf(ts),
  }));
}
