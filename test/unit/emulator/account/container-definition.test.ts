import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  extractKey,
  itemTtl,
  keyText,
  parseDefinition,
  parseKey,
  parsePropertyPath,
  requireName,
  withDefaults,
} from '../../../../src/emulator/account/container-definition.ts';
import { own, valueAtPath, type JsonObject } from '../../../../src/emulator/json/json-value.ts';
import { Refusal } from '../../../../src/emulator/http/refusal.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';

const V2 = { paths: ['/pk'], kind: 'Hash', version: 2 };

/** The status that refuses some work; 0 when nothing does. */
function refusalOf(work: () => unknown): number {
  try {
    work();
    return 0;
  } catch (error) {
    if (error instanceof Refusal) return error.status;
    throw error;
  }
}

describe('a path', () => {
  test.each<[string, string[]]>([
    ['/a', ['a']],
    ['/a/b/c', ['a', 'b', 'c']],
    ['/"a b"', ['a b']],
    ['/a/"b c"/d', ['a', 'b c', 'd']],
    ['/"a/b"', ['a/b']],
    ["/'a/b'", ['a/b']],
    ['/"say \\"hi\\""', ['say "hi"']],
    ['/"back\\\\slash"', ['back\\slash']],
    ['/""', ['']],
    ['/é', ['é']],
    ['/__proto__', ['__proto__']],
    ['/a b', ['a b']],
    ['/_partitionKey', ['_partitionKey']],
  ])('%s -> %j', (path, steps) => {
    expect(parsePropertyPath(path)).toEqual(steps);
  });

  test.each([
    '',
    '/',
    'a',
    'a/b',
    '//',
    '/a//b',
    '/a/',
    '/"a',
    '/a"b"',
    '/"a"b',
    "/'",
    1,
    null,
    undefined,
    {},
    ['/a'],
  ])('%j -> refused', (path) => {
    expect(refusalOf(() => parsePropertyPath(path))).toBe(400);
  });
});

describe('the partition key of a container', () => {
  test.each<[object, string]>([
    [{ paths: ['/pk'] }, 'hash-v1'],
    [{ paths: ['/pk'], kind: 'Hash' }, 'hash-v1'],
    [{ paths: ['/pk'], kind: 'Hash', version: 1 }, 'hash-v1'],
    [{ paths: ['/pk'], version: 2 }, 'hash-v2'],
    [V2, 'hash-v2'],
    [{ paths: ['/a', '/b'], kind: 'MultiHash', version: 2 }, 'multi-hash'],
    [{ paths: ['/a', '/b', '/c'], kind: 'MultiHash', version: 2 }, 'multi-hash'],
    [{ paths: ['/a'], kind: 'MultiHash', version: 2 }, 'multi-hash'],
  ])('%j -> %s', (partitionKey, kind) => {
    expect(parseDefinition({ partitionKey }).kind).toBe(kind);
  });

  test.each<[unknown]>([
    [undefined],
    [null],
    ['/pk'],
    [{}],
    [{ paths: [] }],
    [{ paths: '/pk' }],
    [{ paths: ['pk'] }],
    [{ paths: [1] }],
    [{ paths: ['/a', '/b'] }],
    [{ paths: ['/a', '/b'], kind: 'Hash', version: 2 }],
    [{ paths: ['/a'], kind: 'Range' }],
    [{ paths: ['/a'], kind: 1 }],
    [{ paths: ['/a'], version: 3 }],
    [{ paths: ['/a'], version: '2' }],
    [{ paths: ['/a', '/b'], kind: 'MultiHash' }],
    [{ paths: ['/a', '/b'], kind: 'MultiHash', version: 1 }],
    [{ paths: ['/a', '/b', '/c', '/d'], kind: 'MultiHash', version: 2 }],
    [{ paths: ['/a', '/a'], kind: 'MultiHash', version: 2 }],
    [{ paths: ['/a', '/"a"'], kind: 'MultiHash', version: 2 }],
  ])('%j -> refused', (partitionKey) => {
    expect(refusalOf(() => parseDefinition({ partitionKey }))).toBe(400);
  });

  test('the names of its paths -> without the leading slash', () => {
    expect(
      parseDefinition({ partitionKey: { paths: ['/a/b', '/"c d"'], kind: 'MultiHash', version: 2 } })
        .keyNames,
    ).toEqual(['a/b', '"c d"']);
  });
});

describe('the other settings of a container', () => {
  const parse = (more: JsonObject) => parseDefinition({ partitionKey: V2, ...more });

  test.each<[unknown, number | null]>([
    [undefined, null],
    [null, null],
    [-1, -1],
    [1, 1],
    [2_147_483_647, 2_147_483_647],
  ])('defaultTtl %j -> %j', (defaultTtl, meaning) => {
    expect(parse({ defaultTtl }).defaultTtl).toBe(meaning);
  });

  test.each([0, -2, 1.5, '60', true, [], {}, 2_147_483_648, Infinity])(
    'defaultTtl %j -> refused',
    (defaultTtl) => {
      expect(refusalOf(() => parse({ defaultTtl }))).toBe(400);
    },
  );

  test.each<[unknown, number | undefined]>([
    [{}, undefined],
    [{ ttl: -1 }, -1],
    [{ ttl: 5 }, 5],
  ])('the ttl of %j -> %j', (document, ttl) => {
    expect(itemTtl(document as JsonObject)).toBe(ttl);
  });

  test.each([null, 0, '5', 1.5, [], 2_147_483_648])('an item with ttl %j -> refused', (ttl) => {
    expect(refusalOf(() => itemTtl({ ttl }))).toBe(400);
  });

  test('more than 10 unique keys, or 16 paths in all -> refused', () => {
    const keys = (...counts: number[]) => ({
      uniqueKeyPolicy: {
        uniqueKeys: counts.map((count, key) => ({
          paths: Array.from({ length: count }, (_, path) => `/u${key}/p${path}`),
        })),
      },
    });
    expect(parse(keys(2, 1)).uniqueKeys).toEqual([[['u0', 'p0'], ['u0', 'p1']], [['u1', 'p0']]]); // prettier-ignore
    expect(parse(keys(16)).uniqueKeys).toHaveLength(1);
    expect(parse({ uniqueKeyPolicy: {} }).uniqueKeys).toEqual([]);
    expect(parse({ uniqueKeyPolicy: { uniqueKeys: null } }).uniqueKeys).toEqual([]);
    expect(refusalOf(() => parse(keys(17)))).toBe(400);
    expect(refusalOf(() => parse(keys(0)))).toBe(400);
    expect(refusalOf(() => parse(keys(...Array<number>(11).fill(1))))).toBe(400);
    expect(refusalOf(() => parse({ uniqueKeyPolicy: { uniqueKeys: {} } }))).toBe(400);
    expect(refusalOf(() => parse({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['u'] }] } }))).toBe(400);
  });

  test.each(['indexingPolicy', 'conflictResolutionPolicy', 'geospatialConfig', 'changeFeedPolicy'])(
    '%s that is not an object -> refused',
    (name) => {
      for (const value of ['x', 1, true, []]) expect(refusalOf(() => parse({ [name]: value }))).toBe(400);
      for (const value of [undefined, null, {}]) expect(refusalOf(() => parse({ [name]: value }))).toBe(0);
    },
  );

  test('settings given -> kept, settings left out -> the defaults of the service', () => {
    const indexingPolicy = {
      indexingMode: 'none',
      automatic: false,
      includedPaths: [],
      excludedPaths: [],
    };
    const said = { id: 'c', partitionKey: V2, indexingPolicy, more: [1] };
    expect(withDefaults(said)).toEqual({
      ...said,
      conflictResolutionPolicy: {
        mode: 'LastWriterWins',
        conflictResolutionPath: '/_ts',
        conflictResolutionProcedure: '',
      },
      geospatialConfig: { type: 'Geography' },
    });
  });
});

describe('a name', () => {
  test.each(['a', 'A b', '日本', '.', 'x'.repeat(255), '__proto__', 'a%b'])('%.20s -> allowed', (id) => {
    expect(requireName({ id }, 'container')).toBe(id);
  });

  test.each([
    undefined,
    '',
    1,
    null,
    {},
    'a/b',
    'a\\b',
    'a?b',
    'a#b',
    'a ',
    'x'.repeat(256),
    'é'.repeat(128),
    '\ud800',
    'a\udc00b',
  ])('%j -> refused', (id) => {
    expect(refusalOf(() => requireName({ id }, 'container'))).toBe(400);
  });

  test('any body -> only its own property counts', () => {
    for (const body of [null, undefined, 1, 'id', [], Object.create({ id: 'a' })]) {
      expect(refusalOf(() => requireName(body, 'database'))).toBe(400);
    }
  });
});

describe('keys', () => {
  const nested = parseDefinition({ partitionKey: { paths: ['/a/b'], version: 2 } });
  const single = parseDefinition({ partitionKey: V2 });
  const three = parseDefinition({
    partitionKey: { paths: ['/a', '/b', '/c'], kind: 'MultiHash', version: 2 },
  });

  test.each<[string, unknown[]]>([
    ['{"a":{"b":"x"}}', ['x']],
    ['{"a":{"b":null}}', [null]],
    ['{"a":{"b":1.0}}', [1]],
    ['{"a":{"b":-0}}', [0]],
    ['{"a":{"b":false}}', [false]],
    ['{"a":{}}', [undefined]],
    ['{"a":[{"b":1}]}', [undefined]],
    ['{"a":"b"}', [undefined]],
    ['{"a":null}', [undefined]],
    ['{"a":{"b":{}}}', [undefined]],
    ['{"a":{"b":{"b":1}}}', [undefined]],
    ['{"a":{"b":["x"]}}', [undefined]],
    ['{}', [undefined]],
  ])('%s at /a/b -> %j', (text, key) => {
    expect(extractKey(nested, JSON.parse(text))).toStrictEqual(key);
  });

  test('a number beyond a double -> the key is refused', () => {
    expect(refusalOf(() => extractKey(single, JSON.parse('{"pk":1e400}')))).toBe(400);
  });

  test('properties of the prototype -> ignored', () => {
    const inherited = parseDefinition({ partitionKey: { paths: ['/constructor'], version: 2 } });
    expect(extractKey(inherited, JSON.parse('{"id":"a"}'))).toEqual([undefined]);
    const proto = parseDefinition({ partitionKey: { paths: ['/__proto__/x'], version: 2 } });
    expect(extractKey(proto, JSON.parse('{"__proto__":{"x":"own"}}'))).toEqual(['own']);
    expect(extractKey(proto, JSON.parse('{}'))).toEqual([undefined]);
  });

  test.each<[string, unknown[]]>([
    ['["x"]', ['x']],
    ['[""]', ['']],
    ['[null]', [null]],
    ['[{}]', [undefined]],
    ['[]', []],
    ['[-0]', [0]],
    ['[1.0]', [1]],
    ['["\\u65e5"]', ['日']],
    [' [ true ] ', [true]],
  ])('the header %s -> %j', (header, key) => {
    expect(parseKey(single, header)).toStrictEqual(key);
  });

  test('the header [] -> a missing value, if the service made up the key', () => {
    const madeUp = parseDefinition({
      partitionKey: { paths: ['/_partitionKey'], version: 2, systemKey: true },
    });
    expect(parseKey(madeUp, '[]')).toStrictEqual([undefined]);
  });

  test('a hierarchical key -> may be given in part, from the left', () => {
    expect(parseKey(three, '["a",{},null]')).toStrictEqual(['a', undefined, null]);
    expect(parseKey(three, '["a"]')).toEqual(['a']);
    expect(parseKey(three, '[]')).toEqual([]);
  });

  test.each([
    '',
    ' ',
    'x',
    '"x"',
    '{}',
    'null',
    '1',
    '["a","b"]',
    '[[1]]',
    '[{"a":1}]',
    '[1e400]',
    '[',
    `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
  ])('the header %.30s -> refused', (header) => {
    expect(refusalOf(() => parseKey(single, header))).toBe(400);
  });

  test('different types or values -> different texts', () => {
    const component = fc.oneof(
      fc.constantFrom(undefined, null, true, false, 0, 1, '', '1', '0', 'null', 'true', '{}', '[]', '"'),
      fc.string({ unit: 'binary', maxLength: 5 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
    );
    const key = fc.array(component, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(key, key, (left, right) => {
        const same =
          left.length === right.length && left.every((value, level) => Object.is(value, right[level]));
        expect(keyText(left) === keyText(right)).toBe(same);
      }),
      { numRuns: draws(2000) },
    );
  });

  test('written as text -> parsed to the same values', () => {
    const component = fc.oneof(
      fc.constantFrom(undefined, null, true, false, 0, -1.5),
      fc.string({ unit: 'binary', maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.tuple(component, component, component), (values) => {
        expect(parseKey(three, keyText(values))).toStrictEqual(values);
      }),
    );
  });
});

test('own and valueAtPath: inherited properties and arrays -> undefined', () => {
  expect([
    own({ a: 1 }, 'a'),
    own({}, 'toString'),
    own([1], '0'),
    own(null, 'a'),
    own('abc', 'length'),
  ]).toEqual([1, undefined, undefined, undefined, undefined]);
  expect([
    valueAtPath({ a: { b: 1 } }, ['a', 'b']),
    valueAtPath([1], ['0']),
    valueAtPath({ a: 'x' }, ['a', 'length']),
    valueAtPath(5, []),
  ]).toEqual([1, undefined, undefined, 5]);
});
