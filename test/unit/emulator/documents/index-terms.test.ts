import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../../../../src/emulator/http/refusal.ts';
import { changedTerms, compileIndexing, countTerms } from '../../../../src/emulator/documents/index-terms.ts';

const DEFAULT_POLICY = {
  indexingMode: 'consistent',
  automatic: true,
  includedPaths: [{ path: '/*' }],
  excludedPaths: [{ path: '/"_etag"/?' }],
};

const paths = (included: readonly string[], excluded: readonly string[] = []): object => ({
  indexingMode: 'consistent',
  includedPaths: included.map((path) => ({ path })),
  excludedPaths: excluded.map((path) => ({ path })),
});

/** Deeper than the service takes, and than a careless walk survives. */
function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i += 1) value = wrap(value);
  return value;
}

// Every count below contains `id` and `_ts`, which are always indexed.
describe('counting terms', () => {
  const nutrition = {
    food: { ingredients: { nutrition: { fat: 1, salt: 2 }, list: ['a', 'b'] }, name: 'x' },
  };
  test.each<[string, unknown, unknown, number]>([
    ['nothing but an id', DEFAULT_POLICY, { id: '1' }, 2],
    ['scalars of every kind', DEFAULT_POLICY, { id: '1', a: 1, b: 'x', c: true, d: null }, 6],
    ['nested objects', DEFAULT_POLICY, { id: '1', a: { b: { c: 1, d: 2 } } }, 4],
    ['elements of arrays', DEFAULT_POLICY, { id: '1', a: [1, 2, [3, { b: 4 }]] }, 6],
    ['empty objects and arrays', DEFAULT_POLICY, { id: '1', a: {}, b: [] }, 2],
    [
      'system properties, there or not',
      DEFAULT_POLICY,
      { id: '1', a: 1, _rid: '', _self: '', _etag: '', _ts: 1, _attachments: '', _lsn: 1 },
      3,
    ],
    [
      'a property that only looks like one of the system',
      DEFAULT_POLICY,
      { id: '1', _mine: 1, a: { _ts: 1 } },
      4,
    ],
    ['no policy at all', undefined, { id: '1', a: 1 }, 3],
    ['a policy without paths', { indexingMode: 'consistent' }, { id: '1', a: 1 }, 3],
    ['mode none', { indexingMode: 'none' }, { id: '1', a: 1 }, 0],
    ['mode none, in capitals', { indexingMode: 'None' }, { id: '1', a: 1 }, 0],
    ['only system properties indexed', paths([], ['/*']), { id: '1', a: 1, b: { c: 2 } }, 2],
    ['one path', paths(['/a/?'], ['/*']), { id: '1', a: 1, b: 2 }, 3],
    ['one path, not a subtree', paths(['/a/?'], ['/*']), { id: '1', a: { b: 1 }, b: 2 }, 2],
    ['a subtree', paths(['/a/*'], ['/*']), { id: '1', a: { b: 1, c: [1, 2] }, b: 2 }, 5],
    ['a named path that is missing', paths(['/a/?', '/b/c/?'], ['/*']), { id: '1' }, 4],
    ['an excluded path', paths(['/*'], ['/a/?']), { id: '1', a: 1, b: 2 }, 3],
    ['an excluded subtree', paths(['/*'], ['/a/*']), { id: '1', a: { b: 1 }, b: 2 }, 3],
    ['excluding a scalar keeps what is below', paths(['/*'], ['/a/?']), { id: '1', a: { b: 1 } }, 3],
    ['elements', paths(['/tags/[]/?'], ['/*']), { id: '1', tags: ['a', 'b'], other: ['c'] }, 4],
    ['elements are not the scalar', paths(['/tags/?'], ['/*']), { id: '1', tags: ['a', 'b'] }, 2],
    [
      'properties of elements',
      paths(['/places/[]/country/?'], ['/*']),
      { id: '1', places: [{ country: 'a', city: 'b' }, { country: 'c' }] },
      4,
    ],
    ['excluded elements', paths(['/*'], ['/tags/[]/?']), { id: '1', tags: ['a', 'b', { c: 1 }] }, 3],
    [
      'the most precise wins: include below exclude',
      paths(['/*', '/food/ingredients/nutrition/*'], ['/food/ingredients/*']),
      { id: '1', ...nutrition },
      5,
    ],
    [
      'the most precise wins: exclude below include below exclude',
      paths(['/food/*'], ['/*', '/food/ingredients/nutrition/*']),
      { id: '1', ...nutrition },
      5,
    ],
    ['a scalar before a subtree', paths(['/a/?'], ['/*', '/a/*']), { id: '1', a: 1 }, 3],
    [
      'quoted names',
      paths(['/"a/b"/?', '/"c \\" d"/*'], ['/*']),
      { id: '1', 'a/b': 1, 'c " d': { e: 2 } },
      4,
    ],
    ['a quoted [] is a name', paths(['/"[]"/?'], ['/*']), { id: '1', '[]': 1 }, 3],
    ['id, even when excluded', paths([], ['/*', '/id/?']), { id: '1' }, 2],
    ['the root as old containers have it', paths(['/']), { id: '1', a: { b: 1 } }, 3],
    ['not a document', DEFAULT_POLICY, [1, 2], 0],
    [
      'names of Object.prototype',
      DEFAULT_POLICY,
      JSON.parse('{"id":"1","__proto__":{"a":1},"toString":2}'),
      4,
    ],
    [
      'an excluded __proto__',
      paths(['/*'], ['/__proto__/*']),
      JSON.parse('{"id":"1","__proto__":{"a":1}}'),
      2,
    ],
  ])('%s -> the terms counted by hand', (_, policy, document, expected) => {
    expect(countTerms(document, compileIndexing(policy))).toBe(expected);
  });

  test('nested deeper than 128 -> counted to 128', () => {
    const policy = compileIndexing(DEFAULT_POLICY);
    const inObjects = (depth: number): unknown => ({ id: '1', a: nested(depth, (a) => ({ a })) });
    expect(countTerms(inObjects(126), policy)).toBe(3);
    expect(countTerms(inObjects(100_000), policy)).toBe(2);
    expect(countTerms({ id: '1', a: nested(100_000, (a) => [a]) }, policy)).toBe(2);
  });
});

describe('changed terms', () => {
  test.each<[string, unknown, unknown, unknown, number]>([
    ['nothing', DEFAULT_POLICY, { id: '1', a: { b: [1, 2] } }, { id: '1', a: { b: [1, 2] } }, 0],
    ['system properties', DEFAULT_POLICY, { id: '1', _ts: 1, _etag: 'a' }, { id: '1', _ts: 2 }, 0],
    ['two values', DEFAULT_POLICY, { id: '1', a: 1, b: 'x', c: 3 }, { id: '1', a: 2, b: 'y', c: 3 }, 4],
    ['one added', DEFAULT_POLICY, { id: '1' }, { id: '1', a: 1 }, 1],
    ['one removed', DEFAULT_POLICY, { id: '1', a: 1 }, { id: '1' }, 1],
    ['a type', DEFAULT_POLICY, { id: '1', a: 1 }, { id: '1', a: '1' }, 2],
    ['a scalar that becomes an object', DEFAULT_POLICY, { id: '1', a: 1 }, { id: '1', a: { b: 1, c: 2 } }, 3],
    ['the order of properties', DEFAULT_POLICY, { id: '1', a: 1, b: 2 }, { b: 2, a: 1, id: '1' }, 0],
    ['the order of elements', DEFAULT_POLICY, { id: '1', a: [1, 2, 3] }, { id: '1', a: [3, 1, 2] }, 0],
    ['an element more', DEFAULT_POLICY, { id: '1', a: [1, 2] }, { id: '1', a: [9, 1, 2] }, 1],
    ['an element twice', DEFAULT_POLICY, { id: '1', a: [1] }, { id: '1', a: [1, 1] }, 1],
    ['an element of another type', DEFAULT_POLICY, { id: '1', a: [1] }, { id: '1', a: ['1'] }, 2],
    [
      'a property of an element',
      DEFAULT_POLICY,
      { id: '1', a: [{ b: 1, c: 2 }, { b: 3 }] },
      { id: '1', a: [{ b: 3 }, { b: 1, c: 4 }] },
      2,
    ],
    ['nothing, mode none', { indexingMode: 'none' }, { id: '1', a: 1 }, { id: '1', a: 2 }, 0],
    ['an excluded property', paths(['/*'], ['/a/*']), { id: '1', a: [1] }, { id: '1', a: [2] }, 0],
    ['an excluded element', paths(['/*'], ['/a/[]/?']), { id: '1', a: [1] }, { id: '1', a: [2] }, 0],
    ['a named path that comes', paths(['/a/?'], ['/*']), { id: '1' }, { id: '1', a: 1 }, 2],
    ['a named path that goes', paths(['/a/?'], ['/*']), { id: '1', a: 1 }, { id: '1' }, 2],
    ['a named path that stays away', paths(['/a/?'], ['/*']), { id: '1' }, { id: '1', b: 1 }, 0],
  ])('%s -> the changes counted by hand', (_, policy, before, after, expected) => {
    expect(changedTerms(before, after, compileIndexing(policy))).toBe(expected);
  });

  test('any two documents -> the terms of both less twice the shared ones, in both directions', () => {
    const policy = compileIndexing(paths(['/*', '/a/[]/b/?'], ['/a/*', '/b/?']));
    const key = fc.constantFrom('a', 'b', 'c', '__proto__');
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, 0, 1, '1', ''),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 3 }),
      ),
    }));
    const document = fc
      .dictionary(key, value, { maxKeys: 4 })
      .map((body): unknown => JSON.parse(JSON.stringify({ ...body, id: '1' })));
    fc.assert(
      fc.property(document, document, (before, after) => {
        const changed = changedTerms(before, after, policy);
        const [old, fresh] = [countTerms(before, policy), countTerms(after, policy)];
        expect(changed).toBe(changedTerms(after, before, policy));
        expect(changed).toBeGreaterThanOrEqual(Math.abs(old - fresh));
        expect(changed).toBeLessThanOrEqual(old + fresh - 4); // id and _ts stay
        expect((old + fresh - changed) % 2).toBe(0);
        expect(changedTerms(before, structuredClone(before), policy)).toBe(0);
      }),
    );
  });

  test('very deep or wide documents -> no stack overflow', () => {
    const policy = compileIndexing(DEFAULT_POLICY);
    const deep = (leaf: unknown): unknown => ({ id: '1', a: [leaf, nested(100_000, (a) => [a])] });
    expect(changedTerms(deep(1), deep(2), policy)).toBe(2);
    const name = 'n'.repeat(500_000);
    const wide = (first: number): unknown => ({
      id: '1',
      a: [{ [name]: Array.from({ length: 50_000 }, (_, i) => i + first) }],
    });
    expect(changedTerms(wide(0), wide(1), policy)).toBe(2);
  });
});

describe('a policy that is wrong', () => {
  test.each<[unknown, string]>([
    ['all', 'indexingPolicy must be an object'],
    [[], 'indexingPolicy must be an object'],
    [{ indexingMode: 'fast' }, 'indexingPolicy.indexingMode must be'],
    [{ indexingMode: 1 }, 'indexingPolicy.indexingMode must be'],
    [{ includedPaths: '/*' }, 'indexingPolicy.includedPaths must be an array'],
    [{ includedPaths: ['/*'] }, 'indexingPolicy.includedPaths[0] must be an object'],
    [{ excludedPaths: [{ path: '/*' }, {}] }, 'indexingPolicy.excludedPaths[1].path must be a string'],
    ...['', 'a/?', '/a', '/a/', '//?', '/a?', '/a/*/b/?', '/"a/?', '/a"b"/?', '/[/?', '/*/', '/?/?'].map(
      (path): [unknown, string] => [paths([path]), `includedPaths[0].path ${JSON.stringify(path)} could not`],
    ),
  ])('%j -> refused by name', (policy, message) => {
    const compile = (): unknown => compileIndexing(policy);
    expect(compile).toThrow(Refusal);
    expect(compile).toThrow(message);
  });
});
