import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCandidate, planOf } from '../../../../src/plan/candidates/candidate.ts';
import { PageMeasure } from '../../../../src/plan/pass/page-measure.ts';
import type { MeasureParts } from '../../../../src/plan/pass/candidate-measure.ts';
import { draws } from '../../../helpers/generated.ts';

const NOW = 1_790_000_000;
const show = (values: readonly unknown[]): string => JSON.stringify(values.length === 1 ? values[0] : values);

function candidates(...texts: string[]): MeasureParts[] {
  return texts.map((text) => {
    const candidate = parseCandidate(text);
    const kind = candidate.paths.length > 1 ? 'multi-hash' : 'hash-v2';
    return { plan: planOf(candidate, ['/tenant']), kind, endTs: NOW, show };
  });
}

interface Sample {
  readonly id: string;
  readonly tenant: string;
  readonly user: number;
  readonly ageSeconds: number;
  readonly lsn: number;
}

const samples: fc.Arbitrary<readonly Sample[]> = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    tenant: fc.constantFrom('T', 'U', 'V'),
    user: fc.integer({ min: 1, max: 4 }),
    ageSeconds: fc.constantFrom(10, 5000, 200_000),
    lsn: fc.integer({ min: 1, max: 20 }),
  }),
  { maxLength: 60, selector: ({ id, tenant }) => `${id} ${tenant}` },
);

function pageOf(all: readonly Sample[]): Buffer {
  const documents = all.map(({ id, tenant, user, ageSeconds, lsn }) => ({
    id,
    tenant,
    user,
    _rid: 'r',
    _ts: NOW - ageSeconds,
    _lsn: lsn,
  }));
  return Buffer.from(JSON.stringify({ _rid: 'x', Documents: documents, _count: documents.length }));
}

test('any pages, saved and read again -> as counted one by one', () => {
  const parts = candidates('/user', '/tenant,/user', '/pk={tenant}-{user}');
  fc.assert(
    fc.property(samples, fc.nat(60), (all, cut) => {
      const before = new PageMeasure(parts, NOW);
      before.take(pageOf(all.slice(0, cut)), 15);
      const measure = new PageMeasure(parts, NOW, {
        saved: {
          totals: before.savedTotals(),
          candidates: before.candidates.map((candidate) => candidate.save()),
        },
      });
      measure.take(pageOf(all.slice(cut)), 15);
      const seen = all.filter(({ lsn }) => lsn <= 15);
      expect(measure.totals.documents).toBe(seen.length);
      const [single, levels, derived] = measure.candidates;
      const users = new Set(seen.map(({ user }) => user)).size;
      const pairs = new Set(seen.map(({ tenant, user }) => `${tenant} ${user}`)).size;
      const tenants = new Set(seen.map(({ tenant }) => tenant)).size;
      expect(single?.samples.map((sample) => sample.distinct().estimate)).toEqual([users]);
      expect(levels?.samples.map((sample) => sample.distinct().estimate)).toEqual([tenants, pairs]);
      expect(derived?.samples.map((sample) => sample.distinct().estimate)).toEqual([pairs]);
      const slots = seen.map(({ id, user }) => `${id} ${user}`);
      expect(single?.slots.repeats().estimate).toBe(seen.length - new Set(slots).size);
      // Each example is of another slot.
      const shared = new Set(slots.filter((slot, at) => slots.indexOf(slot) < at));
      expect(single?.collided.length).toBe(Math.min(5, shared.size));
      // The old key is part of this one, so no two documents can get the same slot.
      expect(levels?.slots.repeats().estimate).toBe(0);
      expect(single?.lastHour.total).toBe(seen.filter(({ ageSeconds }) => ageSeconds < 3600).length);
      expect(single?.lastDay.total).toBe(seen.filter(({ ageSeconds }) => ageSeconds < 86_400).length);
      const heaviest = single?.biggest.heaviest(9) ?? [];
      expect(heaviest.length).toBe(Math.min(9, users));
      for (const { high, low, documents } of heaviest) {
        const user = Number(single?.texts.of(high, low));
        const count = seen.filter((one) => one.user === user).length;
        expect(documents).toEqual({ low: count, high: count });
      }
    }),
    { numRuns: draws(200) },
  );
});

test('values of every kind -> counted by kind, and refused as the copy would refuse them', () => {
  const measure = new PageMeasure(candidates('/v'), NOW);
  const values = ['"x"', '1', 'true', 'false', 'null', '{"a":1}', '[1]', `"${'y'.repeat(2049)}"`];
  const documents = values.map((value, n) => `{"id":"${n}","v":${value},"_ts":${NOW},"_lsn":1}`);
  documents.push(`{"id":"none","_ts":${NOW},"_lsn":1}`, `{"id":"","v":1,"_ts":${NOW},"_lsn":1}`);
  measure.take(
    Buffer.from(`{"_rid":"x","Documents":[${documents.join(',')}],"_count":${documents.length}}`),
    9,
  );
  const [{ types, refused, missing } = { types: {}, refused: {}, missing: 0 }] = measure.candidates;
  expect(types).toEqual({ text: 2, number: 2, boolean: 2, null: 1, missing: 1, object: 1, array: 1 });
  expect(refused).toMatchObject({ 'key-too-long': 1, 'bad-id': 1 });
  // An object or an array cannot be a key value: it counts as missing, as for the service.
  expect(missing).toBe(3);
});

test('one id in all tenants among many unique ones, tenants are merged -> counted, with its example', () => {
  const [COUNT, TENANTS, PAGE] = [120_000, 3000, 5000];
  const measure = new PageMeasure(candidates('/user', '/id'), NOW);
  for (let from = 0; from < COUNT; from += PAGE) {
    const page = Array.from({ length: PAGE }, (_none, i): Sample => {
      const n = from + i;
      const id = n % (COUNT / TENANTS) === 7 ? 'settings' : `o${n}`;
      return { id, tenant: `t${n}`, user: 1, ageSeconds: 10, lsn: 1 };
    });
    measure.take(pageOf(page), 15);
  }
  const truth = TENANTS - 1;
  for (const { slots, collided } of measure.candidates) {
    const { estimate, low, high } = slots.repeats();
    expect(slots.isWhole).toBe(false);
    // What is drawn is the same in each run.
    expect(low).toBeGreaterThan(0.9 * truth);
    expect(low).toBeLessThanOrEqual(truth);
    expect(high).toBeGreaterThanOrEqual(truth);
    expect(Math.abs(estimate - truth)).toBeLessThan(0.1 * truth);
    expect(collided.map(({ id }) => id)).toEqual(['"settings"']);
  }
});
