/** Generated pages of a feed: documents with a key of two levels, of which most are as usual and some are as odd as can be. */
import * as fc from 'fast-check';
import { anyObject, anyScalar, anyValue } from '../documents/generate.ts';

export const NOW_TS = 1_700_000_000;

const id = fc.oneof(
  { weight: 6, arbitrary: fc.nat(40).map((n) => `"order-${n}"`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('""', '"\\u0041"', '"é"', `"${'x'.repeat(1023)}"`, `"${'x'.repeat(1024)}"`),
  },
  { weight: 1, arbitrary: anyScalar },
);
const etag = fc.oneof(
  { weight: 6, arbitrary: fc.nat(99).map((n) => `"\\"${n}-0000\\""`) },
  fc.constantFrom('""', '"plain"', '"\\u0022x\\""', '"é"', 'null', '7', '"a\\\\b"'),
);
const key = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom('"x"', '"tenant 7"', '5', '-0', '0', 'true', 'null', '""', '"é"', '"\\ud800"'),
  },
  fc.constantFrom('"a\\"b"', `"${'k'.repeat(300)}"`, `"${'k'.repeat(2049)}"`, '1e2', '{"a":1}', '[]'),
  anyValue(1),
);
const lsn = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 1000 }).map(String) },
  fc.constantFrom('0', '1001', '9007199254740993', '99999999999999999999'),
);

/** A document of any shape, with most of the properties that the copy looks for, in any place and perhaps twice. */
export const document = fc
  .tuple(
    anyObject(1, 4),
    anyObject(1, 2),
    fc.record({ id, etag, lsn, a: key, b: key }),
    fc.subarray(['id', '_etag', 'a', 'b'], { minLength: 3 }),
    fc.constantFrom('', ' '),
  )
  .map(([before, after, values, names, gap]) => {
    const written: Record<string, string> = { id: values.id, _etag: values.etag, a: values.a, b: values.b };
    const own = names.map((name) => `"${name}"${gap}:${gap}${written[name] ?? 'null'}`);
    const system = [`"_ts":${NOW_TS}`, `"_lsn":${values.lsn}`];
    const inner = (text: string): string => text.slice(1, -1);
    const members = [inner(before), ...own, inner(after), ...system].filter((text) => text.trim() !== '');
    return `{${members.join(`${gap},`)}${gap}}`;
  });

export function pageOf(documents: readonly string[]): Buffer {
  return Buffer.from(`{"_rid":"r","Documents":[${documents.join(',')}],"_count":${documents.length}}`);
}
