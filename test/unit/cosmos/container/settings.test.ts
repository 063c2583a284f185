import { cloneOf } from '../../../../src/cosmos/container/clone.ts';
import { describe, expect, test } from 'vitest';
import { differencesOf, unseenOf, type Described } from '../../../../src/cosmos/container/settings.ts';
import type { ContainerFacts } from '../../../../src/cosmos/container/inspect.ts';
import { throughputFor } from '../../../../src/cosmos/container/create.ts';
import type { Script } from '../../../../src/cosmos/container/scripts.ts';
import { NotReadyError } from '../../../../src/lib/errors.ts';
import { containerFacts } from '../../../helpers/migration/container-facts.ts';

const INDEXING = {
  indexingMode: 'consistent',
  automatic: true,
  includedPaths: [{ path: '/*' }],
  excludedPaths: [{ path: '/"_etag"/?' }],
};

function facts(definition: Record<string, unknown> = {}, more: Partial<ContainerFacts> = {}): ContainerFacts {
  const of = (name: string): unknown => definition[name] ?? null;
  return {
    ...containerFacts(),
    defaultTtl: (of('defaultTtl') as number | null) ?? null,
    settings: {
      indexingPolicy: definition['indexingPolicy'] ?? INDEXING,
      uniqueKeyPolicy: of('uniqueKeyPolicy'),
      computedProperties: of('computedProperties'),
      conflictResolutionPolicy: of('conflictResolutionPolicy'),
      geospatialConfig: of('geospatialConfig'),
      vectorEmbeddingPolicy: of('vectorEmbeddingPolicy'),
      fullTextPolicy: of('fullTextPolicy'),
      clientEncryptionPolicy: of('clientEncryptionPolicy'),
    },
    dataMaskingPolicy: of('dataMaskingPolicy'),
    throughput: { kind: 'manual', ru: 400 },
    definition: { indexingPolicy: INDEXING, ...definition },
    ...more,
  };
}

const described = (of: ContainerFacts, scripts: Described['scripts'] = []): Described => ({
  facts: of,
  scripts,
});
const target = { name: { database: 'shop', container: 'new' }, keyPaths: ['/tenantId'] };
const asTarget = (definition: Record<string, unknown>): ContainerFacts =>
  facts(definition, { name: target.name, keyPaths: target.keyPaths });
const script = (id: string, body = 'function () {}'): Script => ({
  kind: 'function',
  id,
  body,
  trigger: null,
});

describe('no difference', () => {
  test.each([
    ['order of names and lists', { includedPaths: [{ path: '/a/?' }, { path: '/b/?' }] }],
    ['what is empty or null', { spatialIndexes: [], compositeIndexes: null }],
  ])('%s -> no difference', (_name, more) => {
    const reversed = Object.fromEntries(
      Object.entries({ ...INDEXING, ...more })
        .toReversed()
        .filter(([, value]) => value !== null && (value as unknown[]).length !== 0)
        .map(([name, value]) => [name, Array.isArray(value) ? value.toReversed() : value]),
    );
    const other = { ...reversed, includedPaths: [...(reversed['includedPaths'] as unknown[])] };
    expect(
      differencesOf(
        described(facts({ indexingPolicy: { ...INDEXING, ...more } })),
        described(facts({ indexingPolicy: other })),
      ),
    ).toEqual([]);
  });

  test('the new key in the index or not -> no difference', () => {
    const policy = { ...INDEXING, includedPaths: [{ path: '/a/?' }], excludedPaths: [{ path: '/*' }] };
    const source = facts({ indexingPolicy: policy });
    const clone = cloneOf(source, { ...target, isSameAccount: true });
    expect(differencesOf(described(source), described(asTarget({ ...clone })))).toEqual([]);
    expect(differencesOf(described(source), described(asTarget({ indexingPolicy: policy })))).toEqual([]);
  });

  test('scripts that may not be read, and an unknown throughput -> no difference', () => {
    const one = described(facts(), [script('a')]);
    const other = described(facts({}, { throughput: { kind: 'unknown' } }), null);
    expect(differencesOf(one, other)).toEqual([]);
    expect([unseenOf(one, other), unseenOf(one, one)]).toEqual([['scripts', 'throughput'], []]);
  });
});

describe('a difference', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, object]>([
    ['TTL', { defaultTtl: 60 }, {}, { setting: 'TTL', source: '60 s', target: 'off' }],
    ['TTL on', { defaultTtl: -1 }, { defaultTtl: 9 }, { source: 'on without a default', target: '9 s' }],
    [
      'unique keys',
      { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a'] }] } },
      { uniqueKeyPolicy: { uniqueKeys: [] } },
      { setting: 'unique keys', target: 'none' },
    ],
    [
      'the order inside a composite index',
      { indexingPolicy: { ...INDEXING, compositeIndexes: [[{ path: '/a' }, { path: '/b' }]] } },
      { indexingPolicy: { ...INDEXING, compositeIndexes: [[{ path: '/b' }, { path: '/a' }]] } },
      { setting: 'indexing' },
    ],
    [
      'computed properties',
      { computedProperties: [{ name: 'x', query: 'q' }] },
      {},
      { setting: 'computed properties', target: 'none' },
    ],
  ])('%s -> named with both values', (_name, source, other, difference) => {
    expect(differencesOf(described(facts(source)), described(facts(other)))).toMatchObject([difference]);
  });

  test('scripts and throughput -> compared by name and by kind', () => {
    const one = described(facts(), [script('a'), script('b'), script('c')]);
    const other = described(facts({}, { throughput: { kind: 'shared' } }), [script('b', 'x'), script('c')]);
    expect(differencesOf(one, other)).toEqual([
      { setting: 'scripts', source: 'function a, function b', target: 'function b' },
      { setting: 'throughput', source: '400 RU/s', target: "its database's" },
    ]);
  });
});

describe('a clone', () => {
  test('a source -> all its settings, except those of the service and of one container', () => {
    const source = facts({
      id: 'orders',
      _rid: 'x',
      _etag: 'y',
      statistics: [],
      changeFeedPolicy: { retentionDuration: 10 },
      partitionKey: { paths: ['/pk'], kind: 'Hash', systemKey: true },
      defaultTtl: 5,
      someday: { new: true },
      analyticalStorageTtl: -1,
      uniqueKeyPolicy: null,
    });
    const clone = cloneOf(source, { ...target, isSameAccount: true });
    expect(clone).toEqual({
      id: 'new',
      partitionKey: { paths: ['/tenantId'], kind: 'Hash', version: 2 },
      indexingPolicy: INDEXING,
      defaultTtl: 5,
      someday: { new: true },
      analyticalStorageTtl: -1,
    });
    const elsewhere = cloneOf(source, { ...target, isSameAccount: false });
    expect(elsewhere).not.toHaveProperty('analyticalStorageTtl');
  });

  test.each([
    ['all is included', { includedPaths: ['/*'], excludedPaths: [] }, ['/*']],
    ['its parent is', { includedPaths: ['/a/*'], excludedPaths: ['/*'] }, ['/a/*']],
    ['it is by name', { includedPaths: ['/a/b/?'], excludedPaths: ['/*'] }, ['/a/b/?']],
    ['only others are', { includedPaths: ['/x/?'], excludedPaths: ['/*'] }, ['/x/?', '/a/b/?']],
    ['nothing is', { includedPaths: [], excludedPaths: ['/*'] }, ['/a/b/?']],
    ['its parent is not', { includedPaths: ['/*'], excludedPaths: ['/a/*'] }, ['/*', '/a/b/?']],
    ['left out by name', { includedPaths: ['/*'], excludedPaths: ['/a/b/?'] }, ['/*']],
  ])('%s -> its key is in the index', (_name, { includedPaths, excludedPaths }, expected) => {
    const paths = (list: readonly string[]): object[] => list.map((path) => ({ path }));
    const policy = {
      indexingMode: 'consistent',
      includedPaths: paths(includedPaths),
      excludedPaths: paths(excludedPaths),
    };
    const clone = cloneOf(facts({ indexingPolicy: policy }), {
      ...target,
      keyPaths: ['/a/b'],
      isSameAccount: true,
    });
    expect(clone['indexingPolicy']).toEqual({ ...policy, includedPaths: paths(expected) });
  });

  test('no index -> none in the clone; /id is always indexed', () => {
    const none = { indexingMode: 'none', includedPaths: [], excludedPaths: [] };
    const selective = { ...none, indexingMode: 'consistent', excludedPaths: [{ path: '/*' }] };
    for (const [indexingPolicy, keyPaths] of [
      [none, ['/a']],
      [selective, ['/id']],
    ] as const) {
      const clone = cloneOf(facts({ indexingPolicy }), { ...target, keyPaths, isSameAccount: true });
      expect(clone['indexingPolicy']).toEqual(indexingPolicy);
    }
  });
});

describe('the throughput of a new target', () => {
  test.each([
    ['asked for', { kind: 'manual', ru: 900 }, { kind: 'shared' }, undefined, { kind: 'manual', ru: 900 }],
    ['by hand', { kind: 'as-source' }, { kind: 'manual', ru: 700 }, undefined, { kind: 'manual', ru: 700 }],
    [
      'autoscale',
      { kind: 'as-source' },
      { kind: 'autoscale', ruMax: 4000 },
      { kind: 'manual', ru: 400 },
      { kind: 'autoscale', ruMax: 4000 },
    ],
    ['shared', { kind: 'as-source' }, { kind: 'shared' }, { kind: 'manual', ru: 400 }, { kind: 'none' }],
    ['serverless', { kind: 'as-source' }, { kind: 'serverless' }, undefined, { kind: 'none' }],
  ] as const)('%s -> this throughput', (_name, creation, source, shared, expected) => {
    expect(throughputFor(creation, source, shared)).toEqual(expected);
  });

  test.each([{ kind: 'shared' }, { kind: 'unknown' }] as const)(
    'a source of $kind -> it cannot follow',
    (source) => {
      expect(() => throughputFor({ kind: 'as-source' }, source, undefined)).toThrow(NotReadyError);
    },
  );
});
