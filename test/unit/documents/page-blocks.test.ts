/**
 * The kernel reads strings in blocks of 16 bytes, and compares a name with names that it has read before. Both must find what
 * the plain walk finds, byte by byte, wherever a string ends in a block and whatever was read before.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { latestVersionScan } from '../../../src/documents/page-scan.ts';
import type { PageScan } from '../../../src/documents/page-scan.ts';
import { draws } from '../../helpers/generated.ts';
import '../../helpers/seed.ts';
import { readAll, readPlainly } from './read-pages.ts';

function compare(scan: PageScan, page: Buffer): object {
  const read = readAll(scan, page);
  expect(read).toEqual(readPlainly(scan, page));
  return read;
}

const pageWith = (documents: string): Buffer => Buffer.from(`{"Documents":[${documents}],"_count":1}`);

describe('strings that end anywhere in a block', () => {
  const SIZES = Array.from({ length: 67 }, (_, size) => size);

  test.each([
    ['a quote', '', 'rows'],
    ['an escaped quote', '\\"', 'rows'],
    ['an escaped backslash', '\\\\', 'rows'],
    ['an escape of six bytes', '\\u00e9', 'rows'],
    ['two bytes of a character', 'é', 'rows'],
    ['four bytes of a character', '😀', 'rows'],
    ['characters next to those that end a string', ' !#[]\u007f', 'rows'],
    ['a control character', '\u001f', 'fault'],
    ['a zero', '\u0000', 'fault'],
    ['half an escape', '\\u00g9', 'fault'],
  ])('%s after any number of bytes -> as the plain walk', (_name, ending, outcome) => {
    const scan = latestVersionScan([['a']]);
    for (const size of SIZES) {
      const text = 'x'.repeat(size) + ending;
      for (const more of ['', 'y'.repeat(20)])
        expect(compare(scan, pageWith(`{"id":"1","a":"${text}${more}","_ts":1}`))).toHaveProperty(outcome);
      expect(compare(scan, pageWith(`{"${text}":1,"a":{"${text}":2}}`))).toHaveProperty(outcome);
    }
  });

  test('a page that ends in a string -> the fault is at its end', () => {
    const scan = latestVersionScan([['a']]);
    const page = pageWith(`{"a":"${'x'.repeat(70)}"},{"a":"${'x'.repeat(70)}"}`);
    for (let size = 0; size < page.length; size += 1)
      expect(compare(scan, page.subarray(0, size))).toEqual({
        fault: expect.stringContaining(`at byte ${size}: it ends`),
      });
  });
});

describe('names that were read before', () => {
  /** Around the longest text that is kept, with differences at its start, at its end, and beyond it. */
  const NAMES = [
    'id',
    'a',
    'b',
    '',
    '_ts',
    '_etag',
    'Zoë',
    'a"',
    'customerNumber',
    'customerNumbers',
    ...[28, 29, 30, 31, 40].flatMap((size) => [`${'n'.repeat(size - 1)}1`, `${'n'.repeat(size - 1)}2`]),
  ];
  const scan = latestVersionScan([
    ['a'],
    ['a', 'b'],
    ['b', 'a', 'a'],
    ...NAMES.slice(-8).map((name) => [name]),
  ]);

  const escaped = (name: string): string =>
    `"${name.replaceAll(/./gsu, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`;
  const spelledName = fc
    .tuple(fc.constantFrom(...NAMES), fc.nat(19))
    .map(
      ([name, way]) => (way === 0 ? escaped(name) : JSON.stringify(name)) + ([' :', ': '][way - 1] ?? ':'),
    );
  const member = fc.letrec<{ value: string; members: string }>((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, fc.constantFrom('1', '"x"', '[]', '{}'), tie('members')),
    members: fc
      .array(fc.tuple(spelledName, tie('value')), { maxLength: 6 })
      .map((pairs) => `{${pairs.map(([name, value]) => name + value).join(',')}}`),
  })).members;

  test('documents that repeat names in any order and object -> as the plain walk', () => {
    fc.assert(
      fc.property(fc.array(member, { minLength: 1, maxLength: 4 }), fc.nat(3), (documents, times) => {
        const repeated = Array.from({ length: times + 1 }, () => documents).flat();
        expect(compare(scan, pageWith(repeated.join(',')))).toHaveProperty('rows');
      }),
      { numRuns: draws(1000) },
    );
  });

  test('a known name, changed at any byte or cut there -> as the plain walk', () => {
    const whole = '{"id":"1","customerNumber":{"a":1,"b":[{"a":2}]}}';
    for (let at = 0; at < whole.length; at += 1) {
      const [before, after] = [whole.slice(0, at), whole.slice(at + 1)];
      for (const byte of ['"', ':', ' ', ',', '}', '\\', 'x', '\u0000'])
        compare(scan, pageWith(`${whole},${whole},${before}${byte}${after}`));
      const cut = Buffer.from(`{"Documents":[${whole},${whole},${before}`);
      expect(compare(scan, cut)).toHaveProperty('fault');
    }
  });

  test('far more names than are kept -> as the plain walk, and the others are still found', () => {
    const many = Array.from({ length: 40 }, (_, row) => {
      const others = Array.from({ length: 30 }, (_, i) => `"key-${row * 30 + i}":${i}`);
      return `{"id":"${row}","a":{"b":${row}},${others.join(',')},"_ts":${row}}`;
    });
    for (let times = 0; times < 3; times += 1) compare(scan, pageWith(many.join(',')));
    scan.scan(pageWith(many.join(',')));
    const found = many.map((_, row) => scan.bytes(row, scan.nodeAt(['a', 'b'])).toString());
    expect(found).toEqual(many.map((_, row) => String(row)));
  });

  test('another scan looks for other names -> none is taken from the scan before', () => {
    const page = pageWith('{"x":1,"y":2,"_ts":3},{"x":4,"y":5,"_ts":6}');
    for (const path of ['x', 'y', 'x']) {
      const other = latestVersionScan([[path]]);
      compare(other, page);
      expect(other.bytes(1, other.nodeAt([path])).toString()).toBe(path === 'x' ? '4' : '5');
    }
  });
});
