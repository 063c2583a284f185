import { describe, expect, test } from 'vitest';
import { SampleTally, type SourceSample } from '../../../src/preflight/sample.ts';
import { makePlan, type PlanOptions } from '../../../src/keys/plan.ts';
import type { RekeyOptions } from '../../../src/keys/rekey.ts';

const NOW_TS = 1_000_000_000;

function options(
  plan: Partial<PlanOptions> = {},
  ttl: RekeyOptions['ttl'] = { mode: 'restart' },
): RekeyOptions {
  const whole: PlanOptions = {
    sourcePaths: ['/pk'],
    partitionKey: ['/tenantId'],
    derive: [],
    missingKey: 'keep',
    ...plan,
  };
  const kind = whole.partitionKey.length > 1 ? 'multi-hash' : 'hash-v2';
  return { plan: makePlan(whole), kind, ttl };
}

function page(...documents: object[]): { bytes: Buffer; chargeRu: number } {
  const bytes = Buffer.from(JSON.stringify({ Documents: documents }));
  return { bytes, chargeRu: documents.length * 2 };
}

function sample(documents: object[], of: RekeyOptions = options()): SourceSample {
  const tally = new SampleTally(of);
  tally.add(page(...documents), NOW_TS, documents.length);
  return tally.result(true);
}

describe('preflight sample', () => {
  test('several pages -> each document counts once', () => {
    const tally = new SampleTally(options());
    expect(tally.add(page({ id: '1', pk: 'a', tenantId: 't' }), NOW_TS, 9)).toBe(1);
    expect(
      tally.add(page({ id: '1', pk: 'a', tenantId: 'u' }, { id: '1', pk: 'b', tenantId: 'u' }), NOW_TS, 9),
    ).toBe(2);
    expect(tally.result(false)).toMatchObject({
      documents: 2,
      distinct: 2,
      collisions: 0,
      isWhole: false,
      readRu: 2,
    });
  });

  test('limit within a page -> no more are taken', () => {
    const tally = new SampleTally(options());
    expect(tally.add(page({ id: '1' }, { id: '2' }, { id: '3' }), NOW_TS, 2)).toBe(2);
    expect(tally.result(false).documents).toBe(2);
  });

  test('no documents -> averages of 0', () => {
    expect(sample([])).toMatchObject({ documents: 0, averageBytes: 0, averageKeyBytes: 0, readRu: 0 });
  });

  test('collisions -> compared by typed values, a few are named', () => {
    const seen = sample([
      { id: '1', pk: 'a', tenantId: 't' },
      { id: '1', pk: 'b', tenantId: 't' },
      { id: '1', pk: 'c', tenantId: 't' },
      { id: '1', pk: 'd', tenantId: 1 },
      { id: '1', pk: 'e', tenantId: '1' },
      { id: '1', pk: 'f', tenantId: null },
      { id: '1', pk: 'g' },
    ]);
    expect(seen).toMatchObject({ documents: 7, distinct: 5, missing: 1, collisions: 2 });
    expect(seen.collided).toEqual([
      { id: '1', targetKey: ['t'] },
      { id: '1', targetKey: ['t'] },
    ]);
    expect(seen.biggest[0]).toEqual({ values: ['t'], documents: 3 });
  });

  test('refused documents -> counted by reason, not as key values', () => {
    const seen = sample(
      [
        { id: '1', pk: 'a' },
        { id: '2', pk: 'a', tenantId: {} },
        { id: '6', pk: 'a', tenantId: [] },
        { id: '3', pk: 'a', tenantId: 'x'.repeat(2049) },
        { id: '4'.repeat(1024), pk: 'a', tenantId: 't' },
        { id: '5', pk: 'a', tenantId: 't', big: 'x'.repeat(2 * 1024 * 1024) },
      ],
      options({ missingKey: 'dead-letter' }),
    );
    expect(seen).toMatchObject({ documents: 6, distinct: 0, missing: 0 });
    expect(seen.refused).toEqual({
      'missing-key': 3,
      'invalid-key': 0,
      'key-too-long': 1,
      'bad-id': 1,
      'too-large': 1,
      'key-conflict': 0,
    });
  });

  test('a key cannot be derived from a value -> refused as invalid', () => {
    const derived = options({ partitionKey: [], derive: ['/key={when|month}'] });
    const seen = sample([{ id: '1', pk: 'a', when: 'soon' }], derived);
    expect(seen.refused).toMatchObject({ 'missing-key': 0, 'invalid-key': 1 });
  });

  test('derived key property exists already -> refused', () => {
    const derived = options({ partitionKey: [], derive: ['/key={tenantId}-x'] });
    const seen = sample(
      [
        { id: '1', pk: 'a', tenantId: 't', key: 'mine' },
        { id: '2', pk: 'a', tenantId: 't', key: 't-x' },
      ],
      derived,
    );
    expect(seen.refused['key-conflict']).toBe(1);
    expect(seen.distinct).toBe(1);
  });

  test('hierarchical key -> first levels are counted', () => {
    const documents = Array.from({ length: 6 }, (_, n) => ({
      id: `${n}`,
      pk: 'a',
      tenantId: `t${n % 2}`,
      user: n,
    }));
    const seen = sample(documents, options({ partitionKey: ['/tenantId', '/user'] }));
    expect(seen).toMatchObject({ distinct: 6, distinctFirst: 2 });
  });

  test('--ttl remaining -> expired documents are counted by the service’s clock', () => {
    const documents = [
      { id: '1', pk: 'a', tenantId: 't', ttl: 5, _ts: 999_999_990 },
      { id: '2', pk: 'a', tenantId: 't', ttl: 50, _ts: 999_999_990 },
    ];
    const remaining = options({}, { mode: 'remaining', defaultTtl: -1 });
    expect(sample(documents, remaining)).toMatchObject({ documents: 2, expired: 1, withTtl: 2, distinct: 1 });
    expect(sample(documents)).toMatchObject({ expired: 0, withTtl: 2 });
  });

  test('averages -> bytes and indexed values', () => {
    const document = { id: '1', pk: 'a', tenantId: 't', list: [1, { deep: null }], _ts: 5, _rid: 'x' };
    expect(sample([document])).toMatchObject({
      averageBytes: JSON.stringify(document).length,
      averageKeyBytes: '["t"]'.length,
      // id, pk, tenantId, two in the list, and _ts.
      averageTerms: 6,
    });
  });
});
