import { describe, expect, test } from 'vitest';
import { dryRunJson, dryRunText } from '../../../src/report/dry-run.ts';
import { sizeText } from '../../../src/report/format.ts';
import type { Inspection } from '../../../src/preflight/inspect.ts';
import { rekeyOptionsOf } from '../../../src/spec/rekey-options.ts';
import { containerFacts } from '../../helpers/migration/container-facts.ts';
import { NONE_REFUSED, sampleOf } from '../preflight/sample-facts.ts';
import { KEY, load, WHOLE } from '../spec/loading.ts';

const { spec } = load({ flags: WHOLE, env: { COSMIG_SOURCE_KEY: KEY } });

function inspection(more: Partial<Inspection> = {}): Inspection {
  const source = containerFacts({ documentCount: 2_000_000, defaultTtl: 60 });
  return {
    source,
    target: null,
    throughput: { kind: 'autoscale', ruMax: 10_000 },
    rekey: rekeyOptionsOf(spec, source, null),
    deletes: 'reconcile',
    differences: [],
    warnings: [
      {
        kind: 'collisions',
        message: '2 of 5000 sampled documents have the same id as another one under the new key',
        why: 'a key and an id belong to one document',
        hint: 'choose a finer key',
      },
    ],
    notes: ['deletes are found by comparing both sides'],
    sample: sampleOf({
      documents: 5000,
      isWhole: false,
      missing: 12,
      collisions: 2,
      distinct: 1234,
      biggest: [
        { values: ['contoso'], documents: 900 },
        { values: [undefined], documents: 12 },
        { values: ['only'], documents: 1 },
      ],
      refused: { ...NONE_REFUSED, 'too-large': 3 },
      collided: [{ id: 'x', targetKey: ['contoso'] }],
    }),
    estimate: {
      documents: 2_000_000,
      bytes: 2_048_000_000,
      sourceRu: 2_000_000,
      targetRu: 13_900_000,
      hours: 0.386,
      limitedBy: 'target',
      ledgerBytes: 192_000_000,
      ledgerBytesPerChange: 170,
    },
    like: { facts: source, scripts: [] },
    ...more,
  };
}

test('dry run: text -> everything within 80 columns', () => {
  const text = dryRunText(inspection(), spec);
  expect(text).toBe(
    [
      'source               shop/orders; key /pk; 1,000 RU/s; 2,000,000 documents; TTL',
      '                     60 s',
      'target               shop/by-tenant; key /tenantId; will be created with',
      '                     autoscale to 10,000 RU/s',
      'deletes              reconcile',
      'sample               5,000 documents, not all of them; 1.0 KB each',
      'without the key      12, 0.2 %',
      'distinct keys        1,234',
      'biggest keys         18.0 % "contoso"',
      '                     0.2 % missing',
      'cannot be moved      3 too-large',
      'collisions           2',
      'documents            about 2,000,000, 1.9 GB',
      'RU                   2,000,000 on the source, 13,900,000 on the target',
      'time                 about 23 min, as fast as the target allows',
      'ledger               183 MB, plus 170 bytes for each change during the copy',
      'warning              2 of 5000 sampled documents have the same id as another one',
      '                     under the new key',
      '  why                a key and an id belong to one document',
      '  now                choose a finer key',
      'note                 deletes are found by comparing both sides',
    ].join('\n'),
  );
});

test('dry run: very long keys -> no line longer than 80 columns', () => {
  const sample = sampleOf({ biggest: [{ values: ['x'.repeat(2000)], documents: 5 }] });
  const lines = dryRunText(inspection({ sample }), spec).split('\n');
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
});

test('dry run: few documents -> under a second', () => {
  const text = dryRunText(inspection({ estimate: { ...inspection().estimate, hours: 0.0001 } }), spec);
  expect(text).toMatch(/^time +under a second, as fast as the target allows$/m);
});

test('dry run: empty source, no document count -> said in words', () => {
  const nothing = {
    documents: null,
    bytes: null,
    sourceRu: null,
    targetRu: null,
    hours: null,
    limitedBy: null,
    ledgerBytes: null,
    ledgerBytesPerChange: 170,
  };
  const text = dryRunText(inspection({ sample: sampleOf({ documents: 0 }), estimate: nothing }), spec);
  expect(text).toContain('sample               the source is empty\n');
  expect(text).toContain(
    'estimate             unknown: the service does not report how many documents\n                     there are\n',
  );
});

test('dry run: --json -> plain data without any document', () => {
  const json = dryRunJson(inspection(), spec);
  expect(JSON.parse(JSON.stringify(json))).toEqual(json);
  expect(json).toMatchObject({
    command: 'copy',
    dryRun: true,
    migration: 'shop/orders -> shop/by-tenant',
    complete: true,
    source: { container: 'shop/orders', partitionKey: ['/pk'], documents: 2_000_000, defaultTtl: 60 },
    target: { container: 'shop/by-tenant', exists: false, partitionKey: ['/tenantId'] },
    partitionKey: ['/tenantId'],
    deletes: 'reconcile',
    sample: {
      documents: 5000,
      biggest: [{ key: ['contoso'], documents: 900 }, { key: [{}] }, { key: ['only'] }],
    },
    estimate: { targetRu: 13_900_000 },
    warnings: [{ kind: 'collisions' }],
  });
  const there = dryRunJson(inspection({ target: containerFacts() }), spec);
  expect(there).toMatchObject({
    target: { container: 'shop/by-tenant', exists: true, partitionKey: ['/pk'] },
  });
});

describe('words', () => {
  test.each([
    [0, '0 bytes'],
    [1023, '1023 bytes'],
    [1024, '1.0 KB'],
    [150 * 1024, '150 KB'],
    [1.5 * 1024 ** 4, '1.5 TB'],
    [5000 * 1024 ** 4, '5000 TB'],
  ])('%d bytes -> %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });
});
