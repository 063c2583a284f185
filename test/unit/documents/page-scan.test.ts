/**
 * The scan finds in bytes what JSON.parse finds in text, and refuses what JSON.parse refuses. Its offsets, cuts and
 * faults are held against the plain walk, which is written for reading.
 */
import { hashContentBytes } from '../../../src/documents/hash.ts';
import { isUtf8 } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEPTH_MAX } from '../../../src/documents/kernel/scan-kernel.ts';
import { PageError } from '../../../src/documents/page-error.ts';
import { allVersionsScan, latestVersionScan, replyScan } from '../../../src/documents/page-scan.ts';
import type { PageScan } from '../../../src/documents/page-scan.ts';
import { SYSTEM_PROPERTIES } from '../../../src/documents/system-properties.ts';
import '../../helpers/seed.ts';
import { anyDocument, anyEnvelope, pageOf } from './generate.ts';
import { readAll, readPlainly } from './read-pages.ts';
import { draws } from '../../helpers/generated.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The value at a path as JSON.parse has it; arrays and scalars are not walked into. */
function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, name))
      return undefined;
    at = at[name];
  }
  return at;
}

const PATHS = [
  ['pk'],
  ['a', 'b'],
  ['a'],
  ['c/d', '__proto__'],
  ['__proto__', 'a'],
  ['Zoë'],
  ['😀', '\ud800'],
  ['"\\'],
];

function parsedAt(scan: PageScan, row: number, node: number): Json | undefined {
  if (scan.start(row, node) === 0) return undefined;
  return JSON.parse(scan.bytes(row, node).toString()) as Json;
}

/** The document without its system properties, as the cuts leave it. */
function keptOf(scan: PageScan, row: number): string {
  let text = '';
  let from = scan.start(row, scan.nodes.document);
  for (let cut = scan.firstCut(row); cut < scan.lastCut(row); cut += 1) {
    text += scan.page.toString('utf8', from, scan.cutStart(cut));
    from = scan.cutEnd(cut);
  }
  return text + scan.page.toString('utf8', from, scan.end(row, scan.nodes.document));
}

function withoutSystem(document: { [name: string]: Json }): Json {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !SYSTEM_PROPERTIES.includes(name)));
}

/** Own properties only: Object.fromEntries and JSON.parse agree on `__proto__`, toEqual does not look at it. */
function sameJson(a: unknown, b: unknown): void {
  expect(JSON.stringify(a)).toBe(JSON.stringify(b));
}

function checkDocument(scan: PageScan, row: number, document: { [name: string]: Json }): void {
  const { nodes } = scan;
  for (const path of [['id'], ['ttl'], ['_etag'], ['_lsn'], ['_rid'], ['_self'], ['_attachments'], ['_ts']]) {
    const node = nodes[(path[0] ?? '').replace('_', '') as keyof typeof nodes];
    sameJson(parsedAt(scan, row, node), valueAt(document, path));
  }
  for (const path of PATHS) sameJson(parsedAt(scan, row, scan.nodeAt(path)), valueAt(document, path));
  sameJson(JSON.parse(keptOf(scan, row)), withoutSystem(document));
}

describe('scan', () => {
  const scan = latestVersionScan(PATHS);

  test('any page -> the values that JSON.parse finds, at every path', () => {
    fc.assert(
      fc.property(pageOf(anyDocument), (text) => {
        const page = Buffer.from(text);
        const { Documents: expected } = JSON.parse(text) as { Documents: Array<{ [name: string]: Json }> };
        scan.scan(page);
        expect(scan.count).toBe(expected.length);
        expected.forEach((document, row) => checkDocument(scan, row, document));
      }),
      { numRuns: draws(2000) },
    );
  });
});

const anyReply = fc
  .tuple(anyDocument, fc.constantFrom('201', '409', '"x"', '2e2'), fc.nat(2))
  .map(([document, status, shape]) => {
    const head = `"statusCode":${status},"requestCharge":1.5,"eTag":"\\"1\\""`;
    if (shape === 0) return `{${head}}`;
    if (shape === 1) return `{"resourceBody":${document},"subStatusCode":0,${head}}`;
    return `{${head},"retryAfterMilliseconds":12,"resourceBody" : null , "resourceBody" :${document} }`;
  });

const STRUCTURE = [...Buffer.from('{}[],:"\\0123456789-+.eEtrufalsn \n')];
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  how: fc.constantFrom('set', 'set', 'insert', 'delete', 'cut', 'repeat'),
  byte: fc.oneof(fc.constantFrom(...STRUCTURE), fc.nat(255)),
});

function damaged(page: Buffer, { at, how, byte }: { at: number; how: string; byte: number }): Buffer {
  const where = Math.floor(at * page.length);
  const [before, after] = [page.subarray(0, where), page.subarray(where)];
  if (how === 'set') return Buffer.concat([before, Buffer.of(byte), after.subarray(1)]);
  if (how === 'insert') return Buffer.concat([before, Buffer.of(byte), after]);
  if (how === 'delete') return Buffer.concat([before, after.subarray(1)]);
  if (how === 'cut') return before;
  return Buffer.concat([before, after.subarray(0, 7), after]);
}

describe('kernel', () => {
  const scans = {
    'latest version': [latestVersionScan(PATHS), pageOf(anyDocument)],
    'all versions': [allVersionsScan(PATHS, [['pk'], ['a', 'b']]), pageOf(anyEnvelope)],
    reply: [replyScan(PATHS), fc.array(anyReply, { maxLength: 4 }).map((items) => `[${items.join(',')}]`)],
  } as const;

  test.each(Object.entries(scans))(
    'whole pages -> the same result as the plain walk: %s',
    (_name, [scan, pages]) => {
      fc.assert(
        fc.property(pages, (text) => {
          const page = Buffer.from(text);
          const read = readAll(scan, page);
          expect(read).toEqual(readPlainly(scan, page));
          expect(read).toHaveProperty('rows');
        }),
        { numRuns: draws(1000) },
      );
    },
  );

  test.each(Object.entries(scans))(
    'any bytes -> faults where the plain walk finds them, and no others: %s',
    (_name, [scan, pages]) => {
      fc.assert(
        fc.property(pages, fc.array(damage, { minLength: 1, maxLength: 2 }), (text, damages) => {
          const page = damages.reduce(damaged, Buffer.from(text));
          const read = readAll(scan, page);
          expect(read).toEqual(isUtf8(page) ? readPlainly(scan, page) : read);
          expect(verdictsOf(scan, page)).toContain('rows' in read ? 'accepted' : 'refused');
        }),
        { numRuns: draws(3000) },
      );
    },
  );
});

/** What may become of a page by the word of JSON.parse: JSON of another shape may go either way. */
function verdictsOf(scan: PageScan, page: Buffer): readonly string[] {
  if (!isUtf8(page)) return ['refused'];
  let parsed: unknown;
  try {
    parsed = JSON.parse(page.toString());
  } catch {
    return ['refused'];
  }
  const feed = { Documents: undefined, ...(parsed as object) };
  const elements = scan.shape === 'feed' && !Array.isArray(parsed) ? feed.Documents : parsed;
  const isPage = Array.isArray(elements) && Array.isArray(parsed) === (scan.shape === 'array');
  const areObjects = (items: readonly unknown[]): boolean =>
    items.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item));
  return isPage && areObjects(elements) ? ['accepted'] : ['refused'];
}

test.each<[string, boolean]>([
  ['9007199254740992', false],
  ['-9007199254740992', false],
  ['9007199254740993', true],
  ['-9007199254740993', true],
  ['9999999999999999', true],
  ['1000000000000000', false],
  ['10000000000000000', true],
  ['123456789012345678901234567890', true],
  ['9007199254740993.0', false],
  ['9007199254740993e0', false],
  ['1e20', false],
  ['0.12345678901234567', false],
  ['"9007199254740993"', false],
  ['[[{"deep":[9007199254740993]}]]', true],
])('scan: %s -> a long integer or not, in its row alone', (json, expected) => {
  const scan = latestVersionScan([['a']]);
  const other = '{"a":1,"b":1.5,"_ts":1700000000}';
  scan.scan(
    Buffer.from(`{"n":9007199254740993,"Documents":[${other},{"b":${json}},${other}],"m":9007199254740993}`),
  );
  expect([0, 1, 2].map((row) => scan.hasLongInteger(row))).toEqual([false, expected, false]);
});

describe('scan of a damaged page', () => {
  const page = Buffer.from(
    '{"_rid":"x==" ,"Documents":[{"id":"é\\u00e9\\n","n":[-1.50e+3,true,false,null,{}],"_ts":0},{"a":{"b":[[]]}}],"_count":2} ',
  );

  test('cut at any byte -> the fault is at the cut', () => {
    const scan = latestVersionScan(PATHS);
    const whole = page.length - 1;
    for (let size = 0; size < whole; size += 1) {
      const cut = page.subarray(0, size);
      const at = isUtf8(cut) ? size : size - 1;
      expect(readAll(scan, cut)).toEqual({ fault: expect.stringContaining(`at byte ${at}: it `) });
    }
    expect(readAll(scan, page.subarray(0, whole))).toHaveProperty('rows');
    expect(readAll(scan, page)).toHaveProperty('rows');
  });

  test('any byte changed -> read as JSON.parse does, or refused', () => {
    const scan = latestVersionScan(PATHS);
    for (let at = 0; at < page.length; at += 1) {
      for (const byte of [...STRUCTURE, 0, 9, 127, 128, 195, 255]) {
        const changed = Buffer.from(page);
        changed[at] = byte;
        const read = readAll(scan, changed);
        expect(read).toEqual(isUtf8(changed) ? readPlainly(scan, changed) : read);
        expect(verdictsOf(scan, changed)).toContain('rows' in read ? 'accepted' : 'refused');
      }
    }
  });
});

describe('scan: a fault -> named with its byte', () => {
  test.each([
    ['', 0, 'it ends'],
    [' ', 1, 'it ends'],
    ['[]', 0, 'does not start'],
    ['"Documents"', 0, 'does not start'],
    ['{}', 2, 'it ends'],
    ['{"documents":[]}', 16, 'it ends'],
    ['{"Documents":{}}', 13, 'no array'],
    ['{"Documents":[1]}', 14, 'not an object'],
    ['{"Documents":[{},]}', 17, 'not an object'],
    ['{"Documents":[{} {}]}', 17, 'comma'],
    ['{"Documents":[{}]}x', 18, 'follows its end'],
    ['{"Documents":[{"a" 1}]}', 19, 'colon'],
    ['{"Documents":[{a:1}]}', 15, 'name'],
    ['{"Documents":[{"a":1,}]}', 21, 'name'],
    ['{"Documents":[{"a":}]}', 19, 'value'],
    ['{"Documents":[{"a":tru}]}', 22, 'value'],
    ['{"Documents":[{"a":nulL}]}', 22, 'value'],
    ['{"Documents":[{"a":01}]}', 20, 'comma'],
    ['{"Documents":[{"a":1.}]}', 21, 'number'],
    ['{"Documents":[{"a":-}]}', 20, 'number'],
    ['{"Documents":[{"a":1e}]}', 21, 'number'],
    ['{"Documents":[{"a":+1}]}', 19, 'value'],
    ['{"Documents":[{"a":NaN}]}', 19, 'value'],
    ['{"Documents":[{"a":"\t"}]}', 20, 'control'],
    ['{"Documents":[{"a":"\u0000"}]}', 20, 'control'],
    ['{"Documents":[{"a":"\\x"}]}', 21, 'escape'],
    ['{"Documents":[{"a":"\\u00g0"}]}', 24, 'escape'],
    ['{"Documents":[{"a":\u00a01}]}', 19, 'value'],
    ['{"Documents":[{"a":[1}]}', 21, 'comma'],
    ['\ufeff{"Documents":[]}', 0, 'does not start'],
    [Buffer.from([...Buffer.from('{"Documents":[{"é":"'), 0xed, 0xa0, 0x80]), 21, 'UTF-8'],
  ])('%s', (page, offset, words) => {
    const scan = latestVersionScan([]);
    const error = (() => {
      try {
        return scan.scan(Buffer.from(page));
      } catch (caught) {
        return caught;
      }
    })();
    expect(error).toBeInstanceOf(PageError);
    expect(error).toMatchObject({ offset, exitCode: 6, message: expect.stringContaining(words) });
    expect(scan.count).toBe(0);
  });
});

const escapedUnits = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

describe('scan of unusual pages', () => {
  const nested = (depth: number): string => `{"Documents":[{"a":${'['.repeat(depth)}${']'.repeat(depth)}}]}`;

  test('nested deeper than the service allows -> read, up to a limit', () => {
    const scan = latestVersionScan([]);
    // The page, the array and the document are three.
    expect(readAll(scan, Buffer.from(nested(DEPTH_MAX - 3)))).toHaveProperty('rows');
    expect(readAll(scan, Buffer.from(nested(DEPTH_MAX - 2)))).toHaveProperty('fault');
    expect(readAll(scan, Buffer.from(nested(100_000)))).toHaveProperty('fault');
  });

  test('documents of 2 bytes or 2 MB, and many of them -> read', () => {
    const scan = latestVersionScan([['a']]);
    const large = `{"a":"${'é'.repeat(1024 * 1024 - 10)}","_ts":1}`;
    const texts = ['{}', large, '{"a":1}', ...Array.from({ length: 20_000 }, () => '{}'), large];
    scan.scan(Buffer.from(`{"Documents":[${texts.join(',')}]}`));
    expect(scan.count).toBe(texts.length);
    const { document } = scan.nodes;
    expect(texts.every((text, row) => scan.bytes(row, document).equals(Buffer.from(text)))).toBe(true);
    expect(scan.bytes(2, scan.nodeAt(['a'])).toString()).toBe('1');
    // A small page after a large one has nothing left of it.
    expect(readAll(scan, Buffer.from('{"Documents":[{"b":1}]}'))).toEqual(
      readPlainly(scan, Buffer.from('{"Documents":[{"b":1}]}')),
    );
  });

  test('names of any kind and number -> found', () => {
    const names = Array.from({ length: 60 }, (_, i) => `name-${'x'.repeat(i)}-${i}`);
    const paths = [...names.map((name) => [name]), ['n'.repeat(5000)], [''], ['', '']];
    const scan = latestVersionScan(paths);
    const members = names.map((name, i) => `${JSON.stringify(name)}:${i}`);
    const page = `{"Documents":[{${members.join(',')},"${'n'.repeat(5000)}":"long","":{"":"empty"}}]}`;
    scan.scan(Buffer.from(page));
    const found = paths.map((path) => parsedAt(scan, 0, scan.nodeAt(path)));
    expect(found).toEqual([...names.keys(), 'long', { '': 'empty' }, 'empty']);
  });

  test('a name far longer than any wanted one -> ignored', () => {
    const scan = latestVersionScan([['a']]);
    const name = '\\u0061'.repeat(20_000);
    scan.scan(Buffer.from(`{"Documents":[{"b":1},{"${name}":1,"a":{"${name}":2},"${name}":3}]}`));
    expect(parsedAt(scan, 1, scan.nodeAt(['a']))).toEqual({ ['a'.repeat(20_000)]: 2 });
    const hashes = new Uint32Array(8);
    scan.hashContent(0, hashes, 0);
    hashContentBytes(Buffer.from('{"b":1}'), hashes, 4);
    expect(hashes.slice(0, 4)).toEqual(hashes.slice(4));
  });

  test.each(['\ud800\ud801', '\ud800x', '\udc00\ud800', '\ud83d\ude00', '\ud800\\u0061', '\u0000'])(
    'a name of half surrogate pairs, in any spelling, %j -> found',
    (name) => {
      const others = ['\ufffd\ufffd', '\ud800', '\ud83d', '\udc00'];
      const scan = latestVersionScan([[name], ...others.map((other) => [other])]);
      for (const spelled of [JSON.stringify(name), `"${escapedUnits(name)}"`]) {
        scan.scan(Buffer.from(`{"Documents":[{${spelled}:1}]}`));
        expect(parsedAt(scan, 0, scan.nodeAt([name]))).toBe(1);
        expect(others.map((other) => scan.start(0, scan.nodeAt([other])))).toEqual([0, 0, 0, 0]);
      }
    },
  );

  test('Documents is repeated -> the last one counts', () => {
    const scan = latestVersionScan([]);
    scan.scan(Buffer.from('{"Documents":[{"_ts":1},{}],"\\u0044ocuments":[{"id":"x"}],"Document":[]}'));
    expect(scan.count).toBe(1);
    expect(scan.bytes(0, scan.nodes.id).toString()).toBe('"x"');
    expect(keptOf(scan, 0)).toBe('{"id":"x"}');
  });

  test('a value missing in a row -> not taken from the row before', () => {
    const scan = latestVersionScan([['a', 'b']]);
    scan.scan(Buffer.from('{"Documents":[{"a":{"b":1},"id":"x"},{"a":{}},{"a":{"b":2},"a":{}},{"b":1}]}'));
    const found = [0, 1, 2, 3].map((row) => parsedAt(scan, row, scan.nodeAt(['a', 'b'])));
    expect(found).toEqual([1, undefined, undefined, undefined]);
    expect(scan.start(1, scan.nodes.id)).toBe(0);
  });
});

describe('around a document', () => {
  test('the all-versions feed -> its envelope', () => {
    const scan = allVersionsScan([['a']], [['a'], ['b', 'c']]);
    const { around } = scan;
    const change =
      '{"current":{"id":"i","a":1,"_ts":2,"lsn":3},"metadata":{"operationType":"replace","lsn":41,"crts":1700000000,"previousImageLSN":40}}';
    const removal =
      '{"metadata":{"operationType":"delete","lsn":42,"crts":1700000001,"previousImageLSN":41,"timeToLiveExpired":true,"id":"i","partitionKey":{"a":"x","b/c":"y"}},"previous":{"id":"i","a":"x","b":{"c":"y"}}}';
    const nested = '{"current":{},"metadata":{"id":"j","partitionKey":{"a":null,"b":{"c":"z"}}}}';
    scan.scan(Buffer.from(`{"Documents":[${change},${removal},${nested}]}`));
    const values = (row: number, nodes: readonly number[]): unknown[] =>
      nodes.map((node) => parsedAt(scan, row, node));
    const { operationType, lsn, crts, timeToLiveExpired, deletedId } = around;
    const nodes = [operationType, lsn, crts, timeToLiveExpired, deletedId];
    expect(values(0, nodes)).toEqual(['replace', 41, 1_700_000_000, undefined, undefined]);
    expect(values(1, nodes)).toEqual(['delete', 42, 1_700_000_001, true, 'i']);
    expect(keptOf(scan, 0)).toBe('{"id":"i","a":1,"lsn":3}');
    expect(scan.start(1, scan.nodes.document)).toBe(0);
    expect(keptOf(scan, 2)).toBe('{}');
    const keys = (row: number): unknown[] => around.deletedKey.map((places) => values(row, places));
    expect(keys(1)).toEqual([
      ['x', 'x'],
      ['y', undefined],
    ]);
    expect(keys(2)).toEqual([
      [null, null],
      [undefined, 'z'],
    ]);
    expect(values(1, [around.previousId, ...around.previousKey])).toEqual(['i', 'x', 'y']);
  });

  test.each([
    ['', false],
    [',"current":null', false],
    [',"current":"x"', false],
    [',"current":[{}]', false],
    [',"current":{}', false],
    [',"current": {\n }', false],
    [',"current":{"id":"i"}', true],
    [',"current": { "_ts":1}', true],
    [',"current":{"id":"i"},"current":null', false],
  ])('%j -> whether there is a document', (current, expected) => {
    const scan = allVersionsScan([], []);
    scan.scan(Buffer.from(`{"Documents":[{"metadata":{}${current}}]}`));
    expect(scan.hasDocument(0)).toBe(expected);
  });

  test('a reply to a batch -> its outcomes', () => {
    const scan = replyScan([['a']]);
    const { around } = scan;
    scan.scan(
      Buffer.from(
        '[{"statusCode":200,"requestCharge":1.24,"eTag":"\\"1\\"","resourceBody":{"id":"i","statusCode":5,"a":2,"_ts":1}},{"statusCode":429,"subStatusCode":3200,"retryAfterMilliseconds":12,"message":"x"}]',
      ),
    );
    const { statusCode, subStatusCode, requestCharge, eTag, retryAfterMilliseconds } = around;
    const nodes = [statusCode, subStatusCode, requestCharge, eTag, retryAfterMilliseconds];
    const values = (row: number): unknown[] => nodes.map((node) => parsedAt(scan, row, node));
    expect(values(0)).toEqual([200, undefined, 1.24, '"1"', undefined]);
    expect(values(1)).toEqual([429, 3200, undefined, undefined, 12]);
    expect(keptOf(scan, 0)).toBe('{"id":"i","statusCode":5,"a":2}');
    expect(parsedAt(scan, 0, scan.nodeAt(['a']))).toBe(2);
    expect(scan.start(1, scan.nodes.document)).toBe(0);
  });
});
