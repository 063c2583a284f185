/**
 * Converts feed pages into batch bodies and into content hashes. It compares two ways: cosmig, which works on the
 * bytes, and most programs, which use JSON.parse and JSON.stringify. Pages have 100 documents of 1 KB, in the form in
 * which the feed delivers them.
 */
import { HASH_WORDS } from '../src/documents/hash.ts';
import { createHash } from 'node:crypto';
import { BatchBody } from '../src/documents/batch-body.ts';
import { latestVersionScan } from '../src/documents/page-scan.ts';
import { SYSTEM_PROPERTIES } from '../src/documents/system-properties.ts';
import { makePlan } from '../src/keys/plan.ts';
import type { PlanOptions } from '../src/keys/plan.ts';
import { Rekey, rekeyPaths } from '../src/keys/rekey.ts';
import { documentTemplate } from './documents.ts';
import type { Result } from './report.ts';

const DOCUMENTS = 100;
/** The number of different pages, so that the CPU cache does not already hold the next page. */
const PAGES = 20;
const ROUNDS = 40;

interface Parsed {
  [name: string]: unknown;
}

function feedPage(page: number): Buffer {
  const template = documentTemplate();
  const documents = Array.from({ length: DOCUMENTS }, (_, i) => {
    const number = page * DOCUMENTS + i;
    const text = template
      .replace('########', String(number).padStart(8, '0'))
      .replace('@@@@@@', String((number * 7919) % 10_000).padStart(6, '0'));
    const hex = number.toString(16).padStart(8, '0');
    const system = `"_rid":"a1B2AO${hex}AAAA==","_self":"dbs/a1B2AA==/colls/a1B2AOx7xJA=/docs/a1B2AO${hex}AAAA==/","_etag":"\\"${hex}-0000-0700-0000-65a1f3d20000\\"","_attachments":"attachments/","_ts":1705112530,"_lsn":${number + 4711}`;
    return `${text.slice(0, -1)},${system}}`;
  });
  return Buffer.from(`{"_rid":"a1B2AOx7xJA=","Documents":[${documents.join(',')}],"_count":${DOCUMENTS}}`);
}

export async function benchDocuments(): Promise<Result[]> {
  const pages = Array.from({ length: PAGES }, (_, page) => feedPage(page));
  const results: Result[] = [];

  const derived = (document: Parsed): string =>
    `${String(document['tenantId'])}-${String(document['deviceId'])}`;
  const own = { sourcePaths: ['/deviceId'], missingKey: 'keep' } as const;
  const cases: ReadonlyArray<[string, PlanOptions, (document: Parsed) => unknown[]]> = [
    [
      'existing path',
      { ...own, partitionKey: ['/tenantId'], derive: [] },
      (document) => [document['tenantId']],
    ],
    [
      'derived',
      { ...own, partitionKey: [], derive: ['/pk={tenantId}-{deviceId}'] },
      (document) => [(document['pk'] = derived(document))],
    ],
    [
      'hierarchical',
      { ...own, partitionKey: ['/tenantId', '/type', '/deviceId'], derive: [] },
      (document) => [document['tenantId'], document['type'], document['deviceId']],
    ],
  ];
  for (const [name, options, keyOf] of cases) {
    const [parsing = 0, asBytes = 0, withPlaces = 0] = measure(pages, [
      (page) => parseAndStringify(page, keyOf),
      splicer(options, false),
      splicer(options, true),
    ]);
    const to = 'parse + stringify';
    results.push(
      {
        name: `page to batch body, ${name}`,
        value: asBytes,
        unit: 'documents/s',
        ratio: { value: asBytes / parsing, to },
        target: 'at least 3 x',
      },
      {
        name: `the same with effective keys, ${name}`,
        value: withPlaces,
        unit: 'documents/s',
        ratio: { value: withPlaces / parsing, to },
        note: 'parse + stringify computes none',
      },
    );
  }
  results.push(benchContents(pages));
  return results;
}

function splicer(options: PlanOptions, places: boolean): (page: Buffer) => number {
  const plan = makePlan(options);
  const scan = latestVersionScan(rekeyPaths(plan));
  const kind = plan.targetPaths.length > 1 ? 'multi-hash' : 'hash-v2';
  const rekey = new Rekey(scan, { plan, kind, ttl: { mode: 'restart' } });
  const body = new BatchBody();
  return (page) => {
    scan.scan(page);
    body.clear();
    let digits = 0;
    for (let row = 0; row < scan.count; row += 1) {
      if (rekey.read(row, 0) !== 'moves') throw new Error('a document does not move');
      if (places) digits += rekey.effectiveKey().length;
      body.create(rekey.key);
      rekey.write(body.out);
      body.end();
    }
    return body.finish().length + digits;
  };
}

function parseAndStringify(page: Buffer, keyOf: (document: Parsed) => unknown[]): number {
  const { Documents: documents } = JSON.parse(page.toString()) as { Documents: Parsed[] };
  const operations = documents.map((document) => {
    for (const name of SYSTEM_PROPERTIES) delete document[name];
    return { operationType: 'Create', partitionKey: JSON.stringify(keyOf(document)), resourceBody: document };
  });
  return Buffer.from(JSON.stringify(operations)).length;
}

function benchContents(pages: readonly Buffer[]): Result {
  const scan = latestVersionScan([['deviceId']]);
  const out = new Uint32Array(HASH_WORDS);
  const hashBytes = (page: Buffer): number => {
    scan.scan(page);
    for (let row = 0; row < scan.count; row += 1) scan.hashContent(row, out, 0);
    return out[0] ?? 0;
  };
  const hashParsed = (page: Buffer): number => {
    const { Documents: documents } = JSON.parse(page.toString()) as { Documents: Parsed[] };
    let last = 0;
    for (const document of documents) {
      for (const name of SYSTEM_PROPERTIES) delete document[name];
      last =
        createHash('md5')
          .update(JSON.stringify(sorted(document)))
          .digest()[0] ?? 0;
    }
    return last;
  };
  const [asBytes = 0, canonical = 0] = measure(pages, [hashBytes, hashParsed]);
  return {
    name: 'page to content hashes',
    value: asBytes,
    unit: 'documents/s',
    ratio: { value: asBytes / canonical, to: 'parse + canonical form + MD5' },
    target: 'at least 5 x',
  };
}

/** Returns the canonical form of a parsed value: members in the order of their names. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const out: Parsed = {};
  for (const name of Object.keys(value).sort()) out[name] = sorted((value as Parsed)[name]);
  return out;
}

/**
 * Returns the documents per second for each kind of work. It takes the best of several rounds, since other work on
 * the machine can only make a round slower. The kinds of work take turns, so that a busy period affects all of them.
 */
function measure(
  pages: readonly Buffer[],
  works: ReadonlyArray<(page: Buffer) => number>,
): readonly number[] {
  const bestMs = works.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [i, work] of works.entries()) {
      const start = performance.now();
      let sum = 0;
      for (const page of pages) sum += work(page);
      bestMs[i] = Math.min(bestMs[i] ?? Infinity, performance.now() - start);
      if (!(sum > 0)) throw new Error('nothing came out');
    }
  }
  return bestMs.map((ms) => (pages.length * DOCUMENTS * 1000) / ms);
}
