import { hashBytes } from '../../../../src/documents/hash.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Digests, ENTRY } from '../../../../src/documents/comparison-entries.ts';
import { latestVersionScan } from '../../../../src/documents/page-scan.ts';
import { makePlan } from '../../../../src/keys/plan.ts';
import { readName } from '../../../../src/verify/document-name.ts';
import { rowPaths, SourceRows, TargetRows, type RowOptions } from '../../../../src/verify/pass/rows.ts';
import { entriesOf, EntryBuffer } from '../../../../src/verify/pass/entry-chunks.ts';
import { SideSums } from '../../../../src/verify/pass/side-sums.ts';
import { anyDocument, anyScalar } from '../../documents/generate.ts';
import { draws } from '../../../helpers/generated.ts';

const FENCE = 100;

function optionsOf(sourcePaths: readonly string[], partitionKey: readonly string[]): RowOptions {
  const plan = makePlan({ sourcePaths, partitionKey, derive: [], missingKey: 'dead-letter' });
  return { rekey: { plan, kind: 'hash-v2', ttl: { mode: 'restart' } }, marker: null, targetTtl: null };
}

const OPTIONS = [
  optionsOf(['/a'], ['/b']),
  optionsOf(['/a'], ['/a', '/b/id', '/id']),
  optionsOf(['/b/a', '/b/b', '/pk'], ['/a']),
];

/** A document with keys of every kind, most of them plain, and with system properties. */
const document = fc
  .record({
    id: fc.oneof({ weight: 3, arbitrary: fc.constant('"plain"') }, anyScalar),
    a: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('"A"', `"${'x'.repeat(101)}"`) },
      anyScalar,
      anyDocument,
    ),
    b: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('"B"', '12', '{"a":"1","b":"2"}', '{"id":1}') },
      anyScalar,
      anyDocument,
    ),
    rest: anyDocument,
    lsn: fc.integer({ min: FENCE - 3, max: FENCE + 1 }),
  })
  .map(
    ({ id, a, b, rest, lsn }) =>
      `{"id":${id},"_rid":"r","a":${a},"b":${b},"rest":${rest},"_etag":"\\"e\\"","_ts":1,"_lsn":${lsn}}`,
  );
const pages = fc
  .array(document, { maxLength: 6 })
  .map((all) => Buffer.from(`{"Documents":[${all.join(',')}]}`));

interface Made {
  readonly identity: readonly number[];
  readonly contribution: readonly number[];
  readonly name: unknown;
  readonly sizeBytes: number;
}

describe('side sums: entries of a page', () => {
  test.each(['source', 'target'] as const)('%s -> equal to what is read row by row', (is) => {
    let [made, left] = [0, 0];
    const check = (options: RowOptions, page: Buffer): void => {
      const { sourcePaths, targetPaths } = options.rekey.plan;
      const scan = latestVersionScan(rowPaths(options)).scan(page);
      const rows = is === 'source' ? new SourceRows(scan, options) : new TargetRows(scan, options);
      const runs = new EntryBuffer();
      const found = new Map<number, Made>();
      let first = 0;
      const documents = new Digests(scan, rows.entryNodes).read(FENCE, {
        take: (entries) => (first = runs.append(entries)),
        entry: (row, atWord, sizeBytes) => {
          const at = first + atWord;
          const size = (runs.words[at] ?? 0) / 4;
          const words = runs.words.slice(at, at + size);
          const bytes = Buffer.from(words.buffer);
          const [entry] = entriesOf({ words, bytes }, () => true);
          found.set(row, {
            identity: [...words.subarray(ENTRY.identity, ENTRY.contribution)],
            contribution: [...words.subarray(ENTRY.contribution, ENTRY.name)],
            name: readName(entry?.name ?? Buffer.alloc(1), sourcePaths.length),
            sizeBytes,
          });
        },
        left: () => (left += 1),
      });
      made += found.size;
      let inside = 0;
      for (let row = 0; row < scan.count; row += 1) {
        const text = (node: number): string | null => {
          const value = scan.bytes(row, node).toString();
          return /^($|[{[])/.test(value) ? null : value;
        };
        if (Number(text(scan.nodes.lsn)) <= FENCE) inside += 1;
        const one = found.get(row);
        if (one === undefined) continue;
        expect(rows.read(row)).toBe(is === 'source' ? 'moves' : 'copy');
        const contribution = new Uint32Array(4);
        hashBytes(new Uint8Array(rows.words.buffer), contribution, 0);
        const key = (paths: readonly (readonly string[])[]): (string | null)[] =>
          paths.map((path) => text(scan.nodeAt(path)));
        expect(one).toEqual({
          identity: [...rows.words.subarray(0, 4)],
          contribution: [...contribution],
          sizeBytes: rows.sizeBytes,
          name: { id: text(scan.nodes.id), sourceKey: key(sourcePaths), targetKey: key(targetPaths) },
        });
      }
      expect(documents).toBe(inside);
    };
    fc.assert(fc.property(fc.constantFrom(...OPTIONS), pages, check), { numRuns: draws(500) });
    expect(made).toBeGreaterThan(draws(50));
    expect(left).toBeGreaterThan(draws(50));
  });

  test('ordinary documents -> made in bulk; refused ones are left to rows', () => {
    const [options = optionsOf(['/a'], ['/b'])] = OPTIONS;
    const tally = new SideSums('source', options);
    const page = (...keys: readonly string[]): Buffer =>
      Buffer.from(`{"Documents":[${keys.map((key) => `{"id":"x","a":"y"${key},"_lsn":1}`).join(',')}]}`);
    expect(tally.take(page(',"b":"z"', ',"b":[]', '', `,"b":"${'z'.repeat(2100)}"`), 1)).toEqual({
      documents: 4,
      isBeyond: false,
    });
    expect(tally.refused).toEqual({ 'missing-key': 2, 'key-too-long': 1 });
    expect(tally.buckets.total().documents).toBe(4);
  });

  test('a document without an LSN -> nothing of the page is taken', () => {
    const [options = optionsOf(['/a'], ['/b'])] = OPTIONS;
    const tally = new SideSums('target', options);
    const page = Buffer.from('{"Documents":[{"id":"x","a":"y","b":"z","_lsn":1},{"id":"x","_lsn":-1}]}');
    expect(() => tally.take(page, 5)).toThrow('no _lsn');
    expect([tally.entries.sizeBytes, tally.buckets.total().documents]).toEqual([0, 0]);
  });
});
