/** Ledgers in temporary folders, and documents to put into them. */
import { etagToBytes } from '../../../src/state/segments/etag-hash.ts';
import { hashToBytes } from '../../../src/documents/hash.ts';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { MigrationSpec } from '../../../src/spec/migration-spec.ts';
import type { BuildSizes } from '../../../src/state/index/build.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import type { Lease, NewLease } from '../../../src/state/leases.ts';
import { SegmentBuilder } from '../../../src/state/segments/segment.ts';
import type { SegmentEntry } from '../../../src/state/segments/segment.ts';
import type { LedgerRow } from '../../../src/state/rows.ts';

export const NOW_MS = Date.UTC(2026, 0, 1);

export const SPEC: MigrationSpec = {
  source: { endpoint: 'https://one.example/', database: 'shop', container: 'orders' },
  target: { endpoint: 'https://one.example/', database: 'shop', container: 'orders-by-tenant' },
  partitionKey: ['/tenantId'],
  derive: [],
  missingKey: 'keep',
  keepSourceKeyAs: null,
  onCollision: 'dead-letter',
  deletes: { kind: 'auto' },
  ttl: 'restart',
  sourceBudget: { kind: 'automatic' },
  targetBudget: { kind: 'automatic' },
  creation: { kind: 'none' },
  acceptsWarnings: false,
  ledger: '/nowhere/ledger.db',
  deadline: { kind: 'none' },
  deadLettersMax: 10_000,
  skipsIfRunning: false,
  metricsFile: null,
  keepSourceForMs: null,
};

/** Gone with the run (test/helpers/temporary.ts): a test may end with ledgers open. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'cosmig-state-'));
}

export function openLedger(path: string, spec = SPEC): Ledger {
  return Ledger.open({ path, spec, nowMs: NOW_MS, create: 'if-missing' });
}

/** What a crash would leave behind at this moment, in a folder of its own. */
export function crashCopy(path: string): string {
  const copy = join(temporaryFolder(), 'ledger.db');
  copyFileSync(path, copy);
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
  return copy;
}

export function newLease(lease: Partial<NewLease> = {}): NewLease {
  return {
    rangeId: '0',
    parents: [],
    min: '',
    max: 'FF',
    phase: 'copy',
    lvPosition: null,
    avadPosition: '"5"',
    restartPosition: '"4"',
    anchor: { etag: '"6"', lsn: 6, session: '0:-1#6' },
    copiedLsn: null,
    sweepPending: false,
    ...lease,
  };
}

export function beginLease(ledger: Ledger, lease: Partial<NewLease> = {}): Lease {
  const [begun] = ledger.leases.begin([newLease(lease)]);
  if (begun === undefined) throw new Error('a lease was begun');
  return begun;
}

/** Four words that stand for a text. */
export function wordsOf(text: string): Uint32Array {
  const digest = createHash('sha256').update(text).digest();
  return Uint32Array.from([0, 4, 8, 12], (at) => digest.readUInt32BE(at));
}

export function hashOf(text: string): Buffer {
  return hashToBytes(wordsOf(text));
}

export function entryOf(
  identity: string,
  slot: string,
  { etag = `"${identity}"`, lsn = 1 } = {},
): SegmentEntry {
  const hashes = new Uint32Array([...wordsOf(identity), ...wordsOf(slot)]);
  return { hashes, targetKey: [slot], etag, lsn };
}

export interface CopyPage {
  readonly lease: Lease;
  readonly documents: ReadonlyArray<{
    readonly identity: string;
    readonly slot: string;
    readonly landed?: boolean;
    readonly lsn?: number;
  }>;
  readonly position: string;
}

/** Intent of a page of the copy; what it gives commits it. */
export function intendPage(ledger: Ledger, { lease, documents, position }: CopyPage): () => number[] {
  const builder = new SegmentBuilder();
  const name = Buffer.from('."id""pk"');
  for (const { identity, slot, lsn = 1 } of documents) {
    builder.add(entryOf(identity, slot, { lsn }));
    builder.name(name, 1, 5);
    builder.name(name, 5, 9);
  }
  const unit = ledger.units.nextUnit();
  const copied = { indexId: lease.indexId, parts: builder.finish() };
  ledger.units.intend([{ unit, lease: lease.number, feed: 'LV', copied }]);
  return () => {
    const outcomes = documents.map(({ landed = true }) => (landed ? ledger.units.nextSequence() : 0));
    ledger.units.commit([{ unit, move: { lease: lease.number, feed: 'LV', position }, outcomes }]);
    return outcomes;
  };
}

export function rowOf(identity: string, slot: string | null, row: Partial<LedgerRow> = {}): LedgerRow {
  return {
    identity: hashOf(identity),
    state: slot === null ? 'tombstone' : 'live',
    slot: slot === null ? null : hashOf(slot),
    targetKey: slot === null ? null : [slot],
    etag: etagToBytes(`"${identity}"`),
    copyEtag: null,
    lsn: 1,
    feed: 'LV',
    ...row,
  };
}

/** Many runs and steps for few documents. */
export const SMALL: BuildSizes = { runEntries: 300, segmentsAStep: 2, blocksAStep: 1 };

export function buildIndex(ledger: Ledger, indexId: number, sizes?: BuildSizes): number {
  const build = ledger.buildIndex(indexId, sizes);
  let steps = 0;
  while (build.step()) steps += 1;
  return steps;
}
