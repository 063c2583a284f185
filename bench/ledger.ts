/**
 * The cost of a document in the ledger: its entry is packed, its intent becomes durable and its outcome is committed,
 * page by page; then an index is built over all documents, and documents are looked up. One run measures a small
 * ledger and a large one, since the cost of a document must not depend on the number of documents.
 */
import { hashToBytes } from '../src/documents/hash.ts';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MigrationSpec } from '../src/spec/migration-spec.ts';
import { Ledger } from '../src/state/ledger.ts';
import type { Lease } from '../src/state/leases.ts';
import { SegmentBuilder } from '../src/state/segments/segment.ts';
import type { Result } from './report.ts';

const SMALL = 10_000;
/** The size of the ledger whose memory is compared with that of the large one. */
const MEDIUM = 50_000;
const LARGE = 2_000_000;
const PAGE_DOCUMENTS = 1000;
/** The number of pages that share one sync. In a copy, they come from ranges that are copied in parallel. */
const GROUP = 10;
const LOOKUPS = 100_000;
/** The size of a key value in the ledger: `tenant-000000`, its type and its length. */
const KEY_BYTES = 16;

export const SPEC: MigrationSpec = {
  source: { endpoint: 'https://bench.example/', database: 'bench', container: 'source' },
  target: { endpoint: 'https://bench.example/', database: 'bench', container: 'target' },
  partitionKey: ['/tenantId'],
  derive: [],
  missingKey: 'keep',
  keepSourceKeyAs: null,
  onCollision: 'dead-letter',
  deletes: { kind: 'avad' },
  ttl: 'restart',
  sourceBudget: { kind: 'automatic' },
  targetBudget: { kind: 'automatic' },
  creation: { kind: 'none' },
  acceptsWarnings: false,
  ledger: '/ledger.db',
  deadline: { kind: 'none' },
  deadLettersMax: 10_000,
  skipsIfRunning: false,
  metricsFile: null,
  keepSourceForMs: null,
};

/** Fills `out` with eight words that look like hashes and depend only on `i`. */
function hashWords(i: number, out: Uint32Array): Uint32Array {
  let state = Math.imul(i + 1, 0x9e37_79b1);
  for (let word = 0; word < 8; word += 1) {
    state = Math.imul(state ^ (state >>> 15) ^ (i + word), 0x85eb_ca6b);
    state = Math.imul(state ^ (state >>> 13), 0xc2b2_ae35) + 0x27d4_eb2f;
    out[word] = state ^ (state >>> 16);
  }
  return out;
}

interface Filler {
  readonly ledger: Ledger;
  readonly lease: Lease;
  readonly builder: SegmentBuilder;
}

const NAMES = Buffer.from('."document-0000000000""device-000000"');
const hashes = new Uint32Array(8);

/** Records one group of pages, from intent to commit. `first` is the number of its first document. */
function copyGroup({ ledger, lease, builder }: Filler, first: number): void {
  const units = Array.from({ length: GROUP }, (_, n) => {
    for (let i = first + n * PAGE_DOCUMENTS; i < first + (n + 1) * PAGE_DOCUMENTS; i += 1) {
      builder.add({
        hashes: hashWords(i, hashes),
        targetKey: [`tenant-${String(i % 999_983).padStart(6, '0')}`],
        etag: `"0000${i.toString(16).padStart(8, '0')}-0000-0100-0000-6789abcd0000"`,
        lsn: i,
      });
      builder.name(NAMES, 1, 22);
      builder.name(NAMES, 22, 37);
    }
    return { unit: ledger.units.nextUnit(), parts: builder.finish() };
  });
  const tokens = [{ rangeId: '0', token: `0:-1#${first}` }];
  ledger.units.intend(
    units.map(({ unit, parts }) => ({
      unit,
      lease: lease.number,
      feed: 'LV' as const,
      copied: { indexId: lease.indexId, parts },
    })),
    { tokens },
  );
  // Pages that are in flight together receive their outcomes interleaved. Here the pages take turns, so that no page
  // has consecutive numbers.
  const outcomes = units.map(() => Array.from({ length: PAGE_DOCUMENTS }, () => 0));
  for (let i = 0; i < PAGE_DOCUMENTS; i += 1)
    for (const unit of outcomes) unit[i] = ledger.units.nextSequence();
  for (const [n, { unit }] of units.entries()) {
    const move = {
      lease: lease.number,
      feed: 'LV' as const,
      position: `"${first + n}"`,
      documents: PAGE_DOCUMENTS,
    };
    ledger.units.commit([{ unit, move, outcomes: outcomes[n] ?? [] }], {
      tokens,
      counters: { read: PAGE_DOCUMENTS },
    });
  }
}

function begin(path: string): Filler {
  const ledger = Ledger.open({ path, spec: SPEC, nowMs: 0, create: 'if-missing' });
  const anchor = { etag: '"0"', lsn: LARGE, session: '0:-1#0' };
  const [lease] = ledger.leases.begin([
    {
      rangeId: '0',
      parents: [],
      min: '',
      max: 'FF',
      phase: 'copy',
      lvPosition: null,
      avadPosition: '"0"',
      restartPosition: '"0"',
      anchor,
      copiedLsn: null,
      sweepPending: false,
    },
  ]);
  if (lease === undefined) throw new Error('a lease was begun');
  return { ledger, lease, builder: new SegmentBuilder() };
}

/** Records `documents` documents, beginning with number `first`. Returns the microseconds per document. */
function copy(filler: Filler, first: number, documents: number): number {
  const start = performance.now();
  for (let i = first; i < first + documents; i += GROUP * PAGE_DOCUMENTS) copyGroup(filler, i);
  return ((performance.now() - start) * 1000) / documents;
}

function sizeOf(path: string): number {
  return statSync(path).size;
}

function megabytes(): number {
  return process.memoryUsage().rss / 1024 / 1024;
}

interface Index {
  readonly documentsPerSecond: number;
  readonly longestStepMs: number;
}

function buildIndex({ ledger, lease }: Filler, documents: number): Index {
  const build = ledger.buildIndex(lease.indexId);
  const start = performance.now();
  let longestStepMs = 0;
  for (let before = start, more = true; more; before = performance.now()) {
    more = build.step();
    longestStepMs = Math.max(longestStepMs, performance.now() - before);
  }
  return { documentsPerSecond: (documents * 1000) / (performance.now() - start), longestStepMs };
}

function lookUp({ ledger, lease }: Filler, documents: number): number {
  const start = performance.now();
  for (let n = 0; n < LOOKUPS; n += 1) {
    const document = (Math.imul(n, 0x9e37_79b1) >>> 0) % documents;
    const found = ledger.lookup.find(hashToBytes(hashWords(document, hashes)), lease.indexId);
    if (found?.lsn !== document) throw new Error(`the index does not know document ${document}`);
  }
  return (LOOKUPS * 1000) / (performance.now() - start);
}

export async function benchLedger({ say }: { readonly say: (text: string) => void }): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'cosmig-bench-'));
  try {
    return measure(folder, say);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function measure(folder: string, say: (text: string) => void): Result[] {
  // The best of several rounds. The first round only warms up the JIT compiler.
  let smallUs = Infinity;
  for (let round = 0; round < 6; round += 1) {
    const filler = begin(join(folder, `small-${round}.db`));
    const us = copy(filler, 0, SMALL);
    if (round > 0) smallUs = Math.min(smallUs, us);
    filler.ledger.close();
  }
  const medium = begin(join(folder, 'medium.db'));
  copy(medium, 0, MEDIUM);
  buildIndex(medium, MEDIUM);
  lookUp(medium, MEDIUM);
  const rssSmall = megabytes();
  medium.ledger.close();
  say(`${SMALL} documents: ${smallUs.toFixed(2)} us each, RSS ${rssSmall.toFixed(0)} MB`);
  const path = join(folder, 'large.db');
  const filler = begin(path);
  const fillUs = copy(filler, 0, LARGE - SMALL * 10);
  let largeUs = Infinity;
  for (let round = 10; round > 0; round -= 1)
    largeUs = Math.min(largeUs, copy(filler, LARGE - SMALL * round, SMALL));
  say(`${LARGE} documents: ${fillUs.toFixed(2)} us each, the last ones ${largeUs.toFixed(2)}`);
  const index = buildIndex(filler, LARGE);
  say(`index: ${index.documentsPerSecond.toFixed(0)} documents/s, RSS ${megabytes().toFixed(0)} MB`);
  const lookups = lookUp(filler, LARGE);
  const rssLarge = megabytes();
  filler.ledger.close();
  const bytes = sizeOf(path) / LARGE;
  return [
    { name: 'ledger: intent and commit, 10 thousand', value: smallUs, unit: 'us/document' },
    {
      name: 'ledger: intent and commit, at 2 million',
      value: largeUs,
      unit: 'us/document',
      ratio: { value: largeUs / smallUs, to: 'at 10 thousand' },
      target: 'the same',
    },
    {
      name: 'ledger: size with index',
      value: bytes - KEY_BYTES,
      unit: 'bytes/document',
      target: 'at most 120',
      note: `besides ${KEY_BYTES} of its key value`,
    },
    {
      name: 'ledger: index build',
      value: index.documentsPerSecond,
      unit: 'documents/s',
      note: `longest step ${index.longestStepMs.toFixed(0)} ms`,
    },
    { name: 'ledger: lookup in 2 million', value: lookups, unit: 'lookups/s' },
    {
      name: 'ledger: RSS, 2 million above 50 thousand',
      value: rssLarge - rssSmall,
      unit: 'MB',
      target: 'less than 50',
    },
  ];
}
