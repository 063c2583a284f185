/** Identities are equal exactly if id and key values are, typed; how they are spelled and hashed makes no difference. */
import { HASH_WORDS, hashBytes, hashContentBytes, mapKeyOfWords } from '../../../src/documents/hash.ts';
import { hashText } from '../../helpers/hash-text.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IdentityHasher, RowIdentity } from '../../../src/documents/identity.ts';
import { latestVersionScan } from '../../../src/documents/page-scan.ts';
import type { KeyComponent } from '../../../src/epk/effective-key.ts';
import '../../helpers/seed.ts';
import { anyNumber, anyScalar, anyString, anyText } from './generate.ts';
import { murmur128, murmurOfContent } from './plain-murmur.ts';
import { draws } from '../../helpers/generated.ts';

const LEVELS = [['a'], ['b', 'c'], ['d']];
const scan = latestVersionScan(LEVELS);
const rowIdentity = new RowIdentity(scan, LEVELS);
const hasher = new IdentityHasher();
const out = new Uint32Array(2 * HASH_WORDS);

/** From the bytes of a document with these values, JSON each; undefined leaves one out. */
function fromBytes(values: ReadonlyArray<string | undefined>): string {
  const [id, a, c, d] = values;
  const member = (name: string, json: string | undefined): string[] =>
    json === undefined ? [] : [`"${name}": ${json}`];
  const below = member('c', c).join('');
  const members = [...member('d', d), ...member('id', id), ...member('a', a), `"b":{${below}}`];
  scan.scan(Buffer.from(`{"Documents":[{},{${members.join(',')}}]}`));
  rowIdentity.read(1, out, HASH_WORDS);
  return hashText(out, HASH_WORDS);
}

/** From decoded values. */
function fromValues(values: readonly KeyComponent[]): string {
  hasher.clear();
  for (const value of values) hasher.add(value);
  hasher.finish(out, 0);
  return hashText(out, 0);
}

function decoded(json: string | undefined): KeyComponent {
  return json === undefined ? undefined : (JSON.parse(json) as KeyComponent);
}

const anyLevel = fc.option(fc.oneof(anyScalar, anyNumber, anyString), { nil: undefined });
const anyIdentity = fc.tuple(anyString, anyLevel, anyLevel, anyLevel);

describe('identity', () => {
  test('from bytes or from values -> the same', () => {
    fc.assert(
      fc.property(anyIdentity, (values) => {
        expect(fromBytes(values)).toBe(fromValues(values.map(decoded)));
      }),
      { numRuns: draws(3000) },
    );
  });

  test('two documents -> equal exactly if all typed values are', () => {
    const same = (a: KeyComponent, b: KeyComponent): boolean => a === b;
    const few = fc.constantFrom(
      undefined,
      'null',
      '0',
      '-0',
      '""',
      '"0"',
      '"a"',
      '"\\u0061"',
      '"ab"',
      'true',
    );
    const narrow = fc.tuple(fc.constantFrom('"a"', '"b"', '"ab"'), few, few, few);
    fc.assert(
      fc.property(narrow, narrow, (a, b) => {
        const equal = a.every((json, i) => same(decoded(json), decoded(b[i])));
        expect(fromBytes(a) === fromBytes(b)).toBe(equal);
      }),
      { numRuns: draws(2000) },
    );
  });

  test('a long id or key, from bytes or from values -> the same', () => {
    for (const length of [1023, 2048, 4090, 4096, 4097, 100_000]) {
      const values = ['"i"', `"${'x'.repeat(length)}"`, `"${'é'.repeat(length)}"`, '1'];
      expect(fromBytes(values)).toBe(fromValues(values.map(decoded)));
    }
  });

  test('one document after another -> independent of the one before', () => {
    const hashes = [1, 2, 3, 40, 17, 5, 1].map((length) =>
      fromBytes([`"${'z'.repeat(length)}"`, '1', '2', '3']),
    );
    expect(hashes[0]).toBe(hashes[6]);
    expect(new Set(hashes).size).toBe(6);
  });
});

describe('identity: different values -> different', () => {
  test.each<[string, ReadonlyArray<ReadonlyArray<string | undefined>>]>([
    [
      'types',
      [
        ['"i"', '1'],
        ['"i"', '"1"'],
        ['"i"', 'true'],
        ['"i"', '"true"'],
        ['"i"', 'null'],
        ['"i"'],
        ['"i"', '"null"'],
        ['"i"', '""'],
        ['"i"', '0'],
        ['"i"', 'false'],
        ['"i"', '"{}"'],
      ],
    ],
    [
      'levels',
      [
        ['"a"', '"b"', '"c"'],
        ['"a"', '"bc"', '""'],
        ['"ab"', '"c"'],
        ['"a"', '"bc"'],
        ['"abc"'],
        ['"a"', undefined, '"bc"'],
        ['""', '"abc"'],
      ],
    ],
    [
      'missing and null',
      [['"i"', 'null', undefined], ['"i"', undefined, 'null'], ['"i"', 'null', 'null'], ['"i"']],
    ],
    [
      'lone surrogates',
      [
        ['"\\ud800"'],
        ['"\\ud801"'],
        ['"\\udc00"'],
        ['"\\ufffd"'],
        ['"\ufffd\ufffd"'],
        ['"\\ud800\\ud800"'],
        ['"\\udc00\\ud800"'],
        ['"\\ud800\\udc00"'],
        ['"?"'],
      ],
    ],
    [
      'numbers',
      [
        ['"i"', '9007199254740993'],
        ['"i"', '9007199254740994'],
        ['"i"', '1e400'],
        ['"i"', '-1e400'],
        ['"i"', '5e-324'],
        ['"i"', '0'],
        ['"i"', '1.5'],
        ['"i"', '-1.5'],
        ['"i"', '123456789012345'],
      ],
    ],
    ['normal forms', [['"é"'], ['"e\u0301"'], ['"E"'], ['"e"']]],
    ['zeros', [['"\\u0000"'], ['""'], ['"\\u0000\\u0000"'], ['"\\u0000"', '""']]],
    ['ids that are not text', [['1'], ['"1"'], ['null'], [undefined]]],
  ])('%s', (_name, identities) => {
    expect(new Set(identities.map(fromBytes)).size).toBe(identities.length);
  });
});

describe('identity: other spellings of the same values -> the same', () => {
  test.each([
    ['0', '-0', '0.0', '-0.0e5'],
    ['1', '1.0', '1e0', '0.1E+1', '10e-1'],
    ['9007199254740992', '9007199254740993', '9007199254740992.0'],
    ['123456789012345', '123456789012345.0', '1.23456789012345e14'],
    ['"é"', '"\\u00e9"', '"\\u00E9"'],
    ['"😀"', '"\\ud83d\\ude00"'],
    ['"/"', '"\\/"', '"\\u002f"'],
  ])('%s', (...spellings) => {
    expect(new Set(spellings.map((json) => fromBytes(['"i"', json]))).size).toBe(1);
    expect(new Set(spellings.map((json) => fromBytes([json, '"k"']))).size).toBe(1);
  });
});

describe('identity: an object or an array at a key path -> as a missing value, as for the service', () => {
  // Rows without an escape or a fraction are hashed by the kernel, the others value by value.
  test.each([
    ['one level', [[undefined], ['{}'], ['{"x":1}'], ['[]'], ['[[1],{"y":null}]']]],
    [
      'a nested level',
      [
        ['"a"', undefined],
        ['"a"', '{"c":{"c":1}}'],
        ['"a"', '["b"]'],
      ],
    ],
    ['every level', [[], ['{}', '[]', '{"d":1}'], ['[1]', '{}', '[{}]']]],
    [
      'the last of three',
      [
        ['"\\u0061"', '1', undefined],
        ['"a"', '1', '{}'],
        ['"\\u0061"', '1.0', '[2]'],
      ],
    ],
  ])('%s', (_name, keys) => {
    expect(new Set(keys.map((key) => fromBytes(['"i"', ...key]))).size).toBe(1);
    expect(fromBytes(['"i"', ...(keys[0] ?? [])])).not.toBe(fromBytes(['"j"', ...(keys[0] ?? [])]));
    expect(fromBytes(['"i"', ...(keys[1] ?? [])])).not.toBe(fromBytes(['"i"', 'null', 'null', 'null']));
  });
});

describe('hash', () => {
  test('any number of bytes -> MurmurHash3', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        hashBytes(bytes, out, 0);
        expect([...out.subarray(0, 4)]).toEqual(murmur128(bytes));
      }),
    );
  });

  test('contents of any size -> two of them, hashed together', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        hashContentBytes(bytes, out, 0);
        expect([...out.subarray(0, 4)]).toEqual(murmurOfContent(bytes));
      }),
    );
  });

  test('contents: another bit, more zeros, another order of blocks -> another hash', () => {
    const hashOf = (bytes: Uint8Array): string => {
      hashContentBytes(bytes, out, 0);
      return hashText(out, 0);
    };
    const text = Uint8Array.from({ length: 100 }, (_, i) => i);
    const swapped = [16, 32, 48].map((by) =>
      text.map((byte, i) =>
        i < 16 ? (text[i + by] ?? 0) : i >= by && i < by + 16 ? (text[i - by] ?? 0) : byte,
      ),
    );
    const flipped = Array.from({ length: 800 }, (_, bit) =>
      text.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte)),
    );
    const longer = [1, 12, 28, 40].map((more) => Uint8Array.from([...text, ...new Uint8Array(more)]));
    const all = [text, ...swapped, ...flipped, ...longer];
    expect(new Set(all.map(hashOf)).size).toBe(all.length);
  });

  test('as the key of a map -> no collision', () => {
    const word = fc.integer({ min: 0, max: 0xffff_ffff });
    fc.assert(
      fc.property(fc.tuple(word, word, word, word), fc.nat(127), (words, bit) => {
        const hash = Uint32Array.from([0, ...words]);
        const before = mapKeyOfWords(hash, 1);
        hash[1 + (bit >> 5)] = (hash[1 + (bit >> 5)] ?? 0) ^ (1 << (bit & 31));
        expect(before).toHaveLength(8);
        expect(mapKeyOfWords(hash, 1)).not.toBe(before);
      }),
    );
  });

  test('contents of a row -> the hash of the kept bytes', () => {
    fc.assert(
      fc.property(fc.array(anyText), fc.nat(6), (texts, at) => {
        const members = texts.map((text, i) => `"_${i}":${JSON.stringify(text)}`);
        const document = `{${members.join(',')}}`;
        members.splice(at, 0, '"_ts":1', '"_etag":"x"');
        scan.scan(Buffer.from(`{"Documents":[{"a":1},{${members.join(',')}},{"b":1}]}`));
        scan.hashContent(1, out, 0);
        hashContentBytes(Buffer.from(document), out, 4);
        expect(hashText(out, 0)).toBe(hashText(out, 4));
      }),
    );
  });

  test('long texts at the end of the memory of the kernel -> the same hash', () => {
    // The memory has grown for other pages; behind one of these sizes it ends within the room for an identity.
    const id = 'i'.repeat(4000);
    const expected = fromValues([id, 'x', undefined, undefined]);
    for (let size = 10_000; size < 600_000; size += 1000) {
      scan.scan(Buffer.from(`{"Documents":[{"fill":"${'-'.repeat(size)}","id":"${id}","a":"x"}]}`));
      rowIdentity.read(0, out, 0);
      expect(hashText(out, 0)).toBe(expected);
    }
  });

  test('after another scan -> assertion', () => {
    const other = latestVersionScan([]);
    scan.scan(Buffer.from('{"Documents":[{}]}'));
    other.scan(Buffer.from('{"Documents":[{"a":1}]}'));
    expect(() => scan.hashContent(0, out, 0)).toThrow('before another page is scanned');
    expect(() => rowIdentity.read(0, out, 0)).toThrow('before another page is scanned');
    // What was found still stands.
    expect(scan.bytes(0, scan.nodes.document).toString()).toBe('{}');
  });
});
