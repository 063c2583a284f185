import { describe, expect, test } from 'vitest';
import { parsePath } from '../../../../src/keys/path.ts';
import { currentCandidate, parseCandidate } from '../../../../src/plan/candidates/candidate.ts';
import { PRICES } from '../../../../src/spec/money/prices.ts';
import { classify, levelsOf } from '../../../../src/plan/workload/classify.ts';
import { conditionsOf } from '../../../../src/plan/workload/query/conditions.ts';
import { weigh, type WeighParts } from '../../../../src/plan/workload/weigh.ts';
import {
  doingOf,
  obfuscationOf,
  workloadResult,
  type WorkloadCall,
  type Workload,
} from '../../../../src/plan/workload/workload.ts';

function query(text: string, more: Partial<WorkloadCall> = {}): WorkloadCall {
  const does = { kind: 'query', conditions: conditionsOf(text) ?? null } as const;
  return {
    text,
    does,
    executions: 1,
    ru: null,
    partitions: null,
    results: null,
    knows: [],
    namesKey: false,
    ...more,
  };
}

function where(condition: string, more: Partial<WorkloadCall> = {}): WorkloadCall {
  return query(`SELECT * FROM c WHERE ${condition}`, more);
}

function operation(kind: 'by-id' | 'write' | 'batch', more: Partial<WorkloadCall> = {}): WorkloadCall {
  return { ...query('', more), text: kind, does: { kind } };
}

const present = [['tenantId']];
const classed = (call: WorkloadCall, key: string): ReturnType<typeof classify> =>
  classify(call, levelsOf(parseCandidate(key)), present);

describe('a query with a candidate', () => {
  test.each([
    ["c.tenantId = 'x'", '/tenantId', 'single-partition'],
    ["c.tenantId = 'x' AND c.id = @id", '/tenantId', 'point'],
    ['c.id = @id', '/id', 'point'],
    ["c.id IN ('a', 'b')", '/id', 'prefix'],
    ["c.tenantId IN ('x', 'y', 'z')", '/tenantId', 'prefix'],
    ["c.tenantId IN ('x')", '/tenantId', 'single-partition'],
    ["c.tenantId = 'x' OR c.tenantId = 'y'", '/tenantId', 'prefix'],
    ["c.tenantId = 'x' OR c.userId = 'y'", '/tenantId', 'fan-out'],
    ['c.userId = 1', '/tenantId', 'fan-out'],
    ['c["tenantId"] = @t', '/tenantId', 'single-partition'],
    ['c.address.zip = @z', '/address/zip', 'single-partition'],
    ['c.address.zip = @z', '/zip', 'fan-out'],
    ['c.tenantId = @t', '/tenantId,/userId', 'prefix'],
    ['c.tenantId = @t AND c.userId = @u', '/tenantId,/userId', 'single-partition'],
    // The second level alone is of no use.
    ['c.userId = @u', '/tenantId,/userId', 'fan-out'],
    ['c.tenantId > @t', '/tenantId', 'fan-out'],
    ['c.d = @d AND c.m = @m', '/pk={d}-{m}', 'single-partition'],
    ['c.d = @d', '/pk={d}-{m}', 'fan-out'],
    ['c.pk = @p', '/pk={d}-{m}', 'single-partition'],
    ['c.d IN (1, 2) AND c.m IN (3, 4)', '/pk={d}-{m}', 'prefix'],
  ])('%s with %s -> %s', (condition, key, expected) => {
    expect(classed(where(condition), key)).toMatchObject({ class: expected, isKnown: true });
  });

  test.each([
    ["LOWER(c.tenantId) = 'x'", '/tenantId', /\/tenantId is in a condition other than = and IN/],
    ['NOT c.tenantId = @t', '/tenantId', /other than = and IN/],
    ['c.tenantId = c.userId', '/tenantId', /other than = and IN/],
    ["UPPER(c.d) = 'X'", '/pk={d}-{m}', /other than = and IN/],
  ])('%s with %s -> not known, counted as fan-out', (condition, key, why) => {
    const found = classed(where(condition), key);
    expect(found).toMatchObject({ class: 'fan-out', isKnown: false });
    expect(found.why).toMatch(why);
  });

  test('a text that is not understood -> not known', () => {
    expect(classed(query('SELECT * FROM (SELECT'), '/tenantId')).toMatchObject({
      class: 'fan-out',
      isKnown: false,
      why: 'cannot be determined: the query is not understood',
    });
  });

  test('the request names the present key -> it counts like a condition', () => {
    const call = where('c.userId = @u', { namesKey: true });
    expect(classed(call, '/tenantId,/userId')).toMatchObject({ class: 'single-partition' });
    expect(classed(call, '/pk={tenantId}-{userId}')).toMatchObject({ class: 'single-partition' });
    expect(classed(where('c.done = true', { namesKey: true }), '/tenantId,/userId').class).toBe('prefix');
  });
});

describe('an operation on documents', () => {
  test('a write has every key in it', () => {
    expect(classed(operation('write'), '/userId')).toMatchObject({ class: 'point', isKnown: true });
  });

  test('a read by id -> known only if the new key follows from what the application knows', () => {
    expect(classed(operation('by-id'), '/id')).toMatchObject({ class: 'point', isKnown: true });
    expect(classed(operation('by-id'), '/pk={tenantId}-{id}')).toMatchObject({ class: 'point' });
    expect(classed(operation('by-id'), '/userId')).toMatchObject({
      class: 'fan-out',
      isKnown: false,
      why: 'cannot be determined: the application needs /userId to find a document by its id',
    });
    expect(classed(operation('by-id', { knows: [['userId']] }), '/userId')).toMatchObject({ class: 'point' });
  });

  test('a batch -> known only for a key that its documents share', () => {
    expect(classed(operation('batch'), '/tenantId')).toMatchObject({ class: 'single-partition' });
    expect(classed(operation('batch'), '/tenantId,/userId')).toMatchObject({ isKnown: false });
  });

  test.each([
    ['Create', 'write'],
    ['UpsertItem', 'write'],
    ['Replace', 'write'],
    ['Delete', 'by-id'],
    ['read', 'by-id'],
    ['Patch', 'by-id'],
    ['Batch', 'batch'],
    ['ExecuteJavaScript', 'batch'],
    ['Query', undefined],
    ['ReadFeed', undefined],
    ['', undefined],
  ])('%s -> %s', (name, kind) => {
    expect(doingOf(name)?.kind).toBe(kind);
  });
});

function workload(calls: readonly WorkloadCall[], more: Partial<Workload> = {}): Workload {
  return {
    file: 'w.csv',
    calls,
    seconds: 100,
    hottestKeys: [],
    skipped: 0,
    notes: [],
    obfuscated: null,
    ...more,
  };
}

const parts: WeighParts = {
  candidate: parseCandidate('/userId'),
  presentPaths: ['/tenantId'],
  partitions: 10,
  firstLevelValues: 1000,
  presentFirstLevelValues: 10,
  readRu: 1,
  writeRu: 7,
  billing: { kind: 'manual', regions: 1, writeRegions: 1 },
  prices: PRICES,
};
const current = currentCandidate(['/tenantId']);

describe('a workload with a candidate', () => {
  test('queries by user -> fan-out now, one partition then, with RU/s and money', () => {
    const calls = [
      where('c.userId = @u', { executions: 1000, ru: 28_000, partitions: 10 }),
      where('c.tenantId = @t', { executions: 1000, ru: 3000, partitions: 1 }),
    ];
    const now = weigh(workload(calls), { ...parts, candidate: current });
    const later = weigh(workload(calls), parts);
    expect(now).toMatchObject({
      shares: { point: 0, 'single-partition': 0.5, prefix: 0, 'fan-out': 0.5 },
      partitionsVisited: 5.5,
      ruPerSecond: 310,
    });
    // The first saves 9 partitions of 2.5 RU, the second needs 9 more.
    expect(later).toMatchObject({
      shares: { 'single-partition': 0.5, 'fan-out': 0.5 },
      partitionsVisited: 5.5,
      ruPerSecond: 10 * (28 - 22.5) + 10 * (3 + 22.5),
      unknownShare: 0,
    });
    expect(now?.dollarsPerMonth).toBeCloseTo(3.1 * 0.008 * 720, 6);
    expect(later?.queries.map((one) => one.class)).toEqual(['single-partition', 'fan-out']);
  });

  test('one partition was asked although the text names no key -> the request names it', () => {
    const calls = [where('c.done = true', { executions: 10, ru: 30, partitions: 1 })];
    expect(weigh(workload(calls), { ...parts, candidate: current })?.shares['single-partition']).toBe(1);
    const finer = { ...parts, candidate: parseCandidate('/tenantId,/userId') };
    expect(weigh(workload(calls), finer)?.shares.prefix).toBe(1);
    // A query that wants one result may have found it in the first partition.
    const limited = [query('SELECT TOP 1 * FROM c WHERE c.done = true', { executions: 10, partitions: 1 })];
    expect(weigh(workload(limited), { ...parts, candidate: current })?.shares['fan-out']).toBe(1);
  });

  test('lists and prefixes -> no more partitions than there are, and no fewer than one', () => {
    const list = `c.userId IN (${Array.from({ length: 200 }, (_none, at) => at).join(', ')})`;
    expect(weigh(workload([where(list)]), parts)?.partitionsVisited).toBeCloseTo(10, 5);
    const two = weigh(workload([where('c.userId IN (1, 2)')]), parts);
    expect(two?.partitionsVisited).toBeCloseTo(1.9, 5);
    const levels = { ...parts, candidate: parseCandidate('/country,/userId') };
    const prefix = [where('c.country = @c')];
    expect(weigh(workload(prefix), { ...levels, firstLevelValues: 2 })?.partitionsVisited).toBeCloseTo(5, 6);
    expect(weigh(workload(prefix), { ...levels, firstLevelValues: 0 })?.partitionsVisited).toBeCloseTo(10, 6);
  });

  test('calls without RU -> those of the documentation', () => {
    const calls = [operation('write', { executions: 100 }), operation('by-id', { executions: 100 })];
    expect(weigh(workload(calls), { ...parts, candidate: current })?.ruPerSecond).toBeCloseTo(8, 6);
    // The read becomes a query for an id in ten partitions.
    expect(weigh(workload(calls), parts)).toMatchObject({ ruPerSecond: 7 + 1 + 22.5, unknownShare: 0.5 });
  });

  test('no calls, or no time -> zeros', () => {
    expect(weigh(workload([]), parts)).toMatchObject({
      partitionsVisited: 0,
      ruPerSecond: 0,
      unknownShare: 0,
    });
    expect(weigh(workload([where('c.a = 1')], { seconds: 0 }), parts)?.ruPerSecond).toBe(0);
  });

  test('a saving larger than the charge -> never below what one partition costs', () => {
    const calls = [where('c.userId = @u', { executions: 100, ru: 400, partitions: 10 })];
    expect(weigh(workload(calls), parts)?.ruPerSecond).toBe(2.5);
  });

  test('names are hidden -> nothing is classed', () => {
    const calls = [
      where('c.p1__10 != true AND c.p2 = str1', { executions: 60 }),
      query('SELECT * FROM c', { executions: 1000 }),
      where('c.p1 = 1 AND c.tenantId = 2', { executions: 40 }),
    ];
    const obfuscated = obfuscationOf(calls);
    expect(obfuscated).toMatch(/Diagnostics full-text query/);
    expect(weigh(workload(calls, { obfuscated }), parts)).toBeNull();
    expect(obfuscationOf(calls.slice(1))).toBeNull();
    expect(obfuscationOf([])).toBeNull();
  });

  test('what the report says of the file', () => {
    const calls = [where('c.a = 1', { executions: 3 }), operation('write', { executions: 4 })];
    const hottestKeys = ['["A"]', '[1,null,{}]', 'B', '"C"'].map((value) => ({ value, ruPerSecond: 1 }));
    const shown: unknown[] = [];
    const show = (values: readonly unknown[]): string => `hash ${shown.push(values)}`;
    expect(workloadResult(workload(calls, { skipped: 2, hottestKeys }), show)).toMatchObject({
      queries: 1,
      executions: 7,
      skipped: 2,
      hottestKeys: [{ value: 'hash 1' }, { value: 'hash 2' }, { value: 'hash 3' }, { value: 'hash 4' }],
    });
    expect(shown).toEqual([['A'], [1, null, undefined], ['B'], ['C']]);
  });

  test('a path of the file in quotes -> the same property', () => {
    const call = operation('by-id', { knows: [parsePath('/"userId"')] });
    expect(classed(call, '/userId').class).toBe('point');
  });
});
