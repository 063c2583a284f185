/**
 * The kernel packs the plain documents of a page: a second implementation of what src/keys and src/state make of a document
 * value by value. Both read the same pages here, and have to agree on every byte.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CopyReader } from '../../../../src/engine/copy/copy-reader.ts';
import { CopyRun } from '../../../../src/engine/copy/copy-run.ts';
import type { CopiedPage } from '../../../../src/engine/copy/copied-page.ts';
import { makePlan, type PlanOptions } from '../../../../src/keys/plan.ts';
import type { TtlMode } from '../../../../src/keys/rekey.ts';
import { readEntry, readNames } from '../../../../src/state/segments/segment.ts';
import { document, NOW_TS, pageOf } from '../feed-pages.ts';
import { draws } from '../../../helpers/generated.ts';
import '../../../helpers/seed.ts';

/** Three ranges, so that the documents of a page are packed in another order than the page has. */
const RANGES = {
  list: ['', '15', '2A'].map((min, i) => ({
    id: String(i),
    min,
    max: ['15', '2A', 'FF'][i] ?? '',
    parents: [],
  })),
  indexOf: (effectiveKey: string): number => Number(effectiveKey >= '15') + Number(effectiveKey >= '2A'),
};
const ONE_RANGE = { list: RANGES.list.slice(0, 1), indexOf: () => 0 };
const RESTART: TtlMode = { mode: 'restart' };
const READING = { anchorLsn: 1000, nowTs: NOW_TS, indexId: 3 };

interface Setting {
  readonly is: string;
  readonly plan: Partial<PlanOptions>;
  readonly ttl?: TtlMode;
  readonly marker?: readonly string[];
}

const SETTINGS: readonly Setting[] = [
  { is: 'a property', plan: { partitionKey: ['/b'] } },
  { is: 'a property, or none', plan: { partitionKey: ['/b'], missingKey: 'keep' } },
  { is: 'the id', plan: { partitionKey: ['/id'] } },
  { is: 'a nested property', plan: { partitionKey: ['/b/a'], missingKey: 'keep' } },
  { is: 'three levels', plan: { partitionKey: ['/a', '/b', '/id'], missingKey: 'keep' } },
  { is: 'a template', plan: { derive: ['/pk={a}-{b}'], missingKey: 'keep' } },
  { is: 'a nested template', plan: { derive: ['/current/pk={b}'], missingKey: 'keep' } },
  { is: 'two templates', plan: { partitionKey: ['/pk', '/c'], derive: ['/pk={a}', '/c={b|hash:9}'] } },
  { is: 'a present value wins', plan: { derive: ['/pk={a}'], presentWins: true } },
  { is: 'a replaced key', plan: { partitionKey: ['/a'], derive: ['/a={b}'], keepSourceKeyAs: '/old' } },
  {
    is: 'a template, and copies that expire',
    plan: { derive: ['/pk={b}'] },
    ttl: { mode: 'remaining', defaultTtl: -1 },
  },
  { is: 'all copies expire', plan: { partitionKey: ['/b'] }, ttl: { mode: 'remaining', defaultTtl: 99_999 } },
  { is: 'a marker', plan: { partitionKey: ['/b'] }, marker: ['ttl'] },
];

function readerOf(
  {
    plan: options,
    ttl = RESTART,
    marker = null,
  }: Omit<Setting, 'marker'> & { marker?: readonly string[] | null },
  packsPages: boolean,
  ranges = RANGES,
): CopyReader {
  const plan = makePlan({
    sourcePaths: ['/a'],
    partitionKey: [],
    derive: [],
    missingKey: 'dead-letter',
    ...options,
  });
  const kind = plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
  const pending = { filter: { mayHave: () => true }, rowOf: () => null };
  const versions = { plan, kind, ttl, marker } as const;
  return new CopyReader({
    plan,
    versions,
    pending,
    ledger: { isIndexed: () => false },
    targetSide: { ranges },
    packsPages,
  });
}

const quiet = { nowTs: NOW_TS + 5, ended: () => undefined };

/** Reads a page whose bytes are overwritten as soon as they are no longer needed. */
function readPage(reader: CopyReader, page: Buffer, options = READING): CopiedPage {
  const bytes = Buffer.from(page);
  const copied = reader.read(bytes, options);
  if (!copied.usesPage) bytes.fill('#');
  return copied;
}

/** All that the engine uses of a page, document by document, in an order that does not depend on the path. */
function contentsOf(copied: CopiedPage): unknown {
  const stored = copied.parts.flatMap((part) => {
    const names = readNames(part.names, 2);
    return Array.from({ length: part.count }, (_, at) => ({ ...readEntry(part, at), name: names[at] }));
  });
  const documents = Array.from({ length: copied.count }, (_, entry) => {
    const operation = copied.operation(entry, quiet);
    const body = Buffer.alloc(operation.sizeBytes, '#');
    operation.writeTo(body, 0);
    const at = copied.hashAt(entry);
    const hashes = [...copied.wordsOf(entry).subarray(at, at + 8)];
    const { version, ...change } = copied.change(entry);
    const { etag, slot, lifetime, refusal } = version;
    const changed = { ...change, etag, slot, lifetime, refusal, text: version.body.toString() };
    const { effectiveKey } = operation;
    return JSON.stringify({ body: body.toString(), effectiveKey, hashes, stored: stored[entry], changed });
  });
  const { count, documents: read, present, longIntegers, beyond, others, indexId } = copied;
  return {
    documents: documents.toSorted(),
    count,
    stored: stored.length,
    read,
    present,
    longIntegers,
    beyond,
    others,
    indexId,
  };
}

/** What a page has of its packed documents as runs: each in one range, with the bytes of its operations. */
function checkRuns(copied: CopiedPage): void {
  const { packed, rangeIndexes, effectiveKeys, ranges } = copied;
  const entries = Array.from({ length: packed.count }, (_, entry) => entry);
  const indexes = entries.map((entry) => RANGES.indexOf(effectiveKeys[entry] ?? ''));
  expect(entries.map((entry) => rangeIndexes[entry])).toEqual(indexes);
  expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
  if (packed.count === 0) return;
  expect(ranges).toBe(RANGES.list);
  const owner = { adopt: (entry: number) => copied.operation(entry, quiet), created: () => undefined };
  const run = new CopyRun(copied, owner, 0, packed.count);
  const texts = run.operations().map((operation) => {
    const body = Buffer.alloc(operation.sizeBytes);
    operation.writeTo(body, 0);
    return body.toString();
  });
  const whole = Buffer.alloc(run.sizeBytes);
  run.writeTo(whole, 0);
  const sizes = texts.map((_, from) => run.sizeOf(from, texts.length));
  const fitting = texts.map((_, from) => run.fitting(from, 2, run.sizeOf(from, from + 1)));
  const head = run.take(1);
  expect({ whole: whole.toString(), sizes, fitting, counts: [head.count, run.count] }).toEqual({
    whole: texts.join(','),
    sizes: texts.map((_, from) => Buffer.byteLength(texts.slice(from).join(','))),
    fitting: texts.map(() => 1),
    counts: [1, texts.length - 1],
  });
}

/** Settings in which no document is plain: each gets a value of its own. */
const NEVER_PLAIN = new Set(['a replaced key', 'all copies expire']);

/** Enough for some of each sort, however few pages are drawn. */
const MANY = fc.sample(document, { numRuns: 60, seed: 1 });

describe.each(SETTINGS)('packed documents: $is', (setting) => {
  test('any page -> the same as value by value', () => {
    const [packing, reading] = [readerOf(setting, true), readerOf(setting, false)];
    const seen = { packed: 0, flat: 0 };
    fc.assert(
      fc.property(fc.array(document, { maxLength: 8 }), (documents) => {
        const page = pageOf(documents);
        const attempt = (reader: CopyReader): unknown => {
          try {
            const copied = readPage(reader, page);
            const contents = contentsOf(copied);
            if (reader === packing) checkRuns(copied);
            if (reader === packing) seen.packed += copied.packed.count;
            if (reader === packing) seen.flat += copied.flat.count;
            reader.giveBack(copied);
            return contents;
          } catch (error) {
            return String(error);
          }
        };
        expect(attempt(packing)).toEqual(attempt(reading));
      }),
      { numRuns: draws(80), examples: [[MANY]] },
    );
    expect({ packed: seen.packed > 0, flat: seen.flat > 0 }).toEqual({
      packed: !NEVER_PLAIN.has(setting.is),
      flat: true,
    });
  });
});

test('packed documents: one has the derived property already -> it keeps its bytes, and is not packed', () => {
  const reader = readerOf({ is: '', plan: { derive: ['/pk={a}'] } }, true, ONE_RANGE);
  const own = '{"id":"own","pk":"x" ,"a":"x","_etag":"e","_ts":1,"_lsn":1}';
  const plain = '{"id":"plain","a":"x","_etag":"e","_ts":1,"_lsn":2}';
  const copied = reader.read(pageOf([own, plain]), READING);
  expect([copied.packed.count, copied.flat.count]).toEqual([1, 1]);
  const bodies = [0, 1].map((entry) => copied.change(entry).version.body.toString());
  expect(bodies.toSorted()).toEqual(['{"id":"own","pk":"x" ,"a":"x"}', '{"id":"plain","a":"x","pk":"x"}']);
});

/** A document that every path can take. */
function plainDocument(n: number, how: Plain): string {
  const {
    tenant = n % 7,
    lsn: at = n + 1,
    sizeBytes = 20,
    id = `order-${n}`,
    device = `device-${n % 5}`,
  } = how;
  return `{"id":"${id}","a":"${device}","b":"tenant-${tenant}","text":"${'z'.repeat(sizeBytes)}","_rid":"r${n}","_self":"s","_etag":"\\"${n}\\"","_attachments":"a/","_ts":1,"_lsn":${at}}`;
}

interface Plain {
  readonly tenant?: number | string;
  readonly lsn?: number;
  readonly sizeBytes?: number;
  readonly id?: string;
  readonly device?: string;
}

test('packed documents: a range splits between two pages -> known keys are in the new ranges', () => {
  const ranges = { ...ONE_RANGE };
  const reader = readerOf({ is: '', plan: { partitionKey: ['/b'] } }, true, ranges);
  const page = pageOf(Array.from({ length: 20 }, (_, n) => plainDocument(n, { tenant: n % 10 })));
  expect(reader.read(page, READING).rangeIndexes).toEqual(Array.from({ length: 20 }, () => 0));
  Object.assign(ranges, RANGES);
  const copied = reader.read(page, READING);
  checkRuns(copied);
  expect(new Set(copied.rangeIndexes).size).toBeGreaterThan(1);
});

test('packed documents: a large and a small page in flight -> each keeps its bytes, in memory of its size', () => {
  const reader = readerOf({ is: '', plan: { partitionKey: ['/b'] } }, true, ONE_RANGE);
  const read = (sizeBytes: number): CopiedPage =>
    readPage(reader, pageOf(Array.from({ length: 20 }, (_, n) => plainDocument(n, { sizeBytes }))));
  const bytesOf = ({ packed }: CopiedPage): number => packed.words.buffer.byteLength;
  const [large, small] = [read(20_000), read(20)];
  const before = contentsOf(small);
  expect([bytesOf(large), bytesOf(small)]).toEqual([7 * 64 * 1024, 64 * 1024]);
  reader.giveBack(large);
  expect(bytesOf(large)).toBe(0);
  expect(bytesOf(read(19_000))).toBe(7 * 64 * 1024);
  expect(contentsOf(small)).toEqual(before);
  reader.giveBack(small);
  expect(bytesOf(read(10))).toBe(64 * 1024);
});

/** The segments of a page, as few buffers, which are compared faster than many. */
function segmentsOf({ parts }: CopiedPage): unknown {
  return {
    sizes: parts.map(({ count, lsnBase, data, names }) => [count, lsnBase, data.length, names.length]),
    bytes: Buffer.concat(parts.flatMap(({ data, names }) => [data, names])).toString('latin1'),
  };
}

test.each<{
  readonly is: string;
  readonly documents: number;
  readonly pages?: number;
  readonly each?: (n: number) => Plain;
  readonly packed: 'all' | 'most' | 'none';
}>([
  { is: 'one segment', documents: 256, packed: 'all' },
  { is: 'a group of the kernel, but one document', documents: 15, packed: 'all' },
  { is: 'a group of the kernel', documents: 16, packed: 'all' },
  { is: 'a group of the kernel, and one document', documents: 17, packed: 'all' },
  {
    is: 'ids and keys as long as they can be in a group',
    documents: 32,
    each: (n) => ({ id: `${n}`.padEnd(1023, 'i'), device: 'd'.repeat(3060), tenant: '9'.repeat(246) }),
    packed: 'all',
  },
  {
    is: 'ids and keys too long for a group now and then',
    documents: 70,
    each: (n) =>
      n % 3 === 0 ? { device: 'd'.repeat(4090) } : n % 7 === 0 ? { tenant: '9'.repeat(250) } : {},
    packed: 'most',
  },
  { is: 'four segments', documents: 1000, packed: 'all' },
  {
    is: 'LSNs too far apart for one segment',
    documents: 10,
    each: (n) => ({ lsn: 1 + n * 2 ** 31 }),
    packed: 'all',
  },
  {
    is: 'more keys than the kernel keeps',
    documents: 1000,
    pages: 35,
    each: (n) => ({ tenant: n }),
    packed: 'most',
  },
  { is: 'large documents', documents: 20, each: () => ({ sizeBytes: 60_000 }), packed: 'all' },
  { is: 'huge documents', documents: 3, each: () => ({ sizeBytes: 1_100_000 }), packed: 'none' },
])('packed documents: $is -> the same bytes', ({ documents, pages = 1, each = () => ({}), packed }) => {
  const setting = { is: '', plan: { partitionKey: ['/b'] } };
  const [packing, reading] = [readerOf(setting, true, ONE_RANGE), readerOf(setting, false, ONE_RANGE)];
  const options = { ...READING, anchorLsn: Infinity };
  const compared: Array<readonly [one: unknown, other: unknown]> = [];
  let count = 0;
  for (let number = 0; number < pages; number += 1) {
    const numbers = Array.from({ length: documents }, (_, i) => number * documents + i);
    const page = pageOf(numbers.map((n) => plainDocument(n, each(n))));
    const [one, other] = [readPage(packing, page, options), readPage(reading, page, options)];
    count += one.packed.count;
    // Documents that are not packed follow the others, so only whole pages have the same order.
    if (one.packed.count % documents === 0) compared.push([segmentsOf(one), segmentsOf(other)]);
    if (number % 16 === 0) compared.push([contentsOf(one), contentsOf(other)]);
    packing.giveBack(one);
    reading.giveBack(other);
  }
  for (const [one, other] of compared) expect(one).toEqual(other);
  expect(count === 0 ? 'none' : count === documents * pages ? 'all' : 'most').toBe(packed);
});
