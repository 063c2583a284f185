import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { latestVersionScan } from '../../../src/documents/page-scan.ts';
import { effectiveKey } from '../../../src/epk/effective-key.ts';
import { makePlan, type PlanOptions } from '../../../src/keys/plan.ts';
import { Rekey, rekeyPaths } from '../../../src/keys/rekey.ts';
import { draws } from '../../helpers/generated.ts';

const own = { sourcePaths: ['/s'], missingKey: 'keep' } as const;
const plans: ReadonlyArray<[string, PlanOptions]> = [
  ['an existing path', { ...own, partitionKey: ['/a'], derive: [] }],
  ['two levels', { ...own, partitionKey: ['/a', '/b'], derive: [] }],
  ['derived', { ...own, partitionKey: [], derive: ['/pk={a}-{b}'] }],
];

// Values that look alike as text, and are not; some as they are written, since JSON.parse makes them one.
const value = fc.oneof(
  fc.constantFrom(
    '"x"',
    '"\\u0078"',
    '"1"',
    '1',
    '1.0',
    '-0',
    '0',
    'true',
    'null',
    '""',
    '{"c":"x"}',
    '["x"]',
    undefined,
  ),
  fc.string({ unit: 'binary', maxLength: 100 }).map((text) => JSON.stringify(text)),
);

test.each(plans)('key cache: %s -> the key that would be computed', (_, options) => {
  const plan = makePlan(options);
  const kind = plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
  const remembering = latestVersionScan(rekeyPaths(plan));
  const rekey = new Rekey(remembering, { plan, kind, ttl: { mode: 'restart' } });
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 30 }), (documents) => {
      const texts = documents.map(([a, b], i) => {
        const members = [`"id":"${i}"`, '"s":1', ...(a ? [`"a":${a}`] : []), ...(b ? [`"b":${b}`] : [])];
        return `{${members.join()}}`;
      });
      const page = Buffer.from(`{"Documents":[${texts.join()}]}`);
      remembering.scan(page);
      const remembered = texts.map((_text, row) => {
        const verdict = rekey.read(row, 0);
        if (verdict !== 'moves') return { refusal: rekey.refusal };
        return { key: rekey.key, place: rekey.effectiveKey(), hashes: [...rekey.hashes] };
      });
      const computed = texts.map((_text, row) => {
        const scan = latestVersionScan(rekeyPaths(plan)).scan(page);
        const fresh = new Rekey(scan, { plan, kind, ttl: { mode: 'restart' } });
        if (fresh.read(row, 0) !== 'moves') return { refusal: fresh.refusal };
        return { key: fresh.key, place: effectiveKey(kind, fresh.key), hashes: [...fresh.hashes] };
      });
      expect(remembered).toStrictEqual(computed);
    }),
    { numRuns: draws(60) },
  );
});

test('key cache: more keys than are remembered -> replaced, and never confused', () => {
  const plan = makePlan({ ...own, partitionKey: ['/a'], derive: [] });
  const scan = latestVersionScan(rekeyPaths(plan));
  const rekey = new Rekey(scan, { plan, kind: 'hash-v2', ttl: { mode: 'restart' } });
  const seen: string[] = [];
  for (let first = 0; first < 120_000; first += 2000) {
    // Each key comes twice, the second time long after the first.
    const keys = Array.from({ length: 2000 }, (_, i) => `key-${(first + i) % 60_000}`);
    const texts = keys.map((key, i) => `{"id":"${i}","s":1,"a":"${key}"}`);
    scan.scan(Buffer.from(`{"Documents":[${texts.join()}]}`));
    for (const [row, key] of keys.entries()) {
      rekey.read(row, 0);
      if (rekey.key[0] !== key) seen.push(`${String(rekey.key[0])} for ${key}`);
      const isPlaced = row % 100 > 0 || rekey.effectiveKey() === effectiveKey('hash-v2', [key]);
      if (!isPlaced) seen.push(`another place for ${key}`);
    }
  }
  expect(seen).toEqual([]);
});
