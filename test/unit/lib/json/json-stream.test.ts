import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../../src/lib/errors.ts';
import { readJson } from '../../../../src/lib/json/json-stream.ts';
import '../../../helpers/seed.ts';

async function* pieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function read(text: string | Uint8Array, sizes: readonly number[] = [1 << 20]): Promise<unknown[]> {
  const items: unknown[] = [];
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for await (const { value, line } of readJson(pieces(bytes, sizes), 'in.json')) items.push([line, value]);
  return items;
}

describe('JSON stream: values in any layout -> found', () => {
  test.each<[name: string, text: string, items: unknown[]]>([
    ['nothing', '', []],
    ['space', ' \r\n\t', []],
    [
      'one a line',
      '{"a":1}\n{"b":2}\n',
      [
        [1, { a: 1 }],
        [2, { b: 2 }],
      ],
    ],
    [
      'lines of Windows, one of them empty',
      '{"a":1}\r\n\r\n{"b":2}',
      [
        [1, { a: 1 }],
        [3, { b: 2 }],
      ],
    ],
    [
      'side by side',
      '{"a":1}{"b":2} 3',
      [
        [1, { a: 1 }],
        [1, { b: 2 }],
        [1, 3],
      ],
    ],
    [
      'pretty',
      '{\n  "a": [\n 1 ]\n}\n{\n}',
      [
        [1, { a: [1] }],
        [5, {}],
      ],
    ],
    [
      'an array',
      '[{"a":1},\n {"b":[2]}\n]\n',
      [
        [1, { a: 1 }],
        [2, { b: [2] }],
      ],
    ],
    ['an empty array', ' [ ] ', []],
    [
      'arrays in a row',
      '[1,2]\n[3]',
      [
        [1, 1],
        [1, 2],
        [2, 3],
      ],
    ],
    [
      'an array in an array',
      '[[1],{}]',
      [
        [1, [1]],
        [1, {}],
      ],
    ],
    [
      'words',
      'null true -1.5e3\n"x"',
      [
        [1, null],
        [1, true],
        [1, -1500],
        [2, 'x'],
      ],
    ],
    [
      'braces in texts',
      String.raw`{"a":"}{][\"\\"}` + '{"b":"\\\\"}',
      [
        [1, { a: '}{]["\\' }],
        [1, { b: '\\' }],
      ],
    ],
    ['a mark at the start', '\ufeff{"a":1}', [[1, { a: 1 }]]],
    ['all of Unicode', '{"é日🎉":"é日🎉"}', [[1, { 'é日🎉': 'é日🎉' }]]],
  ])('%s', async (_name, text, items) => {
    await expect(read(text)).resolves.toEqual(items);
    await expect(read(text, [1])).resolves.toEqual(items);
  });

  test('JSON stream: bytes in pieces of any size -> the same values', async () => {
    const values = fc.array(fc.oneof(fc.object(), fc.string({ unit: 'binary' }), fc.integer()), {
      maxLength: 6,
    });
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(values, sizes, fc.constantFrom(0, 2), async (items, pieces, space) => {
        const expected = items.map((item): unknown => JSON.parse(JSON.stringify(item)));
        const texts = items.map((item) => JSON.stringify(item, null, space));
        const found = async (text: string): Promise<unknown[]> =>
          (await read(text, pieces)).map((item) => (item as [number, unknown])[1]);
        expect(await found(texts.join('\n'))).toEqual(expected);
        expect(await found(`[${texts.join(' , ')}]`)).toEqual(expected);
      }),
    );
  });
});

/** What V8, whose words change with Node, has against a value; without a position, all we know is its beginning. */
function whyOf(value: string): string {
  try {
    JSON.parse(value);
  } catch (error) {
    const { message } = error as Error;
    const end = message.indexOf(' in JSON at position ');
    if (end >= 0) return message.slice(0, end);
    return `${message.slice(0, message.indexOf(', "'))} in the value that begins there`;
  }
  throw new Error(`${value} is JSON`);
}

describe('JSON stream: invalid input -> an error with its line', () => {
  test.each<[text: string | Uint8Array, message: string, why: string]>([
    ['{"a":1}\n{"b":}\n', 'in.json is not JSON at line 2', whyOf('{"b":}')],
    ['{"a":1}\n{\n"b":1,\n"c" 2}', 'in.json is not JSON at line 4', whyOf('{\n"b":1,\n"c" 2}')],
    ['{"a":1}\nabc\n', 'in.json is not JSON at line 2', whyOf('abc')],
    [
      '{"a":1}\n{"b":2\n{"c":3}\n',
      'in.json is not JSON at line 2',
      'the input ends before the value that begins there does',
    ],
    ['{"a":"x', 'in.json is not JSON at line 1', 'the input ends before the value that begins there does'],
    ['"x', 'in.json is not JSON at line 1', 'the input ends before the value that begins there does'],
    [
      '\n[{"a":1},\n',
      'in.json is not JSON at line 2',
      'the input ends before the array that begins there does',
    ],
    [
      '[{"a":1}\n{"b":2}]',
      'in.json is not JSON at line 2',
      'a comma is missing between the items of the array',
    ],
    ['[{"a":1},\n]', 'in.json is not JSON at line 2', 'after a comma the array ends, without another item'],
    ['{"a":1}}', 'in.json is not JSON at line 1', whyOf('}')],
    ['{"a":1},{"b":2}', 'in.json is not JSON at line 1', whyOf(',')],
    [Buffer.from('{"a":1}\n\u0000', 'utf16le'), 'in.json is not JSON at line 1', whyOf('{\u0000')],
    [Uint8Array.of(0x7b, 0xff), 'in.json is not UTF-8 text', 'bytes around line 1 are not valid UTF-8'],
    [Uint8Array.of(0x22, 0xc3), 'in.json is not UTF-8 text', 'bytes around line 1 are not valid UTF-8'],
    [
      `{"a":"${'x'.repeat(9 * 1024 * 1024)}`,
      'in.json is not JSON at line 1',
      'the value that begins there is longer than 8388608 characters',
    ],
  ])('case %#', async (text, message, why) => {
    const error = await read(text, [1 << 16]).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ message, why });
  });

  test('JSON stream: invalid document -> the error does not show its text', async () => {
    const error = await read('{"secret": "hunter2", oops}').catch((error: unknown) => error);
    expect((error as UsageError).why).not.toContain('hunter2');
  });
});
