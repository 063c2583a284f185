import { describe, expect, test } from 'vitest';
import { estimate, indexedBy, writeRu } from '../../../src/preflight/estimate.ts';
import { sampleOf } from './sample-facts.ts';

const parts = {
  sample: sampleOf(),
  documents: 3_600_000,
  sourceRuPerSecond: 1000,
  targetRuPerSecond: 1000,
  indexed: 'all',
} as const;

test('estimate: a million documents of 1 KB -> reads, indexed writes, ledger bytes', () => {
  expect(estimate(parts)).toEqual({
    documents: 3_600_000,
    bytes: 3_600_000 * 1024,
    sourceRu: 3_600_000,
    // 4.95 and 10 terms of 0.2.
    targetRu: 25_020_000,
    hours: 6.95,
    limitedBy: 'target',
    ledgerBytes: 3_600_000 * 96,
    ledgerBytesPerChange: 170,
  });
});

test.each([
  ['the slower side decides', { targetRuPerSecond: 1_000_000 }, { hours: 1, limitedBy: 'source' }],
  ['one side that is not known', { targetRuPerSecond: undefined }, { hours: 1, limitedBy: 'source' }],
  ['both', { sourceRuPerSecond: undefined, targetRuPerSecond: undefined }, { hours: null, limitedBy: null }],
  ['no index', { indexed: 'none' }, { targetRu: 17_820_000 }],
  ['an index on a few paths', { indexed: 'some' }, { targetRu: 21_420_000 }],
  ['nothing to move', { documents: 0 }, { sourceRu: 0, targetRu: 0, hours: 0, ledgerBytes: 0, bytes: 0 }],
  [
    'an unknown number of documents',
    { documents: null },
    {
      bytes: null,
      sourceRu: null,
      targetRu: null,
      hours: null,
      ledgerBytes: null,
      ledgerBytesPerChange: 170,
    },
  ],
] as const)('estimate: %s -> this time, or none', (_name, more, expected) => {
  expect(estimate({ ...parts, ...more })).toMatchObject(expected);
});

test.each([
  [0, 4.95],
  [1024, 4.95],
  [1536, 5.62],
  [2048, 6.29],
  [3 * 1024, 6.48],
  [2 * 1024 * 1024, 1250],
])('estimate: a write of %i bytes -> %f RU', (bytes, ru) => {
  expect(writeRu(bytes)).toBeCloseTo(ru, 5);
});

describe('estimate: an indexing policy', () => {
  test.each([
    [{ indexingMode: 'consistent', includedPaths: [{ path: '/*' }] }, 'all'],
    [{ indexingMode: 'consistent', includedPaths: [{ path: '/a/?' }] }, 'some'],
    [{ indexingMode: 'none', includedPaths: [] }, 'none'],
    [null, 'all'],
  ])('%j -> %s', (policy, expected) => {
    expect(indexedBy(policy)).toBe(expected);
  });
});
