import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSamePath, overlap, parsePath, printPath, valueAt } from '../../../src/keys/path.ts';
import { composite, type Path } from '../../../src/keys/strategies/strategy.ts';
import { complaint } from '../../helpers/key-plan.ts';
import '../../helpers/seed.ts';

describe('a path as text', () => {
  test.each<[text: string, path: string[], printed?: string]>([
    ['/id', ['id']],
    ['/address/zip', ['address', 'zip']],
    ['/a/"b c"/d', ['a', 'b c', 'd']],
    ["/a/'b c'", ['a', 'b c'], '/a/"b c"'],
    ['/"a"/b', ['a', 'b'], '/a/b'],
    ['/"a/b"', ['a/b']],
    [String.raw`/"say \"hi\""/"back\\slash"`, ['say "hi"', String.raw`back\slash`]],
    ['/my-key', ['my-key'], '/"my-key"'],
    ['/first name', ['first name'], '/"first name"'],
    ['/__proto__/constructor', ['__proto__', 'constructor']],
    ['/größe', ['größe'], '/"größe"'],
    ['/"0"/1', ['0', '1'], '/0/1'],
    ['/a=b', ['a=b'], '/"a=b"'],
  ])('%s -> %j', (text, path, printed = text) => {
    expect(parsePath(text)).toEqual(path);
    expect(printPath(path)).toBe(printed);
  });

  test.each([
    ['', 'an empty path is wrong at character 1', 'a path begins with a slash'],
    ['id', 'id is wrong at character 1', 'a path begins with a slash'],
    ['/', '/ is wrong at character 2', 'a step has a name'],
    ['/a/', '/a/ is wrong at character 4', 'a step has a name'],
    ['/a//b', '/a//b is wrong at character 4', 'a step has a name'],
    ['/""', '/"" is wrong at character 2', 'a step has a name'],
    ['/a/"b', '/a/"b is wrong at character 4', 'this quote is never closed'],
    ['/"a"b', '/"a"b is wrong at character 5', 'nothing may follow a quoted step but another one'],
    ['/a"b', '/a"b is wrong at character 3', 'only a quoted step holds such a character'],
    ['/ a', '/ a is wrong at character 2', 'a step that begins or ends with a space is quoted'],
  ])('%j -> refused with its position', (text, message, why) => {
    expect(complaint(() => parsePath(text))).toEqual([
      message,
      why,
      'write a path like /tenantId, /address/zip or /a/"b c"',
    ]);
  });

  test('any path -> printed so that it reads back', () => {
    const paths = fc.array(fc.string({ unit: 'binary', minLength: 1 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(paths, (path) => {
        expect(parsePath(printPath(path))).toEqual(path);
      }),
    );
  });
});

test.each<[Path, Path, same: boolean, overlapping: boolean]>([
  [['a'], ['a'], true, true],
  [['a'], ['a', 'b'], false, true],
  [['a', 'b'], ['a'], false, true],
  [['a', 'b'], ['a', 'c'], false, false],
  [['a'], ['ab'], false, false],
])('%j and %j -> the same %j, overlapping %j', (one, other, same, overlapping) => {
  expect([isSamePath(one, other), overlap(one, other)]).toEqual([same, overlapping]);
});

describe('the value at a path', () => {
  test.each<[name: string, document: unknown, path: string, value: unknown]>([
    ['text', { a: 'x' }, '/a', 'x'],
    ['null', { a: null }, '/a', null],
    ['nothing', { a: 1 }, '/b', undefined],
    ['below a text', { a: 'x' }, '/a/length', undefined],
    ['below null', { a: null }, '/a/b', undefined],
    ['below an array', { a: [{ b: 1 }] }, '/a/0/b', undefined],
    ['an array', { a: [] }, '/a', composite],
    ['an object', { a: {} }, '/a', composite],
    ['inherited', {}, '/constructor', undefined],
    ['__proto__ unset', {}, '/__proto__', undefined],
    ['__proto__ as JSON has it', JSON.parse('{"__proto__":{"b":1}}'), '/__proto__/b', 1],
    ['a Date', { a: new Date(0) }, '/a', '1970-01-01T00:00:00.000Z'],
    ['no Date', { a: new Date(NaN) }, '/a', null],
    ['a bigint', { a: 1n }, '/a', composite],
    ['a function', { a: () => 1 }, '/a', undefined],
    ['no document', null, '/a', undefined],
  ])('%s -> this value, or none', (_name, document, path, value) => {
    expect(valueAt(document, parsePath(path))).toBe(value);
  });
});
