import { describe, expect, test } from 'vitest';
import { parseDerivation } from '../../../../src/keys/strategies/parse.ts';
import { valueAt } from '../../../../src/keys/path.ts';
import { derive } from '../../../helpers/key-plan.ts';

describe('a lone placeholder keeps the type of its value', () => {
  test.each([['x'], [''], [5], [1.5], [-0], [true], [false], [null]])('%j -> the same value', (value) => {
    expect(derive('{x}', { x: value })).toBe(value);
  });

  test.each([
    [{ x: {} }, { invalid: ['x'], why: 'a key is a text, a number, a boolean or null' }],
    [{ x: [1] }, { invalid: ['x'], why: 'a key is a text, a number, a boolean or null' }],
    [JSON.parse('{"x":1e400}'), { invalid: ['x'], why: 'the number is beyond what a key can hold' }],
    [{}, { missing: ['x'] }],
  ])('%j -> none', (document, expected) => {
    expect(derive('{x}', document)).toEqual(expected);
  });
});

describe('text around a value makes text of it, as JSON writes it', () => {
  test.each([
    ['x', '-x'],
    ['', '-'],
    [5, '-5'],
    [1.0, '-1'],
    [0.1, '-0.1'],
    [-0, '-0'],
    [1e-7, '-1e-7'],
    [1e-7, '-1e-7'],
    [Number.MAX_SAFE_INTEGER, '-9007199254740991'],
    [true, '-true'],
    [false, '-false'],
    [null, '-null'],
    ['a"b\\c', '-a"b\\c'],
    ['\ud800', '-\ud800'],
  ])('%j -> %j', (value, expected) => {
    expect(derive('-{x}', { x: value })).toBe(expected);
  });

  test('a whole number beyond 2^53 -> refused in a text, accepted as the key itself', () => {
    const long = JSON.parse('{"x":9007199254740993}');
    expect(derive('-{x}', long)).toEqual({
      invalid: ['x'],
      why: 'the number is beyond 2^53, where neighbours read alike',
    });
    expect(derive('{x}', long)).toBe(9007199254740992);
  });

  test('template: a missing value or an object -> the whole key is missing or invalid; the first one is reported', () => {
    expect(derive('{a}-{b}', { a: 1 })).toEqual({ missing: ['b'] });
    expect(derive('{a}-{b}', { b: [] })).toEqual({ missing: ['a'] });
    expect(derive('{b}-{a}', { b: [] })).toMatchObject({ invalid: ['b'] });
  });
});

describe('what people do', () => {
  const at = '2024-12-30T22:30:00-05:00';
  test.each<[what: string, template: string, document: object, key: unknown]>([
    ['device and day', '{deviceId}-{at|day}', { deviceId: 'd7', at }, 'd7-2024-12-31'],
    ['day and a computed suffix', '{at|day}.{vin|hash:400}', { vin: 'WBA123', at }, '2024-12-31.111'],
    ['a "random" suffix that can be replayed', '{id|hash:100}', { id: 'abc' }, '24'],
    ['a suffix of equal width', '{id|hash:1000|pad:3}', { id: '日本' }, '207'],
    ['week', '{site}/{at|week}', { site: 3, at }, '3/2025-W01'],
    ['month', '{at|month}', { at }, '2024-12'],
    ['quarter', '{at|quarter}', { at }, '2024-Q4'],
    ['year', '{at|year}', { at: 0 }, '1970'],
    [
      'place and time',
      '{geo.country|upper}-{geo.zip|slice:0:2}-{at|date:yyyyMM}',
      { geo: { country: 'de', zip: '80331' }, at },
      'DE-80-202412',
    ],
    ['customer and status', '{customerId}_{status|lower}', { customerId: 12, status: 'OPEN' }, '12_open'],
    [
      'type, month and hash',
      '{type}|{at|month}|{id|hash:10}',
      { type: 'order', at, id: 'redmond' },
      'order|2024-12|7',
    ],
    ['a region where there is none', '{region|default:eu|upper}', {}, 'EU'],
    ['a default after other filters', '{region|trim|upper|default:none}', {}, 'none'],
  ])('%s -> %s', (_what, template, document, key) => {
    expect(derive(template, document)).toBe(key);
  });
});

test('template: null with a default -> null, since it is not missing', () => {
  expect(derive('{x|default:none}', { x: null })).toBe('null');
  expect(derive('{x|default:none}', {})).toBe('none');
});

test('template: hash after another filter -> it sees the type that the filter made', () => {
  const [one, text] = [derive('{x|hash:1000000}', { x: 1 }), derive('{x|hash:1000000}', { x: '1' })];
  expect([one, text]).toEqual(['376624', '228062']);
  expect(derive('{x|trim|hash:1000000}', { x: 1 })).toBe(text);
});

test.each([
  [
    '{tenantId}-{at|month}-{id|hash:10|pad:2}',
    [
      '/tenantId is "amber"',
      '/at is 0; month gives "1970-01"',
      '/id is "abc"; hash:10 gives 4; pad:2 gives "04"',
      '{tenantId}-{at|month}-{id|hash:10|pad:2} gives "amber-1970-01-04"',
    ],
  ],
  ['{at|day}', ['/at is 0; day gives "1970-01-01"']],
  ['{nope|default:x}', ['/nope is missing; default:x gives "x"']],
  ['{ nope | default:x y }', ['/nope is missing; default:x y gives "x y"']],
  ['{id}-{nope}', ['/id is "abc"', '/nope is missing']],
  ['{id|month}', ['/id is "abc": the text is not an ISO 8601 date']],
  [
    '{tags}-{id}',
    ['/tags is an object or array: a key is a text, a number, a boolean or null', '/id is "abc"'],
  ],
  ['{esc}', [String.raw`/esc is "\u001b[31m\u0085\u202e"`]],
])('template: %s -> explained step by step', (template, lines) => {
  const document = { tenantId: 'amber', at: 0, id: 'abc', tags: [], esc: '\u001b[31m\u0085\u202e' };
  const { strategy } = parseDerivation(`/pk=${template}`);
  expect(strategy.explain(strategy.paths.map((path) => valueAt(document, path)))).toEqual(lines);
});
