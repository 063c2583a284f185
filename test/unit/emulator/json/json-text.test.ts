import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  appendMember,
  elementsOf,
  insertElement,
  maxDepth,
  membersOf,
  normalizeNumbers,
  removeStep,
  replaceSpan,
  skipSpace,
  valueSpan,
  withoutMembers,
} from '../../../../src/emulator/json/json-text.ts';
import { framed, NAMES, pathsOf, written, type Path } from '../../../helpers/written-json.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';

const containersIn = (text: string): { path: Path; value: object; at: number }[] =>
  [...pathsOf(JSON.parse(text))]
    .filter(({ value }) => typeof value === 'object' && value !== null)
    .map(({ path, value }) => ({ path, value: value as object, at: valueSpan(text, path)?.start ?? -1 }));

/** A copy of a value in which the container at a path was changed. */
function edited(text: string, path: Path, change: (container: never) => void): unknown {
  const copy: unknown = JSON.parse(text);
  let at: unknown = copy;
  for (const step of path) at = Object.getOwnPropertyDescriptor(at, step)?.value;
  change(at as never);
  return copy;
}

function define(container: object, name: string, value: unknown): void {
  Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}

describe('valueSpan', () => {
  test('every path of every text -> the value of JSON.parse', () => {
    fc.assert(
      fc.property(framed, ({ text }) => {
        for (const { path, value } of pathsOf(JSON.parse(text))) {
          const span = valueSpan(text, path);
          if (span === undefined) throw new Error(`nothing at ${JSON.stringify(path)}`);
          const found = text.slice(span.start, span.end);
          expect(found).toBe(found.trim());
          expect(JSON.parse(found)).toEqual(value);
        }
      }),
      { numRuns: draws(1500) },
    );
  });

  test('a path without a value -> undefined', () => {
    fc.assert(
      fc.property(
        framed,
        fc.array(fc.oneof(fc.constantFrom(...NAMES), fc.nat(5)), { minLength: 1, maxLength: 3 }),
        ({ text }, path) => {
          const known = new Set([...pathsOf(JSON.parse(text))].map((each) => JSON.stringify(each.path)));
          expect(valueSpan(text, path) !== undefined).toBe(known.has(JSON.stringify(path)));
        },
      ),
      { numRuns: draws(1500) },
    );
  });

  test.each<[string, Path, string | undefined]>([
    ['{"a":1,"a":2}', ['a'], '2'],
    ['{"a":{"x":1},"a":{"y":2}}', ['a', 'x'], undefined],
    ['{"\\u0061":1}', ['a'], '1'],
    ['{"__proto__":{"b":1}}', ['__proto__', 'b'], '1'],
    ['{}', ['__proto__'], undefined],
    ['{}', ['constructor'], undefined],
    ['[1,[2,3]]', [1, 0], '2'],
    ['[1]', ['0'], undefined],
    ['[1]', ['length'], undefined],
    ['{"0":1}', [0], undefined],
    ['[]', [0], undefined],
    ['"text"', [0], undefined],
    [' \n{ "a" :\t[ 1 , 2 ] } ', ['a', 1], '2'],
    ['{"a":"}\\\\"}', ['a'], '"}\\\\"'],
    ['7', [], '7'],
  ])('%s at %j -> %s', (text, path, expected) => {
    const span = valueSpan(text, path);
    expect(span === undefined ? undefined : text.slice(span.start, span.end)).toBe(expected);
  });
});

describe('membersOf and elementsOf', () => {
  test('escaped and repeated names -> every member and element', () => {
    const text = ' { "a" : 1 , "\\u0061":[2] ,"":"" } ';
    const members = [...membersOf(text, skipSpace(text, 0))];
    expect(
      members.map(({ name, start, valueStart, end }) => [
        name,
        text.slice(start, end),
        text.slice(valueStart, end),
      ]),
    ).toEqual([
      ['a', '"a" : 1', '1'],
      ['a', '"\\u0061":[2]', '[2]'],
      ['', '"":""', '""'],
    ]);
    const list = '[ 1 ,"a,b" , [ ] ,{}]';
    expect([...elementsOf(list, 0)].map(({ start, end }) => list.slice(start, end))).toEqual([
      '1',
      '"a,b"',
      '[ ]',
      '{}',
    ]);
    expect([...elementsOf('[ ]', 0), ...membersOf('{ }', 0)]).toEqual([]);
  });

  test('valueSpan: something follows the value -> it ends where the value ends', () => {
    fc.assert(
      fc.property(written, fc.constantFrom('', ' ', ',', '}', ']', '\n'), ({ text }, after) => {
        expect(valueSpan(text + after, [])?.end).toBe(text.length);
      }),
    );
  });
});

describe('withoutMembers', () => {
  const DROP = new Set(['a', 'id', '__proto__', 'é']);

  test('named members -> dropped from the outermost object only', () => {
    fc.assert(
      fc.property(
        framed.filter(({ text }) => text.trimStart().startsWith('{')),
        ({ text }) => {
          const result = withoutMembers(text, DROP);
          expect(JSON.parse(result)).toEqual(
            edited(text, [], (top: Record<string, unknown>) => {
              for (const name of DROP) Reflect.deleteProperty(top, name);
            }),
          );
          const kept = [...membersOf(text, skipSpace(text, 0))].filter(({ name }) => !DROP.has(name));
          const left = [...membersOf(result, skipSpace(result, 0))];
          expect(left.map(({ start, end }) => result.slice(start, end))).toEqual(
            kept.map(({ start, end }) => text.slice(start, end)),
          );
        },
      ),
      { numRuns: draws(1500) },
    );
  });

  test.each([
    ['{"a":1,"b":2,"c":3}', '{"b":2,"c":3}', 'a'],
    ['{"a":1,"b":2,"c":3}', '{"a":1,"c":3}', 'b'],
    ['{"a":1,"b":2,"c":3}', '{"a":1,"b":2}', 'c'],
    ['{"a":1,"b":2}', '{}', 'ab'],
    ['{ "a" : 1 , "b" : 2 }', '{ "b" : 2 }', 'a'],
    ['{"a":1,"b":2,"a":3}', '{"b":2}', 'a'],
    ['{"b":{"a":1}}', '{"b":{"a":1}}', 'a'],
    ['{}', '{}', 'a'],
    ['{"a":"}"}', '{}', 'a'],
  ])('%s -> %s without %s', (text, expected, names) => {
    expect(withoutMembers(text, new Set(names))).toBe(expected);
  });
});

/** The two texts are equal but for one place: the longest common head and tail cover the shorter one. */
function differAtOnePlace(left: string, right: string): boolean {
  const [short, long] = left.length <= right.length ? [left, right] : [right, left];
  let headLength = 0;
  while (headLength < short.length && short[headLength] === long[headLength]) headLength += 1;
  return long.endsWith(short.slice(headLength));
}

describe('edits', () => {
  const value = fc.constantFrom('1', '"x"', '{"y":[1.10]}', '[]', 'null');

  test('appendMember: any object -> one more member, nothing else changes', () => {
    fc.assert(
      fc.property(framed, fc.constantFrom(...NAMES), value, ({ text, doubled }, name, json) => {
        fc.pre(!doubled);
        for (const { path, value: container, at } of containersIn(text)) {
          if (Array.isArray(container) || Object.hasOwn(container, name)) continue;
          const result = appendMember(text, at, name, json);
          expect(JSON.parse(result)).toEqual(
            edited(text, path, (object: object) => define(object, name, JSON.parse(json))),
          );
          expect(differAtOnePlace(text, result)).toBe(true);
        }
      }),
    );
  });

  const parsedOrNot = (text: string | undefined): unknown =>
    text === undefined ? undefined : JSON.parse(text);

  test('insertElement: any array -> one more element, nothing else changes', () => {
    fc.assert(
      fc.property(framed, fc.nat(5), value, ({ text, doubled }, index, json) => {
        fc.pre(!doubled);
        for (const { path, value: container, at } of containersIn(text)) {
          if (!Array.isArray(container)) continue;
          const result = insertElement(text, at, index, json);
          const expected =
            index > container.length
              ? undefined
              : edited(text, path, (list: unknown[]) => list.splice(index, 0, JSON.parse(json)));
          expect(parsedOrNot(result)).toEqual(expected);
          expect(differAtOnePlace(text, result ?? text)).toBe(true);
        }
      }),
    );
  });

  test('removeStep: any step -> one member or element less, nothing else changes', () => {
    const without = (text: string, path: Path, step: string | number): unknown =>
      edited(text, path, (container: object) => {
        if (Array.isArray(container)) container.splice(Number(step), 1);
        else Reflect.deleteProperty(container, step);
      });
    fc.assert(
      fc.property(framed, ({ text, doubled }) => {
        fc.pre(!doubled);
        for (const { path, value: container, at } of containersIn(text)) {
          for (const step of Array.isArray(container) ? container.keys() : Object.keys(container)) {
            const result = removeStep(text, at, step);
            expect(parsedOrNot(result)).toEqual(without(text, path, step));
            expect(differAtOnePlace(text, result ?? '')).toBe(true);
          }
          const missing = Array.isArray(container) ? container.length : 'no such';
          expect(removeStep(text, at, missing)).toBeUndefined();
        }
      }),
    );
  });

  test('replaceSpan: any path -> another value, nothing else changes', () => {
    fc.assert(
      fc.property(framed, value, ({ text, doubled }, json) => {
        fc.pre(!doubled);
        for (const { path } of pathsOf(JSON.parse(text))) {
          const span = valueSpan(text, path) ?? { start: 0, end: 0 };
          const result = replaceSpan(text, span, json);
          expect(result.slice(0, span.start) + result.slice(result.length - (text.length - span.end))).toBe(
            text.slice(0, span.start) + text.slice(span.end),
          );
          const last = path.at(-1);
          const expected =
            last === undefined
              ? JSON.parse(json)
              : edited(text, path.slice(0, -1), (parent: object) =>
                  define(parent, String(last), JSON.parse(json)),
                );
          expect(JSON.parse(result)).toEqual(expected);
        }
      }),
    );
  });
});

describe('normalizeNumbers', () => {
  test.each([
    ['-0', '0'],
    ['0', '0'],
    ['-0.0', '0'],
    ['-0e5', '0'],
    ['1.10', '1.1'],
    ['3.0', '3'],
    ['1e3', '1000'],
    ['1E+2', '100'],
    ['100e-2', '1'],
    ['1.50e1', '15'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9223372036854775808', '9223372036854776000'],
    ['123456789012345678901234567890', '1.2345678901234568e+29'],
    ['5e-324', '5e-324'],
    ['1e400', '1e400'],
    ['"1.10"', '"1.10"'],
    ['"a\\"-0 1.10"', '"a\\"-0 1.10"'],
    ['{"1.10":1.10,"-0":[-0,3.0]}', '{"1.10":1.1,"-0":[0,3]}'],
    ['[true,null]', '[true,null]'],
  ])('%s -> %s', (text, expected) => {
    expect(normalizeNumbers(text)).toBe(expected);
  });

  test('any text -> equal values, same strings and space, idempotent', () => {
    fc.assert(
      fc.property(framed, ({ text }) => {
        const result = normalizeNumbers(text);
        const withoutMinusZero = (json: string): unknown =>
          JSON.parse(json, (_name, value: unknown) => (value === 0 ? 0 : value));
        expect(withoutMinusZero(result)).toEqual(withoutMinusZero(text));
        const withoutNumbers = (json: string): string =>
          json.replace(/"(?:[^"\\]|\\.)*"|[-\d][\d.eE+-]*/g, (token) =>
            token.startsWith('"') ? token : '#',
          );
        expect(withoutNumbers(result)).toBe(withoutNumbers(text));
        expect(normalizeNumbers(result)).toBe(result);
      }),
      { numRuns: draws(1000) },
    );
  });
});

describe('maxDepth', () => {
  test('any text -> the depth of the parsed value', () => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    fc.assert(
      fc.property(framed, ({ text, doubled }) => {
        fc.pre(!doubled);
        expect(maxDepth(text)).toBe(depthOf(JSON.parse(text)));
      }),
      { numRuns: draws(1000) },
    );
  });

  test('invalid JSON -> a number', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', 'a', ','), maxLength: 40 }),
        (text) => {
          expect(maxDepth(text)).toBeGreaterThanOrEqual(0);
        },
      ),
    );
    expect(maxDepth('['.repeat(1_000_000))).toBe(1_000_000);
    expect(maxDepth('"\\')).toBe(0);
  });
});
