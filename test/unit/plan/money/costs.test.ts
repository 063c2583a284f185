import { expect, test } from 'vitest';
import { costsOf, type CostParts } from '../../../../src/plan/money/costs.ts';
import { PRICES } from '../../../../src/spec/money/prices.ts';
import { estimate } from '../../../../src/preflight/estimate.ts';

const GB = 1024 ** 3;
const sample = { averageBytes: 1024, averageKeyBytes: 20, averageTerms: 10, readRu: 1 };
const parts: CostParts = {
  isCurrent: false,
  documents: 3_600_000,
  sample,
  indexed: 'all',
  storedBytes: 100 * GB,
  addedBytes: 0,
  throughput: { kind: 'manual', ru: 1000 },
  regions: 1,
  writeRegions: 1,
  sourceRuPerSecond: undefined,
  queriesRu: null,
  prices: PRICES,
};

test('the move -> the figures of the preflight, and partitions for the storage', () => {
  const { migration, monthly } = costsOf({ ...parts, sourceRuPerSecond: 1000 });
  const same = estimate({
    sample,
    documents: 3_600_000,
    indexed: 'all',
    sourceRuPerSecond: 1000,
    targetRuPerSecond: 1000,
  });
  expect(migration).toMatchObject({
    sourceRu: same.sourceRu,
    targetRu: same.targetRu,
    hoursAtPresent: same.hours,
    ledgerBytes: same.ledgerBytes,
    // 100 GB in parts of 40 GB.
    initialPartitions: 3,
    initialRu: 18_000,
    // The source feeds 1,000 documents each second, which cost 6.95 RU each to write.
    proposedRu: 7000,
    hoursAtProposed: 1,
  });
  // An hour of 7,000 RU/s, and of 100 GB.
  expect(migration?.dollars).toBeCloseTo(0.56 + 25 / 720, 6);
  // 1,000 RU/s for 720 hours, and 100 GB.
  expect(monthly?.before).toBeCloseTo(57.6 + 25, 6);
  expect(monthly?.after).toBeCloseTo(57.6 + 25, 6);
});

test('the present key -> no move, and the bill stays', () => {
  const { migration, monthly } = costsOf({
    ...parts,
    isCurrent: true,
    queriesRu: { now: 900, after: 900 },
  });
  expect(migration).toBeNull();
  expect(monthly).toMatchObject({ why: 'the key stays' });
  expect(monthly?.after).toBe(monthly?.before);
});

test.each([
  ['manual', { kind: 'manual', ru: 1000 }, 1, 1, 57.6],
  ['autoscale', { kind: 'autoscale', ruMax: 1000 }, 1, 1, 86.4],
  ['two regions, one of which writes', { kind: 'manual', ru: 1000 }, 2, 1, 115.2],
  ['two regions that both write', { kind: 'manual', ru: 1000 }, 2, 2, 230.4],
  // No premium for autoscale in an account that writes in several regions.
  ['the same with autoscale', { kind: 'autoscale', ruMax: 1000 }, 2, 2, 230.4],
] as const)('a month of %s -> %j', (_name, throughput, regions, writeRegions, expected) => {
  const { monthly } = costsOf({ ...parts, throughput, regions, writeRegions, storedBytes: 0 });
  expect(monthly?.before).toBeCloseTo(expected, 6);
});

test('a discount -> on throughput only', () => {
  const prices = { ...PRICES, discount: 0.5 };
  expect(costsOf({ ...parts, prices }).monthly?.before).toBeCloseTo(28.8 + 25, 6);
});

test.each([
  // Throughput is set in steps of 100, rounded up.
  [{ now: 800, after: 250 }, 500, 'queries need 550 RU/s less, so 500 RU/s are enough'],
  [{ now: 800, after: 790 }, 1000, 'queries need 10 RU/s less, so the throughput stays'],
  [{ now: 100, after: 130 }, 1100, 'queries need 30 RU/s more, so 1,100 RU/s are needed'],
  [{ now: 100, after: 100 }, 1000, 'queries need the same RU/s, so the throughput stays'],
  // Not below the service's least.
  [{ now: 5000, after: 0 }, 400, 'queries need 5,000 RU/s less, so 400 RU/s are enough'],
])('queries that need %j -> %i RU/s', (queriesRu, ru, why) => {
  const { monthly } = costsOf({ ...parts, storedBytes: 0, queriesRu });
  expect(monthly?.after).toBeCloseTo((ru / 100) * 0.008 * 720, 6);
  expect(monthly?.why).toBe(why);
});

test('autoscale after the peak of the copy -> a tenth of it stays', () => {
  const { migration, monthly } = costsOf({
    ...parts,
    throughput: { kind: 'autoscale', ruMax: 30_000 },
    storedBytes: 120 * GB,
    queriesRu: { now: 29_000, after: 0 },
  });
  expect(migration).toMatchObject({ initialPartitions: 3, initialRu: 30_000, proposedRu: 30_000 });
  // 120 GB in one region: 10 RU/s for each GB is less than a tenth of 30,000.
  expect(monthly?.after).toBeCloseTo(30 * 0.012 * 720 + 30, 6);
});

test('serverless -> RU are paid, and a month is known only with a workload', () => {
  const serverless = { ...parts, throughput: { kind: 'serverless' } as const };
  const { migration, monthly } = costsOf(serverless);
  expect(monthly).toBeNull();
  expect(migration).toMatchObject({ hoursAtPresent: null, initialRu: null, proposedRu: 15_000 });
  expect(migration?.dollars).toBeCloseTo((3.6 + 25.02) * 0.25 + 25 / 720, 6);
  const paid = costsOf({ ...serverless, storedBytes: 0, queriesRu: { now: 10, after: 1 } }).monthly;
  // 2.592 million seconds in a month of 720 hours.
  expect(paid?.before).toBeCloseTo(10 * 2.592 * 0.25, 6);
  expect(paid?.after).toBeCloseTo(2.592 * 0.25, 6);
});

test.each([
  // A container that shares the throughput of its database is created without any of its own.
  ['shared', null],
  ['unknown', 18_000],
] as const)('%s throughput -> no time at present, and no bill', (kind, initialRu) => {
  const { migration, monthly } = costsOf({ ...parts, throughput: { kind } });
  expect(monthly).toBeNull();
  // What three partitions carry.
  expect(migration).toMatchObject({ hoursAtPresent: null, proposedRu: 30_000, initialRu });
});

test('an empty container -> no division by zero, one partition, one billed hour', () => {
  const { migration } = costsOf({ ...parts, documents: 0, storedBytes: 0 });
  expect(migration).toMatchObject({
    sourceRu: 0,
    targetRu: 0,
    hoursAtPresent: 0,
    hoursAtProposed: 0,
    initialPartitions: 1,
    initialRu: 1000,
    ledgerBytes: 0,
  });
  expect(Object.values(migration ?? {}).every((value) => Number.isFinite(value))).toBe(true);
});

test('a huge container -> finite figures', () => {
  const { migration, monthly } = costsOf({
    ...parts,
    documents: 1e12,
    storedBytes: 1e15,
    throughput: { kind: 'manual', ru: 1_000_000 },
  });
  for (const value of [...Object.values(migration ?? {}), monthly?.before, monthly?.after])
    expect(Number.isFinite(value)).toBe(true);
});

test('a limit for reading -> the source decides how fast the target has to be', () => {
  const { migration } = costsOf({ ...parts, sourceRuPerSecond: 100 });
  // 100 documents each second need 695 RU/s; the target keeps what the source has.
  expect(migration).toMatchObject({ proposedRu: 1000, hoursAtProposed: 10 });
});

test('a derived key -> its bytes are stored for every document', () => {
  const { monthly } = costsOf({ ...parts, documents: 1024 ** 2, addedBytes: 1024 });
  expect((monthly?.after ?? 0) - (monthly?.before ?? 0)).toBeCloseTo(0.25, 6);
});
