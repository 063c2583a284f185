import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { valueAt } from '../../../src/keys/path.ts';
import type { ComputedKey, PlanOptions } from '../../../src/keys/plan.ts';
import { composite, type Value } from '../../../src/keys/strategies/strategy.ts';
import { UsageError } from '../../../src/lib/errors.ts';
import { computed, planOf } from '../../helpers/key-plan.ts';
import '../../helpers/seed.ts';

const MONTHLY = '/pk={tenantId}-{createdAt|month}';

describe('a plan', () => {
  test.each<[name: string, options: Partial<PlanOptions>, document: unknown, expected: ComputedKey]>([
    [
      'takes a property that is there',
      { partitionKey: ['/tenantId'] },
      { tenantId: 5 },
      { kind: 'key', values: [5], additions: [], missing: false },
    ],
    [
      'takes a nested one',
      { partitionKey: ['/address/"zip code"'] },
      { address: { 'zip code': '80331' } },
      { kind: 'key', values: ['80331'], additions: [], missing: false },
    ],
    [
      'makes the one derived property the key',
      { derive: [MONTHLY] },
      { tenantId: 'a', createdAt: '2024-05-17' },
      {
        kind: 'key',
        values: ['a-2024-05'],
        additions: [{ path: ['pk'], value: 'a-2024-05' }],
        missing: false,
      },
    ],
    [
      'mixes levels that are there and levels that are derived, in the order of the key',
      {
        partitionKey: ['/tenantId', '/meta/month'],
        derive: ['/meta/month={createdAt|month}', '/kind=order'],
      },
      { tenantId: null, createdAt: 0 },
      {
        kind: 'key',
        values: [null, '1970-01'],
        additions: [
          { path: ['meta', 'month'], value: '1970-01' },
          { path: ['kind'], value: 'order' },
        ],
        missing: false,
      },
    ],
    [
      'keeps a missing level as undefined',
      { partitionKey: ['/a', '/b'] },
      { b: 1 },
      { kind: 'key', values: [undefined, 1], additions: [], missing: true },
    ],
    [
      'writes nothing where a derived value is missing',
      { derive: [MONTHLY] },
      { tenantId: 'a' },
      { kind: 'key', values: [undefined], additions: [], missing: true },
    ],
    [
      'refuses a missing one where it may not be',
      { derive: [MONTHLY], missingKey: 'dead-letter' },
      { tenantId: 'a' },
      { kind: 'refused', reason: 'missing-key', why: '/createdAt is missing, which /pk is made of' },
    ],
    [
      'takes an object or an array at a key path for a missing value, as the service does',
      { partitionKey: ['/a', '/b', '/c'] },
      { a: {}, b: ['x'], c: 1 },
      { kind: 'key', values: [undefined, undefined, 1], additions: [], missing: true },
    ],
    [
      'refuses an object at a key path where no value may be missing',
      { partitionKey: ['/a'], missingKey: 'dead-letter' },
      { a: { x: 1 } },
      {
        kind: 'refused',
        reason: 'missing-key',
        why: '/a holds an object or an array, which counts as missing',
      },
    ],
    [
      'derives nothing from an object, whatever may be missing',
      { derive: ['/pk={a}'] },
      { a: { x: 1 } },
      {
        kind: 'refused',
        reason: 'invalid-key',
        why: '/a cannot serve for /pk: a key is a text, a number, a boolean or null',
      },
    ],
    [
      'does not replace an object at the source key path, which no other path can keep',
      { sourcePaths: ['/a'], derive: ['/a={b}'], keepSourceKeyAs: '/old' },
      { a: { x: 1 }, b: 'y' },
      {
        kind: 'refused',
        reason: 'invalid-key',
        why: '/a cannot serve for /old: a key is a text, a number, a boolean or null',
      },
    ],
    [
      'refuses it likewise where the run is to fail',
      { partitionKey: ['/a'], missingKey: 'fail' },
      {},
      { kind: 'refused', reason: 'missing-key', why: '/a is missing' },
    ],
    [
      'refuses an invalid one whatever may be missing',
      { derive: [MONTHLY] },
      { tenantId: 'a', createdAt: 'soon' },
      {
        kind: 'refused',
        reason: 'invalid-key',
        why: '/createdAt cannot serve for /pk: the text is not an ISO 8601 date',
      },
    ],
    [
      'refuses a property that cannot be derived although it is not a key',
      { partitionKey: ['/tenantId'], derive: ['/day={at|day}'] },
      { tenantId: 'a', at: 'soon' },
      {
        kind: 'refused',
        reason: 'invalid-key',
        why: '/at cannot serve for /day: the text is not an ISO 8601 date',
      },
    ],
    [
      'refuses a key that is too long',
      { partitionKey: ['/a'], keyBytesMax: 101 },
      { a: 'é'.repeat(51) },
      { kind: 'refused', reason: 'key-too-long', why: 'the key has 102 bytes, and the target takes 101' },
    ],
    [
      'fills in a property that some documents have',
      { derive: ['/region={region|default:eu}'] },
      {},
      { kind: 'key', values: ['eu'], additions: [{ path: ['region'], value: 'eu' }], missing: false },
    ],
  ])('%s -> this key and these additions', (_name, options, document, expected) => {
    expect(computed(planOf(options), document)).toEqual(expected);
  });

  test('plan: inputs -> each path once, with the positions of the values', () => {
    const plan = planOf({
      sourcePaths: ['/old', '/customer/id'],
      partitionKey: ['/pk', '/customer/id'],
      derive: ['/pk={customer.id}-{at|day}-{/customer/id|hash:10}'],
    });
    expect(plan).toMatchObject({
      sourcePaths: [['old'], ['customer', 'id']],
      targetPaths: [['pk'], ['customer', 'id']],
      inputs: [['customer', 'id'], ['at']],
      additionPaths: [['pk']],
      replacedPaths: [],
      sourcePathsInTarget: [['old'], ['customer', 'id']],
    });
  });
});

describe('a derived path that is the source key', () => {
  const options = { sourcePaths: ['/pk'], derive: ['/pk={tenantId}-{pk}'], keepSourceKeyAs: '/was/key' };

  test('old value -> kept elsewhere with its type', () => {
    const plan = planOf(options);
    expect(plan).toMatchObject({
      additionPaths: [['pk'], ['was', 'key']],
      replacedPaths: [['pk']],
      sourcePathsInTarget: [['was', 'key']],
    });
    expect(computed(plan, { tenantId: 'a', pk: 5 })).toEqual({
      kind: 'key',
      values: ['a-5'],
      additions: [
        { path: ['pk'], value: 'a-5' },
        { path: ['was', 'key'], value: 5 },
      ],
      missing: false,
    });
  });

  test('no old value -> a source key as well', () => {
    const plan = planOf({ ...options, derive: ['/pk={tenantId}'], missingKey: 'dead-letter' });
    expect(computed(plan, { tenantId: 'a' })).toEqual({
      kind: 'key',
      values: ['a'],
      additions: [{ path: ['pk'], value: 'a' }],
      missing: false,
    });
  });

  test('nothing to write over it -> refused', () => {
    expect(computed(planOf({ ...options, derive: ['/pk={tenantId}'] }), { pk: 'old' })).toEqual({
      kind: 'refused',
      reason: 'missing-key',
      why: '/tenantId is missing, and the old value at /pk would pass for the new one',
    });
  });

  test('the old key as a level below the new one -> allowed', () => {
    const plan = planOf({ ...options, derive: ['/pk={tenantId}'], partitionKey: ['/pk', '/was/key'] });
    expect(computed(plan, { tenantId: 'a', pk: 5 })).toMatchObject({ values: ['a', 5] });
  });
});

describe('plan: invalid options -> refused', () => {
  test.each<[options: Partial<PlanOptions>, message: string, why: string, hint: string]>([
    [
      {},
      'no key is asked for',
      'neither a key path nor a derived property is given',
      'give --partition-key PATH or --derive',
    ],
    [
      { derive: ['/a=1', '/b=2'] },
      'no key path is given',
      'several properties are derived, and which is the key is not said',
      'name the key paths with --partition-key, in order',
    ],
    [
      { partitionKey: ['/a', '/b', '/c', '/d'] },
      '4 key paths are too many',
      'a hierarchical key has at most 3 levels',
      'keep 3 of them',
    ],
    [
      { partitionKey: ['/a', '/"a"'] },
      'the key names /a twice',
      'each level has a path of its own',
      'take one of them out',
    ],
    [
      { partitionKey: ['/a/b', '/a'] },
      'the key paths /a/b and /a exclude each other',
      'one lies inside the other, and an object is not a key value',
      'choose one of them',
    ],
    [
      { partitionKey: ['/_ts'] },
      '/_ts cannot be a key path',
      'the service writes it, and every copy gets another value',
      'choose a property that the application writes',
    ],
    [
      { derive: ['/id=1'] },
      '/id cannot be derived',
      'the name id has a meaning of its own',
      'derive into a property of another name, /pk for instance',
    ],
    [
      { derive: ['/ttl=1'] },
      '/ttl cannot be derived',
      'the name ttl has a meaning of its own',
      'derive into a property of another name, /pk for instance',
    ],
    [
      { derive: ['/a/__proto__=1'] },
      '/a/__proto__ cannot be derived',
      'the name __proto__ has a meaning of its own',
      'derive into a property of another name, /pk for instance',
    ],
    [
      { partitionKey: ['/a'], derive: ['/_etag/x=1'] },
      '/_etag/x cannot be derived',
      'the name _etag has a meaning of its own',
      'derive into a property of another name, /pk for instance',
    ],
    [
      { partitionKey: ['/pk/x'], derive: ['/pk=1'] },
      'the key path /pk/x does not fit the derived /pk',
      'a derived value is not an object, and an object around it is not a key value',
      'make the key path /pk',
    ],
    [
      { partitionKey: ['/pk'], derive: ['/pk/x=1'] },
      'the key path /pk does not fit the derived /pk/x',
      'a derived value is not an object, and an object around it is not a key value',
      'make the key path /pk/x',
    ],
    [
      { sourcePaths: ['/pk'], derive: ['/pk=1'] },
      '/pk is the source key and cannot be overwritten',
      'without its old value documents of one id cannot be distinguished',
      'add --keep-source-key-as PATH, or derive into another property',
    ],
    [
      { sourcePaths: ['/a/b'], derive: ['/a=1'] },
      '/a cannot be derived',
      'it would destroy the source key /a/b, which distinguishes documents of one id',
      'derive into another property',
    ],
    [
      { sourcePaths: ['/a'], derive: ['/a/b=1'] },
      '/a/b cannot be derived',
      'it would destroy the source key /a, which distinguishes documents of one id',
      'derive into another property',
    ],
    [
      { derive: ['/pk={_ts|month}'] },
      '/pk cannot be derived from /_ts',
      'the service writes a new value at every change, so the key would change too',
      'use a property that the application writes',
    ],
    [
      { partitionKey: ['/b'], derive: ['/a={x|day}', '/b={a}-1'] },
      '/b cannot be derived from /a, which is derived itself',
      'templates read the source document, where that is not yet',
      'write out in /b what /a is made of',
    ],
    [
      { partitionKey: ['/a'], derive: ['/a=1', '/a=2'] },
      '/a is derived twice',
      'a property has one value',
      'take one of the templates out',
    ],
    [
      { partitionKey: ['/k'], derive: ['/a=1', '/a/b=2'] },
      '/a and /a/b cannot both be derived',
      'one lies inside the other, and a derived value is not an object',
      'derive them into properties that do not contain each other',
    ],
    [
      { sourcePaths: ['/old'], derive: ['/pk=1'], keepSourceKeyAs: '/was' },
      'there is nothing to keep at /was',
      'no derived property replaces a source key path',
      'leave --keep-source-key-as out',
    ],
    [
      { sourcePaths: ['/pk'], derive: ['/pk=1'], keepSourceKeyAs: '/pk/was' },
      '/pk/was cannot keep the source key',
      '/pk is there',
      'keep it at a path of its own',
    ],
    [
      { sourcePaths: ['/pk'], derive: ['/pk=1'], keepSourceKeyAs: '/id' },
      '/id cannot keep the source key',
      'the name id has a meaning of its own',
      'keep it at a path of its own',
    ],
    [
      {
        sourcePaths: ['/a', '/b'],
        partitionKey: ['/a', '/b'],
        derive: ['/a=1', '/b=2'],
        keepSourceKeyAs: '/was',
      },
      '/was cannot keep 2 values',
      '/a and /b are both replaced',
      'derive into other properties',
    ],
    [
      { partitionKey: ['a'] },
      'a is wrong at character 1',
      'a path begins with a slash',
      'write a path like /tenantId, /address/zip or /a/"b c"',
    ],
  ])('%j', (options, message, why, hint) => {
    let thrown: unknown;
    try {
      planOf(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(UsageError);
    expect(thrown).toMatchObject({ message, why, hint, problems: [] });
  });

  test('a reserved name below the top level -> accepted', () => {
    expect(planOf({ derive: ['/a/id={b}'] }).targetPaths).toEqual([['a', 'id']]);
    expect(planOf({ derive: ['/_pk={/a/_ts}'] }).targetPaths).toEqual([['_pk']]);
  });

  test('several problems -> reported together, syntax errors first', () => {
    const problems = (options: Partial<PlanOptions>): unknown[] => {
      try {
        planOf(options);
      } catch (error) {
        if (error instanceof UsageError)
          return [error.message, ...error.problems.map(({ message }) => message)];
      }
      return [];
    };
    expect(
      problems({ sourcePaths: ['/pk'], partitionKey: ['/_ts'], derive: ['/pk={a}', '/id={b}', '/pk={c}'] }),
    ).toEqual([
      '4 problems with the key',
      '/_ts cannot be a key path',
      '/pk is the source key and cannot be overwritten',
      '/id cannot be derived',
      '/pk is derived twice',
    ]);
    expect(problems({ partitionKey: ['_ts', '/'], derive: ['/id={'] })).toEqual([
      '3 problems with the key',
      '_ts is wrong at character 1',
      '/ is wrong at character 2',
      '/id={ is wrong at character 5',
    ]);
  });
});

describe('plan: any document', () => {
  const TEMPLATES = [
    '/pk={a}',
    '/pk={a}-{b.c|lower}',
    '/pk={a|day}.{b|hash:7|pad:2}',
    '/pk={a|week|default:x}{b|slice:-2}',
    '/pk={a|date:HH}{a|quarter}',
    '/pk={b|pad:9|upper|trim}',
  ];
  const plans = TEMPLATES.map((template) => planOf({ derive: [template] }));
  const leaf = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.constant(Infinity),
  );
  const document = fc.record(
    { a: fc.oneof(leaf, fc.jsonValue()), b: fc.oneof(leaf, fc.record({ c: leaf }), fc.jsonValue()) },
    { requiredKeys: [] },
  );

  test('any plan -> nothing is thrown, and the same result every time', () => {
    fc.assert(
      fc.property(document, fc.constantFrom(...plans), (value, plan) => {
        const first = computed(plan, value);
        expect(computed(plan, value)).toEqual(first);
        const written = first.kind === 'key' ? first.additions.map((addition) => addition.value) : [];
        const values = first.kind === 'key' ? first.values.filter((one) => one !== undefined) : [];
        expect(written).toEqual(values);
        expect(first.kind === 'key' && first.missing).toBe(first.kind === 'key' && values.length === 0);
        expect(plan.explain(plan.inputs.map((path) => valueAt(value, path))).length).toBeGreaterThan(0);
      }),
    );
  });

  test('other order of members or spelling -> the same result', () => {
    fc.assert(
      fc.property(document, fc.constantFrom(...plans), (value, plan) => {
        const text = JSON.stringify(value);
        const turned = JSON.stringify(Object.fromEntries(Object.entries(value).toReversed()), null, 2);
        const escaped = text.replaceAll(
          /[\u0080-\uffff]/g,
          (unit) => String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0'),
        );
        const expected = computed(plan, JSON.parse(text));
        for (const other of [turned, escaped]) expect(computed(plan, JSON.parse(other))).toEqual(expected);
      }),
    );
  });

  test('another plan of the same text -> the same result', () => {
    const value = fc
      .oneof(leaf, fc.constantFrom('missing', 'composite'))
      .map((one): Value => (one === 'missing' ? undefined : one === 'composite' ? composite : one));
    fc.assert(
      fc.property(value, value, fc.constantFrom(...TEMPLATES.keys()), (a, b, index) => {
        const plan = plans[index] ?? planOf({});
        const both: Value[] = [a, b];
        const values = both.slice(0, plan.inputs.length);
        expect(planOf({ derive: [TEMPLATES[index] ?? ''] }).compute(values)).toEqual(plan.compute(values));
      }),
    );
  });
});

test('plan: explain -> all steps of the key', () => {
  const plan = planOf({
    partitionKey: ['/tenantId', '/pk'],
    derive: ['/pk={at|month}-{n}'],
    missingKey: 'dead-letter',
  });
  const explain = (document: unknown): readonly string[] =>
    plan.explain(plan.inputs.map((path) => valueAt(document, path)));
  expect(explain({ tenantId: 'a', at: 0, n: 1 })).toEqual([
    '/at is 0; month gives "1970-01"',
    '/n is 1',
    '{at|month}-{n} gives "1970-01-1"',
    '/tenantId is "a"',
    '/pk is written as "1970-01-1"',
    'the key at /tenantId is "a"',
    'the key at /pk is "1970-01-1"',
  ]);
  expect(explain({ at: 0, n: 1 }).at(-1)).toBe('missing-key: /tenantId is missing');
});
