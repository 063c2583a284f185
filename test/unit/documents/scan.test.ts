/**
 * The scan finds in bytes what JSON.parse finds in text, and refuses what JSON.parse refuses. Its offsets, cuts and
 * faults are held against the plain walk, which is written for reading.
 */
import { isUtf8 } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PageError } from '../../../src/documents/page-error.ts';
import {
  allVersionsScan,
  latestVersionScan,
  replyScan,
  SYSTEM_PROPERTIES,
} from '../../../src/documents/scan.ts';
import type { PageScan } from '../../../src/documents/scan.ts';
import '../../helpers/seed.ts';
import { anyDocument, anyEnvelope, pageOf } from './generate.ts';
import { Fault, PlainWalk, ROW_HEAD } from './plain-walk.ts';

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
  return Object.fromEntries(
    Object.entries(document).filter(([name]) => !(SYSTEM_PROPERTIES as readonly string[]).includes(name)),
  );
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

describe('a page of documents', () => {
  const scan = latestVersionScan(PATHS);

  test('each has what JSON.parse finds in it, at every path', () => {
    fc.assert(
      fc.property(pageOf(anyDocument), (text) => {
        const page = Buffer.from(text);
        const { Documents: expected } = JSON.parse(text) as { Documents: Array<{ [name: string]: Json }> };
        scan.scan(page);
        expect(scan.count).toBe(expected.length);
        expected.forEach((document, row) => checkDocument(scan, row, document));
      }),
      { numRuns: 2000 },
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

describe('the kernel', () => {
  const scans = {
    'latest version': [latestVersionScan(PATHS), pageOf(anyDocument)],
    'all versions': [allVersionsScan(PATHS, [['pk'], ['a', 'b']]), pageOf(anyEnvelope)],
    reply: [replyScan(PATHS), fc.array(anyReply, { maxLength: 4 }).map((items) => `[${items.join(',')}]`)],
  } as const;

  test.each(Object.entries(scans))('reads whole pages as the plain walk does: %s', (_name, [scan, pages]) => {
    fc.assert(
      fc.property(pages, (text) => {
        const page = Buffer.from(text);
        const told = tell(scan, page);
        expect(told).toEqual(tellPlainly(scan, page));
        expect(told).toHaveProperty('rows');
      }),
      { numRuns: 1000 },
    );
  });

  test.each(Object.entries(scans))(
    'finds faults where the plain walk does, and none too many: %s',
    (_name, [scan, pages]) => {
      fc.assert(
        fc.property(pages, fc.array(damage, { minLength: 1, maxLength: 2 }), (text, damages) => {
          const page = damages.reduce(damaged, Buffer.from(text));
          const told = tell(scan, page);
          expect(told).toEqual(isUtf8(page) ? tellPlainly(scan, page) : told);
          expect(verdictsOf(scan, page)).toContain('rows' in told ? 'accepted' : 'refused');
        }),
        { numRuns: 3000 },
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

function tell(scan: PageScan, page: Buffer): object {
  try {
    scan.scan(page);
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    return { fault: error.message };
  }
  const rows = Array.from({ length: scan.count }, (_, row) => ({
    element: [scan.elementStart(row), scan.elementEnd(row)],
    values: Array.from({ length: scan.tree.count }, (_, node) => [
      scan.start(row, node),
      scan.end(row, node),
    ]),
    cuts: Array.from({ length: scan.lastCut(row) - scan.firstCut(row) }, (_, i) => {
      const cut = scan.firstCut(row) + i;
      return [scan.cutStart(cut), scan.cutEnd(cut)];
    }),
  }));
  return { rows };
}

function tellPlainly(scan: PageScan, page: Buffer): unknown {
  const walk = new PlainWalk(scan.tree);
  try {
    walk.walk(scan.shape, page);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: new PageError(error.what, error.at).message };
  }
  const stride = ROW_HEAD + 2 * scan.tree.count;
  const rows = Array.from({ length: walk.count }, (_, row) => {
    const fields = [...walk.rows.subarray(row * stride, (row + 1) * stride)];
    const [start, end, firstCut = 0, lastCut = 0] = fields;
    return {
      element: [start, end],
      values: Array.from({ length: scan.tree.count }, (_, node) =>
        fields.slice(ROW_HEAD + 2 * node, ROW_HEAD + 2 * node + 2),
      ),
      cuts: Array.from({ length: lastCut - firstCut }, (_, i) => [
        ...walk.cuts.subarray(2 * (firstCut + i), 2 * (firstCut + i) + 2),
      ]),
    };
  });
  return { rows };
}
