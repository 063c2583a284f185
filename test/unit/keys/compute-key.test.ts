import { describe, expect, test } from 'vitest';
import { computeKey, effectiveKey, prepareKey, type KeyRecipe } from '../../../src/index.ts';
import { complaint } from '../../helpers/key-plan.ts';

const ORDER = { id: '1', tenantId: 'amber', createdAt: '2026-03-01T09:30:00Z', meta: { by: 'eve' } };

describe('computeKey', () => {
  test.each<[name: string, recipe: KeyRecipe, document: object, values: unknown[], properties: object]>([
    ['a property', { partitionKey: '/tenantId' }, ORDER, ['amber'], {}],
    ['two levels', { partitionKey: ['/tenantId', '/id'] }, ORDER, ['amber', '1'], {}],
    [
      'a template',
      { derive: '/pk={tenantId}-{createdAt|month}' },
      ORDER,
      ['amber-2026-03'],
      { pk: 'amber-2026-03' },
    ],
    ['a type that survives', { derive: '/pk={n}' }, { n: 5 }, [5], { pk: 5 }],
    [
      'a nested one',
      { derive: '/meta/pk={tenantId}' },
      ORDER,
      ['amber'],
      { meta: { by: 'eve', pk: 'amber' } },
    ],
    ['a nested one in nothing', { derive: '/a/b/c={id}' }, ORDER, ['1'], { a: { b: { c: '1' } } }],
    [
      'two in one object',
      { partitionKey: '/meta/a', derive: ['/meta/a={id}', '/meta/b={tenantId}'] },
      ORDER,
      ['1'],
      { meta: { by: 'eve', a: '1', b: 'amber' } },
    ],
    ['a Date', { derive: '/pk={at|day}' }, { at: new Date(0) }, ['1970-01-01'], { pk: '1970-01-01' }],
    ['an object as key', { partitionKey: ['/meta', '/id'] }, ORDER, [undefined, '1'], {}],
    ['nothing there', { derive: '/pk={nope}' }, ORDER, [undefined], {}],
    ['inherited names', { partitionKey: '/constructor' }, {}, [undefined], {}],
    ['__proto__ as data', { partitionKey: '/__proto__' }, JSON.parse('{"__proto__":"x"}'), ['x'], {}],
  ])(
    '%s -> these values and properties; the document is unchanged',
    (_name, recipe, document, values, properties) => {
      const before = structuredClone(document);
      expect(computeKey(recipe, document)).toEqual({ values, properties });
      expect(document).toEqual(before);
    },
  );

  test('an old derived value without a new one -> removed', () => {
    const derive = ['/pk={tenantId}', '/meta/pk={tenantId}'];
    const { values, properties } = computeKey(
      { derive, partitionKey: '/pk' },
      { pk: 'old', meta: { by: 'eve', pk: 'old' } },
    );
    expect(values).toEqual([undefined]);
    expect(properties).toStrictEqual({ pk: undefined, meta: { by: 'eve', pk: undefined } });
  });

  test('any document -> the key that a migration gives it', () => {
    const { values } = computeKey({ partitionKey: '/city' }, { city: 'redmond' });
    expect(effectiveKey('hash-v2', values)).toBe('22E342F38A486A088463DFF7838A5963');
  });

  test('a polluted prototype -> ignored', () => {
    const document = Object.create({ tenantId: 'inherited' }) as object;
    expect(computeKey({ partitionKey: '/tenantId' }, document).values).toEqual([undefined]);
  });

  test.each<[recipe: KeyRecipe, document: object, message: string]>([
    [
      { derive: '/pk={createdAt|month}' },
      { createdAt: 'soon' },
      'the document has no key: /createdAt cannot serve for /pk: the text is not an ISO 8601 date',
    ],
    [{ partitionKey: '/a', missingKey: 'fail' }, {}, 'the document has no key: /a is missing'],
    [
      { partitionKey: '/a', keyBytesMax: 2 },
      { a: 'abc' },
      'the document has no key: the key has 3 bytes, and the target takes 2',
    ],
    [
      { partitionKey: '/a' },
      { a: NaN },
      'the document has no key: /a cannot be a key: the number is beyond what a key can hold',
    ],
    [{ derive: '/id/x={a}' }, {}, '/id/x cannot be derived'],
    [
      { derive: '/meta/pk={a}' },
      { a: 1, meta: 'text' },
      'the document has a value at meta, where an object must be',
    ],
  ])('%j, given %j -> %s', (recipe, document, message) => {
    expect(complaint(() => computeKey(recipe, document))[0]).toBe(message);
  });

  test('a prepared recipe -> used for many documents', () => {
    const keyOf = prepareKey({ derive: '/pk={id|hash:100}' });
    expect(['abc', 'redmond', '日本'].map((id) => keyOf({ id }).properties)).toEqual([
      { pk: '24' },
      { pk: '47' },
      { pk: '7' },
    ]);
  });
});
