import { describe, expect, test } from 'vitest';
import { NotReadyError, UsageError } from '../../../src/lib/errors.ts';
import { FIELD_NAMES, fieldOf } from '../../../src/spec/fields.ts';
import { differences, fingerprint, pinnedOf, refuseChanges } from '../../../src/spec/fingerprint.ts';
import { planFor } from '../../../src/spec/key-rules.ts';
import { KEY, load, WHOLE, type Flags } from './loading.ts';

const DERIVED: Flags = { ...WHOLE, derive: '/pk={a}' };
const spec = (flags: Flags = {}, env: Record<string, string> = {}): ReturnType<typeof load>['spec'] =>
  load({ flags: { ...DERIVED, ...flags }, env }).spec;

/** One change of each pinned field. */
const CHANGES = {
  source: { source: 'shop/orders2' },
  target: { target: 'shop/other' },
  sourceEndpoint: { sourceEndpoint: 'https://b/', targetEndpoint: 'https://acme.documents.azure.com' },
  targetEndpoint: { targetEndpoint: 'https://b/' },
  partitionKey: { partitionKey: '/pk' },
  derive: { derive: '/pk={b}' },
  missingKey: { missingKey: 'fail' },
  onCollision: { onCollision: 'fail' },
  deletes: { deletes: 'marker:/gone' },
  ttl: { ttl: 'remaining' },
  keepSourceKeyAs: { keepSourceKeyAs: '/old' },
} as const satisfies Record<string, Flags>;

describe('fingerprint', () => {
  test('a known spec -> the same hash as in existing ledgers', () => {
    expect(fingerprint(spec())).toMatchInlineSnapshot(
      `"068096bd99a3dcfd7b788bca47c9ef1e461c8e933af7eb626e768052272ddf81"`,
    );
  });

  test('pinned fields -> all of the table', () => {
    expect(Object.keys(pinnedOf(spec())).toSorted()).toEqual(
      FIELD_NAMES.filter((name) => fieldOf(name).pinned === true).toSorted(),
    );
    expect(Object.keys(CHANGES).toSorted()).toEqual(Object.keys(pinnedOf(spec())).toSorted());
  });

  test.each(Object.entries(CHANGES))('%s changed -> another hash, the difference is named', (name, flags) => {
    const before = spec();
    const after = spec(flags);
    expect(fingerprint(after)).not.toBe(fingerprint(before));
    expect(differences(pinnedOf(before), after).map(({ field }) => field)).toEqual([name]);
  });

  test.each<[string, Flags, Record<string, string>]>([
    ['budgets', { sourceRu: '10%', targetRu: '400' }, {}],
    ['throughput', { createTarget: 'true', targetThroughput: '400' }, {}],
    ['time', { for: '2h' }, {}],
    [
      'limits and switches',
      { maxDeadLetters: '1', yes: 'true', skipIfRunning: 'true', ledger: 'x.db', metricsFile: 'x.prom' },
      {},
    ],
    ['the key of the account', {}, { COSMIG_SOURCE_KEY: KEY }],
    ['the spelling of an endpoint', { sourceEndpoint: 'https://ACME.documents.azure.com:443/' }, {}],
    ['saying the default', { ttl: 'restart', missingKey: 'keep', deletes: 'auto' }, {}],
  ])('%s changed -> the same hash', (_case, flags, env) => {
    expect(fingerprint(spec(flags, env))).toBe(fingerprint(spec()));
    expect(differences(pinnedOf(spec()), spec(flags, env))).toEqual([]);
  });

  test('derived path named as the key or not -> the same hash', () => {
    const [alone, named] = [spec({ partitionKey: [] }), spec({ partitionKey: '/pk' })];
    expect(fingerprint(alone)).toBe(fingerprint(named));
  });

  test('two templates and one that looks like both -> different hashes', () => {
    const both = spec({ partitionKey: '/a', derive: ['/a=x', '/b=y'] });
    const one = spec({ partitionKey: '/a', derive: ['/a=x /b=y'] });
    expect(fingerprint(both)).not.toBe(fingerprint(one));
  });

  test('pinned fields through JSON -> unchanged', () => {
    const pinned = JSON.parse(JSON.stringify(pinnedOf(spec()))) as ReturnType<typeof pinnedOf>;
    expect(differences(pinned, spec())).toEqual([]);
  });
});

test('refuseChanges: a changed spec -> refused, naming the changed settings', () => {
  const pinned = pinnedOf(spec());
  refuseChanges(pinned, spec({ maxDeadLetters: '1' }));
  const refuse = (): void => refuseChanges(pinned, spec({ ttl: 'remaining', keepSourceKeyAs: '/old' }));
  expect(refuse).toThrow(NotReadyError);
  expect(() => refuseChanges(pinned, spec({ derive: '/x={tenantId}' }))).toThrow(
    expect.objectContaining({ why: '--derive was "/pk={a}" and is "/x={tenantId}"' }),
  );
  expect(refuse).toThrow(
    expect.objectContaining({
      message: 'this migration was started with another --ttl, --keep-source-key-as',
      why: '--ttl was restart and is remaining; --keep-source-key-as was not given and is /old',
    }),
  );
});

describe('plan for a source key', () => {
  test('a source key -> a plan', () => {
    expect(planFor(spec(), ['/customerId']).targetPaths).toEqual([['tenantId']]);
  });

  test('derived property replaces the source key -> refused unless the old value is kept', () => {
    const overwrites = { partitionKey: [], derive: '/customerId={tenantId}' };
    expect(() => planFor(spec(overwrites), ['/customerId'])).toThrow(
      expect.objectContaining({
        message: '/customerId is the source key and cannot be overwritten',
        problems: [expect.objectContaining({ from: 'source key /customerId' })],
      }),
    );
    const plan = planFor(spec({ ...overwrites, keepSourceKeyAs: '/old' }), ['/customerId']);
    expect(plan.sourcePathsInTarget).toEqual([['old']]);
  });

  test('several problems -> all are reported', () => {
    const strange = spec({ partitionKey: '/pk', derive: ['/pk={x}', '/a={x}', '/b={x}'] });
    expect(() => planFor(strange, ['/a', '/b'])).toThrow(UsageError);
    expect(() => planFor(strange, ['/a', '/b'])).toThrow(
      expect.objectContaining({ problems: [expect.anything(), expect.anything()] }),
    );
  });
});
