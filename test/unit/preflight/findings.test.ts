import { describe, expect, test } from 'vitest';
import type { ContainerFacts } from '../../../src/cosmos/container/inspect.ts';
import { notesOf, warningsOf, type FindingParts } from '../../../src/preflight/findings.ts';
import type { SourceSample } from '../../../src/preflight/sample.ts';
import { load, KEY, WHOLE } from '../spec/loading.ts';
import { containerFacts } from '../../helpers/migration/container-facts.ts';
import { NONE_REFUSED, sampleOf } from './sample-facts.ts';

const GB = 1024 ** 3;
const { spec } = load({ flags: WHOLE, env: { COSMIG_SOURCE_KEY: KEY } });

interface Case {
  readonly sample?: Partial<SourceSample>;
  readonly source?: Partial<ContainerFacts>;
  readonly target?: Partial<ContainerFacts>;
  readonly more?: Partial<FindingParts>;
}

function partsOf({ sample, source, target, more }: Case): FindingParts {
  return {
    spec,
    source: containerFacts(source),
    target: containerFacts(target),
    sample: sampleOf(sample),
    differences: [],
    ...more,
  };
}

const kinds = (of: Case): string[] => warningsOf(partsOf(of)).map(({ kind }) => kind);
const notes = (of: Case): string => [...notesOf(partsOf(of))].join('\n');
const refused = (more: Partial<SourceSample['refused']>): SourceSample['refused'] => ({
  ...NONE_REFUSED,
  ...more,
});

describe('preflight warnings: the key', () => {
  test.each<[string, Partial<SourceSample>, Partial<ContainerFacts>, string[]]>([
    ['none for a good key', {}, {}, []],
    ['none for an empty source', { documents: 0, distinct: 0, biggest: [] }, { documentCount: 0 }, []],
    ['no document has it', { missing: 1000, distinct: 1 }, {}, ['no-key']],
    [
      'the only document lacks it',
      { documents: 1, refused: refused({ 'missing-key': 1 }), distinct: 0 },
      {},
      ['no-key'],
    ],
    ['just more than half lack it', { missing: 501 }, {}, ['most-lack-key']],
    [
      'kept and refused count alike',
      { missing: 300, refused: refused({ 'missing-key': 300 }) },
      {},
      ['most-lack-key'],
    ],
    ['half lack it', { missing: 500 }, {}, []],
    ['most of a few lack it', { documents: 9, missing: 8, distinct: 2 }, { documentCount: 9 }, []],
    [
      'most are refused',
      { refused: refused({ 'too-large': 400, 'invalid-key': 101 }) },
      {},
      ['most-refused'],
    ],
    ['some are refused', { refused: refused({ 'too-large': 400 }) }, {}, []],
    ['one value for everything', { distinct: 1 }, {}, ['few-values']],
    ['a handful, with much behind each', { distinct: 9 }, { documentCount: 450 }, ['few-values']],
    ['a handful, with little behind each', { distinct: 9 }, { documentCount: 449 }, []],
    ['tens, with much behind each', { distinct: 99 }, { documentCount: 99_000 }, ['few-values']],
    ['tens, with less behind each', { distinct: 99 }, { documentCount: 98_999 }, []],
    ['hundreds, with much behind each', { distinct: 100 }, { documentCount: 1e9 }, []],
    [
      'one value for an unknown number of documents',
      { distinct: 1 },
      { documentCount: null },
      ['few-values'],
    ],
    ['a collision', { collisions: 1, collided: [{ id: 'x', targetKey: ['a'] }] }, {}, ['collisions']],
    [
      '15 GB under one value',
      { biggest: [{ values: ['a'], documents: 150 }] },
      { sizeBytes: 100 * GB },
      ['big-value'],
    ],
    [
      'not quite 14 GB under one value',
      { biggest: [{ values: ['a'], documents: 139 }] },
      { sizeBytes: 100 * GB },
      [],
    ],
  ])('%s -> these warnings', (_name, sample, source, expected) => {
    expect(kinds({ sample, source })).toEqual(expected);
  });

  test.each([
    ['the same path', { partitionKey: ['/tenantId'] }, {}, undefined, ['same-key']],
    ['a target of another hash', { partitionKey: ['/tenantId'] }, {}, { keyKind: 'hash-v1' }, []],
    ['a source of the old hash', { partitionKey: ['/tenantId'] }, { keyKind: 'hash-v1' }, null, []],
    ['one level more', { partitionKey: ['/tenantId', '/id'] }, {}, undefined, []],
    ['a derived value', { partitionKey: ['/tenantId'], derive: ['/tenantId={a}'] }, {}, undefined, []],
  ] as const)('the key of the source: %s -> %o', (_name, key, facts, target, expected) => {
    const source = { keyPaths: ['/tenantId'], ...facts };
    const more = { spec: { ...spec, derive: [], ...key }, ...(target === null ? { target } : {}) };
    expect(kinds({ source, target: target ?? {}, more })).toEqual(expected);
  });

  test('collisions although the old key is derived and is not the key -> the advice does not derive it twice', () => {
    const sample = { collisions: 1, collided: [{ id: 'x', targetKey: ['a'] }] };
    const asked = { ...spec, derive: ['/pk={site}-{tenantId}'], partitionKey: ['/tenantId'] };
    const source = { keyPaths: ['/site'] };
    const [first] = warningsOf(partsOf({ sample, source, more: { spec: asked } }));
    expect(first?.hint).toContain('remove --partition-key');
    expect(first?.hint).not.toContain('{site}-{site}');
  });

  test('long id or key -> shortened to a line', () => {
    const long = 'x'.repeat(5000);
    const sample = {
      collisions: 1,
      collided: [{ id: long, targetKey: [long] }],
      biggest: [{ values: [long], documents: 900 }],
    };
    const warnings = warningsOf(partsOf({ sample, source: { sizeBytes: 100 * GB } }));
    expect(warnings.map(({ kind }) => kind)).toEqual(['collisions', 'big-value']);
    for (const { message, why, hint } of warnings) expect(`${message}${why}${hint}`.length).toBeLessThan(600);
  });
});

describe('preflight warnings: TTL', () => {
  test.each<[source: number | null, target: number | null, withTtl: number, expected: string[]]>([
    [null, null, 0, []],
    [60, 60, 0, []],
    [60, 61, 0, []],
    [60, 59, 0, ['ttl']],
    [60, -1, 0, []],
    [60, null, 0, ['ttl']],
    [-1, null, 0, ['ttl']],
    [-1, -1, 5, []],
    [-1, 60, 0, ['ttl']],
    [null, 60, 0, ['ttl']],
    [null, -1, 0, []],
    [null, -1, 1, ['ttl']],
  ])('source %j, target %j, %i documents with a ttl -> %j', (source, target, withTtl, expected) => {
    const of = { source: { defaultTtl: source }, target: { defaultTtl: target }, sample: { withTtl } };
    expect(kinds(of)).toEqual(expected);
    expect(kinds({ ...of, more: { target: null } })).toEqual([]);
  });

  test('--ttl remaining, off in the source and on in the target, no sampled ttl -> a warning, no comfort', () => {
    const of: Case = { target: { defaultTtl: -1 }, more: { spec: { ...spec, ttl: 'remaining' } } };
    expect(kinds(of)).toEqual(['ttl']);
    expect(notes(of)).not.toContain('changes nothing');
  });
});

describe('preflight warnings: other settings', () => {
  test('unique keys differ, or masking would be lost -> warnings', () => {
    const differences = [
      { setting: 'unique keys', source: 'none', target: '/a' },
      { setting: 'data masking', source: '{}', target: 'none' },
      { setting: 'indexing', source: 'a', target: 'b' },
    ] as const;
    const source = { dataMaskingPolicy: { isPolicyEnabled: true } };
    expect(kinds({ source, more: { differences } })).toEqual(['unique-keys', 'data-masking']);
    expect(kinds({ more: { differences } })).toEqual(['unique-keys']);
    expect(notes({ more: { differences } })).toContain('indexing differ: source a, target b');
  });
});

describe('preflight notes', () => {
  test.each<[string, Case, string]>([
    ['TTL restarts', { source: { defaultTtl: 60 } }, 'the countdown of each document starts again'],
    [
      'TTL cannot remain',
      { more: { spec: { ...spec, ttl: 'remaining' } } },
      'TTL is off in the source, so --ttl remaining changes nothing',
    ],
    [
      'unique keys',
      {
        source: {
          settings: { ...containerFacts().settings, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a'] }] } },
        },
      },
      'unique keys apply within a key value',
    ],
    ['several regions', { source: { account: { id: null, multiWrite: true } } }, 'stop all writers before'],
    [
      'regions that may not be read',
      { source: { account: { id: null, multiWrite: null } } },
      'cannot read whether',
    ],
    ['an old target', { target: { keyKind: 'hash-v1' } }, 'values are cut at 101 bytes'],
    ['a source without a key', { source: { hasSystemKey: true } }, 'have no key property'],
    ['expired ones', { sample: { expired: 3 } }, '3 sampled documents expire'],
    ['a part', { sample: { isWhole: false } }, 'have not changed for longest'],
  ])('%s -> noted', (_name, of, expected) => {
    expect(notes(of)).toContain(expected);
  });

  test('nothing unusual -> none', () => {
    expect(notes({})).toBe('');
  });
});
