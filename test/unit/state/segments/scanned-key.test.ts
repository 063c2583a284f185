/** Keys that the map takes from a page without decoding them: they are those that decoding gives. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { latestVersionScan } from '../../../../src/documents/page-scan.ts';
import { readEntry, SegmentBuilder } from '../../../../src/state/segments/segment.ts';

const LEVELS = [['a'], ['b', 'c']] as const;

/** A value as JSON text, also in spellings that JSON.stringify does not use. */
const spelled = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.string().map((text) => `"${text.replaceAll(/./gsu, (one) => `\\u${hex(one)}`)}"`),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom('true', 'false', 'null', '-0', '1e2', '{}', '{"c":1}', '[1]', undefined),
);

function hex(text: string): string {
  return text.charCodeAt(0).toString(16).padStart(4, '0');
}

/** The value of a key level: an object or an array counts as missing, and there is one zero. */
function valueOf(text: string | undefined): unknown {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  if (typeof value === 'object' && value !== null) return undefined;
  return value === 0 ? 0 : value;
}

test('any key -> the same from the page as from its decoded values', () => {
  const scan = latestVersionScan(LEVELS);
  const nodes = LEVELS.map((path) => scan.nodeAt(path));
  fc.assert(
    fc.property(fc.array(fc.tuple(spelled, spelled), { minLength: 1, maxLength: 40 }), (keys) => {
      const documents = keys.map(([a, c], n) => {
        const members = [`"id":"${n}"`, ...(a === undefined ? [] : [`"a":${a}`])];
        return `{${[...members, ...(c === undefined ? [] : [`"b":{"c":${c}}`])].join(',')}}`;
      });
      scan.scan(Buffer.from(`{"Documents":[${documents.join(',')}]}`));
      const builder = new SegmentBuilder();
      const hashes = new Uint32Array(8);
      for (let row = 0; row < keys.length; row += 1) builder.addScanned({ hashes, lsn: 0, scan, row, nodes });
      const [segment] = builder.finish();
      const read = keys.map((_key, n) => segment && readEntry(segment, n));
      expect(read.map((entry) => entry?.targetKey)).toEqual(keys.map((key) => key.map(valueOf)));
      expect(read.every((entry) => entry?.etag === null && entry.lsn === 0)).toBe(true);
    }),
  );
});
