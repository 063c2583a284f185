import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDefinition } from '../../../../src/emulator/account/container-definition.ts';
import { parsePatch, patchDocument, type PatchOperation } from '../../../../src/emulator/documents/patch.ts';
import { Refusal } from '../../../../src/emulator/http/refusal.ts';
import { framed, pathsOf, type Path } from '../../../helpers/written-json.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';

const DEFINITION = parseDefinition({
  partitionKey: { paths: ['/pk', '/deep/key'], kind: 'MultiHash', version: 2 },
});

type Op = readonly [op: string, path: string, value?: string];

function bodyOf(operations: readonly Op[]): string {
  return `[${operations
    .map(
      ([op, path, value]) =>
        `{"op":"${op}","path":${JSON.stringify(path)}${value === undefined ? '' : `,"value":${value}`}}`,
    )
    .join(',')}]`;
}

function patched(text: string, ...operations: Op[]): string {
  return patchDocument(text, parsePatch(bodyOf(operations)), DEFINITION);
}

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

describe('move takes a value out and adds it elsewhere', () => {
  function moved(text: string, from: unknown, path: string): string {
    const body = JSON.stringify([{ op: 'move', from, path }]);
    return patchDocument(text, parsePatch(body), DEFINITION);
  }

  test.each<[string, string, string, string]>([
    ['{"id":"a","color":1.10}', '/color', '/colour', '{"id":"a","colour":1.10}'],
    ['{"a":1,"b":9223372036854775807}', '/b', '/a', '{"a":9223372036854775807}'],
    ['{"o":{"x":[1,{}]},"p":{}}', '/o/x', '/p/y', '{"o":{},"p":{"y":[1,{}]}}'],
    ['{"l":[1,2,3]}', '/l/0', '/l/2', '{"l":[2,3,1]}'],
    ['{"l":[1,2,3]}', '/l/2', '/l/0', '{"l":[3,1,2]}'],
    ['{"l":[1],"x":2}', '/x', '/l/-', '{"l":[1,2]}'],
    ['{"ab":{},"a":1}', '/a', '/ab/c', '{"ab":{"c":1}}'],
  ])('%s from %s to %s -> %s', (text, from, path, expected) => {
    expect(moved(text, from, path)).toBe(expected);
  });

  test.each<[string, unknown, string]>([
    ['{"a":1}', '/b', '/c'],
    ['{"a":1}', '/a', '/b/c'],
    ['{"a":{}}', '/a', '/a/b'],
    ['{"a":[1]}', '/a/-', '/b'],
    ['{"id":"1"}', '/id', '/b'],
    ['{"a":1}', '/a', '/pk'],
    ['{"pk":1}', '/pk', '/b'],
    ['{"a":1}', '/a', '/_ts'],
    ['{"a":1}', 'a', '/b'],
    ['{"a":1}', undefined, '/b'],
  ])('%s from %j to %s -> refused', (text, from, path) => {
    expect(refusalOf(() => moved(text, from, path))).toBe(400);
  });
});

describe('each operation changes one place of the text', () => {
  test.each<[string, Op, string]>([
    // set and add on objects
    ['{"id":"a","n":1.10}', ['set', '/x', '2'], '{"id":"a","n":1.10,"x":2}'],
    ['{"id":"a","x":1}', ['set', '/x', '{"y":1.10}'], '{"id":"a","x":{"y":1.10}}'],
    ['{"x":1}', ['add', '/x', 'null'], '{"x":null}'],
    ['{}', ['add', '/x', '-0'], '{"x":-0}'],
    ['{ }', ['set', '/x', '1'], '{ "x":1}'],
    ['{"o":{}}', ['set', '/o/x', '9223372036854775807'], '{"o":{"x":9223372036854775807}}'],
    ['{"o":{"p":{"q":1}}}', ['set', '/o/p/q', '[]'], '{"o":{"p":{"q":[]}}}'],
    ['{"o":{}}', ['set', '/o/__proto__', '1'], '{"o":{"__proto__":1}}'],
    ['{"o":{}}', ['set', '/o/', '1'], '{"o":{"":1}}'],
    ['{"o":{}}', ['add', '/o/a b"c', '1'], '{"o":{"a b\\"c":1}}'],
    ['{"o":{"0":1}}', ['set', '/o/0', '2'], '{"o":{"0":2}}'],
    // escapes
    ['{"a/b":1}', ['set', '/a~1b', '2'], '{"a/b":2}'],
    ['{"a~b":1}', ['set', '/a~0b', '2'], '{"a~b":2}'],
    ['{"~1":1}', ['set', '/~01', '2'], '{"~1":2}'],
    ['{}', ['add', '/x~1~0', '1'], '{"x/~":1}'],
    ['{"\\u0078":1}', ['set', '/x', '2'], '{"\\u0078":2}'],
    // arrays
    ['{"l":[1,2]}', ['add', '/l/0', '9'], '{"l":[9,1,2]}'],
    ['{"l":[1,2]}', ['add', '/l/1', '9'], '{"l":[1,9,2]}'],
    ['{"l":[1,2]}', ['add', '/l/2', '9'], '{"l":[1,2,9]}'],
    ['{"l":[1,2]}', ['add', '/l/-', '9'], '{"l":[1,2,9]}'],
    ['{"l":[ ]}', ['add', '/l/-', '9'], '{"l":[ 9]}'],
    ['{"l":[]}', ['set', '/l/0', '9'], '{"l":[9]}'],
    ['{"l":[1,2]}', ['set', '/l/1', '9'], '{"l":[1,9]}'],
    ['{"l":[1,2]}', ['set', '/l/2', '9'], '{"l":[1,2,9]}'],
    ['{"l":[[1],[2]]}', ['add', '/l/1/0', '9'], '{"l":[[1],[9,2]]}'],
    ['{"l":[{"x":1}]}', ['replace', '/l/0/x', '2'], '{"l":[{"x":2}]}'],
    // replace and remove
    ['{"a":1,"b":2}', ['replace', '/b', '"x"'], '{"a":1,"b":"x"}'],
    ['{"l":[1,2,3]}', ['replace', '/l/1', '9'], '{"l":[1,9,3]}'],
    ['{"a":1,"b":2}', ['remove', '/a'], '{"b":2}'],
    ['{"a":1,"b":2}', ['remove', '/b'], '{"a":1}'],
    ['{"l":[1,2,3]}', ['remove', '/l/1'], '{"l":[1,3]}'],
    ['{"l":[1]}', ['remove', '/l/0'], '{"l":[]}'],
    ['{"o":{"x":1},"b":2}', ['remove', '/o/x'], '{"o":{},"b":2}'],
    // incr
    ['{"n":1}', ['incr', '/n', '2'], '{"n":3}'],
    ['{"n":1}', ['incr', '/n', '-5'], '{"n":-4}'],
    ['{}', ['incr', '/n', '5'], '{"n":5}'],
    ['{"n":9007199254740993}', ['incr', '/n', '1'], '{"n":9007199254740994}'],
    ['{"n":9223372036854775806}', ['incr', '/n', '1'], '{"n":9223372036854775807}'],
    ['{"n":1.5}', ['incr', '/n', '1'], '{"n":2.5}'],
    ['{"n":1}', ['incr', '/n', '0.5'], '{"n":1.5}'],
    ['{"l":[1,2]}', ['incr', '/l/1', '5'], '{"l":[1,7]}'],
  ])('%s with %j -> %s', (text, operation, expected) => {
    expect(patched(text, operation)).toBe(expected);
  });

  test('several operations -> each sees the result of the one before', () => {
    expect(
      patched(
        '{"l":[]}',
        ['add', '/l/-', '1'],
        ['add', '/l/0', '{"n":1}'],
        ['incr', '/l/0/n', '1'],
        ['remove', '/l/1'],
        ['set', '/x', '[]'],
      ),
    ).toBe('{"l":[{"n":2}],"x":[]}');
  });
});

describe('an operation that does not fit -> 400', () => {
  test.each<[string, Op]>([
    ['{"a":1}', ['replace', '/b', '1']],
    ['{"a":1}', ['remove', '/b']],
    ['{"a":1}', ['set', '/b/c', '1']],
    ['{"a":1}', ['set', '/a/b', '1']],
    ['{"a":"{}"}', ['set', '/a/b', '1']],
    ['{"a":null}', ['set', '/a/b', '1']],
    ['{}', ['set', '/__proto__/x', '1']],
    ['{}', ['set', '/constructor/x', '1']],
    ['{"l":[1]}', ['set', '/l/2', '1']],
    ['{"l":[1]}', ['add', '/l/5', '1']],
    ['{"l":[1]}', ['add', '/l/x', '1']],
    ['{"l":[1]}', ['add', '/l/-1', '1']],
    ['{"l":[1]}', ['add', '/l/1.0', '1']],
    ['{"l":[1]}', ['remove', '/l/1']],
    ['{"l":[1]}', ['remove', '/l/length']],
    // '-' is where something would be added: there is nothing there, not even in a list of such names
    ['{"l":[1]}', ['remove', '/l/-']],
    ['{"l":["-","x"]}', ['remove', '/l/-']],
    ['{"l":["-","x"]}', ['replace', '/l/-', '1']],
    ['{"l":[1]}', ['replace', '/l/1', '1']],
    ['{"l":[1]}', ['incr', '/l/1', '1']],
    ['{"l":[1]}', ['incr', '/l/-', '1']],
    ['{"l":[[1]]}', ['add', '/l/-/0', '1']],
    ['{"n":"1"}', ['incr', '/n', '1']],
    ['{"n":1}', ['incr', '/n', '"1"']],
    ['{"n":null}', ['incr', '/n', '1']],
    ['{"n":true}', ['incr', '/n', '1']],
    ['{"n":[1]}', ['incr', '/n', '1']],
    ['{"n":[]}', ['incr', '/n', '1']],
    ['{"n":{}}', ['incr', '/n', '1']],
    ['{"n":1}', ['incr', '/n', 'null']],
    ['{"n":1}', ['incr', '/n', '[]']],
    ['{"n":1.7e308}', ['incr', '/n', '1.7e308']],
  ])('%s with %j', (text, operation) => {
    expect(refusalOf(() => patched(text, operation))).toBe(400);
  });

  test.each([
    '/id',
    '/_rid',
    '/_self',
    '/_etag',
    '/_ts',
    '/_attachments',
    '/pk',
    '/pk/sub',
    '/deep',
    '/deep/key',
    '/deep/key/more',
    '/_ts/x',
  ])('the fixed path %s, by every operation -> refused', (path) => {
    for (const op of ['set', 'add', 'replace', 'remove', 'incr']) {
      expect(refusalOf(() => patched('{"id":"a","pk":1,"deep":{"key":1,"x":1}}', [op, path, '1']))).toBe(400);
    }
  });

  test('a path similar to a fixed one -> may change', () => {
    expect(
      patched(
        '{"deep":{"key":1,"x":1},"pkk":1,"o":{"id":1}}',
        ['set', '/deep/x', '2'],
        ['set', '/pkk', '2'],
        ['set', '/o/id', '2'],
      ),
    ).toBe('{"deep":{"key":1,"x":2},"pkk":2,"o":{"id":2}}');
  });
});

describe('a body', () => {
  test.each([
    '', '{', 'null', '1', '"x"', '[]', '{}', '{"operations":[]}', '{"operations":{}}', '{"operations":1}', '[1]', '[null]', '[[]]',
    '[{"op":"set"}]', '[{"op":"set","path":"x","value":1}]', '[{"op":"set","path":"/","value":1}]', '[{"op":"set","path":"","value":1}]',
    '[{"op":"set","path":"/x"}]', '[{"op":"copy","path":"/x","from":"/y"}]', '[{"op":"constructor","path":"/x","value":1}]',
    '[{"op":1,"path":"/x","value":1}]', '[{"op":"set","path":["/x"],"value":1}]', '{"condition":1,"operations":[{"op":"remove","path":"/x"}]}',
    `[${Array(11).fill('{"op":"remove","path":"/x"}').join(',')}]`, `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  ])('%.60s -> refused', (body) => {
    expect(refusalOf(() => parsePatch(body))).toBe(400);
  }); // prettier-ignore

  test('a list or an object -> values keep their spelling', () => {
    const operations: PatchOperation[] = [{ op: 'set', path: '/x', value: '1.10' }];
    expect(parsePatch(' [ { "op":"set","path":"/x", "value" : 1.10 } ] ')).toEqual({
      operations,
      condition: undefined,
    });
    expect(parsePatch('{"condition":"FROM c","operations":[{"value":1.10,"op":"set","path":"/x"}]}')).toEqual(
      { operations, condition: 'FROM c' },
    );
    expect(parsePatch('[{"op":"set","path":"/x","value":0,"v\\u0061lue":1.10}]').operations).toEqual(
      operations,
    );
    expect(parsePatch('[{"op":"remove","path":"/x"}]').operations).toEqual([
      { op: 'remove', path: '/x', value: undefined },
    ]);
    expect(
      parsePatch(`[${Array(10).fill('{"op":"remove","path":"/x"}').join(',')}]`).operations,
    ).toHaveLength(10);
  });

  test.each<[string, number]>([
    ['FROM c WHERE c.n = 1', 0],
    ['from c where c.n > 0 AND IS_DEFINED(c.id)', 0],
    ['FROM c WHERE c.n = 2', 412],
    ['FROM c WHERE c.missing = 1', 412],
    ['FROM c WHERE', 400],
    ['nonsense', 400],
  ])('with the condition %s -> %i', (condition, status) => {
    const body = JSON.stringify({ condition, operations: [{ op: 'set', path: '/x', value: 1 }] });
    expect(refusalOf(() => patchDocument('{"id":"a","n":1}', parsePatch(body), DEFINITION))).toBe(status);
  });
});

/** The same operation on a parsed value; false when it does not fit. */
function applied(parent: unknown, op: string, last: string | number, value: unknown): boolean {
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last);
    const isThere = last !== '-' && index < parent.length;
    if (op === 'remove') return isThere && parent.splice(index, 1).length === 1;
    if (op === 'replace' || (op === 'set' && isThere))
      return isThere && parent.splice(index, 1, value).length === 1;
    return index <= parent.length && parent.splice(index, 0, value).length === 0;
  }
  const object = parent as Record<string, unknown>;
  const name = String(last);
  const isThere = Object.hasOwn(object, name);
  if (op === 'remove') return isThere && Reflect.deleteProperty(object, name);
  if (op === 'replace' && !isThere) return false;
  return Reflect.defineProperty(object, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function pointer(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

test('any operation on any document -> the same as on the parsed value', () => {
  const operation = fc.tuple(
    fc.constantFrom('set', 'add', 'replace', 'remove'),
    fc.nat(),
    fc.constantFrom<string | number>('new', '-', 0, 1, 2),
    fc.boolean(),
  );
  fc.assert(
    fc.property(framed, operation, ({ text, doubled }, [op, pick, fresh, atPresent]) => {
      fc.pre(!doubled);
      const document = `{"root":${text}}`;
      const copy: unknown = JSON.parse(document);
      const parents = [...pathsOf(copy)].filter(
        ({ path, value }) => path.length > 0 && typeof value === 'object' && value !== null,
      );
      fc.pre(parents.length > 0);
      const { path, value: parent } = parents[pick % parents.length] ?? { path: [], value: {} };
      const present = Object.keys(parent as object);
      const isList = Array.isArray(parent);
      const last = atPresent && present.length > 0 ? (present[pick % present.length] ?? '') : fresh;
      fc.pre(!isList || last !== 'new');
      const fits = applied(parent, op, last, { v: 1 });
      const work = (): unknown => JSON.parse(patched(document, [op, pointer([...path, last]), '{"v":1}']));
      const outcome = fits ? work() : refusalOf(work);
      expect(outcome).toEqual(fits ? copy : 400);
    }),
    { numRuns: draws(2000) },
  );
});
