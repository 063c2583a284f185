import { expect, test } from 'vitest';
import { growthOf, lifeDaysOf, type GrowthParts } from '../../../../src/plan/forecast/growth.ts';
import { History } from '../../../../src/plan/forecast/history.ts';

const GB = 1024 ** 3;
const DAY = 86_400;
/** 2026-11-19T12:00:00Z */
const NOW = Date.UTC(2026, 10, 19, 12) / 1000;

/** A history of equal days up to now. */
function daily(days: number, bytesPerDay: number): ReturnType<History['save']> {
  const history = new History(NOW);
  for (let hour = 0; hour < days * 24; hour += 1) history.add(NOW - hour * 3600 - 1800, bytesPerDay / 24);
  return history.save();
}

function growth(more: Partial<GrowthParts> = {}): ReturnType<typeof growthOf> {
  return growthOf({
    from: '/createdAt',
    nowTs: NOW,
    history: daily(100, GB),
    times: 1,
    dataBytes: 100 * GB,
    storedBytes: 100 * GB,
    values: [{ value: 'A', bytes: 10 * GB, recentBytes: GB / 10 }],
    recentTotalBytes: GB,
    recentSeconds: DAY,
    lifeDays: null,
    defaultTtl: null,
    partitions: 3,
    throughput: { kind: 'manual', ru: 1000 },
    horizonMonths: 12,
    ...more,
  });
}

test('steady growth -> the dates at which a value has 14 and 20 GB', () => {
  const figures = growth();
  expect(figures.bytesPerDay / GB).toBeCloseTo(1, 2);
  expect(figures.caution).toBeNull();
  expect(figures.historyDays).toBeCloseTo(29.5, 1);
  // 4 GB and 10 GB more, at a tenth of a GB each day.
  expect(figures.first).toMatchObject({ value: 'A', reaches14Gb: '2026-12-29', reaches20Gb: '2027-02-27' });
  // 465 GB in a year, in partitions of 50 GB.
  expect(figures.partitionsAtHorizon).toBe(10);
  expect(figures.ruAtHorizon).toBe(1000);
  expect(figures.line).toHaveLength(13);
  expect(figures.line[0]).toEqual(['2026-11-19', 100 * GB, 10 * GB]);
  expect(figures.line[12]?.[0]).toBe('2027-11-19');
});

test.each([
  // A car sends 1 KB each second while it is driven.
  ['90 minutes a day', 90 * 60, '2037-07-07'],
  ['6 hours a day', 6 * 3600, '2029-07-16'],
  ['all day', DAY, '2027-07-19'],
])('a connected car that is driven %s -> its values have 20 GB on %s', (_name, seconds, date) => {
  const values = [{ value: 'car', bytes: 0, recentBytes: seconds * 1024 }];
  // A car that was just registered has at least the bytes of its last day.
  const figures = growth({
    values: values.map((one) => ({ ...one, bytes: one.recentBytes })),
    horizonMonths: 240,
  });
  expect(figures.first?.reaches20Gb).toBe(date);
});

test('nothing was created for a month -> nothing grows, and it says why', () => {
  const days = daily(100, GB).days.map(([day, bytes]) => [day - 60, bytes] as const);
  const figures = growth({ history: { ...daily(100, GB), firstTs: (days[0]?.[0] ?? 0) * DAY, days } });
  expect(figures).toMatchObject({ bytesPerDay: 0, first: null });
  expect(figures.caution).toMatch(/no document was created in the last 30 days, so nothing grows/);
});

test('dates of creation -> a value grows by its share of the container, whatever was written last', () => {
  const figures = growth({ values: [{ value: 'A', bytes: 10 * GB, recentBytes: null }] });
  // A tenth of the data, and so a tenth of a GB each day.
  expect(figures.first).toMatchObject({ value: 'A', reaches14Gb: '2026-12-29', reaches20Gb: '2027-02-27' });
});

test('a twentieth was read -> the same dates as if all had been read', () => {
  const sampled = growth({
    times: 20,
    history: daily(100, GB / 20),
    dataBytes: 5 * GB,
    values: [{ value: 'A', bytes: GB / 2, recentBytes: GB / 200 }],
    recentTotalBytes: GB / 20,
  });
  expect(sampled.first?.reaches20Gb).toBe(growth().first?.reaches20Gb);
  expect(sampled.line[0]).toEqual(growth().line[0]);
  expect(sampled.bytesPerDay).toBeCloseTo(growth().bytesPerDay, -1);
});

test('more was written than the container grew -> each value grows with its part of it', () => {
  const values = [{ value: 'A', bytes: 10 * GB, recentBytes: 2 * GB }];
  const { first, bytesPerDay } = growth({ values, recentTotalBytes: 20 * GB });
  expect((first?.bytesPerDay ?? 0) / bytesPerDay).toBeCloseTo(0.1, 6);
});

test('a value that is updated more than the container grows -> grows no faster than the container', () => {
  const values = [{ value: 'A', bytes: 10 * GB, recentBytes: 5 * GB }];
  expect(growth({ values }).first?.bytesPerDay).toBe(growth().bytesPerDay);
});

test('an index as big as the data -> half the time', () => {
  const figures = growth({ storedBytes: 200 * GB });
  // 20 GB with the index already.
  expect(figures.first).toMatchObject({
    bytes: 20 * GB,
    reaches14Gb: '2026-11-19',
    reaches20Gb: '2026-11-19',
  });
  expect(figures.bytesPerDay / GB).toBeCloseTo(2, 2);
});

test('the value that reaches the limit first -> not the biggest, but the one that grows', () => {
  const values = [
    { value: 'old', bytes: 19 * GB, recentBytes: 0 },
    { value: 'slow', bytes: 18 * GB, recentBytes: GB / 1000 },
    { value: 'fast', bytes: GB, recentBytes: GB },
  ];
  expect(growth({ values }).first).toMatchObject({ value: 'fast', reaches20Gb: '2026-12-08' });
});

test('a value that grows too slowly -> no date within the horizon', () => {
  const values = [{ value: 'A', bytes: GB, recentBytes: 1000 }];
  expect(growth({ values }).first).toMatchObject({ reaches14Gb: null, reaches20Gb: null });
});

test('values that do not grow, negative figures, or none at all -> none reaches the limit', () => {
  expect(growth({ values: [] }).first).toBeNull();
  expect(growth({ values: [{ value: 'A', bytes: 5, recentBytes: 0 }] }).first).toBeNull();
  expect(growth({ values: [{ value: 'A', bytes: 5, recentBytes: -7 }] }).first).toBeNull();
});

test('an empty container -> zeros, and a line without a rise', () => {
  const history = new History(NOW).save();
  const figures = growth({
    history,
    dataBytes: 0,
    storedBytes: 0,
    values: [],
    throughput: null,
    partitions: 1,
  });
  expect(figures).toMatchObject({
    bytesPerDay: 0,
    first: null,
    partitionsAtHorizon: 1,
    ruAtHorizon: 400,
    caution: 'there are no documents',
  });
  expect(figures.line.every(([, whole, value]) => whole === 0 && value === 0)).toBe(true);
});

test('everything was written within one day -> a load, and not growth', () => {
  const figures = growth({ history: daily(0.5, 200 * GB) });
  expect(figures).toMatchObject({ bytesPerDay: 0, first: null });
  expect(figures.caution).toMatch(/^all documents were created within one day/);
});

test('two days of history -> growth, with a caution', () => {
  const figures = growth({ history: daily(2, GB) });
  expect(figures.bytesPerDay / GB).toBeCloseTo(1, 1);
  expect(figures.caution).toBe('only 2.0 days of history are known');
});

test('_ts as the date -> the caution that updates look like growth', () => {
  expect(growth({ from: '_ts' }).caution).toMatch(/updates look like growth/);
});

test('one day with most of the month -> left out as a load', () => {
  const history = new History(NOW, daily(100, GB));
  history.add(NOW - 5 * DAY, 500 * GB);
  const figures = growth({ history: history.save() });
  expect(figures.bytesPerDay / GB).toBeCloseTo(1, 1);
  expect(figures.caution).toMatch(/was written on 2026-11-14; that is left out/);
});

test('nothing created for a month -> no growth', () => {
  const history = new History(NOW);
  for (let day = 40; day < 100; day += 1) history.add(NOW - day * DAY, GB);
  expect(growth({ history: history.save() })).toMatchObject({ bytesPerDay: 0, first: null });
});

test('time to live -> a container stops at what it writes in that time', () => {
  const figures = growth({
    defaultTtl: 150 * DAY,
    values: [{ value: 'A', bytes: GB, recentBytes: GB / 10 }],
  });
  expect((figures.line.at(-1)?.[1] ?? 0) / GB).toBeCloseTo(150, 0);
  // 150 days at a tenth of a GB.
  expect(figures.first).toMatchObject({ reaches20Gb: null });
  expect((figures.line.at(-1)?.[2] ?? 0) / GB).toBeCloseTo(15, 6);
  expect(growth({ defaultTtl: -1 }).bytesPerDay).toBeGreaterThan(0);
});

test('values with a month in them -> stop at the end of the month', () => {
  const values = [{ value: 'car-2026-11', bytes: 1.5 * GB, recentBytes: GB / 10 }];
  expect(growth({ values, lifeDays: 31 }).first).toMatchObject({ reaches20Gb: null });
  expect(growth({ values, lifeDays: null }).first?.reaches20Gb).toBe('2027-05-23');
});

test.each([
  [['/pk={deviceId}-{createdAt|month}'], 31],
  [['/pk={deviceId}-{ createdAt | day }'], 1],
  [['/pk={createdAt|date:yyyy-MM-dd}'], 1],
  [['/pk={createdAt|date:yyyy-MM}'], 31],
  [['/pk={createdAt|date:yyyy}'], 366],
  // The same hours return every day.
  [['/pk={createdAt|date:HH}'], null],
  [['/pk={createdAt|quarter}', '/b={createdAt|week}'], 7],
  [['/pk={tenantId|hash:400}'], null],
  [[], null],
])('templates %j -> a value grows for %s days', (derive, days) => {
  expect(lifeDaysOf(derive)).toBe(days);
});

test('the end of a month, and a leap year -> dates that exist', () => {
  const nowTs = Date.UTC(2028, 0, 31, 23, 59, 59) / 1000;
  expect(
    growth({ nowTs, history: new History(nowTs).save() })
      .line.map(([date]) => date)
      .slice(0, 4),
  ).toEqual(['2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30']);
});

test('huge sizes -> finite figures', () => {
  const figures = growth({
    history: daily(100, 1e18),
    dataBytes: 1e20,
    storedBytes: 1e20,
    values: [{ value: 'A', bytes: 1e19, recentBytes: 1e18 }],
  });
  expect(Number.isFinite(figures.partitionsAtHorizon)).toBe(true);
  expect(figures.first?.reaches20Gb).toBe('2026-11-19');
});

test.each([
  ['2026-11-19T00:30:00+02:00', '2026-11-18'],
  ['2026-11-18T23:30:00-02:00', '2026-11-19'],
  // Without a zone, a time is in UTC wherever the plan runs.
  ['2026-11-18T23:59:59', '2026-11-18'],
  ['2026-11-18', '2026-11-18'],
  [Date.UTC(2026, 10, 18, 5) / 1000, '2026-11-18'],
  [Date.UTC(2026, 10, 18, 5), '2026-11-18'],
])('a document created at %j -> counts on %s', (created, date) => {
  const history = new History(NOW);
  history.addDated(created, 5);
  expect(history.save().days).toEqual([[Date.parse(date) / 1000 / DAY, 5]]);
});

test.each([['yesterday'], [null], [undefined], [true], ['2999-01-01'], ['2026-02-30'], [1e30]])(
  'a document created at %j -> counted as undated',
  (created) => {
    const history = new History(NOW);
    history.addDated(created, 5);
    expect(history.save()).toEqual({ undatedBytes: 5, firstTs: null, days: [] });
  },
);

test('no date can be read -> no growth, and the reason', () => {
  const history = new History(NOW);
  history.addDated('soon', 5);
  expect(growth({ history: history.save() })).toMatchObject({
    bytesPerDay: 0,
    caution: 'no document has a date at /createdAt that can be read',
  });
});

test('a history that is saved and continued -> as if it had not been interrupted', () => {
  const history = new History(NOW, new History(NOW, daily(3, 24)).save());
  history.add(0, 1);
  expect(new History(NOW, history.save()).save()).toEqual(history.save());
  // 1970 is more than fifty years ago, so it counts on the first day that is kept.
  expect(history.save().days[0]?.[0]).toBe(Math.floor(NOW / DAY - 18_263));
});
