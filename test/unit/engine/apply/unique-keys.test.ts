import { expect, test } from 'vitest';
import { givenUp, UniqueKeys } from '../../../../src/engine/apply/unique-keys.ts';

const keys = new UniqueKeys({ uniqueKeys: [{ paths: ['/mail'] }, { paths: ['/a/b', '/c'] }] });
const held = (document: object): readonly string[] => keys.valuesOf(Buffer.from(JSON.stringify(document)));
const WHO = Buffer.alloc(16, 1);

const one = { mail: 'x', a: { b: 1 }, c: 2 };

test.each([
  ['the same', one, one, false],
  ['a value outside the unique keys', one, { ...one, more: 1 }, false],
  ['the wanted value', one, { ...one, mail: 'y' }, true],
  ['a part of another key, which is wanted too', one, { ...one, c: 3 }, true],
  ['everything', one, null, true],
  ['a value that no letter wants', { mail: 'z', c: 9 }, null, false],
  ['another type', { ...one, mail: 7, c: 0 }, null, false],
  ['a value that cannot be determined', { mail: { odd: 1 }, c: 9 }, null, true],
  ['a value that cannot be determined, and stays', { mail: ['odd'], c: 9 }, { mail: ['odd'], c: 9 }, true],
])('unique keys: %s is given up -> whether a letter may want it', (_what, before, after, expected) => {
  keys.want(WHO, held(one));
  const given = givenUp([held(before)], after === null ? [] : held(after));
  expect(keys.mayWant(WHO, given)).toBe(expected);
});

test('unique keys: a missing or an unknown value -> equals null, or may be any', () => {
  keys.want(WHO, held({ c: 1 }));
  expect(keys.mayWant(WHO, givenUp([held({ mail: null, c: 5 })]))).toBe(true);
  expect(keys.mayWant(WHO, givenUp([held({ mail: 'x', a: { b: null }, c: 1 })]))).toBe(true);
  expect(keys.mayWant(WHO, givenUp([held({ mail: 'x', c: 2 })]))).toBe(false);
  keys.want(WHO, held({ mail: {}, c: 1 }));
  expect(keys.mayWant(WHO, givenUp([held({ mail: 'x', c: 2 })]))).toBe(true);
});

test('unique keys: more documents than are remembered -> those may want any value', () => {
  const others = Array.from({ length: 10_001 }, (_, n) => Buffer.from(String(n).padStart(16)));
  for (const other of others) keys.want(other, held({ mail: 'own' }));
  const [first = WHO, second = WHO] = others;
  expect([keys.wants(first, held({ mail: 'own' })), keys.wants(second, held({ mail: 'own' }))]).toEqual([
    false,
    true,
  ]);
  expect([keys.mayWant(first, ['0:"x"']), keys.mayWant(second, ['0:"x"'])]).toEqual([true, false]);
});

test('unique keys: none, or unreadable ones -> no value is held, or any may be', () => {
  for (const policy of [undefined, null, {}, { uniqueKeys: [] }, { uniqueKeys: 1 }]) {
    expect(new UniqueKeys(policy).exist).toBe(false);
    expect(new UniqueKeys(policy).valuesOf(Buffer.from('not JSON'))).toEqual([]);
  }
  for (const policy of [{ uniqueKeys: [{}] }, { uniqueKeys: [{ paths: ['odd'] }] }]) {
    const odd = new UniqueKeys(policy);
    odd.want(WHO, odd.valuesOf(Buffer.from('{}')));
    expect(odd.mayWant(WHO, givenUp([odd.valuesOf(Buffer.from('{"a":1}'))]))).toBe(true);
  }
});
