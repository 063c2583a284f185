/** What the copy takes out of pages: the same, whatever pages its memory has served before. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CopyReader } from '../../../../src/engine/copy/copy-reader.ts';
import type { CopiedPage } from '../../../../src/engine/copy/copied-page.ts';
import { makePlan } from '../../../../src/keys/plan.ts';
import '../../../helpers/seed.ts';

const NOW_TS = 1_700_000_000;
const RANGES = { list: [{ id: '0', min: '', max: 'FF', parents: [] }], indexOf: () => 0 };
const READING = { anchorLsn: 1000, nowTs: NOW_TS, indexId: 3 };

/** All that a reader asks of a run. */
function newReader(): CopyReader {
  const plan = makePlan({
    sourcePaths: ['/a'],
    partitionKey: [],
    derive: ['/pk={b}'],
    missingKey: 'keep',
  });
  const ttl = { mode: 'remaining', defaultTtl: -1 } as const;
  const versions = { plan, kind: 'hash-v2', ttl, marker: null } as const;
  const pending = { filter: { mayHave: () => true }, rowOf: () => null };
  return new CopyReader({
    plan,
    versions,
    pending,
    ledger: { isIndexed: () => false },
    targetSide: { ranges: RANGES },
    packsPages: true,
  });
}

interface Document {
  readonly id: number;
  readonly b: string;
  readonly ttl: number | undefined;
  readonly sizeBytes: number;
  readonly lsn: number;
}

const documents = fc.array(
  fc.record({
    id: fc.nat(9),
    b: fc.oneof(fc.constantFrom('x', 'y', '"', 'é'), fc.string({ minLength: 60, maxLength: 90 })),
    ttl: fc.option(fc.constantFrom(1, 40_000, 100_000), { nil: undefined }),
    sizeBytes: fc.oneof(fc.nat(200), fc.constant(3000)),
    lsn: fc.nat(1200),
  }),
  { maxLength: 30 },
);

function pageOf(all: readonly Document[]): Buffer {
  const Documents = all.map(({ sizeBytes, lsn, id, ...rest }, row) => ({
    id: `${id}/${row}`,
    a: `tenant ${id}`,
    ...rest,
    text: 'z'.repeat(sizeBytes),
    _etag: `"${id} ${lsn}"`,
    _ts: NOW_TS - 20_000,
    _lsn: lsn,
  }));
  return Buffer.from(JSON.stringify({ _rid: 'r', Documents, _count: all.length }));
}

/** Everything that anybody asks of it, in memory of its own. */
function textOf(copied: CopiedPage): string {
  const entries = Array.from({ length: copied.count }, (_, entry) => entry);
  const parts = copied.parts.map((part) => ({
    ...part,
    data: part.data.toString('hex'),
    names: part.names.toString('hex'),
  }));
  return JSON.stringify({
    parts,
    count: copied.count,
    documents: copied.documents,
    beyond: copied.beyond,
    others: copied.others,
    outcomes: [...copied.outcomes],
    entries: entries.map((entry) => {
      const operation = copied.operation(entry, { nowTs: NOW_TS + 15_000, ended: () => undefined });
      const body = Buffer.alloc(operation.sizeBytes, '#');
      operation.writeTo(body, 0);
      const { state, lockOne, effectiveKey } = operation;
      const at = copied.hashAt(entry);
      const hashes = [...copied.wordsOf(entry).subarray(at, at + 8)];
      const text: unknown = JSON.parse(body.toString());
      return { text, hashes, state, lockOne, effectiveKey };
    }),
  });
}

test('copied page: reused memory -> the same page as in fresh memory', () => {
  const [used, fresh] = [newReader(), newReader()];
  fc.assert(
    fc.property(fc.array(fc.tuple(documents, fc.boolean()), { minLength: 1, maxLength: 6 }), (pages) => {
      const underWay: Array<{ readonly copied: CopiedPage; readonly all: string; readonly page: Buffer }> =
        [];
      const changes: Array<{ readonly was: string; readonly change: unknown }> = [];
      const finish = (): void => {
        for (const { copied, all, page } of underWay.splice(0)) {
          expect(textOf(copied)).toBe(all);
          for (let entry = 0; entry < copied.count; entry += 1) {
            const change = copied.change(entry);
            changes.push({ was: JSON.stringify(change), change });
          }
          // What the page, the pool and the next page do to what they are given.
          copied.outcomes.fill(7);
          page.fill(0x21);
          used.giveBack(copied);
        }
      };
      for (const [one, isLast] of pages) {
        const page = pageOf(one);
        // Nothing is ever given back to this one.
        const all = textOf(fresh.read(Buffer.from(page), READING));
        underWay.push({ copied: used.read(page, READING), all, page });
        if (isLast) finish();
      }
      finish();
      // A change of the slow path outlives its page.
      for (const { was, change } of changes) expect(JSON.stringify(change)).toBe(was);
    }),
    { numRuns: 30 },
  );
});

test('copied page: a damaged page -> nothing of it remains', () => {
  const used = newReader();
  const page = pageOf([{ id: 1, b: 'x', ttl: undefined, sizeBytes: 9, lsn: 5 }]);
  const cut = page.subarray(0, page.length - 9);
  expect(() => used.read(cut, READING)).toThrow();
  expect(textOf(used.read(page, READING))).toBe(textOf(newReader().read(page, READING)));
});

test('copied page: given back -> no longer read', () => {
  const reader = newReader();
  const copied = reader.read(pageOf([{ id: 1, b: 'x', ttl: 40_000, sizeBytes: 300, lsn: 5 }]), READING);
  const { sizeBytes } = copied.operation(0, { nowTs: NOW_TS, ended: () => undefined });
  reader.giveBack(copied);
  expect(copied.count).toBe(0);
  expect(() => copied.writeOperation(0, Buffer.alloc(sizeBytes), 0, NOW_TS)).toThrow(RangeError);
});
