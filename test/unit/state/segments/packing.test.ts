import { etagToBytes } from '../../../../src/state/segments/etag-hash.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packKey, unpackKey } from '../../../../src/state/segments/key-bytes.ts';
import { markAt, packMarks } from '../../../../src/state/segments/outcome-numbers.ts';
import {
  packName,
  readEntry,
  readNames,
  SegmentBuilder,
  SEGMENT_ENTRIES_MAX,
} from '../../../../src/state/segments/segment.ts';
import { entryOf, hashOf } from '../making.ts';

const component = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.double({ noNaN: true }),
  fc.constantFrom(true, false, null, undefined),
);

describe('packed key', () => {
  test('any key -> unpacked unchanged, with lone surrogates', () => {
    fc.assert(
      fc.property(fc.array(component, { maxLength: 3 }), (key) => {
        const normal = key.map((value) => (value === 0 ? 0 : value));
        expect(unpackKey(packKey(key))).toStrictEqual(normal);
      }),
    );
  });

  test('different keys -> different bytes', () => {
    const keys = [[], [''], ['', ''], [0], ['0'], [null], [undefined], [false], [true], ['a', 'b'], ['ab']];
    expect(new Set(keys.map((key) => packKey(key).toString('hex'))).size).toBe(keys.length);
    expect(packKey([-0])).toEqual(packKey([0]));
  });
});

describe('outcome numbers', () => {
  test('any outcomes -> every number is restored', () => {
    const outcome = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 90_000 }));
    fc.assert(
      fc.property(fc.array(outcome, { minLength: 1 }), (outcomes) => {
        const marks = packMarks(outcomes);
        expect(outcomes.map((_, place) => markAt(marks, outcomes.length, place))).toEqual(outcomes);
      }),
    );
  });

  test.each([
    { outcomes: [7, 8, 9], bytes: 0 },
    { outcomes: [7, 9, 8], bytes: 6 },
    { outcomes: [7, 0, 9], bytes: 6 },
    { outcomes: [7, 70_000], bytes: 8 },
    { outcomes: [0, 0], bytes: 4 },
  ])('$outcomes -> $bytes bytes', ({ outcomes, bytes }) => {
    expect(packMarks(outcomes).marks?.length ?? 0).toBe(bytes);
  });
});

describe('segment', () => {
  test('any documents -> restored, in parts of bounded size', () => {
    const builder = new SegmentBuilder();
    const page = Buffer.from('."one""two"');
    const count = SEGMENT_ENTRIES_MAX * 2 + 3;
    for (let i = 0; i < count; i += 1) {
      builder.add(entryOf(`d${i}`, `s${i >> 1}`, { lsn: 1000 - i }));
      builder.name(page, 1, 6);
      builder.name(page, i % 2 === 0 ? 6 : 0, 11);
    }
    const parts = builder.finish();
    expect(parts.map((part) => part.count)).toEqual([SEGMENT_ENTRIES_MAX, SEGMENT_ENTRIES_MAX, 3]);
    const entries = parts.flatMap((part) =>
      Array.from({ length: part.count }, (_, place) => readEntry(part, place)),
    );
    expect(entries).toEqual(
      Array.from({ length: count }, (_, i) => ({
        identity: hashOf(`d${i}`),
        slot: hashOf(`s${i >> 1}`),
        targetKey: [`s${i >> 1}`],
        etag: etagToBytes(`"d${i}"`),
        lsn: 1000 - i,
      })),
    );
    const names = parts.flatMap((part) => readNames(part.names, 2));
    expect(names).toEqual(Array.from({ length: count }, (_, i) => ['"one"', i % 2 === 0 ? '"two"' : null]));
    expect(builder.finish()).toEqual([]);
  });

  test('an etag as text or as JSON in the page -> the same hash', () => {
    const etag = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ maxLength: 200 }),
      fc.constantFrom('', '"', '\\', '"0000d826-0000-0700-0000-65a1f3d20000"', '\ud800', 'W/"1"'),
    );
    fc.assert(
      fc.property(fc.array(etag, { minLength: 1 }), (etags) => {
        const builder = new SegmentBuilder();
        for (const text of etags) {
          const page = Buffer.from(`.${JSON.stringify(text)}`);
          builder.add({ ...entryOf('d', 's'), etag: null });
          builder.etag(page, 1, page.length);
        }
        const [part] = builder.finish();
        expect(etags.map((_, place) => part && readEntry(part, place).etag)).toEqual(etags.map(etagToBytes));
      }),
    );
  });

  test('no etag, or one that is not a text -> null', () => {
    const builder = new SegmentBuilder();
    const page = Buffer.from('.12');
    for (const start of [0, 1]) {
      builder.add(entryOf('d', 's'));
      builder.etag(page, start, page.length);
    }
    const [part] = builder.finish();
    expect([0, 1].map((place) => part && readEntry(part, place).etag)).toEqual([null, null]);
  });

  test('distant and unknown LSNs -> restored', () => {
    const builder = new SegmentBuilder();
    const lsns = [1, 2 ** 40, null, 5];
    for (const lsn of lsns) builder.add({ ...entryOf('d', 's'), lsn, etag: null });
    const read = builder
      .finish()
      .flatMap((part) => Array.from({ length: part.count }, (_, place) => readEntry(part, place)));
    expect(read.map(({ lsn }) => lsn)).toEqual(lsns);
    expect(read.every(({ etag }) => etag === null)).toBe(true);
  });

  test('names -> restored one by one', () => {
    expect(readNames(packName(['"i\\u0064"', null, '7']), 3)).toEqual([['"i\\u0064"', null, '7']]);
  });
});

test('etag hash: etags that differ in a letter -> different hashes', () => {
  const etags = Array.from(
    { length: 20_000 },
    (_, i) => `"${i.toString(16).padStart(8, '0')}-0000-0100-0000-000000000000"`,
  );
  expect(new Set(etags.map((etag) => etagToBytes(etag).toString('hex'))).size).toBe(etags.length);
});
